// compare.ts - two to six methods or budgets on one picture and question, side by side.
import { ApiError, errorOf, stream } from './api';
import { costList, errorCard, lookControls, percent } from './controls';
import { connection, lost } from './connection';
import { announce, fill, h, icon } from './dom';
import { difference, shares, type Choice } from './geometry';
import { obstacle } from './input';
import { colors, defaultLook } from './overlay';
import { list, number, object, readChoice, readCost, text, type Cost, type Json } from './read';
import { compareBody, type Entry } from './requests';
import { Stage, zoomButtons, type View } from './stage';
import { on, state } from './state';
import { t, type Key } from './strings';

const MOST = 6;

type CardState = 'idle' | 'queued' | 'running' | 'done' | 'error';

interface Card {
  entry: Entry;
  state: CardState;
  progress: number | null;
  choice: Choice | null;
  answer: string;
  cost: Cost | null;
  error: ApiError | null;
  stage: Stage;
  root: HTMLElement;
  body: HTMLElement;
}

/** As people judge short answers: case, articles and punctuation do not count. */
export function matches(answer: string, expected: string): boolean {
  const plain = (s: string) =>
    s
      .toLowerCase()
      .replace(/[\p{P}\p{S}]/gu, ' ')
      .replace(/\b(a|an|the)\b/g, ' ')
      .split(/\s+/)
      .filter(Boolean);
  const want = plain(expected).join(' ');
  return want !== '' && ` ${plain(answer).join(' ')} `.includes(` ${want} `);
}

export const nameOf = (e: Entry): string => (e.method === 'full' ? 'full' : `${e.method} ${e.budget}`);

export type Order = 'added' | 'answer' | 'time' | 'overlap';

/** Cards in the chosen order; those without a result last. Stable. */
export function ordered<T extends { answer: string; cost: Cost | null; choice: Choice | null }>(
  cards: T[],
  order: Order,
  expected: string,
): T[] {
  const first = cards.find((c) => c.choice?.kept);
  const rank = (c: T): number => {
    if (!c.choice?.kept) return Infinity;
    if (order === 'answer') return expected ? (matches(c.answer, expected) ? 0 : 1) : c.answer === first?.answer ? 0 : 1;
    if (order === 'time') return c.cost?.promptMs ?? Infinity;
    if (order === 'overlap') return -difference(first!.choice!.kept!, c.choice.kept).iou;
    return 0;
  };
  return order === 'added' ? cards : [...cards].sort((a, b) => (rank(a) === rank(b) ? 0 : rank(a) - rank(b)));
}

