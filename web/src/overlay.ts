// overlay.ts - paint a choice of tokens over a picture. Knows nothing of the page: the export paints with it too.
import { area, labelPlaces, mask, type Choice, type Rect } from './geometry';

export type Mode = 'dim' | 'outline' | 'holes';

/** What is drawn, and how. */
export interface Look {
  kept: boolean;
  cells: boolean;
  regions: boolean;
  laplacian: boolean;
  erc: boolean;
  order: boolean;
  dim: number; // 0 to 1: how dark pruned tokens are
  mode: Mode;
}

export const defaultLook: Look = {
  kept: true,
  cells: true,
  regions: false,
  laplacian: false,
  erc: false,
  order: false,
  dim: 0.66,
  mode: 'dim',
};

/** Two choices over one picture. */
export interface Versus {
  a: number[];
  b: number[];
}

/** Where the picture lies on the canvas. */
export interface Box {
  x: number;
  y: number;
  w: number;
  h: number;
}

// Safe for the common colour-vision deficiencies (Okabe and Ito), apart from one another in brightness too.
export const colors = { kept: '#ffc14d', onlyA: '#e69f00', onlyB: '#56b4e9', both: '#ffffff', added: '#7ee2b8', skipped: 'rgba(46,120,214,.62)' };

// Dark blue to yellow, even in brightness (cividis, five stops).
const heat = [
  [0, 32, 77],
  [66, 78, 108],
  [124, 123, 120],
  [188, 175, 111],
  [255, 234, 70],
];

export function heatColor(x: number, alpha: number): string {
  const at = Math.min(1, Math.max(0, x)) * (heat.length - 1);
  const i = Math.min(heat.length - 2, Math.floor(at));
  const [r, g, b] = heat[i].map((v, k) => Math.round(v + (heat[i + 1][k] - v) * (at - i)));
  return `rgba(${r},${g},${b},${alpha})`;
}

/** Values as 0..1 between their 2nd and 98th percentile, so that one outlier does not flatten the rest. */
export function spread(values: number[]): { at: (v: number) => number; low: number; high: number } {
  const sorted = [...values].sort((a, b) => a - b);
  const pick = (q: number) => sorted[Math.min(sorted.length - 1, Math.round(q * (sorted.length - 1)))] ?? 0;
  const low = pick(0.02);
  const high = pick(0.98);
  return { at: (v) => (high > low ? (v - low) / (high - low) : 0.5), low, high };
}

/** Edges of rows and columns in whole pixels: neighbours share them, so no seams show. */
function edges(n: number, from: number, length: number): number[] {
  return Array.from({ length: n + 1 }, (_, i) => Math.round(from + (length * i) / n));
}

const hatches = new Map<string, CanvasPattern | null>();

function hatch(ctx: CanvasRenderingContext2D, color: string, rising: boolean): CanvasPattern | string {
  const name = color + rising;
  if (!hatches.has(name)) {
    const tile = document.createElement('canvas');
    tile.width = tile.height = 8;
    const t = tile.getContext('2d')!;
    t.strokeStyle = color;
    t.lineWidth = 2.2;
    for (const d of [-8, 0, 8]) {
      t.moveTo(d, rising ? 8 : 0);
      t.lineTo(d + 8, rising ? 0 : 8);
    }
    t.stroke();
    hatches.set(name, ctx.createPattern(tile, 'repeat'));
  }
  return hatches.get(name) ?? color;
}

interface Canvas {
  ctx: CanvasRenderingContext2D;
  xs: number[];
  ys: number[];
  line: number; // width of a hair line
  rim: number; // of the line around a token: thinner around small ones
}

function fillRect({ ctx, xs, ys }: Canvas, r: Rect): void {
  ctx.fillRect(xs[r.c0], ys[r.r0], xs[r.c1] - xs[r.c0], ys[r.r1] - ys[r.r0]);
}

/** Fill runs of tokens whose bit is `value`, row by row. */
function fillRuns(canvas: Canvas, bits: Uint8Array, value: number, cols: number): void {
  for (let r = 0; r * cols < bits.length; r++)
    for (let c = 0; c < cols; c++) {
      if (bits[r * cols + c] !== value) continue;
      let end = c + 1;
      while (end < cols && bits[r * cols + end] === value) end++;
      fillRect(canvas, { r0: r, r1: r + 1, c0: c, c1: end });
      c = end;
    }
}

