// input.ts - the left side: picture, question, method, budget, Run.
import { announce, field, fill, h, icon } from './dom';
import { examples, takeExample, takePicture, type Example } from './picture';
import { emit, on, state, tokenCount } from './state';
import { t } from './strings';

/** The slider is finer where it matters: half of its way is a quarter of the tokens. */
export const STEPS = 400;
export const budgetAt = (position: number, max: number): number =>
  Math.max(1, Math.round(1 + (max - 1) * (position / STEPS) ** 2));
export const positionOf = (budget: number, max: number): number =>
  max > 1 ? Math.round(STEPS * Math.sqrt(Math.min(1, Math.max(0, budget - 1) / (max - 1)))) : STEPS;

function pictureSection(): HTMLElement {
  const problem = h('p', { class: 'problem', role: 'alert' });
  const attempt = async (take: () => Promise<void>) => {
    problem.textContent = '';
    try {
      await take();
      announce(t('pictureTaken', { name: state.picture!.name }));
    } catch (e) {
      problem.textContent = e instanceof Error ? e.message : String(e);
    }
  };
  const takeFiles = (files: Iterable<File> | null | undefined) => {
    const file = [...(files ?? [])][0];
    if (file) void attempt(() => takePicture(file, file.name || t('pasted')));
  };
  const chooser = (id: string, props: Record<string, unknown>) =>
    h('input', {
      id,
      class: 'sr',
      type: 'file',
      accept: 'image/*',
      onchange: (e: Event) => {
        const input = e.target as HTMLInputElement;
        takeFiles(input.files);
        input.value = '';
      },
      ...props,
    });
  const file = chooser('file', {});
  const camera = chooser('camera', { capture: 'environment' });

  const zone = h(
    'div',
    { class: 'drop' },
    h('p', { class: 'drop-hint' }, icon('upload'), h('span', { t: 'dropHere' })),
    h(
      'div',
      { class: 'row' },
      file,
      h('label', { class: 'button', htmlFor: 'file', t: 'browse' }),
      camera,
      h('label', { class: 'button camera', htmlFor: 'camera', t: 'camera' }),
      h('button', { type: 'button', class: 'button', t: 'paste', onclick: () => void attempt(pasteClipboard) }),
    ),
    h('p', { class: 'hint', t: 'formats' }),
  );
  for (const [name, over] of [
    ['dragover', true],
    ['dragleave', false],
    ['drop', false],
  ] as const)
    document.addEventListener(name, (e) => {
      if (!(e as DragEvent).dataTransfer?.types.includes('Files')) return;
      e.preventDefault(); // a picture dropped beside the zone must not replace the page
      zone.classList.toggle('over', over);
      if (name === 'drop') takeFiles((e as DragEvent).dataTransfer!.files);
    });
  document.addEventListener('paste', (e) => {
    const files = e.clipboardData?.files;
    if (files?.length) takeFiles(files);
  });

  const thumbnail = h('canvas', { class: 'thumb', width: 64, height: 64, 'aria-hidden': 'true' });
  const caption = h('span', { class: 'caption' });
  const current = h('div', { class: 'current' }, thumbnail, caption);
  const others = exampleButtons(); // without a picture they stand large in the middle
  const render = () => {
    const picture = state.picture;
    current.hidden = others.hidden = !picture;
    zone.classList.toggle('small', Boolean(picture));
    const wanted = state.wantedHash;
    if (picture) {
      const side = Math.max(picture.width, picture.height);
      const w = (64 * picture.width) / side;
      const height = (64 * picture.height) / side;
      const ctx = thumbnail.getContext('2d')!;
      ctx.clearRect(0, 0, 64, 64);
      ctx.drawImage(picture.bitmap, (64 - w) / 2, (64 - height) / 2, w, height);
      caption.textContent = `${picture.name} · ${picture.width}×${picture.height}`;
      if (wanted && picture.hash) caption.textContent += ` · ${t(picture.hash === wanted ? 'linkSame' : 'linkOther')}`;
    }
    linkNote.hidden = !wanted || Boolean(picture);
    linkNote.textContent = wanted ? t('linkWants', { hash: wanted.slice(0, 12) }) : '';
  };
  const linkNote = h('p', { class: 'note', hidden: true });
  on(['picture', 'language'], render);
  render();

  return h(
    'section',
    { class: 'source', 'aria-labelledby': 'h-picture' },
    h('h2', { id: 'h-picture', t: 'picture' }),
    linkNote,
    zone,
    current,
    problem,
    others,
  );
}

