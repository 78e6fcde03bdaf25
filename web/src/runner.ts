// runner.ts - ask the model, stage by stage; keep the plan of the picture fresh.
import { ApiError, post, stream } from './api';
import { connection, lost } from './connection';
import { list, number, object, readChoice, readCost, readPlan, text, type Json, type Plan } from './read';
import { chatBody, planBody } from './requests';
import { emit, requestKey, state, type Picture, type Run, type Settings } from './state';

export const stages = ['decode', 'vision', 'layer0', 'prune', 'prefill', 'answer'] as const;
export type StageName = (typeof stages)[number];

/** The run under way, if there is one, and the last failure. */
export const runner = {
  current: null as Run | null,
  stage: 'decode' as StageName | 'queued',
  share: null as number | null, // of the stage
  ahead: 0, // requests before ours
  startedAt: 0,
  error: null as ApiError | null,
  retryAt: 0, // a full queue: when the next attempt starts
};

let abort: AbortController | null = null;
let retry = 0;

function readProgress(v: unknown): void {
  const p = object(v);
  const stage = text(p.stage);
  const done = number(p.done);
  const total = number(p.total);
  if (stage === 'queued') {
    runner.stage = 'queued';
    runner.ahead = number(p.ahead) ?? total ?? 0;
  } else if ((stages as readonly string[]).includes(stage)) runner.stage = stage as StageName;
  runner.share = done !== null && total ? Math.min(1, done / total) : null;
}

function readPrune(run: Run, v: unknown): void {
  const prune = object(v);
  const image = object(list(prune.images)[0]);
  run.raw = prune;
  run.choice = readChoice(image) ?? run.choice;
  run.tiles = readChoice(image.tiles);
  run.edge = number(image.edge_share);
  run.center = number(image.center_share);
}

function readChunk(run: Run, chunk: Json): void {
  if (chunk.prompt_progress) readProgress(chunk.prompt_progress);
  if (chunk.prune) readPrune(run, chunk.prune);
  const choice = object(list(chunk.choices)[0]);
  const piece = text(object(choice.delta).content);
  if (piece) {
    runner.stage = 'answer';
    run.answer += piece;
  }
  if (choice.finish_reason) run.finish = text(choice.finish_reason);
  if (chunk.usage) run.cost = readCost(chunk);
  if (text(chunk.model)) run.model = text(chunk.model);
}

export function cancel(): void {
  clearTimeout(retry);
  runner.retryAt = 0;
  abort?.abort();
  if (!runner.current) emit('run');
}

export async function ask(): Promise<void> {
  const { picture, question, settings, edit } = state;
  if (!picture || runner.current) return;
  clearTimeout(retry);
  const keep = edit ? [...edit].sort((a, b) => a - b) : null;
  const run: Run = {
    question: question.trim(),
    settings: { ...settings },
    keep,
    picture,
    request: requestKey(),
    model: state.model,
    answer: '',
    finish: '',
    choice: null,
    tiles: null,
    cost: null,
    raw: {},
    edge: null,
    center: null,
  };
  Object.assign(runner, { current: run, stage: 'decode', share: null, startedAt: Date.now(), error: null, retryAt: 0 });
  abort = new AbortController();
  emit('run');
  try {
    for await (const chunk of stream('/v1/chat/completions', chatBody(picture, run.question, settings, keep), abort.signal)) {
      readChunk(run, chunk);
      emit('run');
    }
    if (state.picture === picture) {
      state.run = run;
      state.history = [run, ...state.history].slice(0, 20);
    }
  } catch (e) {
    if (!abort.signal.aborted) fail(e);
  }
  runner.current = null;
  abort = null;
  emit('run');
}

function fail(e: unknown): void {
  const error = e instanceof ApiError ? e : new ApiError(500, e instanceof Error ? e.message : String(e));
  runner.error = error;
  if (error.status === 0) lost();
  if (error.status === 401) connection.needsKey();
  if (error.status === 429) {
    const seconds = Math.min(120, error.retryAfter ?? 5);
    runner.retryAt = Date.now() + seconds * 1000;
    retry = window.setTimeout(() => void ask(), seconds * 1000);
  }
}

/* --- the plan: one request at a time, always for the newest settings ------------------------------- */

let planning = false;
let outdated = false;
let planned = { picture: null as Picture | null, wish: '' }; // what state.plan is for

/** All that a plan depends on but the picture: typing a question asks for no new one. */
const planWish = (): string => {
  const { budget, grid, allocator, before, marks } = state.settings;
  return JSON.stringify([budget, grid, allocator, before, marks]);
};

/** Whether the cells of the chosen method are known without a model. */
export const hasPlan = (): boolean =>
  state.methods.methods.find((m) => m.name === state.settings.method)?.hasPlan ?? state.settings.method === 's2prune';

/** The plan; of a picture with fewer tokens than the budget, the plan that keeps them all. */
async function planOf(picture: Picture, settings: Settings): Promise<Plan | null> {
  try {
    return readPlan(await post('/v1/prune/plan', planBody(picture, settings)));
  } catch (e) {
    if (!(e instanceof ApiError) || e.status !== 400) throw e;
    const whole = await post('/v1/prune/plan', planBody(picture, settings, '100%')).then(readPlan, () => null);
    if (whole && whole.choice.rows * whole.choice.cols < settings.budget) return whole;
    throw e;
  }
}

export async function refreshPlan(): Promise<void> {
  if (planning) {
    outdated = true;
    return;
  }
  planning = true;
  do {
    outdated = false;
    const { picture, settings } = state;
    const wish = planWish();
    if (!picture || !hasPlan() || state.server === 'lost') break;
    if (planned.picture === picture && planned.wish === wish) {
      if (state.planError) {
        state.planError = '';
        emit('plan');
      }
      break;
    }
    try {
      const plan = await planOf(picture, settings);
      if (state.picture !== picture) continue;
      state.plan = plan;
      state.planError = '';
      planned = { picture, wish };
    } catch (e) {
      if (!(e instanceof ApiError)) throw e;
      if (e.status === 0) lost();
      else if (e.status === 401) connection.needsKey();
      else if (e.status !== 503) state.planError = e.message; // 503: it is asked again when the server is ready
    }
    emit('plan');
  } while (outdated);
  planning = false;
}