function outline(canvas: Canvas, rects: Iterable<Rect>, color: string, width: number, inset: number): void {
  const { ctx, xs, ys } = canvas;
  ctx.beginPath();
  for (const r of rects)
    ctx.rect(xs[r.c0] + inset, ys[r.r0] + inset, xs[r.c1] - xs[r.c0] - 2 * inset, ys[r.r1] - ys[r.r0] - 2 * inset);
  ctx.strokeStyle = color;
  ctx.lineWidth = width;
  ctx.stroke();
}

function* tokenRects(tokens: Iterable<number>, cols: number): Generator<Rect> {
  for (const i of tokens) {
    const r = Math.floor(i / cols);
    const c = i % cols;
    yield { r0: r, r1: r + 1, c0: c, c1: c + 1 };
  }
}

function label(canvas: Canvas, value: string, x: number, y: number, size: number): void {
  const { ctx } = canvas;
  ctx.font = `600 ${size}px system-ui, sans-serif`;
  ctx.textAlign = 'center';
  ctx.textBaseline = 'middle';
  const w = ctx.measureText(value).width + size * 0.8;
  ctx.fillStyle = 'rgba(10,16,32,.78)';
  ctx.beginPath();
  ctx.roundRect(x - w / 2, y - size * 0.75, w, size * 1.5, size * 0.45);
  ctx.fill();
  ctx.fillStyle = '#fff';
  ctx.fillText(value, x, y + size * 0.06);
}

function paintHeat(canvas: Canvas, choice: Choice, look: Look): void {
  const { ctx } = canvas;
  if (look.laplacian && choice.regions.length) {
    const values = choice.regions.map((r) => r.score ?? r.variance ?? 0);
    const top = Math.max(...values, 1e-12);
    choice.regions.forEach((r, i) => {
      ctx.fillStyle = heatColor(values[i] / top, 0.62);
      fillRect(canvas, r);
    });
  }
  if (look.erc && choice.erc) {
    const scale = spread(choice.erc);
    choice.erc.forEach((v, i) => {
      ctx.fillStyle = heatColor(scale.at(v), 0.68);
      fillRect(canvas, tokenRects([i], choice.cols).next().value as Rect);
    });
  }
}

/** Pruned tokens lose light. Before a run only cells are known: the larger a cell, the fewer tokens stay there, the
 *  darker it is. */
function paintVeil(canvas: Canvas, choice: Choice, look: Look): void {
  const { ctx } = canvas;
  if (choice.kept) {
    if (look.mode === 'outline') return;
    ctx.fillStyle = look.mode === 'holes' ? '#ffffff' : `rgba(9,13,24,${look.dim})`;
    fillRuns(canvas, mask(choice.kept, choice.rows * choice.cols), 0, choice.cols);
  } else {
    const least = Math.min(...choice.cells.map(area));
    for (const cell of choice.cells) {
      ctx.fillStyle = `rgba(9,13,24,${look.dim * (1 - Math.sqrt(least / area(cell)))})`;
      fillRect(canvas, cell);
    }
  }
}

function paintKept(canvas: Canvas, choice: Choice, look: Look): void {
  const { rim } = canvas;
  const kept = choice.kept;
  if (!kept || look.mode === 'holes' || kept.length === choice.rows * choice.cols) return;
  const rects = [...tokenRects(kept, choice.cols)];
  outline(canvas, rects, 'rgba(9,13,24,.75)', 3.5 * rim, rim);
  outline(canvas, rects, colors.kept, 1.6 * rim, rim);
}

