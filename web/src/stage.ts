// stage.ts - a picture with its overlay: zoom, pan, hover, and a grid widget for keyboard and screen reader.
//
// The picture and the overlay are two canvases, so moving a slider repaints rectangles and never rescales the picture.
// Only the token under the cursor is an element: a grid of one row and one cell, which is also the visible cursor.
import { h, icon } from './dom';
import { move } from './geometry';
import { paint, type Box, type Scene } from './overlay';
import type { BoxKind, Mark, Picture } from './state';

/** Part of the picture in sight: zoom, and the left upper corner in shares of the zoomed picture. */
export interface View {
  zoom: number;
  x: number;
  y: number;
}

export interface StageEvents {
  /** The cursor is on a token, or on none. */
  point?: (token: number | null) => void;
  /** Click, tap or Space on a token. */
  pick?: (token: number) => void;
  view?: (view: View) => void;
  /** A box was drawn, while `boxing`. */
  box?: (mark: Mark) => void;
  /** What a screen reader says about a token. */
  describe: (token: number) => string;
}

let stages = 0;

export class Stage {
  readonly root: HTMLElement;
  readonly grid: HTMLElement;
  private base = h('canvas', { 'aria-hidden': 'true' });
  private over = h('canvas', { 'aria-hidden': 'true' });
  private cell = h('div', { class: 'cursor', role: 'gridcell' });
  private row = h('div', { role: 'row' }, this.cell);
  private picture: Picture | null = null;
  private scene: Scene | null = null;
  private token = 0;
  private pending = 0;
  private repaintBase = true;
  private boxing: BoxKind | null = null; // what a drag draws
  private marks: Mark[] = [];
  private draft: Mark | null = null;
  private corner: number | null = null; // of a box drawn by keyboard: its first token
  view: View = { zoom: 1, x: 0, y: 0 };

  constructor(private events: StageEvents) {
    const id = `stage${++stages}`;
    this.cell.id = `${id}-cell`;
    this.grid = h('div', { class: 'grid', role: 'grid', tabIndex: 0, 'aria-activedescendant': this.cell.id }, this.row);
    this.root = h('div', { class: 'stage' }, this.base, this.over, this.grid);
    this.cell.classList.add('off');
    new ResizeObserver(() => this.redraw(true)).observe(this.root);
    this.listen();
  }

  setPicture(picture: Picture | null): void {
    this.picture = picture;
    this.token = 0;
    this.view = { zoom: 1, x: 0, y: 0 };
    if (picture) this.root.style.setProperty('--ratio', String(picture.width / picture.height));
    this.redraw(true);
  }

  setScene(scene: Scene | null, name: string): void {
    this.scene = scene;
    this.grid.setAttribute('aria-label', name);
    if (scene) {
      this.grid.setAttribute('aria-rowcount', String(scene.choice.rows));
      this.grid.setAttribute('aria-colcount', String(scene.choice.cols));
      if (this.token >= scene.choice.rows * scene.choice.cols) this.token = 0;
    }
    this.place();
    this.redraw(false);
  }

  /** Boxes shown, and what a drag, or Space at two corners, draws; null: nothing. */
  setMarks(marks: Mark[], boxing: BoxKind | null): void {
    this.marks = marks;
    this.boxing = boxing;
    this.draft = null;
    this.corner = null;
    this.root.classList.toggle('boxing', boxing !== null);
    this.redraw(false);
  }

  setView(view: View): void {
    const zoom = Math.min(8, Math.max(1, view.zoom));
    const clamp = (v: number) => Math.min(1 - 1 / zoom, Math.max(0, v));
    this.view = { zoom, x: clamp(view.x), y: clamp(view.y) };
    this.root.classList.toggle('zoomed', zoom > 1);
    this.redraw(true);
    this.place();
  }

