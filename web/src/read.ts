// read.ts - what the server sends becomes plain values; whatever does not fit is left out, never trusted.
import { cellsOf, type Choice, type Rect, type Region } from './geometry';

export type Json = Record<string, unknown>;

const MAX_TOKENS = 65536;

export const object = (v: unknown): Json => (v && typeof v === 'object' && !Array.isArray(v) ? (v as Json) : {});
export const list = (v: unknown): unknown[] => (Array.isArray(v) ? v : []);
export const text = (v: unknown, fallback = ''): string => (typeof v === 'string' ? v : fallback);
export const number = (v: unknown): number | null => (typeof v === 'number' && Number.isFinite(v) ? v : null);
const count = (v: unknown): number => {
  const n = number(v);
  return n !== null && Number.isInteger(n) && n >= 0 ? n : -1;
};

function rect(v: unknown, rows: number, cols: number): Rect | null {
  const a = list(v);
  const o = object(v);
  const [r0, r1, c0, c1] = a.length === 4 ? a.map(count) : [o.r0, o.r1, o.c0, o.c1].map(count);
  return r0 >= 0 && c0 >= 0 && r0 < r1 && c0 < c1 && r1 <= rows && c1 <= cols ? { r0, r1, c0, c1 } : null;
}

function regions(v: unknown, budgets: unknown[], rows: number, cols: number): Region[] {
  const out: Region[] = [];
  list(v).forEach((item, i) => {
    const r = rect(item, rows, cols);
    const o = object(item);
    if (!r) return;
    const own = count(o.budget);
    const budget = own >= 0 ? own : Math.max(0, count(budgets[i]));
    out.push({ ...r, variance: number(o.var), score: number(o.score) ?? number(o.weight), budget });
  });
  return out;
}

/** [rows, cols] of the token grid: "tokens": [h, w], or tokens_h and tokens_w. */
function grid(o: Json): [number, number] | null {
  const pair = list(o.tokens).map(count);
  const [rows, cols] = pair.length === 2 ? pair : [count(o.tokens_h), count(o.tokens_w)];
  return rows > 0 && cols > 0 && rows * cols <= MAX_TOKENS ? [rows, cols] : null;
}

/** One picture of a `prune` object, or a plan. */
export function readChoice(v: unknown): Choice | null {
  const o = object(v);
  const size = grid(o);
  if (!size) return null;
  const [rows, cols] = size;
  const found = regions(o.regions, list(o.budgets), rows, cols);
  let cells = list(o.cells)
    .map((c) => rect(c, rows, cols))
    .filter((c): c is Rect => c !== null);
  if (!cells.length) cells = found.flatMap((r) => (r.budget > 0 ? cellsOf(r, r.budget) : []));
  const n = rows * cols;
  const kept = Array.isArray(o.kept) ? [...new Set(o.kept.map(count).filter((i) => i >= 0 && i < n))] : null;
  kept?.sort((a, b) => a - b);
  const skipped = [...new Set(list(o.skipped).map(count).filter((i) => i >= 0 && i < n))];
  const given = o.scores ?? o.erc; // a list, or {"name": "erc", "values": [...]}
  const scores = list(object(given).values ?? given).map((s) => number(s) ?? 0);
  return { rows, cols, kept, regions: found, cells, erc: scores.length === n ? scores : null, skipped };
}

export interface Plan {
  choice: Choice;
  grid: number;
  budget: number;
  heterogeneity: number | null;
}

export function readPlan(v: unknown): Plan | null {
  const o = object(v);
  const choice = readChoice(o);
  return (
    choice && {
      choice,
      grid: number(o.grid) ?? Math.round(Math.sqrt(choice.regions.length)),
      budget: number(o.budget) ?? choice.cells.length,
      heterogeneity: number(o.heterogeneity),
    }
  );
}

/** Tokens, times and memory of an answer; null where the server does not say. */
export interface Cost {
  promptTokens: number | null;
  cachedTokens: number | null;
  imageTokens: number | null;
  imageTokensFull: number | null;
  towerTokens: number | null; // null: all of them entered the tower
  answerTokens: number | null;
  imageMs: number | null;
  visionMs: number | null;
  promptMs: number | null;
  answerMs: number | null;
  perSecond: number | null;
  kvBytes: number | null;
  kvBytesFull: number | null;
  flops: number | null;
}

export function readCost(v: unknown): Cost {
  const o = object(v);
  const usage = object(o.usage);
  const details = object(usage.prompt_tokens_details);
  const timings = object(o.timings);
  const prune = object(o.prune);
  const kv = object(prune.kv ?? o.kv);
  return {
    promptTokens: number(usage.prompt_tokens),
    cachedTokens: number(details.cached_tokens ?? usage.cached_tokens),
    imageTokens: number(details.image_tokens ?? usage.image_tokens),
    imageTokensFull: number(details.image_tokens_full ?? usage.image_tokens_full),
    towerTokens: number(prune.tower_tokens),
    answerTokens: number(usage.completion_tokens),
    imageMs: number(timings.image_ms),
    visionMs: number(timings.vision_ms),
    promptMs: number(timings.prompt_ms),
    answerMs: number(timings.predicted_ms),
    perSecond: number(timings.predicted_per_second),
    kvBytes: number(prune.kv_bytes ?? kv.total_bytes),
    kvBytesFull: number(prune.kv_bytes_full ?? kv.total_bytes_full),
    flops: number(prune.flops ?? o.flops),
  };
}

export interface Method {
  name: string;
  source: string;
  after: string;
  usesQuestion: boolean;
  merges: boolean;
  hasPlan: boolean; // its cells are known without the model
}

export interface Methods {
  methods: Method[];
  allocators: string[];
  selectors: string[];
}

const names = (v: unknown): string[] =>
  list(v)
    .map((x) => (typeof x === 'string' ? x : text(object(x).name)))
    .filter(Boolean);

/** What a field of `prune` may be: {"fields": {"allocator": {"values": [...]}}}, or a list beside the methods. */
function choices(o: Json, name: string): string[] {
  const of = object(object(o.fields ?? o.parameters)[name]);
  return names(o[`${name}s`] ?? of.values ?? of.choices ?? of.enum);
}

export function readMethods(v: unknown): Methods {
  const o = object(v);
  const methods = list(o.methods ?? o.data).map((item): Method => {
    const m = typeof item === 'string' ? { name: item } : object(item);
    const after = list(m.after).filter((x) => number(x) !== null);
    return {
      name: text(m.name ?? m.id),
      source: text(m.source),
      after: text(m.after) || text(m.prunes) || after.join(', '),
      usesQuestion: Boolean(m.question ?? m.sees_question),
      merges: Boolean(m.merges),
      hasPlan: Boolean(m.plan ?? text(m.name ?? m.id) === 's2prune'),
    };
  });
  return {
    methods: methods.filter((m) => m.name),
    allocators: choices(o, 'allocator'),
    selectors: choices(o, 'selector'),
  };
}
