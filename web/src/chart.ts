// chart.ts - score against budget, one line for each method, with its interval. Shapes and dashes beside colours.
import { h, s } from './dom';
import { t } from './strings';

export interface Point {
  x: number;
  y: number;
  low: number | null;
  high: number | null;
}

export interface Line {
  name: string;
  points: Point[]; // ascending x
  level?: boolean; // one value for every budget: drawn as a level
}

/** Wide where there is room, so that the chart fills its card and stays as high. */
const widthOf = (): number => ((globalThis.innerWidth ?? 0) > 900 ? 1180 : 680);
const H = 350;
const LEFT = 54;
const RIGHT = 16;
const TOP = 14;
const BOTTOM = 56;

/** Round numbers that cover low..high in about n steps. */
export function ticks(low: number, high: number, n: number): number[] {
  const span = Math.max(1e-9, high - low);
  const rough = span / n;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((v) => v >= rough)!;
  const out: number[] = [];
  for (let v = Math.ceil(low / step - 1e-9) * step; v <= high + step * 1e-9; v += step) out.push(+v.toFixed(6));
  return out;
}

const marks: ((x: number, y: number) => string)[] = [
  (x, y) => `M${x - 4} ${y}a4 4 0 1 0 8 0a4 4 0 1 0-8 0`,
  (x, y) => `M${x - 4} ${y - 4}h8v8h-8z`,
  (x, y) => `M${x} ${y - 5}l5 9h-10z`,
  (x, y) => `M${x} ${y - 5.5}l5.5 5.5l-5.5 5.5l-5.5-5.5z`,
  (x, y) => `M${x} ${y + 5}l5-9h-10z`,
  (x, y) => `M${x - 4.5} ${y - 4.5}l9 9m0-9l-9 9`,
];

export function curves(lines: Line[], title: string): HTMLElement {
  const W = widthOf();
  const points = lines.flatMap((l) => l.points);
  const xs = [...new Set(lines.filter((l) => !l.level).flatMap((l) => l.points.map((p) => p.x)))].sort((a, b) => a - b);
  const low = Math.max(0, Math.min(...points.map((p) => p.low ?? p.y)) - 2);
  const high = Math.max(...points.map((p) => p.high ?? p.y)) + 2;
  const lx = (v: number) => Math.log2(Math.max(1, v)); // budgets double
  const from = lx(xs[0] ?? 1);
  const to = lx(xs[xs.length - 1] ?? 2);
  const x = (v: number) => LEFT + (to > from ? (lx(v) - from) / (to - from) : 0.5) * (W - LEFT - RIGHT - 20) + 10;
  const y = (v: number) => TOP + (1 - (v - low) / Math.max(1e-9, high - low)) * (H - TOP - BOTTOM);
  const parts: SVGElement[] = [];
  for (const v of ticks(low, high, 5))
    parts.push(
      s('path', { class: 'rule', d: `M${LEFT} ${y(v)}H${W - RIGHT}` }),
      s('text', { class: 'tick', x: LEFT - 8, y: y(v) + 4, 'text-anchor': 'end' }, String(v)),
    );
  for (const v of xs) parts.push(s('text', { class: 'tick', x: x(v), y: H - BOTTOM + 24, 'text-anchor': 'middle' }, String(v)));
  parts.push(s('text', { class: 'tick', x: W / 2, y: H - 4, 'text-anchor': 'middle' }, t('chartX')));
  lines.forEach((line, i) => {
    const p = line.points;
    const cls = `series s${i % 6}`;
    if (line.level) {
      parts.push(s('path', { class: `${cls} line level`, d: `M${LEFT} ${y(p[0].y)}H${W - RIGHT}` }));
      return;
    }
    const band = p.filter((q) => q.low !== null && q.high !== null);
    if (band.length > 1)
      parts.push(
        s('path', {
          class: `${cls} band`,
          d: `M${band.map((q) => `${x(q.x)} ${y(q.high!)}`).join('L')}L${[...band].reverse().map((q) => `${x(q.x)} ${y(q.low!)}`).join('L')}Z`,
        }),
      );
    else for (const q of band) parts.push(s('path', { class: `${cls} whisker`, d: `M${x(q.x)} ${y(q.low!)}V${y(q.high!)}` }));
    if (p.length > 1) parts.push(s('path', { class: `${cls} line`, d: `M${p.map((q) => `${x(q.x)} ${y(q.y)}`).join('L')}` }));
    for (const q of p)
      parts.push(
        s('path', { class: `${cls} mark`, d: marks[i % 6](x(q.x), y(q.y)) }, s('title', {}, `${line.name}, ${q.x}: ${q.y.toFixed(1)}`)),
      );
  });
  const key = lines.map((line, i) =>
    h(
      'span',
      { class: 'key' },
      s(
        'svg',
        { viewBox: '0 0 30 12', width: 30, height: 12, 'aria-hidden': 'true' },
        s('path', { class: `series s${i % 6} line${line.level ? ' level' : ''}`, d: 'M0 6H30' }),
        line.level ? null : s('path', { class: `series s${i % 6} mark`, d: marks[i % 6](15, 6) }),
      ),
      line.name,
    ),
  );
  return h(
    'figure',
    { class: 'chart' },
    s('svg', { viewBox: `0 0 ${W} ${H}`, role: 'img', 'aria-label': title }, ...parts),
    h('figcaption', {}, ...key),
  );
}
