// state.ts - what the page knows, and who wants to hear of changes.
import type { Choice } from './geometry';
import type { Cost, Json, Methods, Plan } from './read';

export type BoxKind = 'keep' | 'drop' | 'blank';

/** A part of the picture, in percent of its width and height. */
export interface Mark {
  kind: BoxKind;
  x: number;
  y: number;
  w: number;
  h: number;
}

export interface Settings {
  method: string;
  budget: number;
  grid: number; // 0: by the budget
  allocator: string; // '': the server's default
  selector: string;
  before: string; // '': the server's default; 'none', 'pixelprune', 'pixelprune:0.01'
  seed: number;
  maxTokens: number;
  marks?: Mark[]; // of this picture
}

/** The picture as it came: its bytes go to the server untouched. */
export interface Picture {
  name: string;
  dataUrl: string;
  bitmap: ImageBitmap;
  width: number;
  height: number;
  hash: string; // SHA-256 of the bytes; '' where the browser cannot say
  example: string; // name of a built-in one, or ''
}

/** One question and what came of it. */
export interface Run {
  question: string;
  settings: Settings;
  keep: number[] | null; // a set edited by hand
  picture: Picture;
  request: string; // what it was asked with: see requestKey()
  model: string;
  answer: string;
  finish: string;
  choice: Choice | null;
  tiles: Choice | null; // a second grid over the same picture, of models that see it in tiles too
  cost: Cost | null;
  raw: Json; // the prune object as sent, for the JSON export
  edge: number | null;
  center: number | null;
}

export type Server = 'connecting' | 'ready' | 'loading' | 'no-model' | 'lost';

export const state = {
  server: 'connecting' as Server,
  model: '',
  version: '',
  isBundled: false, // the small model that comes with the program answers
  methods: { methods: [], allocators: [], selectors: [] } as Methods,
  picture: null as Picture | null,
  question: '',
  settings: {
    method: 's2prune',
    budget: 64,
    grid: 0,
    allocator: '',
    selector: '',
    before: '',
    seed: 0,
    maxTokens: 128,
  } as Settings,
  plan: null as Plan | null,
  planError: '',
  run: null as Run | null, // the last good one for this picture
  history: [] as Run[],
  edit: null as Set<number> | null, // tokens chosen by hand
  imagePixels: 1 << 25, // of the largest picture the server takes
  wantedHash: '', // the picture a link speaks of
};

export type Topic =
  | 'server' // connection, model, methods
  | 'picture'
  | 'settings' // method, budget, grid, question...
  | 'plan'
  | 'run'
  | 'edit'
  | 'language';

const listeners = new Map<Topic, (() => void)[]>();

export function on(topics: Topic[], listener: () => void): void {
  for (const topic of topics) listeners.set(topic, [...(listeners.get(topic) ?? []), listener]);
}

export function emit(...topics: Topic[]): void {
  const called = new Set<() => void>();
  for (const topic of topics)
    for (const listener of listeners.get(topic) ?? [])
      if (!called.has(listener)) {
        called.add(listener);
        listener();
      }
}

/** Equal for two requests that must give the same answer. */
export function requestKey(): string {
  const { picture, question, settings, edit } = state;
  return JSON.stringify([picture?.name, picture?.hash, question.trim(), settings, edit && [...edit].sort((a, b) => a - b)]);
}

/** Visual tokens before pruning, as far as known. */
export function tokenCount(): number {
  const choice = state.run?.choice ?? state.plan?.choice;
  const tiles = state.run?.tiles;
  return choice ? choice.rows * choice.cols + (tiles ? tiles.rows * tiles.cols : 0) : 576;
}
