// main.ts - the frame of the page: header, banner, tabs, dialogs; and who starts what.
import './style.css';
import { key } from './api';
import { compareTab } from './compare';
import { connect, connection } from './connection';
import { h, translate } from './dom';
import { exploreTab } from './explore';
import { readLink } from './figure';
import { inputPanel, obstacle } from './input';
import { examples, takeExample } from './picture';
import { resultsTab } from './results';
import { ask, cancel, refreshPlan, runner } from './runner';
import { emit, on, state } from './state';
import { language, setLanguage, t, type Key, type Language } from './strings';

/* --- what the browser remembers: theme and language, nothing else ----------------------------------- */

function remembered(name: string): string {
  try {
    return localStorage.getItem(`s2prune-${name}`) ?? '';
  } catch {
    return '';
  }
}

function remember(name: string, value: string): void {
  try {
    localStorage.setItem(`s2prune-${name}`, value);
  } catch {
    /* then it is chosen again next time */
  }
}

type Theme = 'auto' | 'light' | 'dark';
const themes: Theme[] = ['auto', 'light', 'dark'];

const darkWished = matchMedia('(prefers-color-scheme: dark)');
let theme: Theme = 'auto';

function setTheme(next: Theme): void {
  theme = next;
  document.documentElement.dataset.theme = theme === 'auto' ? (darkWished.matches ? 'dark' : 'light') : theme;
}
darkWished.addEventListener('change', () => setTheme(theme));

function useLanguage(next: Language): void {
  setLanguage(next);
  document.documentElement.lang = next;
  document.title = t('title');
  remember('language', next);
  translate(document);
  emit('language');
}

/* --- dialogs --------------------------------------------------------------------------------------- */

function dialog(id: string, title: Key, ...children: (Node | string)[]): HTMLDialogElement {
  const d = h('dialog', { id, 'aria-labelledby': `${id}-title` });
  const close = h('button', { type: 'button', class: 'button', t: 'close', onclick: () => d.close() });
  d.append(h('h2', { id: `${id}-title`, t: title, tabIndex: -1 }), ...children, h('div', { class: 'row end' }, close));
  return d;
}

function keyDialog(): HTMLDialogElement {
  const input = h('input', { id: 'key-input', type: 'password', autocomplete: 'off', maxLength: 500, autofocus: true, 'aria-describedby': 'key-problem' });
  const form = h(
    'form',
    { method: 'dialog' },
    h('p', { t: 'keyText' }),
    h('label', { htmlFor: 'key-input', t: 'keyLabel' }),
    input,
    h('p', { class: 'problem', id: 'key-problem', role: 'alert' }),
    h('div', { class: 'row end' }, h('button', { type: 'submit', class: 'primary', t: 'keyUse' })),
  );
  const d = dialog('key-dialog', 'keyTitle', form);
  form.addEventListener('submit', () => {
    key.set(input.value.trim());
    input.value = '';
    runner.error = null;
    connect();
    emit('run');
  });
  return d;
}

function helpDialog(): HTMLDialogElement {
  const lines = (items: [Key, Key][]) =>
    h('dl', { class: 'help' }, ...items.map(([k, v]) => h('div', {}, h('dt', { t: k }), h('dd', { t: v }))));
  return dialog(
    'help-dialog',
    'helpTitle',
    h('p', { t: 'helpIntro' }),
    lines([
      ['kept', 'helpKept'],
      ['cells', 'helpCells'],
      ['regions', 'helpRegions'],
      ['laplacian', 'helpLaplacian'],
      ['erc', 'helpErc'],
      ['order', 'helpOrder'],
    ]),
    h('h3', { t: 'helpKeys' }),
    lines([
      ['keyRun', 'helpRun'],
      ['keyArrows', 'helpArrows'],
      ['keyEnds', 'helpEnds'],
      ['keySpace', 'helpSpace'],
      ['keyZoom', 'helpZoom'],
    ]),
  );
}

/* --- header and banner ------------------------------------------------------------------------------ */

