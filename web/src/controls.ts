// controls.ts - pieces that more than one tab shows: layers, cost lines, errors.
import type { ApiError } from './api';
import { fill, h, icon } from './dom';
import type { Choice } from './geometry';
import { heatColor, spread, type Look, type Mode } from './overlay';
import type { Cost } from './read';
import { on } from './state';
import { t, type Key } from './strings';

const layers = ['kept', 'cells', 'regions', 'laplacian', 'erc', 'order'] as const;

/** Check boxes of the layers, the mode and the slider; `changed` after each. */
export function lookControls(look: Look, prefix: string, changed: () => void): HTMLElement {
  const boxes = layers.map((name) => {
    const box = h('input', { type: 'checkbox', id: `${prefix}-${name}`, checked: look[name] });
    box.addEventListener('change', () => {
      look[name] = box.checked;
      if (box.checked && (name === 'laplacian' || name === 'erc')) {
        const other = name === 'erc' ? 'laplacian' : 'erc'; // two heat maps on one another say nothing
        look[other] = false;
        boxes[layers.indexOf(other)].querySelector('input')!.checked = false;
      }
      changed();
    });
    return h('label', { class: 'check' }, box, h('span', { t: name }));
  });
  const mode = h('select', { id: `${prefix}-mode` });
  const modes: Mode[] = ['dim', 'outline', 'holes'];
  mode.addEventListener('change', () => {
    look.mode = mode.value as Mode;
    changed();
  });
  const dim = h('input', {
    id: `${prefix}-dim`,
    type: 'range',
    min: '0',
    max: '100',
    value: String(Math.round(look.dim * 100)),
  });
  dim.addEventListener('input', () => {
    look.dim = Number(dim.value) / 100;
    changed();
  });
  const render = () => fill(mode, modes.map((m) => ({ value: m, text: t(`mode_${m}` as Key) })), look.mode);
  on(['language'], render);
  render();
  return h(
    'div',
    { class: 'look' },
    h('div', { class: 'checks', role: 'group', tLabel: 'layers' }, ...boxes),
    h(
      'div',
      { class: 'row' },
      h('label', { class: 'inline' }, h('span', { t: 'mode' }), mode),
      h('label', { class: 'inline' }, h('span', { t: 'dimPruned' }), dim),
    ),
  );
}

/** The colours of a heat layer with their ends. */
export function heatLegend(choice: Choice, look: Look): HTMLElement | null {
  const values =
    look.erc && choice.erc
      ? choice.erc
      : look.laplacian && choice.regions.length
        ? choice.regions.map((r) => r.variance ?? 0)
        : null;
  if (!values) return null;
  const { low, high } = look.erc ? spread(values) : { low: Math.min(...values), high: Math.max(...values) };
  const bar = h('canvas', { width: 64, height: 8, 'aria-hidden': 'true' });
  const ctx = bar.getContext('2d')!;
  for (let x = 0; x < 64; x++) {
    ctx.fillStyle = heatColor(x / 63, 1);
    ctx.fillRect(x, 0, 1, 8);
  }
  return h(
    'p',
    { class: 'legend' },
    h('span', {}, t(look.erc ? 'erc' : 'laplacianVar')),
    h('span', {}, low.toPrecision(3)),
    bar,
    h('span', {}, high.toPrecision(3)),
  );
}

export function ms(v: number | null): string {
  if (v === null) return '–';
  return v >= 1000 ? `${(v / 1000).toFixed(1)} s` : `${v.toFixed(v < 10 ? 1 : 0)} ms`;
}

export function bytes(v: number | null): string {
  if (v === null) return '–';
  const mib = v / 1048576;
  return mib >= 1 ? `${mib.toFixed(1)} MiB` : `${(v / 1024).toFixed(v < 10240 ? 1 : 0)} KiB`;
}

