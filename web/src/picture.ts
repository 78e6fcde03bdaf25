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

/** Takes the picture, or throws an Error whose message is for the user. */
export async function takePicture(blob: Blob, name: string, example = ''): Promise<void> {
  const bytes = await blob.arrayBuffer();
  const type = sniff(new Uint8Array(bytes, 0, Math.min(16, bytes.byteLength)));
  if (!type) throw new Error(t('badFormat', { name }));
  const typed = new Blob([bytes], { type });
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