  /** Zoom so that the point (u, v) of the stage, in 0..1, stays where it is. */
  zoomBy(factor: number, u = 0.5, v = 0.5): void {
    const { zoom, x, y } = this.view;
    const next = Math.min(8, Math.max(1, zoom * factor));
    this.setView({ zoom: next, x: x + u / zoom - u / next, y: y + v / zoom - v / next });
    this.events.view?.(this.view);
  }

  /** Show the cursor on a token without moving the focus. */
  point(token: number | null): void {
    this.cell.classList.toggle('off', token === null || !this.scene);
    if (token === null) return;
    this.token = token;
    this.place();
  }

  private draw(): void {
    this.pending = 0;
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    const w = Math.round(this.root.clientWidth * ratio);
    const height = Math.round(this.root.clientHeight * ratio);
    if (!w || !height) return;
    for (const canvas of [this.base, this.over])
      if (canvas.width !== w || canvas.height !== height) {
        canvas.width = w;
        canvas.height = height;
        this.repaintBase = true;
      }
    const { zoom, x, y } = this.view;
    const box: Box = { x: -x * zoom * w, y: -y * zoom * height, w: w * zoom, h: height * zoom };
    if (this.repaintBase) {
      const ctx = this.base.getContext('2d')!;
      ctx.clearRect(0, 0, w, height);
      ctx.imageSmoothingQuality = 'high';
      if (this.picture) ctx.drawImage(this.picture.bitmap, box.x, box.y, box.w, box.h);
      this.repaintBase = false;
    }
    const ctx = this.over.getContext('2d')!;
    ctx.clearRect(0, 0, w, height);
    if (this.picture && this.scene) paint(ctx, this.scene, box, ratio);
    for (const m of this.draft ? [...this.marks, this.draft] : this.marks) {
      const at = [box.x + (m.x / 100) * box.w, box.y + (m.y / 100) * box.h, (m.w / 100) * box.w, (m.h / 100) * box.h] as const;
      ctx.lineWidth = 2 * ratio;
      ctx.fillStyle = { keep: '#28be5a40', drop: '#d63c3266', blank: '#7f7f7f' }[m.kind];
      ctx.strokeStyle = { keep: '#28be5a', drop: '#d63c32', blank: '#ffffff' }[m.kind];
      ctx.setLineDash(m === this.draft ? [6 * ratio, 4 * ratio] : []);
      ctx.fillRect(...at);
      ctx.strokeRect(...at);
    }
    ctx.setLineDash([]);
  }

  /** A point of the screen in percent of the picture. */
  private percentAt(e: PointerEvent): [number, number] {
    const rect = this.root.getBoundingClientRect();
    const clamp = (v: number) => Math.min(100, Math.max(0, 100 * v));
    return [
      clamp((e.clientX - rect.left) / rect.width / this.view.zoom + this.view.x),
      clamp((e.clientY - rect.top) / rect.height / this.view.zoom + this.view.y),
    ];
  }

  /** The box between two points. */
  private sketch([x0, y0]: [number, number], [x1, y1]: [number, number]): void {
    if (!this.boxing) return;
    this.draft = { kind: this.boxing, x: Math.min(x0, x1), y: Math.min(y0, y1), w: Math.abs(x1 - x0), h: Math.abs(y1 - y0) };
    this.redraw(false);
  }

  private finish(): void {
    const mark = this.draft;
    this.draft = null;
    this.corner = null;
    this.redraw(false);
    if (mark && mark.w > 0.5 && mark.h > 0.5) this.events.box?.(mark);
  }

  /** Space at one corner and at the other; Escape leaves it. */
  private boxKey(key: string): boolean {
    if (!this.boxing || !this.scene) return false;
    const { rows, cols } = this.scene.choice;
    if (key === 'Escape' && this.corner !== null) {
      this.draft = null;
      this.corner = null;
      this.redraw(false);
      return true;
    }
    if (key !== ' ' && key !== 'Enter') return false;
    if (this.corner !== null) {
      this.finish();
      return true;
    }
    this.corner = this.token;
    this.stretch(rows, cols);
    return true;
  }

