// sse.ts - server-sent events from pieces of text that end anywhere.

/** Collects lines and gives the data of each complete event; comments (": ping") and other fields are dropped. */
export class EventReader {
  private rest = '';
  private data: string[] = [];

  push(text: string): string[] {
    const events: string[] = [];
    const lines = (this.rest + text).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '') {
        if (this.data.length) events.push(this.data.join('\n'));
        this.data = [];
      } else if (line.startsWith('data:')) {
        this.data.push(line.slice(line[5] === ' ' ? 6 : 5));
      }
    }
    return events;
  }
}
