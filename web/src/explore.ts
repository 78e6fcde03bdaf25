// explore.ts - one picture, one question: where the tokens went, why, and what the model says.
import { cachedBar, copyText, costList, errorCard, heatLegend, lookControls, percent } from './controls';
import { announce, download, h, icon } from './dom';
import { captionOf, jsonOf, linkOf, pngOf, svgOf } from './figure';
import { area, owners, rankInCell, shares, type Choice } from './geometry';
import { exampleButtons } from './input';
import { defaultLook, type Scene } from './overlay';
import { ask, cancel, hasPlan, runner, stages } from './runner';
import { Stage, zoomButtons } from './stage';
import { emit, on, requestKey, state, type BoxKind, type Mark, type Run } from './state';
import { t, type Key } from './strings';

const look = { ...defaultLook };
let wantsTiles = false;

/** The tiles of a run are a grid of their own; hands edit the other one. */
const tilesOf = (now: Shown | null): Choice | null => (state.edit ? null : (now?.run?.tiles ?? null));

/** What the stage shows: a choice, whose it is, and whether the settings have moved on since. */
interface Shown {
  choice: Choice;
  run: Run | null; // null: the plan
  stale: boolean;
}

function shown(): Shown | null {
  const running = runner.current;
  if (running?.choice) return { choice: running.choice, run: running, stale: false };
  const run = state.run?.choice ? state.run : null;
  const stale = run !== null && run.request !== requestKey();
  const samePlan = run && run.settings.budget === state.settings.budget && run.settings.method === state.settings.method;
  if (run && (!stale || state.edit || samePlan)) return { choice: run.choice!, run, stale };
  if (state.plan && hasPlan()) return { choice: state.plan.choice, run: null, stale: run !== null };
  return run && { choice: run.choice!, run, stale };
}

function sceneOf(now: Shown): Scene {
  const base = (wantsTiles && tilesOf(now)) || now.choice;
  if (!state.edit || runner.current) return { choice: base, look };
  const before = new Set(base.kept ?? []);
  const kept = [...state.edit].sort((a, b) => a - b);
  return {
    choice: { ...base, kept },
    look,
    added: kept.filter((i) => !before.has(i)),
    removed: [...before].filter((i) => !state.edit!.has(i)),
  };
}

/* --- readout -------------------------------------------------------------------------------------- */

let maps: { choice: Choice; cell: Int32Array; region: Int32Array } | null = null;

function mapsOf(choice: Choice) {
  if (maps?.choice.cells !== choice.cells || maps.choice.regions !== choice.regions)
    maps = {
      choice,
      cell: owners(choice.cells, choice.rows, choice.cols),
      region: owners(choice.regions, choice.rows, choice.cols),
    };
  return maps!;
}

/** Name and value pairs about one token. */
function readout(choice: Choice, token: number): [string, string][] {
  const { cell, region } = mapsOf(choice);
  const lines: [string, string][] = [];
  const place = choice.kept ? choice.kept.indexOf(token) : -1;
  if (choice.kept)
    lines.push([t('tokenState'), place >= 0 ? t('tokenKept', { n: place + 1, of: choice.kept.length }) : t('tokenPruned')]);
  const g = choice.regions[region[token]];
  if (g) {
    lines.push([t('region'), `R${region[token] + 1}`]);
    if (g.variance !== null) lines.push([t('laplacianVar'), g.variance.toFixed(1)]);
    lines.push([t('regionBudget'), t('ofTokens', { n: g.budget, of: area(g) })]);
  }
  const c = choice.cells[cell[token]];
  if (c) lines.push([t('cell'), `${c.r1 - c.r0} × ${c.c1 - c.c0}`]);
  if (choice.erc) {
    const rank = c ? rankInCell(choice, token, c) : null;
    const value = choice.erc[token].toPrecision(3);
    lines.push([t('erc'), rank ? t('ercRank', { value, rank: rank.rank, of: rank.of }) : value]);
  }
  return lines;
}

const tokenName = (choice: Choice, token: number) =>
  t('tokenName', { r: Math.floor(token / choice.cols), c: token % choice.cols, n: token });

/* --- the tab -------------------------------------------------------------------------------------- */

export interface Explore {
  root: HTMLElement;
  side: HTMLElement;
}

