// api.ts - the server's routes. Nothing leaves the origin the page came from.
import { EventReader } from './sse';
import { number, object, text, type Json } from './read';

/** An answer that is an error object, or no answer at all (status 0). */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly type = '',
    readonly retryAfter: number | null = null,
    readonly details: unknown = null,
  ) {
    super(message);
  }
}

const KEY = 's2prune-key';

/** The key lives as long as the tab. */
export const key = {
  get: (): string => {
    try {
      return sessionStorage.getItem(KEY) ?? '';
    } catch {
      return '';
    }
  },
  set: (value: string): void => {
    try {
      sessionStorage.setItem(KEY, value);
    } catch {
      /* a browser without storage asks again after a reload */
    }
  },
};

export function errorOf(status: number, body: unknown, retryAfter: number | null = null): ApiError {
  const e = object(object(body).error);
  const code = number(e.code);
  return new ApiError(status || code || 500, text(e.message, `HTTP ${status}`), text(e.type), retryAfter, body);
}

async function request(path: string, body: string | null, signal?: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = {};
  if (key.get()) headers.Authorization = `Bearer ${key.get()}`;
  if (body !== null) headers['Content-Type'] = 'application/json';
  let response: Response;
  try {
    response = await fetch(path, { method: body === null ? 'GET' : 'POST', headers, body, signal, cache: 'no-store' });
  } catch (e) {
    if (signal?.aborted) throw e;
    throw new ApiError(0, 'the server does not answer');
  }
  if (response.ok) return response;
  const after = Number(response.headers.get('Retry-After'));
  const answer = await response.json().catch(() => null);
  throw errorOf(response.status, answer, Number.isFinite(after) && after > 0 ? after : null);
}

export async function get(path: string, signal?: AbortSignal): Promise<unknown> {
  return (await request(path, null, signal)).json();
}

export async function post(path: string, body: string, signal?: AbortSignal): Promise<unknown> {
  return (await request(path, body, signal)).json();
}

/** Each event of a stream, parsed; an error object inside the stream is thrown, and so is a stream that just ends. */
export async function* stream(path: string, body: string, signal: AbortSignal): AsyncGenerator<Json> {
  const response = await request(path, body, signal);
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  const events = new EventReader();
  for (;;) {
    let piece: ReadableStreamReadResult<string>;
    try {
      piece = await reader.read();
    } catch (e) {
      if (signal.aborted) throw e;
      throw new ApiError(0, 'the connection broke');
    }
    if (piece.done) throw new ApiError(0, 'the stream ended too early');
    for (const data of events.push(piece.value)) {
      if (data === '[DONE]') return;
      const value = object(JSON.parse(data));
      if (value.error && !value.method) throw errorOf(0, value);
      yield value;
    }
  }
}