  /** From the corner to the cursor, both whole tokens. */
  private stretch(rows: number, cols: number): void {
    if (this.corner === null) return;
    const [r0, c0, r1, c1] = [Math.floor(this.corner / cols), this.corner % cols, Math.floor(this.token / cols), this.token % cols];
    this.sketch(
      [(100 * Math.min(c0, c1)) / cols, (100 * Math.min(r0, r1)) / rows],
      [(100 * (Math.max(c0, c1) + 1)) / cols, (100 * (Math.max(r0, r1) + 1)) / rows],
    );
  }

  private redraw(base: boolean): void {
    this.repaintBase ||= base;
    if (!this.pending) this.pending = requestAnimationFrame(() => this.draw());
  }

  private place(): void {
    if (!this.scene) return;
    const { rows, cols } = this.scene.choice;
    const { zoom, x, y } = this.view;
    const r = Math.floor(this.token / cols);
    const c = this.token % cols;
    const style = this.cell.style;
    style.left = `${(c / cols - x) * zoom * 100}%`;
    style.top = `${(r / rows - y) * zoom * 100}%`;
    style.width = `${(zoom / cols) * 100}%`;
    style.height = `${(zoom / rows) * 100}%`;
    this.row.setAttribute('aria-rowindex', String(r + 1));
    this.cell.setAttribute('aria-colindex', String(c + 1));
    this.cell.setAttribute('aria-label', this.events.describe(this.token));
  }

  /** The token at a point of the screen. */
  private tokenAt(e: PointerEvent): number | null {
    if (!this.scene) return null;
    const { rows, cols } = this.scene.choice;
    const rect = this.root.getBoundingClientRect();
    const u = (e.clientX - rect.left) / rect.width / this.view.zoom + this.view.x;
    const v = (e.clientY - rect.top) / rect.height / this.view.zoom + this.view.y;
    if (u < 0 || v < 0 || u >= 1 || v >= 1) return null;
    return Math.floor(v * rows) * cols + Math.floor(u * cols);
  }

  private tell(token: number | null): void {
    this.point(token);
    this.events.point?.(token);
  }

  private listen(): void {
    const { grid } = this;
    const down = new Map<number, PointerEvent>();
    let moved = false;
    let held = false;
    let hold = 0;
    let from: [number, number] | null = null; // where a box began

    grid.addEventListener('pointerdown', (e) => {
      if (this.boxing && e.button === 0) {
        from = this.percentAt(e);
        grid.setPointerCapture(e.pointerId);
        return;
      }
      down.set(e.pointerId, e);
      moved = held = false;
      clearTimeout(hold);
      if (e.pointerType === 'touch')
        hold = window.setTimeout(() => {
          held = true; // a long press reads and never edits
          this.tell(this.tokenAt(e));
        }, 450);
      if (down.size > 1 || this.view.zoom > 1) grid.setPointerCapture(e.pointerId);
    });
    grid.addEventListener('pointermove', (e) => {
      if (from) {
        this.sketch(from, this.percentAt(e));
        return;
      }
      const before = down.get(e.pointerId);
      if (!before) {
        if (e.pointerType !== 'touch') this.tell(this.tokenAt(e));
        return;
      }
      const rect = this.root.getBoundingClientRect();
      const dx = e.clientX - before.clientX;
      const dy = e.clientY - before.clientY;
      if (Math.hypot(dx, dy) < 4 && !moved) return;
      moved = true;
      clearTimeout(hold);
      if (down.size === 2) {
        const other = [...down.values()].find((p) => p.pointerId !== e.pointerId)!;
        const gap = (p: PointerEvent) => Math.hypot(p.clientX - other.clientX, p.clientY - other.clientY);
        const u = ((e.clientX + other.clientX) / 2 - rect.left) / rect.width;
        const v = ((e.clientY + other.clientY) / 2 - rect.top) / rect.height;
        this.zoomBy(gap(e) / Math.max(1, gap(before)), u, v);
      } else if (this.view.zoom > 1) {
        const { zoom, x, y } = this.view;
        this.setView({ zoom, x: x - dx / rect.width / zoom, y: y - dy / rect.height / zoom });
        this.events.view?.(this.view);
      }
      down.set(e.pointerId, e);
    });
    const up = (e: PointerEvent) => {
      if (from) {
        from = null;
        if (e.type === 'pointerup') this.finish();
        else this.draft = null;
        return;
      }
      clearTimeout(hold);
      const single = down.delete(e.pointerId) && down.size === 0;
      if (e.type !== 'pointerup' || !single || moved || held) return;
      const token = this.tokenAt(e);
      this.tell(token);
      if (token !== null) this.events.pick?.(token);
    };
    grid.addEventListener('pointerup', up);
    grid.addEventListener('pointercancel', up);
    grid.addEventListener('pointerleave', (e) => {
      if (e.pointerType !== 'touch' && document.activeElement !== grid) this.tell(null);
    });
    grid.addEventListener('focus', () => {
      if (grid.matches(':focus-visible')) this.tell(this.token);
    });
    grid.addEventListener('blur', () => this.tell(null));
    grid.addEventListener('wheel', (e) => this.wheel(e), { passive: false });
    grid.addEventListener('keydown', (e) => this.keydown(e));
  }

