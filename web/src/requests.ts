// requests.ts - bodies of the requests. Pictures are long: they are spliced in as they are.
import { state, type BoxKind, type Picture, type Settings } from './state';

/** Lists of boxes, as on the command line. */
function boxesOf(s: Settings): Record<string, string[]> {
  const out: Record<string, string[]> = {};
  for (const kind of ['keep', 'drop', 'blank'] as BoxKind[]) {
    const some = (s.marks ?? []).filter((m) => m.kind === kind);
    if (some.length)
      out[`${kind}_boxes`] = some.map((m) => [m.x, m.y, m.w, m.h].map((v) => `${Number(v.toFixed(3))}%`).join(','));
  }
  return out;
}

/** The `prune` object: only what differs from the server's own choice. */
export function pruneObject(s: Settings, keep: number[] | null): Record<string, unknown> {
  const out: Record<string, unknown> = { method: s.method, return: ['tokens', 'regions', 'scores'] };
  if (s.method !== 'full') out.budget = keep ? keep.length : s.budget;
  if (s.grid > 0) out.grid = s.grid;
  if (s.allocator) out.allocator = s.allocator;
  if (s.selector) out.selector = s.selector;
  if (s.before) out.before_tower = s.before;
  if (s.seed > 0) out.seed = s.seed;
  if (keep) out.keep = keep;
  else Object.assign(out, boxesOf(s));
  return out;
}

/** JSON with the picture's data URI in place of `mark`. A data URI has no character that JSON escapes. */
function withPicture(body: unknown, picture: Picture): string {
  return JSON.stringify(body).replace('"@picture"', () => `"${picture.dataUrl}"`);
}

/** The picture first: another question about it then shares the prefix. */
const messages = (question: string) => [
  {
    role: 'user',
    content: [
      { type: 'image_url', image_url: { url: '@picture' } },
      { type: 'text', text: question },
    ],
  },
];

export function chatBody(picture: Picture, question: string, s: Settings, keep: number[] | null): string {
  return withPicture(
    {
      ...(state.model ? { model: state.model } : {}),
      messages: messages(question),
      max_tokens: s.maxTokens,
      temperature: 0,
      stream: true,
      stream_options: { include_usage: true },
      return_progress: true,
      prune: pruneObject(s, keep),
    },
    picture,
  );
}

export function planBody(picture: Picture, s: Settings, budget: number | string = s.budget): string {
  const prune: Record<string, unknown> = { budget };
  if (s.grid > 0) prune.grid = s.grid;
  if (s.allocator) prune.allocator = s.allocator;
  if (s.before) prune.before_tower = s.before;
  Object.assign(prune, boxesOf(s));
  return withPicture({ image: '@picture', prune }, picture); // on the grid the model makes of this picture
}

export interface Entry {
  method: string;
  budget: number;
}

export function compareBody(picture: Picture, question: string, entries: Entry[], maxTokens: number): string {
  return withPicture(
    {
      ...(state.model ? { model: state.model } : {}),
      messages: messages(question),
      max_tokens: maxTokens,
      settings: entries.map((e) => ({
        method: e.method,
        ...(e.method === 'full' ? {} : { budget: e.budget }),
        ...boxesOf(state.settings),
        return: ['tokens', 'regions', 'scores'],
      })),
    },
    picture,
  );
}
