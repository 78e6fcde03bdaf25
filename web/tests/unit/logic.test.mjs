// logic.test.mjs - rules of the page by hand-worked examples, then promises on seeded input, then refusals.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as page from '../../.work/unit/logic.js';

const random = (seed) => () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32;

test('Algorithm S3: square cells split along rows, the first half is the shorter', () => {
  assert.deepEqual(page.cellsOf({ r0: 0, r1: 5, c0: 0, c1: 5 }, 2), [
    { r0: 0, r1: 2, c0: 0, c1: 5 },
    { r0: 2, r1: 5, c0: 0, c1: 5 },
  ]);
  assert.deepEqual(page.cellsOf({ r0: 10, r1: 14, c0: 5, c1: 10 }, 2), [
    { r0: 10, r1: 14, c0: 5, c1: 7 },
    { r0: 10, r1: 14, c0: 7, c1: 10 },
  ]);
});

test('cells of any region are disjoint, cover it, and are as many as asked for', () => {
  const next = random(5);
  for (let k = 0; k < 200; k++) {
    const rows = 1 + Math.floor(next() * 9);
    const cols = 1 + Math.floor(next() * 9);
    const n = 1 + Math.floor(next() * rows * cols);
    const cells = page.cellsOf({ r0: 0, r1: rows, c0: 0, c1: cols }, n);
    assert.equal(cells.length, n);
    assert.equal(cells.reduce((sum, c) => sum + page.area(c), 0), rows * cols);
    assert.ok(page.owners(cells, rows, cols).every((o) => o >= 0));
  }
});

test("cells are those of the paper's goldens", () => {
  const { cases } = JSON.parse(readFileSync(new URL('../../../tests/data/goldens/algo/cells.json', import.meta.url)));
  assert.ok(cases.length > 1000);
  for (const c of cases) {
    const cells = page.cellsOf({ r0: 0, r1: c.h, c0: 0, c1: c.w }, c.b);
    assert.deepEqual(cells.flatMap((x) => [x.r0, x.r1, x.c0, x.c1]), c.cells);
  }
});

test('edge and centre shares of a full grid are those of the paper: .306 and .25 on 24x24', () => {
  const all = Array.from({ length: 576 }, (_, i) => i);
  const s = page.shares(all, 24, 24);
  assert.equal(s.edge.toFixed(3), '0.306');
  assert.equal(s.center, 0.25);
  const wide = page.shares(Array.from({ length: 540 }, (_, i) => i), 20, 27);
  assert.equal(wide.edge.toFixed(4), '0.3185');
  assert.equal(wide.center.toFixed(4), '0.2778');
});

test('difference counts both sides once', () => {
  assert.deepEqual(page.difference([1, 2, 3], [3, 4]), { onlyA: 2, onlyB: 1, both: 1, iou: 0.25 });
  assert.equal(page.difference([], []).iou, 1);
});

test('rank of a token in its cell: larger ERC first, ties to the lower index', () => {
  const choice = { rows: 2, cols: 2, erc: [1, 3, 3, 2], kept: null, regions: [], cells: [] };
  const cell = { r0: 0, r1: 2, c0: 0, c1: 2 };
  assert.deepEqual([0, 1, 2, 3].map((i) => page.rankInCell(choice, i, cell).rank), [4, 1, 2, 3]);
});

test('the cursor stays on the grid', () => {
  const keys = ['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight', 'Home', 'End', 'PageUp', 'PageDown'];
  const next = random(3);
  let at = 0;
  for (let i = 0; i < 2000; i++) {
    at = page.move(at, keys[Math.floor(next() * keys.length)], next() < 0.2, 7, 11);
    assert.ok(at >= 0 && at < 77);
  }
  assert.equal(page.move(12, 'Home', false, 7, 11), 11);
  assert.equal(page.move(12, 'End', true, 7, 11), 76);
  assert.equal(page.move(12, 'x', false, 7, 11), null);
});

