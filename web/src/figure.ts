// figure.ts - take the figure away: PNG, SVG, JSON, link. Each says how it was made.
import type { Choice } from './geometry';
import { mask } from './geometry';
import { colors, paint, type Look, type Scene } from './overlay';
import { state, type Picture, type Run, type Settings } from './state';

/** Method, budget, grid, model, version: what a reader needs to make it again. */
export function captionOf(choice: Choice, s: Settings, run: Run | null): string {
  const kept = choice.kept ? choice.kept.length : choice.cells.length;
  const side = Math.round(Math.sqrt(choice.regions.length));
  return [
    `${run?.keep ? 'tokens chosen by hand' : s.method}, ${kept} of ${choice.rows * choice.cols} tokens${choice.kept ? '' : ' (plan)'}`,
    side ? `grid ${side}x${side}` : '',
    run?.model ?? state.model,
    `s2prune ${state.version}`.trim(),
  ]
    .filter(Boolean)
    .join(' · ');
}

/** The picture at its own size (at most 2000 pixels), the overlay, and the caption below. */
export async function pngOf(picture: Picture, scene: Scene, caption: string): Promise<Blob> {
  const scale = Math.min(1, 2000 / Math.max(picture.width, picture.height));
  const w = Math.round(picture.width * scale);
  const height = Math.round(picture.height * scale);
  const line = Math.max(1, w / 640);
  const strip = Math.round(34 * line);
  const canvas = document.createElement('canvas');
  canvas.width = w;
  canvas.height = height + strip;
  const ctx = canvas.getContext('2d')!;
  ctx.fillStyle = '#fff';
  ctx.fillRect(0, 0, w, height + strip);
  ctx.drawImage(picture.bitmap, 0, 0, w, height);
  paint(ctx, scene, { x: 0, y: 0, w, h: height }, line);
  ctx.fillStyle = '#fff';
  ctx.fillRect(0, height, w, strip);
  ctx.fillStyle = '#1a2030';
  ctx.textAlign = 'left';
  ctx.textBaseline = 'middle';
  let size = 14 * line;
  do ctx.font = `${size}px system-ui, sans-serif`;
  while (ctx.measureText(caption).width > w - 20 * line && (size -= 0.5) > 6);
  ctx.fillText(caption, 10 * line, height + strip / 2);
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, 'image/png'));
  if (!blob) throw new Error('the picture is too large to draw');
  return blob;
}

const escape = (text: string): string =>
  text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, '');

/** The same as a drawing of rectangles that other programs can restyle. */
export function svgOf(picture: Picture, choice: Choice, look: Look, caption: string): string {
  const { width: w, height } = picture;
  const x = (c: number) => +((w * c) / choice.cols).toFixed(2);
  const y = (r: number) => +((height * r) / choice.rows).toFixed(2);
  const box = (r0: number, r1: number, c0: number, c1: number) => `M${x(c0)} ${y(r0)}H${x(c1)}V${y(r1)}H${x(c0)}Z`;
  const tokens = (value: number) => {
    const bits = mask(choice.kept ?? [], choice.rows * choice.cols);
    let d = '';
    bits.forEach((bit, i) => {
      const r = Math.floor(i / choice.cols);
      const c = i % choice.cols;
      if (bit === value) d += box(r, r + 1, c, c + 1);
    });
    return d;
  };
  const line = Math.max(1, w / 640);
  const strip = 34 * line;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${w}" height="${height + strip}" viewBox="0 0 ${w} ${height + strip}">`,
    `<title>${escape(caption)}</title>`,
    `<rect width="100%" height="100%" fill="#fff"/>`,
    `<image width="${w}" height="${height}" preserveAspectRatio="none" href="${picture.dataUrl}"/>`,
  ];
  if (choice.kept && look.kept && look.mode !== 'outline')
    parts.push(
      `<path id="pruned" fill="${look.mode === 'holes' ? '#fff' : '#090d18'}" fill-opacity="${look.mode === 'holes' ? 1 : look.dim}" d="${tokens(0)}"/>`,
    );
  if (look.cells)
    parts.push(
      `<path id="cells" fill="none" stroke="#fff" stroke-opacity=".5" stroke-width="${line}" d="${choice.cells.map((k) => box(k.r0, k.r1, k.c0, k.c1)).join('')}"/>`,
    );
  if (look.regions) {
    parts.push(
      `<path id="regions" fill="none" stroke="#fff" stroke-width="${1.8 * line}" d="${choice.regions.map((k) => box(k.r0, k.r1, k.c0, k.c1)).join('')}"/>`,
    );
    for (const k of choice.regions)
      parts.push(
        `<text x="${(x(k.c0) + x(k.c1)) / 2}" y="${(y(k.r0) + y(k.r1)) / 2}" font-family="sans-serif" font-weight="600" font-size="${14 * line}" text-anchor="middle" dominant-baseline="middle" fill="#fff" stroke="#090d18" stroke-width="${3 * line}" paint-order="stroke">${k.budget}</text>`,
      );
  }
  if (choice.kept && look.kept && look.mode !== 'holes')
    parts.push(`<path id="kept" fill="none" stroke="${colors.kept}" stroke-width="${1.6 * line}" d="${tokens(1)}"/>`);
  parts.push(
    `<text x="${10 * line}" y="${height + strip / 2}" font-family="sans-serif" font-size="${13 * line}" dominant-baseline="middle" fill="#1a2030">${escape(caption)}</text></svg>\n`,
  );
  return parts.join('\n');
}