/** The built-in pictures, each with a question that suits it. */
export function exampleButtons(): HTMLElement {
  const button = (example: Example) =>
    h(
      'button',
      {
        type: 'button',
        class: 'example',
        'data-example': example.name,
        onclick: () =>
          void takeExample(example).then(() => {
            state.question = example.question;
            emit('settings');
            announce(t('pictureTaken', { name: state.picture!.name }));
          }),
      },
      h('img', { src: example.url, alt: '', width: 96, height: 72 }),
      h('span', { t: example.name }),
    );
  return h('div', { class: 'examples', role: 'group', tLabel: 'examples' }, ...examples.map(button));
}

async function pasteClipboard(): Promise<void> {
  if (!navigator.clipboard?.read) throw new Error(t('pasteKeys'));
  let items: ClipboardItems;
  try {
    items = await navigator.clipboard.read();
  } catch {
    throw new Error(t('pasteKeys'));
  }
  for (const item of items) {
    const type = item.types.find((x) => x.startsWith('image/'));
    if (type) return takePicture(await item.getType(type), t('pasted'));
  }
  throw new Error(t('pasteEmpty'));
}

function questionSection(): HTMLElement {
  const box = h('textarea', {
    id: 'question',
    rows: 2,
    maxLength: 4000,
    tPlaceholder: 'questionHint',
    oninput: () => {
      state.question = box.value;
      emit('settings');
    },
  });
  const render = () => {
    if (box.value !== state.question) box.value = state.question;
  };
  on(['settings', 'language'], render);
  render();
  return field('question', box);
}

function budgetField(): HTMLElement {
  const slider = h('input', { id: 'budget', type: 'range', min: '0', max: String(STEPS), step: '1' });
  const exact = h('input', { type: 'number', class: 'exact', min: '1', step: '1', tLabel: 'budgetExact' });
  const note = h('p', { class: 'hint', id: 'budget-note' });
  const problem = h('p', { class: 'problem', id: 'budget-problem' });
  const set = (budget: number) => {
    state.settings.budget = budget;
    emit('settings');
  };
  slider.addEventListener('input', () => set(budgetAt(Number(slider.value), tokenCount())));
  exact.addEventListener('change', () => set(Math.min(tokenCount(), Math.max(1, Math.round(Number(exact.value)) || 1))));
  slider.setAttribute('aria-describedby', 'budget-note budget-problem');
  const chip = (budget: number) =>
    h('button', { type: 'button', class: 'chip', 'data-budget': budget, onclick: () => set(budget) }, String(budget));
  const chips = h('div', { class: 'chips', role: 'group', tLabel: 'budgetChips' }, ...[32, 64, 128, 192].map(chip));

  const render = () => {
    const { budget, method } = state.settings;
    const max = tokenCount();
    const position = String(positionOf(budget, max));
    if (budgetAt(Number(slider.value), max) !== budget) slider.value = position;
    exact.value = String(budget);
    exact.max = String(max);
    const words = t('budgetOf', { n: budget, of: max, share: ((100 * budget) / max).toFixed(budget * 10 < max ? 1 : 0) });
    slider.setAttribute('aria-valuetext', words);
    note.textContent = method === 'full' ? t('budgetFull') : words;
    problem.textContent = state.planError;
    slider.disabled = exact.disabled = method === 'full';
    chips.querySelectorAll('button').forEach((b) => {
      b.setAttribute('aria-pressed', String(Number(b.dataset.budget) === budget));
      b.disabled = method === 'full';
    });
  };
  on(['settings', 'plan', 'run', 'language'], render);
  render();
  return h(
    'div',
    { class: 'field budget' },
    h('label', { htmlFor: 'budget', t: 'budget' }),
    h('div', { class: 'row nowrap' }, slider, exact),
    chips,
    note,
    problem,
  );
}

