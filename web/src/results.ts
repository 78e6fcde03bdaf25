// results.ts - runs the server finds in its results folder: curves, tables, answers one by one.
import { ApiError, get } from './api';
import { curves, type Line } from './chart';
import { errorCard } from './controls';
import { connection, lost } from './connection';
import { fill, h } from './dom';
import { defaultLook, heatColor } from './overlay';
import { list, number, object, text, type Json } from './read';
import { Stage } from './stage';
import { on, state, type Picture } from './state';
import { t, type Key } from './strings';

/* --- what a run holds ------------------------------------------------------------------------------ */

export interface Result {
  method: string;
  budget: string; // as the run wrote it: "64", "11%", "-" for all
  tokens: number | null;
  score: number;
  low: number | null;
  high: number | null;
}

export interface Task {
  name: string;
  title: string;
  samples: number;
  results: Result[];
}

export interface Row {
  method: string;
  budget: string;
  values: (number | null)[]; // by task
  acc: number | null;
  rel: number | null;
}

export interface Answer {
  text: string;
  score: number | null;
  kept: number[] | null;
  failure: string;
}

export interface Sample {
  id: string;
  question: string;
  gold: string[];
  categories: string[];
  picture: number;
  grid: [number, number] | null;
  answers: Answer[]; // by column
}

export interface RunResults {
  model: string;
  tasks: Task[];
  rows: Row[];
  columns: string[];
  pictures: string[];
  samples: { title: string; of: number; samples: Sample[] }[];
}

function readSample(v: unknown, keptLists: unknown[]): Sample {
  const o = object(v);
  const [rows, cols] = list(list(o.g)[0]).map((x) => number(x) ?? 0);
  return {
    id: text(o.id),
    question: text(o.q),
    gold: list(o.gold).map((x) => text(x)),
    categories: list(o.cat).map((x) => text(x)),
    picture: number(list(o.p)[0]) ?? -1,
    grid: rows > 0 && cols > 0 && rows * cols <= 65536 ? [rows, cols] : null,
    answers: list(o.a).map((a): Answer => {
      const [words, score, at, failure] = list(a);
      const kept = keptLists[number(at) ?? -1];
      const first = Array.isArray(kept) && Array.isArray(kept[0]) ? kept[0] : kept; // a list for each picture
      return {
        text: text(words),
        score: number(score),
        kept: Array.isArray(first) ? first.filter((x): x is number => number(x) !== null) : null,
        failure: text(failure),
      };
    }),
  };
}

/** Summary and samples of one run. */
export function readRun(v: unknown): RunResults {
  const o = object(v);
  const summary = object(o.summary ?? o);
  const browser = object(o.browser ?? o.samples);
  const tasks = list(summary.tasks).map((item): Task => {
    const k = object(item);
    return {
      name: text(k.task),
      title: text(k.title) || text(k.task),
      samples: number(k.samples) ?? 0,
      results: list(k.results).flatMap((r): Result[] => {
        const q = object(r);
        const mean = object(q.mean_score);
        const score = number(mean.value);
        return score === null
          ? []
          : [
              {
                method: text(q.method),
                budget: text(q.budget),
                tokens: number(q.image_tokens),
                score,
                low: number(mean.low),
                high: number(mean.high),
              },
            ];
      }),
    };
  });
  const keptLists = list(browser.kept);
  return {
    model: text(summary.model),
    tasks,
    rows: list(summary.table).map((item): Row => {
      const r = object(item);
      const values = object(r.values);
      return {
        method: text(r.method),
        budget: text(r.budget),
        values: tasks.map((k) => number(values[k.name])),
        acc: number(r.acc),
        rel: number(r.rel),
      };
    }),
    columns: list(browser.columns).map((c) => text(c)),
    pictures: list(browser.pictures).map((p) => text(p)),
    samples: list(browser.tasks).map((k) => ({
      title: text(object(k).title),
      of: number(object(k).of) ?? 0,
      samples: list(object(k).samples).map((x) => readSample(x, keptLists)),
    })),
  };
}

/** Best and second best of a column among rows of the same budget; `full` does not compete. */
export function medals(rows: Row[], value: (r: Row) => number | null): ('best' | 'second' | '')[] {
  return rows.map((row) => {
    const own = value(row);
    if (own === null || row.method === 'full') return '';
    const rivals = rows.filter((r) => r.budget === row.budget && r.method !== 'full' && value(r) !== null);
    if (rivals.length < 2) return '';
    const better = new Set(rivals.map((r) => value(r)!).filter((v) => v > own)).size;
    return better === 0 ? 'best' : better === 1 ? 'second' : '';
  });
}