export function jsonOf(choice: Choice, s: Settings, run: Run | null, caption: string): string {
  const picture = state.picture;
  return JSON.stringify(
    {
      schema: 's2prune.page/1',
      caption,
      picture: picture && { name: picture.name, width: picture.width, height: picture.height, sha256: picture.hash },
      settings: s,
      question: run?.question ?? state.question,
      answer: run?.answer ?? null,
      keep: run?.keep ?? null,
      cost: run?.cost ?? null,
      choice,
      prune: run?.raw ?? null,
    },
    null,
    1,
  );
}

/* --- links: all settings, the picture by its hash or the name of an example ------------------------ */

export interface Link {
  settings: Partial<Settings>;
  question: string;
  example: string;
  hash: string;
  keep: number[] | null;
  tab: string;
}

export function linkOf(link: Link): string {
  const q = new URLSearchParams();
  for (const [name, value] of Object.entries(link.settings)) if (value !== '' && value !== 0) q.set(name, String(value));
  if (link.question) q.set('q', link.question);
  if (link.example) q.set('example', link.example);
  else if (link.hash) q.set('sha256', link.hash);
  if (link.keep) q.set('keep', link.keep.join('.'));
  if (link.tab !== 'explore') q.set('tab', link.tab);
  return `#${q}`;
}

/** Anything may stand in an address: what is out of range is left out. */
export function readLink(hash: string): Link {
  const q = new URLSearchParams(hash.replace(/^#/, ''));
  const settings: Partial<Settings> = {};
  const count = (name: 'budget' | 'grid' | 'seed' | 'maxTokens', low: number, high: number) => {
    const v = Number(q.get(name) ?? NaN);
    if (Number.isInteger(v) && v >= low && v <= high) settings[name] = v;
  };
  const word = (name: 'method' | 'allocator' | 'selector') => {
    const v = q.get(name);
    if (v && /^[\w+.-]{1,40}$/.test(v)) settings[name] = v;
  };
  count('budget', 1, 65536);
  count('grid', 2, 256);
  count('seed', 0, 1_000_000);
  count('maxTokens', 1, 4096);
  word('method');
  word('allocator');
  word('selector');
  const before = q.get('before') ?? '';
  if (/^(none|pixelprune(:[\d.]{1,8})?)$/.test(before)) settings.before = before;
  const sha = q.get('sha256') ?? '';
  const keep = q.get('keep');
  return {
    settings,
    question: (q.get('q') ?? '').slice(0, 4000),
    example: (q.get('example') ?? '').replace(/[^a-z]/g, '').slice(0, 20),
    hash: /^[0-9a-f]{64}$/.test(sha) ? sha : '',
    keep:
      keep && /^\d{1,5}(\.\d{1,5}){0,65535}$/.test(keep)
        ? [...new Set(keep.split('.').map(Number))].sort((a, b) => a - b)
        : null,
    tab: ['compare', 'results'].includes(q.get('tab') ?? '') ? q.get('tab')! : 'explore',
  };
}
