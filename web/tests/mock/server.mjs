// server.mjs - answers the routes the page uses, with made-up numbers in the true form. `fault` makes states that a
// healthy server seldom shows. Started by the tests, or by hand: node tests/mock/server.mjs 8090
import { createServer } from 'node:http';
import { readFileSync, readdirSync, existsSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const dist = join(here, '../../dist');
export const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
const types = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' };

/* --- a model that only looks like one ----------------------------------------------------------------- */

const random = (seed) => () => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return seed / 2 ** 32;
};
const hash = (text) => [...text].reduce((h, c) => (Math.imul(h, 31) + c.charCodeAt(0)) >>> 0, 7);

function planOf(budget, side, [rows, cols]) {
  const k = side || Math.max(1, Math.round((2 * Math.sqrt(budget)) / 3));
  const edge = (i, n) => Math.round((i * n) / k);
  const regions = [];
  for (let r = 0; r < k; r++)
    for (let c = 0; c < k; c++) {
      const d = Math.hypot((r + 0.5) / k - 0.62, (c + 0.5) / k - 0.6);
      const score = Math.exp(-8 * d * d);
      regions.push({ r0: edge(r, rows), r1: edge(r + 1, rows), c0: edge(c, cols), c1: edge(c + 1, cols), var: 3 + 900 * score, score, budget: 1 });
    }
  const total = regions.reduce((s, g) => s + g.score, 0);
  let left = budget - regions.length;
  const size = (g) => (g.r1 - g.r0) * (g.c1 - g.c0);
  for (const g of regions) {
    const more = Math.min(size(g) - 1, Math.floor((g.score / total) * left));
    g.budget += more;
  }
  left = budget - regions.reduce((s, g) => s + g.budget, 0);
  while (left > 0) for (const g of regions) if (left > 0 && g.budget < size(g)) (g.budget++, left--);
  const cells = regions.flatMap((g) => cut(g, g.budget));
  return { schema: 's2prune.plan/1', tokens: [rows, cols], grid: k, budget, regions, cells, heterogeneity: 1.2 };
}

function cut(g, n) {
  const cells = [[g.r0, g.r1, g.c0, g.c1]];
  while (cells.length < n) {
    const areas = cells.map(([a, b, c, d]) => (b - a) * (d - c));
    const at = areas.indexOf(Math.max(...areas));
    const [r0, r1, c0, c1] = cells[at];
    const down = r1 - r0 >= c1 - c0;
    const m = down ? r0 + ((r1 - r0) >> 1) : c0 + ((c1 - c0) >> 1);
    cells.splice(at, 1, down ? [r0, m, c0, c1] : [r0, r1, c0, m], down ? [m, r1, c0, c1] : [r0, r1, m, c1]);
  }
  return cells;
}

function choiceOf(prune, grid) {
  const [rows, cols] = grid;
  const n = rows * cols;
  const budget = prune.method === 'full' ? n : Math.min(n, prune.budget ?? 64);
  const next = random(hash(prune.method ?? 's2prune') + budget);
  const values = Array.from({ length: n }, () => +(1 + 4 * next()).toFixed(4));
  const plan = planOf(budget, prune.grid ?? 0, grid);
  let kept;
  if (prune.keep) kept = prune.keep;
  else if (prune.method === 'full') kept = values.map((_, i) => i);
  else if ((prune.method ?? 's2prune') === 's2prune')
    kept = plan.cells.map(([r0, r1, c0, c1]) => {
      let best = r0 * cols + c0;
      for (let r = r0; r < r1; r++) for (let c = c0; c < c1; c++) if (values[r * cols + c] > values[best]) best = r * cols + c;
      return best;
    });
  else kept = values.map((v, i) => [v, i]).sort((a, b) => b[0] - a[0]).slice(0, budget).map(([, i]) => i);
  kept = [...kept].sort((a, b) => a - b);
  const s2 = (prune.method ?? 's2prune') === 's2prune';
  return {
    tokens_h: rows,
    tokens_w: cols,
    grid: s2 ? plan.grid : 0,
    n_kept: kept.length,
    kept,
    ...(s2 ? { regions: plan.regions, cells: plan.cells, scores: { name: 'erc', values } } : {}),
    edge_share: 0.31,
    center_share: 0.27,
  };
}