export function exploreTab(): Explore {
  let pointed: number | null = null;
  const current = () => {
    const now = shown();
    return now && sceneOf(now);
  };
  const stage = new Stage({
    describe: (token) => {
      const scene = current();
      if (!scene) return '';
      const lines = readout(scene.choice, token).map(([name, value]) => `${name} ${value}`);
      return [tokenName(scene.choice, token), ...lines].join(', ');
    },
    point: (token) => {
      pointed = token;
      renderReadout();
    },
    pick: (token) => {
      if (!state.edit) return;
      if (state.edit.has(token)) state.edit.delete(token);
      else state.edit.add(token);
      emit('edit');
    },
    box: (mark) => {
      setMarks([...marks(), mark]);
      announce(t('boxAdded', { kind: t(`box_${mark.kind}`) }));
    },
  });

  /* Parts of the picture that stay, go, or are painted over. */
  const kinds: BoxKind[] = ['keep', 'drop', 'blank'];
  const kind = h('select', { id: 'box-kind', tLabel: 'boxKind' }, ...kinds.map((k) => h('option', { value: k, t: `box_${k}` })));
  const boxButton = h('button', { type: 'button', class: 'button', id: 'box', t: 'boxDraw', 'aria-pressed': 'false' });
  const boxNote = h('p', { class: 'note', id: 'box-note', t: 'boxNote', hidden: true });
  const boxList = h('ul', { class: 'boxes', id: 'boxes', tLabel: 'boxes' });
  let isBoxing = false;
  const marks = (): Mark[] => state.settings.marks ?? [];
  const setMarks = (next: Mark[]) => {
    state.settings.marks = next.length ? next : undefined;
    emit('settings');
  };
  const renderBoxes = () => {
    const name = (m: Mark) => `${t(`box_${m.kind}`)}: ${[m.x, m.y, m.w, m.h].map((v) => `${v.toFixed(1)} %`).join(', ')}`;
    stage.setMarks(marks(), isBoxing ? (kind.value as BoxKind) : null);
    boxButton.setAttribute('aria-pressed', String(isBoxing));
    boxNote.hidden = !isBoxing;
    boxList.hidden = marks().length === 0;
    boxList.replaceChildren(
      ...marks().map((m) =>
        h(
          'li',
          { class: m.kind },
          h('span', {}, name(m)),
          h(
            'button',
            {
              type: 'button',
              class: 'ghost square',
              'aria-label': t('boxRemove', { name: name(m) }),
              onclick: () => setMarks(marks().filter((other) => other !== m)),
            },
            '×',
          ),
        ),
      ),
    );
  };
  boxButton.addEventListener('click', () => {
    isBoxing = !isBoxing;
    renderBoxes();
    if (isBoxing) stage.grid.focus();
  });
  kind.addEventListener('change', renderBoxes);

  const badge = h('p', { class: 'badge' });
  const empty = h('div', { class: 'empty' }, h('p', { class: 'lead', t: 'emptyLead' }), h('p', { t: 'emptyText' }), exampleButtons());
  const frame = h('div', { class: 'frame' }, stage.root, badge);
  const summary = h('p', { class: 'summary', id: 'summary' });
  stage.grid.setAttribute('aria-describedby', 'summary');
  const legend = h('div', { class: 'legends' });

  const editButton = h('button', { type: 'button', class: 'button', id: 'edit' });
  const revert = h('button', { type: 'button', class: 'button', id: 'revert', t: 'revert' });
  const tilesButton = h('button', { type: 'button', class: 'button', id: 'tiles' });
  tilesButton.addEventListener('click', () => {
    wantsTiles = !wantsTiles;
    renderStage();
  });
  const editNote = h('p', { class: 'note', id: 'edit-note' });
  editButton.addEventListener('click', () => {
    const now = shown();
    if (state.edit) state.edit = null;
    else if (now?.choice.kept) state.edit = new Set(now.choice.kept);
    emit('edit');
    if (state.edit) stage.grid.focus();
  });
  revert.addEventListener('click', () => {
    const base = shown()?.choice.kept;
    if (state.edit && base) state.edit = new Set(state.run?.keep ? methodKept() : base);
    emit('edit');
  });
  /** What the method chose, before hands touched it. */
  const methodKept = () => state.history.find((r) => !r.keep)?.choice?.kept ?? state.run?.choice?.kept ?? [];

  const status = h('span', { class: 'hint', role: 'status', id: 'export-status' });
  const exports = exportButtons(current, status);
  const table = h('div', { class: 'tables' });
  const tableBox = h('details', { class: 'table-view', ontoggle: () => renderTable() }, h('summary', { t: 'tableView' }), table);

  const readoutBox = h('div', { class: 'card readout' });
  const answerBox = h('div', { class: 'card answer' });
  const historyBox = h('div', { class: 'card history' });

  function renderStage(): void {
    const now = shown();
    const picture = state.picture;
    frame.hidden = !picture;
    empty.hidden = Boolean(picture);
    tools.hidden = foot.hidden = legend.hidden = summary.hidden = !picture;
    if (!picture) {
      renderReadout();
      return;
    }
    const scene = now && sceneOf(now);
    stage.setScene(scene, t('gridName', { name: picture.name }));
    const words = !now
      ? ''
      : now.stale || (!now.run && state.edit)
        ? t('badgeStale')
        : now.run || !state.plan
          ? ''
          : t('badgePlan');
    badge.textContent = words;
    badge.hidden = !words;
    badge.classList.toggle('stale', Boolean(now?.stale));
    summary.textContent = scene ? summaryOf(scene.choice, now!.run) : hasPlan() ? '' : t('needsModel');
    legend.replaceChildren(...[scene && heatLegend(scene.choice, look)].filter((e): e is HTMLElement => Boolean(e)));
    tilesButton.hidden = !tilesOf(now);
    tilesButton.textContent = t(wantsTiles ? 'tilesHide' : 'tilesShow');
    tilesButton.setAttribute('aria-pressed', String(wantsTiles));
    const canEdit = Boolean(now?.choice.kept);
    editButton.textContent = t(state.edit ? 'editDone' : 'edit');
    editButton.setAttribute('aria-pressed', String(Boolean(state.edit)));
    editButton.disabled = !canEdit;
    editButton.title = canEdit ? '' : t('editWhy');
    revert.hidden = editNote.hidden = !state.edit;
    if (state.edit && scene)
      editNote.textContent = t('editNote', { n: state.edit.size, add: scene.added?.length ?? 0, remove: scene.removed?.length ?? 0 });
    frame.classList.toggle('editing', Boolean(state.edit));
    renderReadout();
    if (tableBox.open) renderTable();
  }

  function renderReadout(): void {
    const scene = current();
    const title = h('h2', { t: 'readout' });
    if (!scene || pointed === null || pointed >= scene.choice.rows * scene.choice.cols) {
      readoutBox.replaceChildren(title, h('p', { class: 'hint' }, t(scene ? 'readoutHint' : 'readoutEmpty')));
      return;
    }
    readoutBox.replaceChildren(
      title,
      h('p', { class: 'token' }, tokenName(scene.choice, pointed)),
      h('dl', {}, ...readout(scene.choice, pointed).map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value)))),
    );
  }

  function renderTable(): void {
    const scene = current();
    table.replaceChildren(...(scene && tableBox.open ? tablesOf(scene.choice) : []));
  }

  const tools = h(
    'div',
    { class: 'tools' },
    lookControls(look, 'look', renderStage),
    h('div', { class: 'row' }, zoomButtons((f) => stage.zoomBy(f)), tilesButton, editButton, revert),
    h('div', { class: 'row' }, boxButton, kind),
    boxNote,
    boxList,
    editNote,
  );
  const foot = h('div', { class: 'foot' }, exports, status, tableBox);
  on(['picture'], () => {
    state.settings.marks = undefined; // boxes are of one picture
    stage.setPicture(state.picture);
  });
  on(['picture', 'settings', 'language'], renderBoxes);
  on(['picture', 'settings', 'plan', 'run', 'edit', 'server', 'language'], renderStage);
  answerPanel(answerBox);
  historyPanel(historyBox);
  renderStage();
  renderBoxes();

  return {
    root: h('div', { class: 'explore' }, empty, frame, legend, summary, tools, foot),
    side: h('div', { class: 'side' }, answerBox, readoutBox, historyBox),
  };
}