function methodField(): HTMLElement {
  const select = h('select', { id: 'method' });
  const note = h('p', { class: 'hint method-note' });
  select.addEventListener('change', () => {
    state.settings.method = select.value;
    emit('settings');
  });
  const render = () => {
    const known = state.methods.methods;
    const names = known.length ? known.map((m) => m.name) : [state.settings.method];
    if (select.options.length !== names.length || select.value !== state.settings.method)
      fill(select, names.map((name) => ({ value: name, text: name })), state.settings.method);
    const method = known.find((m) => m.name === state.settings.method);
    note.textContent = method
      ? [method.source, method.usesQuestion ? t('usesQuestion') : ''].filter(Boolean).join(' · ')
      : '';
  };
  on(['server', 'settings', 'language'], render);
  render();
  return field('method', select, note);
}

function moreSection(): HTMLElement {
  const grid = h('select', { id: 'grid' });
  const allocator = h('select', { id: 'allocator' });
  const selector = h('select', { id: 'selector' });
  const before = h('select', { id: 'before' });
  const seed = h('input', { id: 'seed', type: 'number', min: '0', max: '1000000', step: '1' });
  const length = h('input', { id: 'length', type: 'number', min: '1', max: '4096', step: '1' });
  const bind = (control: HTMLInputElement | HTMLSelectElement, set: (value: string) => void) =>
    control.addEventListener('change', () => {
      set(control.value);
      emit('settings');
    });
  const s = state.settings;
  const whole = (v: string, low: number, high: number) => Math.min(high, Math.max(low, Math.round(Number(v)) || low));
  bind(grid, (v) => (s.grid = Number(v)));
  bind(allocator, (v) => (s.allocator = v));
  bind(selector, (v) => (s.selector = v));
  bind(before, (v) => (s.before = v));
  bind(seed, (v) => (s.seed = whole(v, 0, 1_000_000)));
  bind(length, (v) => (s.maxTokens = whole(v, 1, 4096)));
  const render = () => {
    const auto = { value: '', text: t('auto') };
    const named = (names: string[]) => [auto, ...names.map((name) => ({ value: name, text: name }))];
    const sides = Array.from({ length: 15 }, (_, i) => i + 2);
    fill(
      grid,
      [{ value: '0', text: t('gridAuto') }, ...sides.map((k) => ({ value: String(k), text: `${k} × ${k}` }))],
      String(s.grid),
    );
    fill(allocator, named(state.methods.allocators), s.allocator);
    fill(selector, named(state.methods.selectors), s.selector);
    fill(
      before,
      [auto, { value: 'none', text: t('beforeNone') }, ...['', ':0.01', ':0.05', ':0.1'].map((x) => ({ value: `pixelprune${x}`, text: `PixelPrune ${x.slice(1) || '0'}` }))],
      s.before,
    );
    seed.value = String(s.seed);
    length.value = String(s.maxTokens);
  };
  on(['server', 'settings', 'language'], render);
  render();
  return h(
    'details',
    { class: 'more' },
    h('summary', { t: 'more' }),
    h(
      'div',
      { class: 'two' },
      field('grid', grid),
      field('allocator', allocator),
      field('selector', selector),
      field('before', before),
      field('seed', seed),
      field('length', length),
    ),
  );
}

/** Why Run cannot be pressed, or ''. */
export function obstacle(): string {
  if (state.server === 'lost') return t('whyLost');
  if (state.server === 'loading') return t('whyLoading');
  if (state.server === 'no-model') return t('whyNoModel');
  if (!state.picture) return t('whyNoPicture');
  if (!state.question.trim()) return t('whyNoQuestion');
  if (state.edit && state.edit.size === 0) return t('whyNoTokens');
  return '';
}

export interface InputPanel {
  root: HTMLElement;
  runButton: HTMLButtonElement;
}

export function inputPanel(run: () => void): InputPanel {
  const runButton = h('button', { type: 'button', id: 'run', class: 'primary', onclick: run });
  const why = h('p', { class: 'hint', id: 'run-why' });
  runButton.setAttribute('aria-describedby', 'run-why');
  const render = () => {
    why.textContent = obstacle() || t('runKeys');
  };
  on(['server', 'picture', 'settings', 'edit', 'language'], render);
  render();
  const root = h(
    'div',
    { class: 'input' },
    pictureSection(),
    questionSection(),
    h(
      'section',
      { class: 'settings', tLabel: 'settings' },
      h('div', { class: 'bar' }, methodField(), budgetField(), h('div', { class: 'go' }, runButton, why)),
      moreSection(),
    ),
  );
  return { root, runButton };
}