test('events arrive whole however the text is cut', () => {
  const text = ': ping\n\ndata: {"a":1}\r\n\r\nevent: x\ndata: one\ndata: two\n\ndata: [DONE]\n\n';
  for (let cut = 0; cut <= text.length; cut++) {
    const reader = new page.EventReader();
    const got = [...reader.push(text.slice(0, cut)), ...reader.push(text.slice(cut))];
    assert.deepEqual(got, ['{"a":1}', 'one\ntwo', '[DONE]'], `cut at ${cut}`);
  }
  const reader = new page.EventReader();
  assert.deepEqual([...text].flatMap((c) => reader.push(c)), ['{"a":1}', 'one\ntwo', '[DONE]']);
});

test('a choice is read from both forms of the grid, with scores as a list or named', () => {
  const a = page.readChoice({ tokens: [2, 2], kept: [3, 0, 0, 9, -1, 'x'], regions: [{ r0: 0, r1: 2, c0: 0, c1: 2, var: 4, score: 1, budget: 2 }] });
  assert.deepEqual(a.kept, [0, 3]);
  assert.equal(a.cells.length, 2);
  const b = page.readChoice({ tokens_h: 2, tokens_w: 2, kept: [], scores: { name: 'erc', values: [1, 2, 3, 4] } });
  assert.deepEqual(b.erc, [1, 2, 3, 4]);
});

test('nonsense from the server is left out', () => {
  for (const v of [null, 1, 'x', [], {}, { tokens: [0, 5] }, { tokens: [1e9, 1e9] }, { tokens: [2.5, 2] }, { tokens: ['2', 2] }])
    assert.equal(page.readChoice(v), null);
  const c = page.readChoice({ tokens: [4, 4], regions: [{ r0: 0, r1: 9, c0: 0, c1: 2 }, { r0: 2, r1: 1, c0: 0, c1: 1 }, null], cells: [[0, 1], 'x'], scores: [1, 2] });
  assert.deepEqual([c.regions, c.cells, c.erc, c.kept], [[], [], null, null]);
  const cost = page.readCost({ usage: { prompt_tokens: 'many' }, timings: { vision_ms: Infinity } });
  assert.equal(cost.promptTokens, null);
  assert.equal(cost.visionMs, null);
});

test('methods of the server in the form it sends them', () => {
  const m = page.readMethods({ data: [{ name: 's2prune', source: 'S2Prune', after: [0], sees_question: false }, { name: 'fastv', sees_question: true }], allocators: ['laplacian'] });
  assert.deepEqual(m.methods.map((x) => [x.name, x.hasPlan, x.usesQuestion]), [['s2prune', true, false], ['fastv', false, true]]);
  assert.deepEqual(m.allocators, ['laplacian']);
});

test('a link holds every setting and comes back the same', () => {
  const link = {
    settings: { method: 's2prune', budget: 96, grid: 6, allocator: 'fft', selector: '', seed: 3, maxTokens: 64 },
    question: 'Is there a fork & <b>knife</b>?',
    example: '',
    hash: 'ab'.repeat(32),
    keep: [1, 5, 9],
    tab: 'compare',
  };
  const back = page.readLink(page.linkOf(link));
  assert.deepEqual(back, { ...link, settings: { method: 's2prune', budget: 96, grid: 6, allocator: 'fft', seed: 3, maxTokens: 64 } });
});

test('addresses that are out of range are left out', () => {
  const link = page.readLink('#budget=-4&grid=1e9&seed=x&method=<script>&sha256=zz&example=../../etc&keep=1.2.x&tab=evil&maxTokens=0');
  assert.deepEqual(link, { settings: {}, question: '', example: 'etc', hash: '', keep: null, tab: 'explore' });
});

test('the slider reaches every end, and a budget finds its place again', () => {
  for (const max of [1, 2, 64, 576, 729, 16384]) {
    assert.equal(page.budgetAt(0, max), 1);
    assert.equal(page.budgetAt(page.STEPS, max), max);
  }
  for (let p = 0; p <= page.STEPS; p++) {
    const b = page.budgetAt(p, 576);
    assert.equal(page.budgetAt(page.positionOf(b, 576), 576) <= b + 3, true);
  }
});

