// bundle.mjs - dist/ is what the sources give, byte for byte; small; and calls nobody.
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';

const LIMIT = 60 * 1024; // of everything together, gzip
const problems = [];
const files = (folder) =>
  readdirSync(folder, { recursive: true })
    .filter((f) => statSync(join(folder, f)).isFile())
    .sort();
const digest = (folder) => files(folder).map((f) => `${f} ${createHash('sha256').update(readFileSync(join(folder, f))).digest('hex')}`);

await build({ logLevel: 'error', build: { outDir: '.work/dist', emptyOutDir: true } });
const fresh = digest('.work/dist');
const committed = digest('dist');
for (const line of committed.filter((x) => !fresh.includes(x))) problems.push(`dist/ differs from a fresh build: ${line}`);
for (const line of fresh.filter((x) => !committed.includes(x))) problems.push(`a fresh build differs from dist/: ${line}`);

let bytes = 0;
for (const f of files('dist')) {
  const data = readFileSync(join('dist', f));
  bytes += gzipSync(data, { level: 9 }).length;
  const text = data.toString();
  for (const url of text.match(/(https?:)?\/\/[a-z0-9-]+\.[a-z]{2,}[^\s"'`)]*/gi) ?? [])
    if (!url.startsWith('http://www.w3.org/')) problems.push(`${f} names ${url}`);
  if (f.endsWith('.html') && /<script(?![^>]*\bsrc=)|<style|\son\w+=|style=/i.test(text)) problems.push(`${f} has inline script or style`);
  if (f !== 'index.html' && !/-[\w-]{8}\.\w+$/.test(f)) problems.push(`${f} has no hash in its name`);
  if (/innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/.test(text)) problems.push(`${f} turns text into markup or code`);
}
if (bytes > LIMIT) problems.push(`dist/ has ${bytes} bytes gzip; the limit is ${LIMIT}`);
console.log(`bundle: ${files('dist').length} files, ${bytes} bytes gzip of ${LIMIT}`);
for (const p of problems) console.error(`bundle: ${p}`);
process.exit(problems.length ? 1 : 0);
