// dom.ts - elements from code. Text is only ever text: nothing here takes markup.
import { t, type Key } from './strings';

export type Child = Node | string | null | undefined | false;
export interface Props {
  /** texts that follow the language: content, label, tooltip, placeholder */
  t?: Key;
  tLabel?: Key;
  tTitle?: Key;
  tPlaceholder?: Key;
  [name: string]: unknown;
}

const followed = { t: 't', tLabel: 'tLabel', tTitle: 'tTitle', tPlaceholder: 'tPlaceholder' } as const;

function applyTexts(e: HTMLElement): void {
  const { t: content, tLabel, tTitle, tPlaceholder } = e.dataset as Record<string, Key | undefined>;
  if (content) e.textContent = t(content);
  if (tLabel) e.setAttribute('aria-label', t(tLabel));
  if (tTitle) e.title = t(tTitle);
  if (tPlaceholder) e.setAttribute('placeholder', t(tPlaceholder));
}

/** Every element made with t, tLabel, tTitle or tPlaceholder gets its text in the current language. */
export function translate(root: ParentNode): void {
  root
    .querySelectorAll<HTMLElement>('[data-t],[data-t-label],[data-t-title],[data-t-placeholder]')
    .forEach(applyTexts);
}

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const e = document.createElement(tag);
  let texts = false;
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name in followed) {
      e.dataset[name] = String(value);
      texts = true;
    } else if (name.startsWith('on') && typeof value === 'function')
      e.addEventListener(name.slice(2), value as EventListener);
    else if (name in e && !name.includes('-') && name !== 'list' && name !== 'role')
      (e as unknown as Record<string, unknown>)[name] = value;
    else e.setAttribute(name, value === true ? '' : String(value));
  }
  if (texts) applyTexts(e);
  e.append(...children.filter((c): c is Node | string => c !== null && c !== undefined && c !== false));
  return e;
}

/** The same for SVG. */
export function s(tag: string, attributes: Record<string, string | number>, ...children: Child[]): SVGElement {
  const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, String(value));
  e.append(...children.filter((c): c is Node | string => c !== null && c !== undefined && c !== false));
  return e;
}

const icons: Record<string, string> = {
  run: 'M7 4.5v15l12-7.5z',
  stop: 'M6 6h12v12H6z',
  warn: 'M12 3 1.8 20.5h20.4zM11 10h2v5h-2zm0 6.5h2v2h-2z',
  upload: 'M11 16V7.8L8 10.9 6.6 9.5 12 4l5.4 5.5L16 10.9l-3-3.1V16zM5 18h14v2H5z',
  camera: 'M9 5 7.4 7H4v12h16V7h-3.4L15 5zm3 4a4 4 0 1 1 0 8 4 4 0 0 1 0-8z',
  paste: 'M9 3h6v2h4v16H5V5h4zm1 2v2h4V5zM8 11v2h8v-2zm0 4v2h6v-2z',
  plus: 'M11 5h2v6h6v2h-6v6h-2v-6H5v-2h6z',
  minus: 'M5 11h14v2H5z',
  close: 'm6.4 5 5.6 5.6L17.6 5 19 6.4 13.4 12l5.6 5.6-1.4 1.4-5.6-5.6L6.4 19 5 17.6l5.6-5.6L5 6.4z',
  fit: 'M4 9V4h5v2H6v3zm11-5h5v5h-2V6h-3zM6 15v3h3v2H4v-5zm12 3v-3h2v5h-5v-2z',
  check: 'm9.5 18-6-6L5 10.6l4.5 4.5L19 5.6 20.4 7z',
};

export function icon(name: keyof typeof icons & string): SVGElement {
  return s(
    'svg',
    { viewBox: '0 0 24 24', width: 18, height: 18, 'aria-hidden': 'true', class: 'icon', focusable: 'false' },
    s('path', { d: icons[name], fill: 'currentColor', 'fill-rule': 'evenodd' }),
  );
}

/** A labelled form field. */
export function field(label: Key, control: HTMLElement, ...more: Child[]): HTMLElement {
  control.id ||= `f-${label}`;
  return h('div', { class: 'field' }, h('label', { htmlFor: control.id, t: label }), control, ...more);
}

/** A choice of names; the value stays when the list changes, if it is still there. */
export function fill(select: HTMLSelectElement, options: { value: string; text: string }[], value?: string): void {
  const keep = value ?? select.value;
  select.replaceChildren(...options.map((o) => h('option', { value: o.value }, o.text)));
  if (options.some((o) => o.value === keep)) select.value = keep;
}

/** Hand the user a file. */
export function download(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob);
  const a = h('a', { href: url, download: name });
  document.body.append(a);
  a.click();
  a.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

let live: HTMLElement | null = null;

/** Says a change of stage to screen readers. */
export function announce(text: string): void {
  live ??= h('div', { class: 'sr', 'aria-live': 'polite', role: 'status' });
  if (!live.isConnected) document.body.append(live);
  live.textContent = text;
}