/** 1.6 T, 601 M. */
export function metric(v: number): string {
  const at = Math.max(0, Math.min(4, Math.floor(Math.log10(Math.max(1, v)) / 3)));
  const scaled = v / 1000 ** at;
  return `${scaled.toFixed(scaled < 10 ? 2 : scaled < 100 ? 1 : 0)} ${['', 'k', 'M', 'G', 'T'][at]}`.trim();
}

export const percent = (v: number): string => `${Math.round(100 * v)} %`;

/** Name and value pairs of an answer's cost, in reading order. */
export function costLines(cost: Cost, shared = false): [Key, string][] {
  const lines: [Key, string][] = [
    ['timeImage', ms(cost.imageMs)],
    [shared ? 'timeVisionShared' : 'timeVision', ms(cost.visionMs)],
    ['timePrefill', ms(cost.promptMs)],
  ];
  if (cost.towerTokens !== null && cost.imageTokensFull !== null)
    lines.push(['entered', t('ofTokens', { n: cost.towerTokens, of: cost.imageTokensFull })]);
  if (cost.perSecond) lines.push(['speed', `${cost.perSecond.toFixed(1)} tok/s`]);
  if (cost.kvBytes !== null)
    lines.push([
      'kv',
      cost.kvBytesFull === null ? bytes(cost.kvBytes) : t('kvOf', { kv: bytes(cost.kvBytes), full: bytes(cost.kvBytesFull) }),
    ]);
  if (cost.flops !== null) lines.push(['flops', metric(cost.flops)]);
  return lines;
}

/** shared: the tower ran once, for several answers. */
export function costList(cost: Cost, shared = false): HTMLElement {
  return h(
    'dl',
    { class: 'cost' },
    ...costLines(cost, shared).flatMap(([name, value]) => [h('div', {}, h('dt', { t: name }), h('dd', {}, value))]),
  );
}

/** How much of the prompt was already in the cache. */
export function cachedBar(cost: Cost): HTMLElement | null {
  if (cost.cachedTokens === null || !cost.promptTokens) return null;
  const bar = h('div', { class: 'meter', 'aria-hidden': 'true' }, h('div', {}));
  (bar.firstElementChild as HTMLElement).style.width = `${Math.min(100, (100 * cost.cachedTokens) / cost.promptTokens)}%`;
  return h(
    'div',
    { class: 'cached' },
    h('p', {}, t(cost.cachedTokens > 0 ? 'cached' : 'cachedNone', { n: cost.cachedTokens, of: cost.promptTokens })),
    bar,
  );
}

export function detailsOf(error: ApiError): string {
  return JSON.stringify({ status: error.status, type: error.type, message: error.message, answer: error.details }, null, 1);
}

/** A red card with the server's sentence. */
export function errorCard(error: ApiError, retry: () => void, note = ''): HTMLElement {
  const copied = h('span', { class: 'hint', role: 'status' });
  const copy = async () => {
    await copyText(detailsOf(error), copied);
  };
  return h(
    'div',
    { class: 'error', role: 'alert' },
    h(
      'p',
      {},
      icon('warn'),
      h('strong', {}, error.status ? `${t('error')} ${error.status}` : t('errorLost')),
      ' ',
      h('span', {}, error.status === 0 ? t('errorLostText') : error.message),
    ),
    note ? h('p', { class: 'countdown' }, note) : null,
    h(
      'div',
      { class: 'row' },
      h('button', { type: 'button', class: 'button retry', t: 'retry', onclick: retry }),
      h('button', { type: 'button', class: 'button', t: 'copyDetails', onclick: () => void copy() }),
      copied,
    ),
  );
}

/** To the clipboard, or, where there is none, to a box the user can copy from. */
export async function copyText(text: string, status: HTMLElement): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    status.textContent = t('copied');
  } catch {
    const box = h('textarea', { readOnly: true, rows: 3, value: text, tLabel: 'copyByHand' });
    status.replaceChildren(box);
    box.select();
  }
}