test('answers match without case, articles and punctuation, as whole words', () => {
  assert.ok(page.matches('Yes, there is a fork.', 'yes'));
  assert.ok(page.matches('The Blue-Star!', 'blue star'));
  assert.ok(!page.matches('eyes', 'yes'));
  assert.ok(!page.matches('anything', ''));
  assert.ok(page.matches('答案是 北京。', '北京'));
});

test('cards are ordered by answer, time or overlap; unfinished ones last', () => {
  const card = (answer, promptMs, kept) => ({ answer, cost: { promptMs }, choice: kept && { kept } });
  const a = card('no', 30, [1, 2]);
  const b = card('yes', 20, [1, 3]);
  const c = card('', 10, null);
  const d = card('yes', 40, [1, 2]);
  assert.deepEqual(page.ordered([a, b, c, d], 'answer', 'yes'), [b, d, a, c]);
  assert.deepEqual(page.ordered([a, b, c, d], 'time', ''), [b, a, d, c]);
  assert.deepEqual(page.ordered([a, b, c, d], 'overlap', ''), [a, d, b, c]);
  assert.deepEqual(page.ordered([a, b, c, d], 'added', ''), [a, b, c, d]);
});

test('best and second are found within a budget, without the full model; ties share', () => {
  const row = (method, budget, v) => ({ method, budget, values: [v], acc: v, rel: null });
  const rows = [row('full', '-', 94), row('a', '64', 88), row('b', '64', 76), row('c', '64', 54), row('a', '32', 82), row('b', '32', 82)];
  assert.deepEqual(page.medals(rows, (r) => r.values[0]), ['', 'best', 'second', '', 'best', 'best']);
});

test('a recorded run: curves, filters, frequency', () => {
  const run = page.readRun(JSON.parse(readFileSync(new URL('../mock/run.json', import.meta.url))));
  const lines = page.linesOf(run.tasks[0]);
  assert.deepEqual(lines.map((l) => l.name), ['full', 'uniform', 'random', 's2prune']);
  assert.ok(lines[0].level);
  assert.deepEqual(lines[3].points.map((p) => p.x), [32, 64]);
  const { samples } = run.samples[0];
  const a = run.columns.indexOf('s2prune/64');
  const b = run.columns.indexOf('random/64');
  const some = samples.filter((s) => page.passes(s, a, b, 'aOnly'));
  assert.ok(some.length > 0 && some.every((s) => s.answers[a].score > 0.5 && s.answers[b].score < 0.5));
  const f = page.frequency(samples, a);
  assert.equal(f.rows * f.cols, 576);
  assert.ok(Math.abs(f.share.reduce((x, y) => x + y, 0) - 64) < 1e-9);
  assert.equal(page.frequency(samples, run.columns.indexOf('full')), null);
});

test('ticks are round and inside', () => {
  assert.deepEqual(page.ticks(0, 100, 5), [0, 20, 40, 60, 80, 100]);
  for (const v of page.ticks(41.3, 96.2, 5)) assert.ok(v >= 41.3 && v <= 96.2);
});

test('pictures are known by their bytes', () => {
  const bytes = (...v) => new Uint8Array([...v, ...new Array(16).fill(0)]);
  assert.equal(page.sniff(bytes(0x89, 80, 78, 71, 13, 10, 26, 10)), 'image/png');
  assert.equal(page.sniff(bytes(0xff, 0xd8, 0xff)), 'image/jpeg');
  assert.equal(page.sniff(new TextEncoder().encode('RIFF1234WEBPVP8 ')), 'image/webp');
  assert.equal(page.sniff(new TextEncoder().encode('<svg onload=alert(1)>')), null);
  assert.equal(page.sniff(new Uint8Array()), null);
});