function header(openKey: () => void, openHelp: () => void): HTMLElement {
  const model = h('span', { class: 'model' });
  const dot = h('span', { class: 'dot', 'aria-hidden': 'true' });
  const status = h('span', { class: 'status' }, dot, h('span', {}));
  const themeBox = h('select', { id: 'theme', tLabel: 'theme' });
  const languageBox = h(
    'select',
    { id: 'language', 'aria-label': 'Language / 语言' },
    h('option', { value: 'en', lang: 'en' }, 'English'),
    h('option', { value: 'zh', lang: 'zh' }, '中文'),
  );
  languageBox.addEventListener('change', () => useLanguage(languageBox.value as Language));
  themeBox.addEventListener('change', () => {
    setTheme(themeBox.value as Theme);
    remember('theme', theme);
  });
  const render = () => {
    model.textContent = state.model;
    status.className = `status ${state.server}`;
    status.lastElementChild!.textContent = t(`server_${state.server}` as Key);
    themeBox.replaceChildren(...themes.map((x) => h('option', { value: x }, t(`theme_${x}` as Key))));
    themeBox.value = theme;
    languageBox.value = language();
  };
  on(['server', 'language'], render);
  render();
  return h(
    'header',
    {},
    h('div', { class: 'brand' }, h('span', { class: 'logo', 'aria-hidden': 'true' }), h('h1', { t: 'title' })),
    model,
    status,
    h(
      'div',
      { class: 'tools-right' },
      languageBox,
      themeBox,
      h('button', { type: 'button', class: 'button', id: 'open-key', t: 'key', onclick: openKey }),
      h('button', { type: 'button', class: 'button', id: 'open-help', t: 'help', onclick: openHelp }),
    ),
  );
}

/** Connection lost, a model that is being loaded, no model: what works meanwhile. */
function banner(): HTMLElement {
  const words = h('span', {});
  const seconds = h('span', { 'aria-hidden': 'true' });
  const bar = h('progress', { max: 1, tLabel: 'progress' });
  const now = h('button', { type: 'button', class: 'button', t: 'retryNow', onclick: connect });
  const root = h('div', { class: 'banner', role: 'status' }, words, seconds, bar, now);
  const render = () => {
    const { server } = state;
    root.hidden = !['lost', 'loading', 'no-model'].includes(server);
    root.className = `banner ${server}`;
    words.textContent = root.hidden ? '' : t(`banner_${server}` as Key);
    bar.hidden = server !== 'loading';
    if (connection.progress !== null) bar.value = connection.progress;
    else bar.removeAttribute('value');
    now.hidden = server !== 'lost';
    seconds.hidden = server !== 'lost';
  };
  setInterval(() => {
    if (state.server === 'lost') seconds.textContent = t('inSeconds', { n: Math.max(0, Math.ceil((connection.nextAt - Date.now()) / 1000)) });
  }, 250);
  on(['server', 'language'], render);
  render();
  return root;
}

/* --- tabs ------------------------------------------------------------------------------------------- */

type Tab = 'explore' | 'compare' | 'results';
const tabNames: Tab[] = ['explore', 'compare', 'results'];

function tabs(panels: Record<Tab, HTMLElement>, opened: (tab: Tab) => void): { root: HTMLElement; open: (tab: Tab) => void } {
  const buttons = tabNames.map((name) =>
    h('button', {
      type: 'button',
      role: 'tab',
      id: `tab-${name}`,
      'aria-controls': `panel-${name}`,
      t: `tab_${name}` as Key,
      onclick: () => open(name),
    }),
  );
  for (const name of tabNames) {
    panels[name].id = `panel-${name}`;
    panels[name].setAttribute('role', 'tabpanel');
    panels[name].setAttribute('aria-labelledby', `tab-${name}`);
  }
  function open(tab: Tab): void {
    tabNames.forEach((name, i) => {
      const on = name === tab;
      buttons[i].setAttribute('aria-selected', String(on));
      buttons[i].tabIndex = on ? 0 : -1;
      panels[name].hidden = !on;
    });
    document.body.dataset.tab = tab;
    opened(tab);
  }
  const root = h('div', { class: 'tabs', role: 'tablist', tLabel: 'tabs' }, ...buttons);
  root.addEventListener('keydown', (e) => {
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    const step = e.key === 'ArrowRight' ? 1 : e.key === 'ArrowLeft' ? -1 : 0;
    if (at < 0 || !step) return;
    const next = (at + step + buttons.length) % buttons.length;
    buttons[next].focus();
    open(tabNames[next]);
    e.preventDefault();
  });
  return { root, open };
}