export function linesOf(task: Task): Line[] {
  const methods = [...new Set(task.results.map((r) => r.method))];
  return methods.map((name): Line => {
    const points = task.results
      .filter((r) => r.method === name)
      .map((r) => ({ x: r.tokens ?? Number.parseFloat(r.budget), y: r.score, low: r.low, high: r.high }))
      .filter((p) => Number.isFinite(p.x))
      .sort((a, b) => a.x - b.x);
    return { name, points, level: name === 'full' };
  }).filter((l) => l.points.length);
}

export type Filter = 'all' | 'aOnly' | 'bOnly' | 'bothWrong' | 'differ';

export function passes(sample: Sample, a: number, b: number, filter: Filter): boolean {
  const right = (i: number) => (sample.answers[i]?.score ?? 0) >= 0.5;
  switch (filter) {
    case 'aOnly':
      return right(a) && !right(b);
    case 'bOnly':
      return !right(a) && right(b);
    case 'bothWrong':
      return !right(a) && !right(b);
    case 'differ':
      return sample.answers[a]?.text !== sample.answers[b]?.text;
    default:
      return true;
  }
}

/** How often each place of the grid was kept, over the samples of one column; null when grids differ. */
export function frequency(samples: Sample[], column: number): { rows: number; cols: number; share: number[] } | null {
  let size: [number, number] | null = null;
  let n = 0;
  let share: number[] = [];
  for (const sample of samples) {
    const kept = sample.answers[column]?.kept;
    if (!kept || !sample.grid) continue;
    if (!size) {
      size = sample.grid;
      share = new Array(size[0] * size[1]).fill(0);
    } else if (size[0] !== sample.grid[0] || size[1] !== sample.grid[1]) return null;
    n++;
    for (const i of kept) if (i >= 0 && i < share.length) share[i]++;
  }
  return size && { rows: size[0], cols: size[1], share: share.map((v) => v / n) };
}

/* --- the tab -------------------------------------------------------------------------------------- */

const SHOWN = 50; // samples at once

export function resultsTab(): { root: HTMLElement; open: () => void } {
  const runSelect = h('select', { id: 'runs' });
  const taskSelect = h('select', { id: 'task' });
  const note = h('p', { class: 'hint' });
  const body = h('div', { class: 'results-body' });
  let loaded = false;
  let results: RunResults | null = null;

  const fail = (e: unknown, again: () => void) => {
    if (!(e instanceof ApiError)) throw e;
    if (e.status === 0) lost();
    if (e.status === 401) connection.needsKey();
    body.replaceChildren(errorCard(e, again));
  };

  function noRuns(): void {
    results = null;
    runSelect.disabled = true;
    body.replaceChildren(h('div', { class: 'empty' }, h('p', { class: 'lead', t: 'noRuns' }), h('p', { t: 'noRunsText' })));
  }

  async function loadList(): Promise<void> {
    loaded = true;
    try {
      const answer = await get('/v1/eval/runs');
      const runs = list(object(answer).runs ?? object(answer).data ?? answer).map((r) => {
        const o: Json = typeof r === 'string' ? { id: r } : object(r);
        const about = [text(o.id), text(o.model), list(o.tasks).map((x) => text(x) || text(object(x).task)).join(', ')];
        return { value: text(o.id), text: about.filter(Boolean).join(' · ') };
      });
      fill(runSelect, runs.filter((r) => r.value));
      runSelect.disabled = runs.length === 0;
      if (runs.length) await loadRun();
      else noRuns();
    } catch (e) {
      if (e instanceof ApiError && e.status === 404) noRuns();
      else {
        loaded = false;
        fail(e, () => void loadList());
      }
    }
  }

  async function loadRun(): Promise<void> {
    body.replaceChildren(h('p', { class: 'hint', role: 'status' }, t('loadingRun')));
    try {
      results = readRun(await get(`/v1/eval/runs/${encodeURIComponent(runSelect.value)}`));
      fill(taskSelect, results.tasks.map((k) => ({ value: k.name, text: k.title })));
      render();
    } catch (e) {
      fail(e, () => void loadRun());
    }
  }

  function render(): void {
    if (!results) return;
    const at = Math.max(0, results.tasks.findIndex((k) => k.name === taskSelect.value));
    const task = results.tasks[at];
    note.textContent = task ? t('runNote', { model: results.model, n: task.samples }) : '';
    const parts: HTMLElement[] = [];
    if (task?.results.length)
      parts.push(
        h('section', { class: 'card' }, h('h2', { t: 'curves' }), h('p', { class: 'hint' }, t('curvesNote')), curves(linesOf(task), t('curvesLabel', { task: task.title }))),
      );
    if (results.rows.length) parts.push(tableCard(results));
    const samples = results.samples[at];
    if (samples?.samples.length) parts.push(heatCard(results, samples.samples), samplesCard(results, samples));
    body.replaceChildren(...parts);
  }

  runSelect.addEventListener('change', () => void loadRun());
  taskSelect.addEventListener('change', render);
  on(['language'], render);
  return {
    root: h(
      'div',
      { class: 'results' },
      h('h2', { class: 'sr', t: 'tab_results' }),
      h(
        'div',
        { class: 'card row' },
        h('label', { class: 'inline grow' }, h('span', { t: 'run_' }), runSelect),
        h('label', { class: 'inline' }, h('span', { t: 'task' }), taskSelect),
        h('button', { type: 'button', class: 'button', t: 'reload', onclick: () => void loadList() }),
        note,
      ),
      body,
    ),
    open: () => {
      if (!loaded && state.server !== 'lost') void loadList();
    },
  };
}

