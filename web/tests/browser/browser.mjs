// browser.mjs - Debian's Chromium, driven by playwright-core, that reaches nothing but the loopback.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

export const dist = fileURLToPath(new URL('../../dist', import.meta.url));
/** TIMES=1 (make test-page): the machine is ours alone, so a time can be judged; elsewhere it is printed. */
export const judgesTimes = Boolean(process.env.TIMES);

const types = { js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml' };

/** PAGE=outside: the program has no page or an older one; the files come from dist/, under the server's own policy. */
async function serveFromDist(page, url) {
  const headers = { 'Content-Security-Policy': (await fetch(url)).headers.get('content-security-policy') };
  await page.route(/\/(assets\/[^/]+)?$/, (route) => {
    const path = new URL(route.request().url()).pathname;
    const type = types[path.split('.').pop()] ?? 'text/html; charset=utf-8';
    return route.fulfill({ path: join(dist, path === '/' ? 'index.html' : path), headers: { ...headers, 'Content-Type': type } });
  });
}

export async function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
}

/** A page that counts what must not happen: errors, refused policies, requests to elsewhere. */
export async function open(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, acceptDownloads: true, ...options });
  const page = await context.newPage();
  page.faults = [];
  page.on('pageerror', (e) => page.faults.push(`error: ${e.message}`));
  page.on('console', (m) => {
    // A failed request is logged by the browser itself; the tests make such requests on purpose.
    if (m.type() === 'error' && !/Failed to load resource/.test(m.text())) page.faults.push(`console: ${m.text()}`);
  });
  page.on('dialog', (d) => {
    page.faults.push(`dialog: ${d.message()}`);
    void d.dismiss();
  });
  const origin = new URL(url).origin;
  page.on('request', (r) => {
    const u = r.url();
    if (!u.startsWith(origin) && !u.startsWith('data:') && !u.startsWith('blob:')) page.faults.push(`request: ${u}`);
  });
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (e) => console.error(`policy: ${e.violatedDirective} ${e.blockedURI}`));
  });
  if (process.env.PAGE === 'outside') await serveFromDist(page, url);
  await page.goto(url);
  await page.waitForSelector('.status.ready, .status.loading, .status.no-model, .status.lost, dialog[open]');
  return page;
}

export async function example(page, name = 'harbour') {
  await page.click(`[data-example=${name}]:visible`);
  await page.waitForFunction(() => document.querySelector('.summary')?.textContent);
}

export async function run(page) {
  await page.click('#run');
  await page.waitForSelector('.answer .cost');
}