export function compareTab(): HTMLElement {
  const look = { ...defaultLook, cells: false };
  let cards: Card[] = [];
  let abort: AbortController | null = null;
  let failure: ApiError | null = null;
  let order: Order = 'added';
  let expected = '';
  let differ = false;

  const entriesBox = h('div', { class: 'entries', role: 'list', tLabel: 'compareWhat' });
  const deck = h('div', { class: 'deck' });
  const matrix = h('div', { class: 'matrix' });
  const problem = h('div', {});
  const go = h('button', { type: 'button', class: 'primary', id: 'compare-run' });
  const why = h('p', { class: 'hint' });

  /* --- which ones -------------------------------------------------------------------------------- */

  const method = h('select', { id: 'compare-method', tLabel: 'method' });
  const budget = h('input', { id: 'compare-budget', type: 'number', min: '1', max: '65536', value: '64', tLabel: 'budget' });
  const add = h('button', { type: 'button', class: 'button', id: 'compare-add' }, icon('plus'), h('span', { t: 'add' }));
  add.addEventListener('click', () =>
    setEntries([
      ...cards.map((c) => c.entry),
      { method: method.value, budget: Math.max(1, Math.round(Number(budget.value)) || 64) },
    ]),
  );
  const preset = (label: Key, entries: () => Entry[]) =>
    h('button', { type: 'button', class: 'button', t: label, onclick: () => setEntries(entries()) });
  const known = (names: string[]) => {
    const have = state.methods.methods.map((m) => m.name);
    return names.filter((n) => !have.length || have.includes(n));
  };
  const presets = [
    preset('presetMethods', () =>
      known(['full', 's2prune', 'fastv', 'visionzip', 'uniform', 'random']).map((m) => ({
        method: m,
        budget: state.settings.budget,
      })),
    ),
    preset('presetBudgets', () => [192, 128, 64, 32].map((b) => ({ method: state.settings.method, budget: b }))),
  ];

  function makeCard(entry: Entry): Card {
    const stage = new Stage({
      describe: (token) => {
        const { cols } = card.choice ?? { cols: 1 };
        const kept = card.choice?.kept?.includes(token);
        return `${nameOf(entry)}, ${t('tokenName', { r: Math.floor(token / cols), c: token % cols, n: token })}, ${t(kept ? 'keptWord' : 'tokenPruned')}`;
      },
      point: (token) => cards.forEach((c) => c !== card && c.stage.point(token)),
      view: (view: View) => cards.forEach((c) => c !== card && c.stage.setView(view)),
    });
    stage.setPicture(state.picture);
    const body = h('div', { class: 'body' });
    const root = h(
      'article',
      { class: 'card compare-card', 'aria-label': nameOf(entry) },
      h('h3', {}, nameOf(entry)),
      h('div', { class: 'frame' }, stage.root),
      body,
    );
    const card: Card = {
      entry,
      state: 'idle',
      progress: null,
      choice: null,
      answer: '',
      cost: null,
      error: null,
      stage,
      root,
      body,
    };
    return card;
  }

  function setEntries(entries: Entry[]): void {
    const seen = new Set<string>();
    const unique = entries.filter((e) => !seen.has(nameOf(e)) && seen.add(nameOf(e))).slice(0, MOST);
    cards = unique.map((e) => cards.find((c) => nameOf(c.entry) === nameOf(e)) ?? makeCard(e));
    render();
  }

  function renderEntries(): void {
    entriesBox.replaceChildren(
      ...cards.map((card) =>
        h(
          'div',
          { class: 'entry', role: 'listitem' },
          h('span', {}, nameOf(card.entry)),
          h(
            'button',
            {
              type: 'button',
              class: 'ghost square',
              'aria-label': t('remove', { name: nameOf(card.entry) }),
              disabled: cards.length <= 2 || Boolean(abort),
              onclick: () => setEntries(cards.filter((c) => c !== card).map((c) => c.entry)),
            },
            icon('close'),
          ),
        ),
      ),
    );
    add.disabled = cards.length >= MOST || Boolean(abort);
  }

  /* --- the run ----------------------------------------------------------------------------------- */

  /** Events name a method; two budgets of one method are told apart by budget or index. */
  function cardOf(event: Json): Card | undefined {
    const index = number(event.index);
    if (index !== null && cards[index]) return cards[index];
    const method = text(event.method);
    const b = number(event.budget);
    return cards.find((c) => c.entry.method === method && (b === null || method === 'full' || c.entry.budget === b));
  }

  function take(event: Json): void {
    const card = cardOf(event);
    if (!card) return;
    const s = text(event.state);
    if (s === 'queued' || s === 'running' || s === 'done' || s === 'error') card.state = s;
    card.progress = number(event.progress);
    if (s === 'done') {
      const result = { ...event, ...object(event.result) };
      const message = object(object(list(result.choices)[0]).message);
      card.answer = text(result.answer) || text(result.text) || text(message.content);
      card.choice = readChoice(list(object(result.prune).images)[0]);
      card.cost = readCost(result);
      card.error = null;
      announce(t('cardDone', { name: nameOf(card.entry), text: card.answer }));
    }
    if (s === 'error') card.error = errorOf(400, typeof event.error === 'string' ? { error: { message: event.error } } : event);
  }

  async function start(): Promise<void> {
    if (abort) {
      abort.abort();
      return;
    }
    const picture = state.picture;
    if (!picture || obstacle()) return;
    failure = null;
    abort = new AbortController();
    for (const card of cards) Object.assign(card, { state: 'queued', progress: null, error: null });
    render();
    try {
      const body = compareBody(picture, state.question.trim(), cards.map((c) => c.entry), state.settings.maxTokens);
      for await (const event of stream('/v1/prune/compare', body, abort.signal)) {
        take(event);
        render();
      }
    } catch (e) {
      if (!abort.signal.aborted) {
        failure = e instanceof ApiError ? e : new ApiError(500, String(e));
        if (failure.status === 0) lost();
        if (failure.status === 401) connection.needsKey();
      }
    }
    abort = null;
    for (const card of cards) if (card.state === 'queued' || card.state === 'running') card.state = card.choice ? 'done' : 'idle';
    render();
  }
  go.addEventListener('click', () => void start());

  /* --- what is seen ------------------------------------------------------------------------------ */

  const expectBox = h('input', { id: 'expect', type: 'text', maxLength: 200 });
  expectBox.addEventListener('input', () => {
    expected = expectBox.value.trim();
    render();
  });
  const orderBox = h('select', { id: 'order' });
  orderBox.addEventListener('change', () => {
    order = orderBox.value as Order;
    render();
  });
  const differBox = h('input', { type: 'checkbox', id: 'differ' });
  const pickA = h('select', { tLabel: 'pickA', id: 'pick-a' });
  const pickB = h('select', { tLabel: 'pickB', id: 'pick-b' });
  const counts = h('p', { class: 'legend diff-legend', id: 'diff-legend' });
  differBox.addEventListener('change', () => {
    differ = differBox.checked;
    render();
  });
  let picked = false; // by the user
  for (const e of [pickA, pickB])
    e.addEventListener('change', () => {
      picked = true;
      render();
    });
  const twoUp = h('input', { type: 'checkbox', id: 'two-up' });
  twoUp.addEventListener('change', () => deck.classList.toggle('two-up', twoUp.checked));

  /** The tower runs once for all cards: every card shows that time, not the next to nothing of a lookup. */
  function sharedTimes(): Pick<Cost, 'imageMs' | 'visionMs'> {
    const most = (pick: (c: Cost) => number | null) => {
      const values = cards.map((c) => c.cost && pick(c.cost)).filter((v): v is number => v !== null);
      return values.length ? Math.max(...values) : null;
    };
    return { imageMs: most((c) => c.imageMs), visionMs: most((c) => c.visionMs) };
  }

  function renderCard(card: Card): void {
    const parts: (Node | null)[] = [];
    if (card.state === 'queued') parts.push(h('p', { class: 'hint' }, t('cardQueued')));
    if (card.state === 'running') {
      const bar = h('progress', { max: 1, 'aria-label': nameOf(card.entry) });
      if (card.progress !== null) bar.value = card.progress;
      parts.push(bar);
    }
    card.root.classList.toggle('failed', card.state === 'error');
    if (card.error) parts.push(errorCard(card.error, () => void start()));
    if (card.choice?.kept) {
      const { kept, rows, cols } = card.choice;
      const part = shares(kept, rows, cols);
      const right = expected ? matches(card.answer, expected) : null;
      parts.push(
        h(
          'p',
          { class: 'answer-line' },
          right === null ? null : h('span', { class: right ? 'right' : 'wrong' }, right ? '✓ ' : '✗ ', h('span', { class: 'sr' }, t(right ? 'right' : 'wrong'))),
          h('span', { class: 'text' }, card.answer || t('answerEmpty')),
        ),
        h('p', { class: 'hint' }, t('summaryShort', { n: kept.length, of: rows * cols, grid: `${rows}×${cols}` })),
        shareBar(part.edge, part.center),
        card.cost && costList({ ...card.cost, ...sharedTimes() }, true),
      );
    } else if (card.state === 'idle') parts.push(h('p', { class: 'hint' }, t('cardIdle')));
    card.body.replaceChildren(...parts.filter((p): p is Node => p !== null));
  }

  function renderDifference(): { a: Card; b: Card } | null {
    const done = cards.filter((c) => c.choice?.kept);
    const options = done.map((c) => ({ value: nameOf(c.entry), text: nameOf(c.entry) }));
    fill(pickA, options);
    fill(pickB, options);
    if (!picked && done.length > 1) {
      const first = done.find((c) => c.entry.method === 's2prune') ?? done[0];
      const other = done.find((c) => c !== first && c.entry.method !== 'full') ?? done.find((c) => c !== first)!;
      pickA.value = nameOf(first.entry);
      pickB.value = nameOf(other.entry);
    }
    differBox.disabled = pickA.disabled = pickB.disabled = done.length < 2;
    const a = done.find((c) => nameOf(c.entry) === pickA.value);
    const b = done.find((c) => nameOf(c.entry) === pickB.value);
    const pair = differ && a && b && a !== b && a.choice!.cols === b.choice!.cols ? { a, b } : null;
    counts.hidden = !pair;
    if (pair) {
      const d = difference(pair.a.choice!.kept!, pair.b.choice!.kept!);
      counts.replaceChildren(
        swatch('a', colors.onlyA),
        h('span', {}, t('onlyIn', { name: nameOf(pair.a.entry), n: d.onlyA })),
        swatch('b', colors.onlyB),
        h('span', {}, t('onlyIn', { name: nameOf(pair.b.entry), n: d.onlyB })),
        swatch('both', colors.both),
        h('span', {}, t('inBoth', { n: d.both })),
        h('span', {}, `IoU ${d.iou.toFixed(2)}`),
      );
    }
    return pair;
  }

  function renderMatrix(): void {
    const done = cards.filter((c) => c.choice?.kept);
    if (done.length < 2) {
      matrix.replaceChildren();
      return;
    }
    const cell = (a: Card, b: Card) => {
      const { iou } = difference(a.choice!.kept!, b.choice!.kept!);
      const td = h('td', {}, a === b ? '–' : iou.toFixed(2));
      if (a !== b) td.style.setProperty('--share', String(iou));
      return td;
    };
    matrix.replaceChildren(
      h(
        'div',
        { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': t('iouTitle') },
        h(
          'table',
          { class: 'iou' },
          h('caption', {}, t('iouTitle')),
          h('thead', {}, h('tr', {}, h('td', {}), ...done.map((c) => h('th', { scope: 'col' }, nameOf(c.entry))))),
          h('tbody', {}, ...done.map((a) => h('tr', {}, h('th', { scope: 'row' }, nameOf(a.entry)), ...done.map((b) => cell(a, b))))),
        ),
      ),
    );
  }

  function render(): void {
    renderEntries();
    const pair = renderDifference();
    for (const card of cards) {
      renderCard(card);
      const versus = pair && (card === pair.a || card === pair.b) ? { a: pair.a.choice!.kept!, b: pair.b.choice!.kept! } : null;
      card.stage.setScene(card.choice && { choice: card.choice, look, versus }, nameOf(card.entry));
      card.root.classList.toggle('no-picture', !state.picture);
    }
    const wanted = ordered(cards, order, expected).map((c) => c.root);
    deck.dataset.cards = String(cards.length);
    if (wanted.length !== deck.children.length || wanted.some((e, i) => deck.children[i] !== e)) deck.replaceChildren(...wanted);
    renderMatrix();
    problem.replaceChildren(...(failure ? [errorCard(failure, () => void start())] : []));
    go.textContent = t(abort ? 'cancel' : 'compareRun', { n: cards.length });
    go.disabled = !abort && Boolean(obstacle());
    why.textContent = abort ? '' : obstacle();
  }

  function relabel(): void {
    fill(orderBox, (['added', 'answer', 'time', 'overlap'] as Order[]).map((o) => ({ value: o, text: t(`order_${o}` as Key) })), order);
    const names = state.methods.methods.map((m) => m.name);
    fill(method, (names.length ? names : ['s2prune']).map((n) => ({ value: n, text: n })), method.value || 's2prune');
  }

  on(['picture'], () => {
    abort?.abort();
    cards = cards.map((c) => makeCard(c.entry));
    failure = null;
  });
  on(['server', 'language'], () => {
    relabel();
    if (!touched && state.methods.methods.length) {
      touched = true;
      setEntries(known(['full', 's2prune', 'fastv', 'uniform']).map((m) => ({ method: m, budget: state.settings.budget })));
    }
  });
  on(['server', 'picture', 'settings', 'language'], render);
  let touched = false;
  cards = ['s2prune', 'uniform'].map((m) => makeCard({ method: m, budget: 64 }));
  relabel();
  render();

  const zoomAll = (factor: number) => cards[0]?.stage.zoomBy(factor);

  return h(
    'div',
    { class: 'compare' },
    h('h2', { class: 'sr', t: 'tab_compare' }),
    h(
      'div',
      { class: 'card setup' },
      entriesBox,
      h('div', { class: 'row' }, method, budget, add, ...presets),
      h(
        'div',
        { class: 'row' },
        h('label', { class: 'inline grow' }, h('span', { t: 'expected' }), expectBox),
        h('label', { class: 'inline' }, h('span', { t: 'orderBy' }), orderBox),
        go,
      ),
      why,
    ),
    problem,
    h('div', { class: 'card' }, lookControls(look, 'clook', render), h('div', { class: 'row' }, zoomButtons(zoomAll), h('label', { class: 'check two-up-toggle' }, twoUp, h('span', { t: 'twoUp' })), h('label', { class: 'check' }, differBox, h('span', { t: 'differ' })), pickA, pickB), counts),
    deck,
    matrix,
  );
}

function swatch(kind: string, color: string): HTMLElement {
  const e = h('span', { class: `swatch ${kind}`, 'aria-hidden': 'true' });
  e.style.setProperty('--swatch', color);
  return e;
}

/** Shares of kept tokens at the edge and in the centre. */
function shareBar(edge: number, center: number): HTMLElement {
  const row = (kind: string, name: Key, share: number) => {
    const bar = h('span', { class: `bar ${kind}` });
    bar.style.width = `${100 * share}%`;
    return h('div', {}, h('span', { class: 'name', t: name }), h('span', { class: 'track' }, bar), h('span', { class: 'value' }, percent(share)));
  };
  return h('div', { class: 'shares' }, row('edge', 'shareEdge', edge), row('center', 'shareCenter', center));
}

