// picture.ts - a file, a clipboard or an example becomes the picture of the page.
import harbour from './examples/harbour.svg?url';
import menu from './examples/menu.svg?url';
import shapes from './examples/shapes.svg?url';
import { emit, state, type Picture } from './state';
import { t } from './strings';

export interface Example {
  name: 'shapes' | 'harbour' | 'menu';
  url: string;
  question: string; // in the words the bundled model knows
}

export const examples: Example[] = [
  { name: 'shapes', url: shapes, question: 'What number is written?' },
  { name: 'harbour', url: harbour, question: 'What shape is the red object?' },
  { name: 'menu', url: menu, question: 'Where is the number?' },
];

/** Type of a picture by its first bytes; file names and clipboards say all kinds of things. */
export function sniff(bytes: Uint8Array): string | null {
  const at = (i: number, s: string) => [...s].every((c, k) => bytes[i + k] === c.charCodeAt(0));
  if (at(0, '\x89PNG\r\n\x1a\n')) return 'image/png';
  if (bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff) return 'image/jpeg';
  if (at(0, 'RIFF') && at(8, 'WEBP')) return 'image/webp';
  if (at(0, 'GIF87a') || at(0, 'GIF89a')) return 'image/gif';
  if (at(0, 'BM')) return 'image/bmp';
  return null;
}

async function hashOf(bytes: ArrayBuffer): Promise<string> {
  if (!globalThis.crypto?.subtle) return ''; // plain http from another machine
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return [...digest].map((b) => b.toString(16).padStart(2, '0')).join('');
}

function dataUrlOf(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}

/** What the server decodes by default; it says so in /props. */
const BYTES = 20 << 20;

function drawn(image: CanvasImageSource, width: number, height: number, scale: number): Promise<Blob | null> {
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.floor(width * scale));
  canvas.height = Math.max(1, Math.floor(height * scale));
  const ctx = canvas.getContext('2d')!;
  ctx.imageSmoothingQuality = 'high';
  ctx.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, scale < 1 ? 'image/jpeg' : 'image/png', 0.95));
}

/** Formats that only the browser reads, such as AVIF or SVG: through an element of the page. */
async function elementOf(blob: Blob): Promise<HTMLImageElement> {
  const image = new Image();
  image.src = URL.createObjectURL(blob);
  try {
    await image.decode();
  } finally {
    URL.revokeObjectURL(image.src);
  }
  return image;
}

/** The bytes for the server: as they are where it reads them, else as the browser decoded them. */
async function forServer(blob: Blob, name: string): Promise<Blob> {
  const bytes = new Uint8Array(await blob.slice(0, 16).arrayBuffer());
  const type = sniff(bytes);
  const typed = type ? new Blob([blob], { type }) : blob;
  let image: ImageBitmap | HTMLImageElement;
  try {
    image = await createImageBitmap(typed);
  } catch {
    if (type) throw new Error(t('badPicture', { name }));
    image = await elementOf(typed).catch(() => {
      throw new Error(t('badFormat', { name }));
    });
  }
  const width = 'naturalWidth' in image ? image.naturalWidth : image.width;
  const height = 'naturalHeight' in image ? image.naturalHeight : image.height;
  const scale = Math.min(1, Math.sqrt(state.imagePixels / (width * height)));
  if (type && scale === 1 && blob.size <= BYTES) return typed;
  const made = await drawn(image, width, height, Math.min(scale, blob.size > BYTES ? 0.999 : 1));
  if (!made || made.size === 0) throw new Error(t('badPicture', { name }));
  return made;
}

/** Takes the picture, or throws an Error whose message is for the user. */
export async function takePicture(blob: Blob, name: string, example = ''): Promise<void> {
  const typed = await forServer(blob, name);
  const bytes = await blob.arrayBuffer();
  let bitmap: ImageBitmap;
  try {
    bitmap = await createImageBitmap(typed);
  } catch {
    throw new Error(t('badPicture', { name }));
  }
  const picture: Picture = {
    name,
    dataUrl: await dataUrlOf(typed),
    bitmap,
    width: bitmap.width,
    height: bitmap.height,
    hash: await hashOf(bytes),
    example,
  };
  state.picture = picture;
  state.plan = state.run = state.edit = null;
  state.history = [];
  state.planError = '';
  emit('picture', 'plan', 'run', 'edit');
}

/** Examples are drawings: the browser turns them into pixels. */
export async function takeExample(example: Example): Promise<void> {
  const image = new Image();
  image.src = example.url;
  await image.decode();
  const canvas = document.createElement('canvas');
  canvas.width = image.naturalWidth;
  canvas.height = image.naturalHeight;
  canvas.getContext('2d')!.drawImage(image, 0, 0);
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, 'image/png'));
  if (!blob) throw new Error(t('badPicture', { name: example.name }));
  await takePicture(blob, `${example.name}.png`, example.name);
}