function paintOrder(canvas: Canvas, choice: Choice): void {
  const { ctx, xs, ys, line } = canvas;
  const size = Math.min(13 * line, ((xs[1] - xs[0]) * 0.62) | 0);
  if (!choice.kept || size < 6) return;
  ctx.font = `600 ${size}px system-ui, sans-serif`;
  ctx.textAlign = 'center';
  ctx.textBaseline = 'middle';
  ctx.lineWidth = 3 * line;
  ctx.strokeStyle = 'rgba(9,13,24,.85)';
  ctx.fillStyle = '#fff';
  choice.kept.forEach((token, i) => {
    const r = Math.floor(token / choice.cols);
    const c = token % choice.cols;
    const x = (xs[c] + xs[c + 1]) / 2;
    const y = (ys[r] + ys[r + 1]) / 2;
    ctx.strokeText(String(i + 1), x, y);
    ctx.fillText(String(i + 1), x, y);
  });
}

function paintVersus(canvas: Canvas, choice: Choice, versus: Versus, dim: number): void {
  const { ctx, rim } = canvas;
  const n = choice.rows * choice.cols;
  const a = mask(versus.a, n);
  const b = mask(versus.b, n);
  const which = new Uint8Array(n);
  for (let i = 0; i < n; i++) which[i] = a[i] + 2 * b[i];
  ctx.fillStyle = `rgba(9,13,24,${dim})`;
  fillRuns(canvas, which, 0, choice.cols);
  const tokens = (value: number) => tokenRects([...which.keys()].filter((i) => which[i] === value), choice.cols);
  for (const [value, color, rising] of [
    [1, colors.onlyA, true],
    [2, colors.onlyB, false],
  ] as const) {
    ctx.fillStyle = 'rgba(9,13,24,.35)';
    fillRuns(canvas, which, value, choice.cols);
    ctx.fillStyle = hatch(ctx, color, rising);
    fillRuns(canvas, which, value, choice.cols);
    outline(canvas, tokens(value), color, 1.6 * rim, rim);
  }
  outline(canvas, tokens(3), 'rgba(9,13,24,.75)', 3.5 * rim, rim);
  outline(canvas, tokens(3), colors.both, 1.6 * rim, rim);
}

export interface Scene {
  choice: Choice;
  look: Look;
  versus?: Versus | null;
  added?: number[]; // tokens put in by hand
  removed?: number[];
}

/** The whole overlay. `line`: device pixels of a hair line. */
export function paint(ctx: CanvasRenderingContext2D, scene: Scene, box: Box, line: number): void {
  const { choice, look } = scene;
  const canvas: Canvas = {
    ctx,
    line,
    rim: line * Math.min(1, Math.max(0.5, box.w / choice.cols / (20 * line))),
    xs: edges(choice.cols, box.x, box.w),
    ys: edges(choice.rows, box.y, box.h),
  };
  if (scene.versus) {
    paintVersus(canvas, choice, scene.versus, look.dim);
    return;
  }
  paintHeat(canvas, choice, look);
  if (look.kept) paintVeil(canvas, choice, look);
  if (look.kept && choice.skipped?.length) {
    ctx.fillStyle = colors.skipped;
    fillRuns(canvas, mask(choice.skipped, choice.rows * choice.cols), 1, choice.cols);
  }
  if (look.cells) outline(canvas, choice.cells, 'rgba(255,255,255,.5)', line, 0);
  if (look.regions) {
    outline(canvas, choice.regions, 'rgba(9,13,24,.7)', 4 * line, 0);
    outline(canvas, choice.regions, 'rgba(255,255,255,.95)', 1.8 * line, 0);
  }
  if (look.kept) paintKept(canvas, choice, look);
  if (scene.removed?.length) {
    ctx.setLineDash([3 * line, 3 * line]);
    outline(canvas, tokenRects(scene.removed, choice.cols), '#fff', 1.4 * line, 2 * line);
    ctx.setLineDash([]);
  }
  if (scene.added?.length) outline(canvas, tokenRects(scene.added, choice.cols), colors.added, 2.4 * line, line);
  if (look.order) paintOrder(canvas, choice);
  if (look.regions) {
    // next to the numbers of tokens a label is as small as a token
    const size = look.order ? Math.min(12 * line, (0.55 * box.w) / choice.cols, (0.6 * box.h) / choice.rows) : 12 * line;
    labelPlaces(choice, look.order).forEach(({ row, col }, i) =>
      label(canvas, String(choice.regions[i].budget), box.x + (box.w * col) / choice.cols, box.y + (box.h * row) / choice.rows, size),
    );
  }
}
