// geometry.ts - tokens, cells and regions of a picture: where they are and how two choices differ.

/** Rows r0..r1 and columns c0..c1 of the token grid, ends excluded. */
export interface Rect {
  r0: number;
  r1: number;
  c0: number;
  c1: number;
}

/** A coarse region: its structure and the tokens it may keep. */
export interface Region extends Rect {
  variance: number | null;
  score: number | null;
  budget: number;
}

/** What is known about the tokens of one picture. */
export interface Choice {
  rows: number;
  cols: number;
  kept: number[] | null; // ascending; null: a plan, which knows cells but not their tokens
  regions: Region[];
  cells: Rect[];
  erc: number[] | null; // a score for each token
  skipped?: number[]; // tokens that never entered the tower
}

export const area = (r: Rect): number => (r.r1 - r.r0) * (r.c1 - r.c0);

/** Algorithm S3: halve the largest cell, the earliest of equals, until there are n; halves stand in its place. */
export function cellsOf(region: Rect, n: number): Rect[] {
  const cells: Rect[] = [{ r0: region.r0, r1: region.r1, c0: region.c0, c1: region.c1 }];
  while (cells.length < n) {
    let at = 0;
    for (let i = 1; i < cells.length; i++) if (area(cells[i]) > area(cells[at])) at = i;
    const cell = cells[at];
    const height = cell.r1 - cell.r0;
    const width = cell.c1 - cell.c0;
    if (height * width < 2) break;
    const first = { ...cell };
    const second = { ...cell };
    if (height >= width) first.r1 = second.r0 = cell.r0 + Math.floor(height / 2);
    else first.c1 = second.c0 = cell.c0 + Math.floor(width / 2);
    cells.splice(at, 1, first, second);
  }
  return cells;
}

/** For each token the index of the rectangle that holds it, or -1. */
export function owners(rects: Rect[], rows: number, cols: number): Int32Array {
  const owner = new Int32Array(rows * cols).fill(-1);
  rects.forEach((rect, i) => {
    for (let r = rect.r0; r < rect.r1; r++) for (let c = rect.c0; c < rect.c1; c++) owner[r * cols + c] = i;
  });
  return owner;
}

export function mask(kept: Iterable<number>, n: number): Uint8Array {
  const bits = new Uint8Array(n);
  for (const i of kept) if (i >= 0 && i < n) bits[i] = 1;
  return bits;
}

export interface Shares {
  edge: number;
  center: number;
}

/** Shares of the kept tokens in the outer two rings and in the central half of both sides. */
export function shares(kept: number[], rows: number, cols: number): Shares {
  const top = Math.floor(rows / 4);
  const left = Math.floor(cols / 4);
  let edge = 0;
  let center = 0;
  for (const i of kept) {
    const r = Math.floor(i / cols);
    const c = i % cols;
    if (r < 2 || c < 2 || r >= rows - 2 || c >= cols - 2) edge++;
    if (r >= top && r < rows - top && c >= left && c < cols - left) center++;
  }
  const n = Math.max(1, kept.length);
  return { edge: edge / n, center: center / n };
}

export interface Difference {
  onlyA: number;
  onlyB: number;
  both: number;
  iou: number;
}

export function difference(a: number[], b: number[]): Difference {
  const inA = new Set(a);
  let both = 0;
  for (const i of b) if (inA.has(i)) both++;
  const union = a.length + b.length - both;
  return { onlyA: a.length - both, onlyB: b.length - both, both, iou: union ? both / union : 1 };
}

/** Place of a token by ERC among the tokens of its cell: 1 is the one that stays. Ties to the lower index. */
export function rankInCell(choice: Choice, token: number, cell: Rect): { rank: number; of: number } | null {
  if (!choice.erc) return null;
  const own = choice.erc[token];
  let rank = 1;
  for (let r = cell.r0; r < cell.r1; r++)
    for (let c = cell.c0; c < cell.c1; c++) {
      const i = r * choice.cols + c;
      if (choice.erc[i] > own || (choice.erc[i] === own && i < token)) rank++;
    }
  return { rank, of: area(cell) };
}

/** Where a key moves the cursor of the grid, or null when the key is none of the grid's. */
export function move(token: number, key: string, ctrl: boolean, rows: number, cols: number): number | null {
  const r = Math.floor(token / cols);
  const c = token % cols;
  const at = (row: number, col: number) =>
    Math.min(rows - 1, Math.max(0, row)) * cols + Math.min(cols - 1, Math.max(0, col));
  switch (key) {
    case 'ArrowUp':
      return at(r - 1, c);
    case 'ArrowDown':
      return at(r + 1, c);
    case 'ArrowLeft':
      return at(r, c - 1);
    case 'ArrowRight':
      return at(r, c + 1);
    case 'Home':
      return ctrl ? 0 : at(r, 0);
    case 'End':
      return ctrl ? rows * cols - 1 : at(r, cols - 1);
    case 'PageUp':
      return at(r - 5, c);
    case 'PageDown':
      return at(r + 5, c);
    default:
      return null;
  }
}

/** Where the number of each region goes, in tokens: its middle, or, when tokens carry numbers of their own, the middle
 *  of the pruned token that is farthest from them. */
export function labelPlaces(choice: Choice, numbered: boolean): { row: number; col: number }[] {
  const kept = new Set(numbered ? (choice.kept ?? []) : []);
  const isKept = (r: number, c: number) => r >= 0 && c >= 0 && r < choice.rows && c < choice.cols && kept.has(r * choice.cols + c);
  return choice.regions.map((g) => {
    const middle = { row: (g.r0 + g.r1) / 2, col: (g.c0 + g.c1) / 2 };
    if (!kept.size) return middle;
    let best = middle;
    let least = Infinity;
    for (let r = g.r0; r < g.r1; r++)
      for (let c = g.c0; c < g.c1; c++) {
        // a label is wider than a token: neighbours to the left and right count, those above and below less
        const near = (isKept(r, c) ? 1000 : 0) + 20 * (+isKept(r, c - 1) + +isKept(r, c + 1)) + 4 * (+isKept(r - 1, c) + +isKept(r + 1, c));
        const cost = near + Math.hypot(r + 0.5 - middle.row, c + 0.5 - middle.col);
        if (cost < least) [best, least] = [{ row: r + 0.5, col: c + 0.5 }, cost];
      }
    return best;
  });
}