/* --- start ------------------------------------------------------------------------------------------ */

function start(): void {
  const liked = remembered('theme') as Theme;
  setTheme(themes.includes(liked) ? liked : 'auto');
  const wished = remembered('language') || (navigator.language.startsWith('zh') ? 'zh' : 'en');
  setLanguage(wished === 'zh' ? 'zh' : 'en');
  document.documentElement.lang = language();
  document.title = t('title');

  const link = readLink(location.hash);
  Object.assign(state.settings, link.settings);
  state.question = link.question;
  state.wantedHash = link.hash;

  const keyBox = keyDialog();
  const helpBox = helpDialog();
  const explore = exploreTab();
  const results = resultsTab();
  const input = inputPanel(() => (runner.current ? cancel() : runIfPossible()));
  const panels = {
    explore: h('div', { class: 'panel explore-panel' }, explore.root, explore.side),
    compare: h('div', { class: 'panel' }, compareTab()),
    results: h('div', { class: 'panel' }, results.root),
  };
  const bar = tabs(panels, (tab) => tab === 'results' && results.open());

  function runIfPossible(): void {
    if (obstacle() || runner.current) return;
    void ask().then(showAnswer);
    showAnswer();
  }
  /** In one column the answer is below the picture. Its panel shrinks when the stages go: once more at the end. */
  function showAnswer(): void {
    if (!matchMedia('(max-width: 900px)').matches) return;
    const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
    document.querySelector('.card.answer')?.scrollIntoView({ block: 'start', behavior: calm ? 'auto' : 'smooth' });
  }
  const renderRun = () => {
    input.runButton.textContent = t(runner.current ? 'cancel' : state.edit ? 'runEdited' : state.run ? 'runAgain' : 'run');
    input.runButton.disabled = !runner.current && Boolean(obstacle());
  };
  on(['run', 'server', 'picture', 'settings', 'edit', 'language'], renderRun);
  on(['picture', 'settings', 'run', 'server'], () => void refreshPlan());
  on(['picture'], () => (document.body.dataset.picture = 'some'));
  document.body.dataset.picture = 'none';
  document.addEventListener('keydown', (e) => {
    if (e.key !== 'Enter' || !(e.ctrlKey || e.metaKey)) return;
    e.preventDefault();
    if (document.body.dataset.tab === 'compare') document.getElementById('compare-run')?.click();
    else runIfPossible();
  });
  connection.needsKey = () => {
    keyBox.querySelector('#key-problem')!.textContent = key.get() ? t('keyWrong') : '';
    if (!keyBox.open) keyBox.showModal();
  };

  const skip = h('a', { class: 'skip', href: '#main', t: 'skip' });
  skip.addEventListener('click', (e) => {
    e.preventDefault(); // the address holds a link's settings
    document.getElementById('main')!.focus();
  });
  document.body.replaceChildren(
    skip,
    header(
      () => keyBox.showModal(),
      () => {
        helpBox.showModal();
        helpBox.querySelector('h2')!.focus(); // and not the button at its end
        helpBox.scrollTop = 0;
      },
    ),
    banner(),
    h('div', { class: 'layout' }, h('aside', { tLabel: 'input' }, input.root), h('main', { id: 'main', tabIndex: -1 }, bar.root, panels.explore, panels.compare, panels.results)),
    keyBox,
    helpBox,
  );
  bar.open(link.tab as Tab);
  renderRun();
  connect();
  const example = examples.find((x) => x.name === link.example);
  if (example)
    void takeExample(example).then(() => {
      if (!state.question) state.question = example.question;
      if (link.keep) state.edit = new Set(link.keep);
      emit('settings', 'edit');
    });
  performance.mark('s2prune-interactive');
}

start();