const one = (v: number | null) => (v === null ? '–' : v.toFixed(1));

function tableCard(results: RunResults): HTMLElement {
  const columns: { name: string; value: (r: Row) => number | null }[] = [
    ...results.tasks.map((k, i) => ({ name: k.title, value: (r: Row) => r.values[i] })),
    { name: t('acc'), value: (r) => r.acc },
    { name: t('rel'), value: (r) => r.rel },
  ];
  const prizes = columns.map((c) => medals(results.rows, c.value));
  const cell = (r: Row, i: number, c: number) => {
    const words = one(columns[c].value(r));
    const prize = prizes[c][i];
    if (prize === 'best') return h('td', {}, h('strong', {}, words), h('span', { class: 'sr' }, ` ${t('best')}`));
    if (prize === 'second') return h('td', {}, h('u', {}, words), h('span', { class: 'sr' }, ` ${t('second')}`));
    return h('td', {}, words);
  };
  return h(
    'section',
    { class: 'card' },
    h('h2', { t: 'scores' }),
    h(
      'div',
      { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': t('scores') },
      h(
        'table',
        { class: 'scores' },
        h('caption', { t: 'scoresNote' }),
        h('thead', {}, h('tr', {}, h('th', { scope: 'col', t: 'method' }), h('th', { scope: 'col', t: 'budget' }), ...columns.map((c) => h('th', { scope: 'col' }, c.name)))),
        h(
          'tbody',
          {},
          ...results.rows.map((r, i) =>
            h(
              'tr',
              { class: i && results.rows[i - 1].budget !== r.budget ? 'group' : '' },
              h('th', { scope: 'row' }, r.method),
              h('td', {}, r.budget === '-' ? t('all') : r.budget),
              ...columns.map((_, c) => cell(r, i, c)),
            ),
          ),
        ),
      ),
    ),
  );
}

/** Where tokens were kept, over all samples: one small map for each column that prunes. */
function heatCard(results: RunResults, samples: Sample[]): HTMLElement {
  const maps = results.columns.flatMap((name, i) => {
    const f = frequency(samples, i);
    if (!f) return [];
    const canvas = h('canvas', { width: f.cols * 6, height: f.rows * 6, role: 'img', 'aria-label': t('heatLabel', { name }) });
    const ctx = canvas.getContext('2d')!;
    const top = Math.max(...f.share, 1e-9);
    f.share.forEach((v, k) => {
      ctx.fillStyle = heatColor(v / top, 1);
      ctx.fillRect((k % f.cols) * 6, Math.floor(k / f.cols) * 6, 6, 6);
    });
    return [h('figure', {}, canvas, h('figcaption', {}, name))];
  });
  return h('section', { class: 'card' }, h('h2', { t: 'heat' }), h('p', { class: 'hint', t: 'heatNote' }), h('div', { class: 'maps' }, ...maps));
}

async function pictureOf(dataUrl: string): Promise<Picture | null> {
  if (!/^data:image\/(png|jpeg|webp);base64,/.test(dataUrl)) return null;
  const image = new Image();
  image.src = dataUrl;
  try {
    await image.decode();
    const bitmap = await createImageBitmap(image);
    return { name: '', dataUrl, bitmap, width: bitmap.width, height: bitmap.height, hash: '', example: '' };
  } catch {
    return null;
  }
}

function samplesCard(results: RunResults, task: { of: number; samples: Sample[] }): HTMLElement {
  const columns = results.columns.map((c, i) => ({ value: String(i), text: c }));
  const pickA = h('select', { id: 'sample-a' });
  const pickB = h('select', { id: 'sample-b' });
  const filter = h('select', { id: 'filter' });
  const items = h('div', { class: 'sample-list', role: 'group', tLabel: 'samples' });
  const detail = h('div', { class: 'sample-detail' });
  const tally = h('p', { class: 'hint', role: 'status' });
  fill(pickA, columns, String(Math.max(0, results.columns.findIndex((c) => c.startsWith('s2prune')))));
  fill(pickB, columns, String(Math.max(0, results.columns.findIndex((c) => c.startsWith('random') || c.startsWith('uniform')))));
  const filters: Filter[] = ['all', 'aOnly', 'bOnly', 'bothWrong', 'differ'];
  fill(filter, filters.map((f) => ({ value: f, text: t(`filter_${f}` as Key) })), 'all');

  const verdict = (a: Answer | undefined) => {
    const right = (a?.score ?? 0) >= 0.5;
    return h('span', { class: right ? 'right' : 'wrong' }, right ? '✓ ' : '✗ ', h('span', { class: 'sr' }, t(right ? 'right' : 'wrong')));
  };

  async function show(sample: Sample): Promise<void> {
    const picks = [...new Set([Number(pickA.value), Number(pickB.value)])];
    const picture = await pictureOf(results.pictures[sample.picture] ?? '');
    const cards = picks.map((i) => {
      const answer = sample.answers[i];
      const name = results.columns[i];
      let shown: HTMLElement | null = null;
      if (picture && sample.grid) {
        const [rows, cols] = sample.grid;
        const kept = answer?.kept ?? Array.from({ length: rows * cols }, (_, k) => k);
        const choice = { rows, cols, kept, regions: [], cells: [], erc: null };
        const stage = new Stage({
          describe: (token) => `${t('tokenName', { r: Math.floor(token / cols), c: token % cols, n: token })}, ${t(kept.includes(token) ? 'keptWord' : 'tokenPruned')}`,
        });
        stage.setPicture(picture);
        stage.setScene({ choice, look: { ...defaultLook, cells: false } }, name);
        shown = h('div', { class: 'frame' }, stage.root);
      }
      return h(
        'article',
        { class: 'card', 'aria-label': name },
        h('h3', {}, name),
        shown,
        h('p', { class: 'answer-line' }, verdict(answer), h('span', { class: 'text' }, answer?.failure || answer?.text || t('answerEmpty'))),
      );
    });
    detail.replaceChildren(
      h('h3', {}, sample.question),
      h('p', { class: 'hint' }, t('gold', { text: sample.gold.join(' / ') }), sample.categories.length ? ` · ${sample.categories.join(', ')}` : ''),
      h('div', { class: 'pair' }, ...cards),
    );
  }

  function render(): void {
    const a = Number(pickA.value);
    const b = Number(pickB.value);
    const found = task.samples.filter((x) => passes(x, a, b, filter.value as Filter));
    tally.textContent = t('sampleTally', { n: found.length, of: task.samples.length });
    items.replaceChildren(
      ...found.slice(0, SHOWN).map((sample) =>
        h(
          'button',
          {
            type: 'button',
            class: 'sample',
            onclick: (e: Event) => {
              items.querySelectorAll('[aria-current]').forEach((x) => x.removeAttribute('aria-current'));
              (e.currentTarget as HTMLElement).setAttribute('aria-current', 'true');
              void show(sample);
            },
          },
          h('span', { class: 'q' }, sample.question),
          h('span', { class: 'a' }, verdict(sample.answers[a]), sample.answers[a]?.text ?? '–', ' · ', verdict(sample.answers[b]), sample.answers[b]?.text ?? '–'),
        ),
      ),
    );
    detail.replaceChildren(h('p', { class: 'hint' }, t(found.length ? 'samplePick' : 'sampleNone')));
    if (found.length) (items.firstElementChild as HTMLElement).click();
  }
  for (const e of [pickA, pickB, filter]) e.addEventListener('change', render);
  render();
  return h(
    'section',
    { class: 'card' },
    h('h2', { t: 'samples' }),
    h(
      'div',
      { class: 'row' },
      h('label', { class: 'inline' }, h('span', {}, 'A'), pickA),
      h('label', { class: 'inline' }, h('span', {}, 'B'), pickB),
      h('label', { class: 'inline' }, h('span', { t: 'filter' }), filter),
    ),
    tally,
    h('div', { class: 'browser' }, items, detail),
  );
}