test('a request holds the picture once and the question as it was typed', () => {
  const picture = { dataUrl: 'data:image/png;base64,AAAA', name: 'x', width: 1, height: 1, hash: '', example: '' };
  const question = 'What is "@picture"? $& \\ \u2028';
  const body = JSON.parse(page.chatBody(picture, question, { ...page.state.settings, grid: 5, seed: 2 }, [1, 4]));
  assert.equal(body.messages[0].content[0].image_url.url, picture.dataUrl);
  assert.equal(body.messages[0].content[1].text, question);
  assert.deepEqual(body.prune.keep, [1, 4]);
  assert.equal(body.prune.grid, 5);
  assert.equal('budget' in page.pruneObject({ ...page.state.settings, method: 'full' }, null), false);
});

test('an exported drawing escapes its caption and holds one rectangle for each token', () => {
  const picture = { dataUrl: 'data:image/png;base64,AAAA', name: 'x', width: 40, height: 20, hash: '', example: '' };
  const choice = { rows: 2, cols: 4, kept: [1, 6], regions: [{ r0: 0, r1: 2, c0: 0, c1: 4, variance: 1, score: 1, budget: 2 }], cells: [], erc: null };
  const look = { kept: true, cells: true, regions: true, dim: 0.5, mode: 'dim' };
  const svg = page.svgOf(picture, choice, look, '<script>alert(1)</script> & "x"');
  assert.ok(!svg.includes('<script'));
  assert.equal(svg.match(/id="kept"[^>]*d="([^"]*)"/)[1].split('M').length - 1, 2);
  assert.equal(svg.match(/id="pruned"[^>]*d="([^"]*)"/)[1].split('M').length - 1, 6);
});

test('heat colours stay in range; one outlier does not flatten the others', () => {
  assert.equal(page.heatColor(-1, 1), page.heatColor(0, 1));
  assert.equal(page.heatColor(2, 1), page.heatColor(1, 1));
  const scale = page.spread([...Array(99).keys(), 1e9]);
  assert.ok(scale.at(50) > 0.4 && scale.at(50) < 0.6);
  assert.equal(page.spread([3, 3, 3]).at(3), 0.5);
});

test('both languages have every text, with the same places to fill in', () => {
  const { en, zh } = page.tables;
  assert.deepEqual(Object.keys(zh).sort(), Object.keys(en).sort());
  const holes = (s) => [...new Set(s.match(/\{\w+\}/g) ?? [])].sort();
  for (const key of Object.keys(en)) assert.deepEqual(holes(zh[key]), holes(en[key]), key);
  page.setLanguage('zh');
  assert.equal(page.t('queued', { n: 2 }), '您前面还有 2 个请求');
  page.setLanguage('en');
  assert.equal(page.t('linkWants', { hash: '$&{n}' }).includes('$&{n}'), true);
});

test('numbers of regions keep clear of numbered tokens', () => {
  // two regions of 4x4 tokens side by side; in the first the middle is kept, in the second everything
  const regions = [
    { r0: 0, r1: 4, c0: 0, c1: 4, budget: 4, variance: 1, score: 1 },
    { r0: 0, r1: 4, c0: 4, c1: 8, budget: 16, variance: 1, score: 1 },
  ];
  const kept = [9, 10, 17, 18];
  for (let r = 0; r < 4; r++) for (let c = 4; c < 8; c++) kept.push(r * 8 + c);
  const choice = { rows: 4, cols: 8, regions, cells: [], kept: kept.sort((a, b) => a - b), erc: null };
  assert.deepEqual(page.labelPlaces(choice, false), [{ row: 2, col: 2 }, { row: 2, col: 6 }]);
  const [first] = page.labelPlaces(choice, true);
  assert.ok(!kept.includes(Math.floor(first.row) * 8 + Math.floor(first.col)), JSON.stringify(first));
  assert.ok(first.row > 0 && first.row < 4 && first.col > 0 && first.col < 4);
});
