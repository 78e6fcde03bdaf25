// connection.ts - is the server there, is its model, what can it do. Finds it again by itself.
import { ApiError, get } from './api';
import { list, number, object, readMethods, text } from './read';
import { emit, state, type Server } from './state';

const WAITS = [1, 2, 4, 8]; // seconds between attempts
const QUIET = 20; // seconds between looks at a server that is well

let timer = 0;
let failures = 0;

export const connection = {
  /** Seconds until the next attempt, and how far a model that is being loaded is (0..1, null: not said). */
  nextAt: 0,
  progress: null as number | null,
  needsKey: () => {}, // the key box opens
};

function become(server: Server): void {
  if (state.server === server) return;
  state.server = server;
  emit('server');
}

function again(seconds: number): void {
  clearTimeout(timer);
  connection.nextAt = Date.now() + seconds * 1000;
  timer = window.setTimeout(() => void check(), seconds * 1000);
}

/** Model and methods; asked once after each (re)connection. */
async function learn(): Promise<void> {
  try {
    const [models, methods, props] = await Promise.all([
      get('/v1/models').catch((e) => (e instanceof ApiError && e.status === 503 ? {} : Promise.reject(e))),
      get('/v1/prune/methods'),
      get('/props').catch(() => ({})),
    ]);
    const first = object(list(object(models).data)[0]);
    state.model = text(first.id);
    state.methods = readMethods(methods);
    state.version = text(object(props).build_info) || text(object(props).version);
    state.imagePixels = number(object(object(props).limits).image_pixels) ?? state.imagePixels;
    state.isBundled = object(object(props).model).is_bundled === true;
    if (state.methods.methods.length && !state.methods.methods.some((m) => m.name === state.settings.method))
      state.settings.method = state.methods.methods[0].name;
    state.server = state.model ? 'ready' : 'no-model';
    emit('server', 'settings');
  } catch (e) {
    if (e instanceof ApiError && e.status === 401) {
      become('ready');
      connection.needsKey();
    } else lost();
  }
}

async function check(): Promise<void> {
  try {
    await get('/health');
    failures = 0;
    if (state.server !== 'ready' && state.server !== 'no-model') await learn();
    again(QUIET);
  } catch (e) {
    if (e instanceof ApiError && e.status === 503) {
      connection.progress = number(object(e.details).progress);
      failures = 0;
      if (!state.methods.methods.length) state.methods = readMethods(await get('/v1/prune/methods').catch(() => ({})));
      become('loading');
      emit('server');
      again(1);
    } else lost();
  }
}

/** Called by whoever finds nobody at the other end. */
export function lost(): void {
  again(WAITS[Math.min(failures++, WAITS.length - 1)]);
  state.server = 'lost';
  emit('server');
}

/** Look now: at the start, after a new key, when the user asks. */
export function connect(): void {
  clearTimeout(timer);
  if (state.server === 'ready') state.server = 'connecting';
  void check();
}