  private wheel(e: WheelEvent): void {
    if (!e.ctrlKey) return; // the page scrolls
    e.preventDefault();
    const rect = this.root.getBoundingClientRect();
    const u = (e.clientX - rect.left) / rect.width;
    const v = (e.clientY - rect.top) / rect.height;
    this.zoomBy(Math.exp(-e.deltaY / 300), u, v);
  }

  private keydown(e: KeyboardEvent): void {
    if (!this.scene) return;
    const { rows, cols } = this.scene.choice;
    const next = move(this.token, e.key, e.ctrlKey, rows, cols);
    if (next !== null) {
      this.tell(next);
      this.follow(next, rows, cols);
      this.stretch(rows, cols);
    } else if (this.boxKey(e.key)) {
      // drawn
    } else if (e.key === ' ') this.events.pick?.(this.token);
    else if (e.key === '+' || e.key === '=') this.zoomBy(1.5);
    else if (e.key === '-') this.zoomBy(1 / 1.5);
    else if (e.key === '0') this.zoomBy(0);
    else return;
    e.preventDefault();
    this.cell.setAttribute('aria-label', this.events.describe(this.token));
  }

  /** Keep the cursor in sight of a zoomed picture. */
  private follow(token: number, rows: number, cols: number): void {
    const { zoom, x, y } = this.view;
    const span = 1 / zoom;
    const into = (at: number, size: number, from: number) => Math.min(at, Math.max(at + size - span, from));
    const view = {
      zoom,
      x: into((token % cols) / cols, 1 / cols, x),
      y: into(Math.floor(token / cols) / rows, 1 / rows, y),
    };
    if (view.x === x && view.y === y) return;
    this.setView(view);
    this.events.view?.(this.view);
  }
}

/** Buttons for those who do not pinch. */
export function zoomButtons(zoomBy: (factor: number) => void): HTMLElement {
  const button = (sign: string | Node, label: 'zoomIn' | 'zoomOut' | 'zoomFit', factor: number) =>
    h('button', { type: 'button', class: 'ghost square', tLabel: label, tTitle: label, onclick: () => zoomBy(factor) }, sign);
  return h(
    'div',
    { class: 'zoom', role: 'group', tLabel: 'zoom' },
    button('−', 'zoomOut', 1 / 1.5),
    button('+', 'zoomIn', 1.5),
    button(icon('fit'), 'zoomFit', 0),
  );
}