function resultOf(prune, cached, grid) {
  const image = choiceOf(prune, grid);
  const n = grid[0] * grid[1];
  const prompt = image.n_kept + 31;
  return {
    finish_reason: 'stop',
    usage: {
      prompt_tokens: prompt,
      completion_tokens: 3,
      total_tokens: prompt + 3,
      prompt_tokens_details: { cached_tokens: cached ? image.n_kept + 14 : 0, image_tokens: image.n_kept, image_tokens_full: n },
    },
    timings: { image_ms: 11.2, vision_ms: 2140, prompt_n: prompt, prompt_ms: 300 + 2.7 * image.n_kept, predicted_n: 3, predicted_ms: 160, predicted_per_second: 12.5 },
    prune: { method: prune.method ?? 's2prune', budget: image.n_kept, grid: image.grid, layer: 1, images: [image], kv_bytes: image.n_kept * 57344, flops: 1.596e12 },
  };
}

/* --- the server ----------------------------------------------------------------------------------------- */

export async function startMock({ port = 0, grid = [24, 24], delay = 15 } = {}) {
  const mock = { fault: '', words: 'Yes, there is a fork.', seen: new Set(), requests: [], delay, runs: true, cancelled: 0, grid };
  const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
  const sockets = new Set();

  const server = createServer(async (req, res) => {
    const url = new URL(req.url, 'http://x');
    const pieces = [];
    for await (const piece of req) pieces.push(piece);
    const body = Buffer.concat(pieces).toString();
    const json = (value, status = 200, headers = {}) => {
      res.writeHead(status, { 'Content-Type': 'application/json', ...headers });
      res.end(JSON.stringify(value));
    };
    const refuse = (status, message, type, headers) => json({ error: { message, type, code: status } }, status, headers);
    const send = (value) => res.write(`data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`);

    if (url.pathname === '/health')
      return mock.fault === 'loading'
        ? json({ error: { message: 'the model is being loaded', type: 'unavailable_error', code: 503 }, progress: 0.4 }, 503, { 'Retry-After': '1' })
        : json({ status: 'ok' });
    if (req.method === 'GET' && !url.pathname.startsWith('/v1') && url.pathname !== '/props') {
      const file = url.pathname === '/' ? '/index.html' : url.pathname;
      if (!/^\/[\w./-]+$/.test(file) || file.includes('..') || !existsSync(join(dist, file))) return refuse(404, 'no such page', 'not_found_error');
      res.writeHead(200, { 'Content-Type': types[extname(file)] ?? 'application/octet-stream', 'Content-Security-Policy': POLICY, 'X-Content-Type-Options': 'nosniff' });
      return res.end(readFileSync(join(dist, file)));
    }
    if (mock.fault === 'key' && req.headers.authorization !== 'Bearer secret') return refuse(401, 'missing or wrong key', 'authentication_error');
    mock.requests.push({ path: url.pathname, body: body.length < 400000 ? body.replace(/data:image[^"]*/g, 'data:') : '' });
    if (mock.requests.length > 500) mock.requests.shift();
    if (url.pathname === '/v1/models') return json({ object: 'list', data: mock.fault === 'no-model' ? [] : [{ id: 's2prune-tiny', object: 'model' }] });
    if (url.pathname === '/props') return json({ build_info: '1.0.0', ...(mock.imagePixels ? { limits: { image_pixels: mock.imagePixels } } : {}) });
    if (url.pathname === '/v1/prune/methods')
      return json({
        object: 'list',
        default: { method: 's2prune', budget: '64', grid: 0 },
        data: ['full', 'random', 'uniform', 's2prune', 'fastv', 'visionzip', 'divprune'].map((name) => ({
          name,
          source: name === 's2prune' ? 'S2Prune' : name === 'fastv' ? 'FastV, ECCV 2024' : mock.methodSource ?? 'a paper',
          after: [0],
          sees_question: name === 'fastv',
          merges: false,
          parameters: [],
        })),
        allocators: ['laplacian', 'uniform', 'random', 'fft', 'erank'],
        selectors: ['erc', 'random', 'norm', 'centre'],
      });
    if (url.pathname === '/v1/prune/plan') {
      const ask = JSON.parse(body);
      const [rows, cols] = ask.tokens ?? mock.grid;
      const budget = ask.prune.budget === '100%' ? rows * cols : ask.prune.budget;
      const side = ask.prune.grid ?? 0;
      if (budget > rows * cols)
        return refuse(400, `a budget of ${budget} does not fit 1x1 regions of ${rows * cols} tokens`, 'invalid_request_error');
      if (side * side > budget)
        return refuse(400, `a budget of ${budget} does not fit ${side * side} regions: every region keeps one token or more`, 'invalid_request_error');
      return json(planOf(budget, side, ask.tokens ?? mock.grid));
    }
    if (url.pathname === '/v1/chat/completions') return chat(JSON.parse(body));
    if (url.pathname === '/v1/prune/compare') return compare(JSON.parse(body));
    if (url.pathname === '/v1/eval/runs') return json({ object: 'list', data: mock.runs ? [{ id: 'synth-demo', model: 's2prune-tiny-f16.gguf', tasks: ['synth'] }] : [] });
    if (url.pathname.startsWith('/v1/eval/runs/')) return json(mock.run ?? JSON.parse(readFileSync(join(here, 'run.json'))));
    return refuse(404, 'unknown path', 'not_found_error');

    /** Whether the fault of the moment has answered the request. */
    function fails() {
      if (mock.fault === '413') refuse(413, 'the body is 40.1 MiB; the limit is 32 MiB (--max-body)', 'invalid_request_error');
      else if (mock.fault === '429') {
        mock.fault = '';
        refuse(429, 'the queue is full', 'rate_limit_error', { 'Retry-After': '4' });
      } else if (mock.fault === '500') refuse(500, mock.sentence ?? 'something is wrong on our side (id 7f3a)', 'server_error');
      else return false;
      return true;
    }

    async function chat(ask) {
      if (fails()) return;
      res.on('close', () => res.writableFinished || mock.cancelled++);
      res.writeHead(200, { 'Content-Type': 'text/event-stream' });
      const chunk = (more) => send({ id: 'chatcmpl-1', object: 'chat.completion.chunk', model: 's2prune-tiny', choices: [], ...more });
      const content = ask.messages[0].content;
      const picture = hash(content.find((c) => c.type === 'image_url').image_url.url.slice(0, 20000)) + JSON.stringify(ask.prune.keep ?? ask.prune.method + ask.prune.budget);
      const result = resultOf(ask.prune, mock.seen.has(picture), mock.grid);
      mock.seen.add(picture);
      if (mock.fault === 'queue') {
        chunk({ prompt_progress: { stage: 'queued', ahead: 2, done: 0, total: 2 } });
        while (mock.fault === 'queue' && !res.destroyed) await sleep(50);
      }
      res.write(': ping\n\n');
      for (const stage of ['decode', 'vision', 'layer0', 'prefill'])
        for (const done of [0, 1]) {
          chunk({ prompt_progress: { stage, done, total: 1 } });
          if (stage === 'prefill' && done === 0) chunk({ prune: result.prune });
          await sleep(mock.fault === 'slow' ? 400 : mock.delay);
          if (res.destroyed) return;
        }
      chunk({ choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] });
      for (const word of mock.words.split(/(?<= )/)) {
        chunk({ choices: [{ index: 0, delta: { content: word } }] });
        await sleep(mock.delay);
        if (mock.fault === 'stream-error') {
          send({ error: { message: 'the engine was restarted', type: 'server_error', code: 500 } });
          return res.end();
        }
      }
      chunk({ choices: [{ index: 0, delta: {}, finish_reason: result.finish_reason }] });
      chunk({ usage: result.usage, timings: result.timings, prune: result.prune });
      send('[DONE]');
      res.end();
    }

    /** The tower runs for the first of a comparison only. */
    function timed(result, index) {
      if (mock.cachedVision && index > 0) result.timings.vision_ms = 0.02;
      return result;
    }

    async function compare(ask) {
      if (fails()) return;
      res.writeHead(200, { 'Content-Type': 'text/event-stream' });
      for (let index = 0; index < ask.settings.length; index++) {
        const entry = ask.settings[index];
        const name = { index, method: entry.method, budget: String(entry.budget ?? 'full') };
        send({ ...name, state: 'running', progress: 0.4 });
        await sleep(mock.fault === 'slow' ? 500 : mock.delay);
        if (mock.fault === 'one-fails' && index === 1) send({ ...name, state: 'error', error: 'fastv needs the attention of layer 1, which this model does not give' });
        else send({ ...name, state: 'done', answer: index % 2 ? 'No' : mock.words, ...timed(resultOf(entry, false, mock.grid), index) });
      }
      send({ state: 'summary', iou: [] });
      send('[DONE]');
      res.end();
    }
  });
  server.on('connection', (s) => {
    sockets.add(s);
    s.on('close', () => sockets.delete(s));
  });
  const listen = (p) => new Promise((done) => server.listen(p, '127.0.0.1', done));
  await listen(port);
  const own = server.address().port;
  return Object.assign(mock, {
    port: own,
    url: `http://127.0.0.1:${own}/`,
    files: () => readdirSync(dist, { recursive: true }),
    stop: async () => {
      const closed = new Promise((done) => server.close(done));
      for (const s of sockets) s.destroy();
      await closed;
    },
    restart: () => listen(own),
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const mock = await startMock({ port: Number(process.argv[2] ?? 8090), delay: 120 });
  console.log(mock.url);
}