function summaryOf(choice: Choice, run: Run | null): string {
  const n = choice.rows * choice.cols;
  const grid = `${choice.rows}×${choice.cols}`;
  if (!choice.kept) {
    const h = state.plan?.heterogeneity;
    const words = t('summaryPlan', { n: choice.cells.length, of: n, grid, k: state.plan?.grid ?? 0 });
    return h === null || h === undefined ? words : `${words} · H = ${h.toFixed(2)}`;
  }
  const own = shares(choice.kept, choice.rows, choice.cols);
  const told = state.edit || choice === run?.tiles ? null : run; // the server speaks of the whole view
  return t('summary', {
    n: choice.kept.length,
    of: n,
    grid,
    edge: percent(told?.edge ?? own.edge),
    center: percent(told?.center ?? own.center),
  });
}

function tablesOf(choice: Choice): HTMLElement[] {
  const { cell, region } = mapsOf(choice);
  const table = (caption: Key, heads: string[], rows: string[][]) =>
    h(
      'div',
      { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': t(caption) },
      h(
        'table',
        {},
        h('caption', { t: caption }),
        h('thead', {}, h('tr', {}, ...heads.map((x) => h('th', { scope: 'col' }, x)))),
        h('tbody', {}, ...rows.map((r) => h('tr', {}, ...r.map((x, i) => h(i ? 'td' : 'th', i ? {} : { scope: 'row' }, x))))),
      ),
    );
  const out: HTMLElement[] = [];
  if (choice.kept)
    out.push(
      table(
        'tableKept',
        ['#', t('row'), t('column'), t('region'), t('cell'), t('erc')],
        choice.kept.map((i) => {
          const c = choice.cells[cell[i]];
          return [
            String(i),
            String(Math.floor(i / choice.cols)),
            String(i % choice.cols),
            region[i] >= 0 ? `R${region[i] + 1}` : '–',
            c ? `${c.r1 - c.r0} × ${c.c1 - c.c0}` : '–',
            choice.erc ? choice.erc[i].toPrecision(3) : '–',
          ];
        }),
      ),
    );
  if (choice.regions.length)
    out.push(
      table(
        'tableRegions',
        [t('region'), t('rows'), t('columns'), t('laplacianVar'), t('budget')],
        choice.regions.map((g, i) => [
          `R${i + 1}`,
          `${g.r0}–${g.r1 - 1}`,
          `${g.c0}–${g.c1 - 1}`,
          g.variance === null ? '–' : g.variance.toFixed(1),
          String(g.budget),
        ]),
      ),
    );
  return out;
}

function exportButtons(current: () => Scene | null, status: HTMLElement): HTMLElement {
  const act = (label: string, save: (scene: Scene, caption: string, run: Run | null, name: string) => Promise<void> | void) =>
    h(
      'button',
      {
        type: 'button',
        class: 'button',
        'data-export': label,
        onclick: () => {
          const scene = current();
          if (!scene || !state.picture) return;
          const run = scene.choice.kept ? state.run : null;
          const s = run?.settings ?? state.settings;
          const name = `${state.picture.name.replace(/\.[^.]*$/, '').replace(/[^\w.-]+/g, '_')}-${s.method}-${s.budget}`;
          void Promise.resolve(save(scene, captionOf(scene.choice, s, run), run, name)).catch((e: unknown) => {
            status.textContent = e instanceof Error ? e.message : String(e);
          });
        },
      },
      label === 'link' ? t('copyLink') : label.toUpperCase(),
    );
  const link = act('link', () => {
    const { picture, settings, question, edit } = state;
    const hash = linkOf({
      settings,
      question,
      example: picture!.example,
      hash: picture!.hash,
      keep: edit ? [...edit].sort((a, b) => a - b) : null,
      tab: 'explore',
    });
    history.replaceState(null, '', hash);
    return copyText(location.href, status);
  });
  on(['language'], () => (link.textContent = t('copyLink')));
  return h(
    'div',
    { class: 'row exports', role: 'group', tLabel: 'exports' },
    act('png', async (scene, caption, _run, name) =>
      download(`${name}.png`, await pngOf(state.picture!, scene, caption)),
    ),
    act('svg', (scene, caption, _run, name) =>
      download(`${name}.svg`, new Blob([svgOf(state.picture!, scene.choice, look, caption)], { type: 'image/svg+xml' })),
    ),
    act('json', (scene, caption, run, name) =>
      download(
        `${name}.json`,
        new Blob([jsonOf(scene.choice, run?.settings ?? state.settings, run, caption)], { type: 'application/json' }),
      ),
    ),
    link,
  );
}

/* --- the answer ----------------------------------------------------------------------------------- */

/** What the cache held when this picture was asked about with all its tokens, if it was. */
const fullKv = (run: Run): number | null =>
  run.settings.method === 'full' ? null : (state.history.find((r) => r.settings.method === 'full' && !r.keep)?.cost?.kvBytes ?? null);

function stageList(): HTMLElement {
  const at = stages.indexOf(runner.stage as (typeof stages)[number]);
  return h(
    'ol',
    { class: 'stages' },
    ...stages.map((name, i) =>
      h(
        'li',
        { class: i < at ? 'past' : i === at ? 'now' : '', 'aria-current': i === at ? 'step' : null },
        i < at ? icon('check') : null,
        h('span', {}, t(`stage_${name}` as Key)),
      ),
    ),
  );
}

/** The panel keeps its answer element while text arrives: selections and scroll positions survive. */
function answerPanel(box: HTMLElement): void {
  const text = h('div', { class: 'text', id: 'answer' });
  let said = '';
  let clock = 0;

  const say = (words: string) => {
    if (words !== said) announce(words);
    said = words;
  };

  function running(run: Run): Node[] {
    const elapsed = ((Date.now() - runner.startedAt) / 1000).toFixed(1);
    const queued = runner.stage === 'queued';
    const bar = h('progress', { tLabel: 'progress', max: 1 });
    if (runner.share !== null && !queued) bar.value = runner.share;
    const words = queued ? t('queued', { n: runner.ahead }) : t(`stage_${runner.stage}` as Key);
    say(words);
    text.textContent = run.answer;
    text.classList.remove('stale');
    return [
      queued ? h('p', { class: 'queued' }, words) : stageList(),
      bar,
      h(
        'div',
        { class: 'row' },
        h('span', { class: 'hint elapsed' }, `${elapsed} s`),
        h('button', { type: 'button', class: 'button', id: 'cancel', t: 'cancel', onclick: cancel }),
      ),
      text,
    ];
  }

  function finished(run: Run): (Node | null)[] {
    const stale = run.request !== requestKey();
    text.textContent = run.answer || t('answerEmpty');
    text.classList.toggle('stale', stale);
    say(t('answerDone', { text: run.answer }));
    return [
      h('p', { class: 'asked' }, run.question),
      text,
      run.finish === 'length' ? h('p', { class: 'hint', t: 'answerCut' }) : null,
      state.isBundled && !run.picture.example ? h('p', { class: 'hint', t: 'answerBundled' }) : null,
      stale ? h('p', { class: 'badge stale', t: 'badgeStale' }) : null,
      run.cost && costList({ ...run.cost, kvBytesFull: run.cost.kvBytesFull ?? fullKv(run) }),
      run.cost && cachedBar(run.cost),
    ];
  }

  function render(): void {
    clearInterval(clock);
    const title = h('h2', { t: 'answer' });
    const run = runner.current;
    const parts: (Node | null)[] = [title];
    if (run) {
      parts.push(...running(run));
      clock = window.setInterval(() => {
        const e = box.querySelector('.elapsed');
        if (e) e.textContent = `${((Date.now() - runner.startedAt) / 1000).toFixed(1)} s`;
      }, 100);
    } else {
      if (runner.error) {
        const wait = () => Math.max(0, Math.ceil((runner.retryAt - Date.now()) / 1000));
        const card = errorCard(runner.error, () => void ask(), runner.retryAt ? t('retryIn', { n: wait() }) : '');
        parts.push(card);
        if (runner.retryAt)
          clock = window.setInterval(() => {
            card.querySelector('.countdown')!.textContent = t('retryIn', { n: wait() });
          }, 500);
      }
      if (state.run) parts.push(...finished(state.run));
      else if (!runner.error) parts.push(h('p', { class: 'hint' }, t('answerNone')));
    }
    box.setAttribute('aria-busy', String(Boolean(run)));
    const focused = document.activeElement?.id;
    box.replaceChildren(...parts.filter((p): p is Node => p !== null));
    if (focused === 'cancel') (box.querySelector('#cancel') as HTMLElement | null)?.focus();
  }
  on(['run', 'picture', 'settings', 'edit', 'language'], render);
  render();
}

/** Earlier questions about this picture: what they cost, and how much of the prefix was there already. */
function historyPanel(box: HTMLElement): void {
  const render = () => {
    box.hidden = state.history.length < 2;
    if (box.hidden) return;
    box.replaceChildren(
      h('h2', { t: 'asked' }),
      h(
        'ol',
        {},
        ...state.history.map((run) => {
          const cached = run.cost?.cachedTokens;
          const note = [
            run.keep ? t('byHand', { n: run.keep.length }) : `${run.settings.method} ${run.settings.budget}`,
            cached ? t('cachedShort', { n: cached }) : '',
          ];
          return h(
            'li',
            {},
            h(
              'button',
              {
                type: 'button',
                class: 'past',
                'aria-current': run === state.run ? 'true' : null,
                onclick: () => {
                  state.run = run;
                  Object.assign(state.settings, run.settings);
                  state.question = run.question;
                  state.edit = run.keep ? new Set(run.keep) : null;
                  emit('run', 'settings', 'edit');
                },
              },
              h('span', { class: 'q' }, run.question),
              h('span', { class: 'a' }, run.answer),
              h('span', { class: 'hint' }, note.filter(Boolean).join(' · ')),
            ),
          );
        }),
      ),
    );
  };
  on(['run', 'picture', 'language'], render);
  render();
}
