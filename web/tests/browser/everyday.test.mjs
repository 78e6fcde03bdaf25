// everyday.test.mjs - what new users ran into, at a desk (1280 px) and on a phone (390 px).
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { after, before, beforeEach, test } from 'node:test';
import { startMock } from '../mock/server.mjs';
import { example, launch, open, run } from './browser.mjs';

const desk = { viewport: { width: 1280, height: 800 } };
const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, reducedMotion: 'reduce' };
let browser;
let mock;

before(async () => {
  browser = await launch();
  mock = await startMock();
});
beforeEach(() => {
  Object.assign(mock, { fault: '', grid: [24, 24], runs: true, delay: 15 });
});
after(async () => {
  await browser.close();
  await mock.stop();
});

const fresh = (options) => open(browser, mock.url, options);
/** SHOTS=FOLDER: what the test looks at, as a picture. */
async function shot(page, name) {
  if (!process.env.SHOTS) return;
  mkdirSync(process.env.SHOTS, { recursive: true });
  await page.screenshot({ path: `${process.env.SHOTS}/${name}.png` });
}
async function done(page) {
  assert.deepEqual(page.faults, []);
  await page.context().close();
}

for (const [name, size] of [['1280', desk], ['390', phone]]) {
  test(`${name} px: a wrong key is said to be wrong, the right one is taken`, async () => {
    mock.fault = 'key';
    const page = await fresh(size);
    await page.waitForSelector('#key-dialog[open]');
    assert.equal(await page.textContent('#key-problem'), '');
    await page.fill('#key-input', 'nonsense');
    await page.click('#key-dialog .primary');
    await page.waitForSelector('#key-dialog[open] #key-problem:not(:empty)');
    assert.match(await page.textContent('#key-problem'), /did not accept this key/);
    await shot(page, `key-${name}`);
    await page.fill('#key-input', 'secret');
    await page.click('#key-dialog .primary');
    await page.waitForSelector('.status.ready');
    await page.waitForFunction(() => !document.querySelector('#key-dialog').open);
    await done(page);
  });

  test(`${name} px: Help opens at its heading`, async () => {
    const page = await fresh({ ...size, viewport: { ...size.viewport, height: 500 } });
    await page.click('#open-help');
    const at = await page.evaluate(() => {
      const box = document.querySelector('#help-dialog');
      return { scroll: box.scrollTop, heading: box.querySelector('h2').getBoundingClientRect().top, focused: document.activeElement?.tagName };
    });
    assert.equal(at.scroll, 0);
    assert.ok(at.heading >= 0 && at.heading < 500, JSON.stringify(at));
    assert.equal(at.focused, 'H2');
    await shot(page, `help-${name}`);
    await done(page);
  });

  test(`${name} px: the answer is in view after Run`, async () => {
    const page = await fresh(size);
    await example(page);
    await run(page);
    const seen = await page.evaluate(() => {
      const box = document.querySelector('#answer').getBoundingClientRect();
      const bar = document.querySelector('.settings .bar').getBoundingClientRect();
      const bottom = getComputedStyle(document.querySelector('.settings .bar')).position === 'fixed' ? bar.top : innerHeight;
      return { top: box.top, bottom: box.bottom, limit: bottom };
    });
    assert.ok(seen.top >= 0 && seen.bottom <= seen.limit, JSON.stringify(seen));
    await shot(page, `answer-${name}`);
    await done(page);
  });

  test(`${name} px: compare shows one time for the shared tower, and labels both bars`, async () => {
    mock.cachedVision = true;
    const page = await fresh(size);
    await example(page);
    await page.click('#tab-compare');
    await page.click('#compare-run');
    await page.waitForFunction(() => document.querySelectorAll('.compare-card .cost').length === 4);
    const times = await page.$$eval('.compare-card .cost', (lists) => lists.map((l) => [...l.querySelectorAll('div')].find((d) => /vision/.test(d.textContent)).textContent));
    assert.deepEqual(new Set(times), new Set(['vision (shared)2.1 s']), times.join());
    const bars = await page.$$eval('.compare-card', (cards) => cards.map((c) => [...c.querySelectorAll('.shares .name')].map((e) => e.textContent).join()));
    assert.deepEqual(new Set(bars), new Set(['edge,center']));
    const columns = await page.$$eval('.compare-card', (cards) => new Set(cards.map((c) => Math.round(c.getBoundingClientRect().left))).size);
    if (name === '1280') assert.equal(columns, 2, 'four cards in two rows of two');
    await shot(page, `compare-${name}`);
    mock.cachedVision = false;
    await done(page);
  });

  test(`${name} px: the chart of the results fills its card`, async () => {
    const page = await fresh(size);
    await page.click('#tab-results');
    await page.waitForSelector('.chart > svg');
    const part = await page.evaluate(() => {
      const chart = document.querySelector('.chart > svg');
      const card = chart.closest('.card');
      const style = getComputedStyle(card);
      return chart.getBoundingClientRect().width / (card.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight));
    });
    assert.ok(part > 0.98 && part < 1.01, `the chart has ${part} of the width`);
    await shot(page, `results-${name}`);
    await done(page);
  });
}

test('the preview uses the grid that the model will use', async () => {
  mock.grid = [15, 23];
  const page = await fresh(desk);
  await example(page);
  assert.match(await page.textContent('#summary'), /for 345 tokens \(15×23\)/);
  assert.match(await page.getAttribute('#budget', 'aria-valuetext'), /of 345 tokens/);
  const asked = JSON.parse([...mock.requests].reverse().find((r) => r.path === '/v1/prune/plan').body);
  assert.equal(asked.tokens, undefined);
  await done(page);
});

test('a picture with fewer tokens than the budget keeps them all in the preview', async () => {
  mock.grid = [6, 7];
  const page = await fresh(desk);
  await example(page);
  assert.match(await page.textContent('#summary'), /^42 cells for 42 tokens/);
  assert.equal(await page.textContent('#budget-problem'), '');
  await done(page);
});

test('order and region numbers: both are drawn', async () => {
  const page = await fresh(desk);
  await example(page);
  await run(page);
  await page.check('#look-regions');
  await page.check('#look-order');
  await shot(page, 'order-and-regions');
  await done(page);
});

test('what the server cannot decode, the browser does', async () => {
  const page = await fresh(desk);
  const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="120" height="80"><circle cx="60" cy="40" r="30" fill="red"/></svg>';
  await page.setInputFiles('#file', { name: 'drawing.svg', mimeType: 'image/svg+xml', buffer: Buffer.from(svg) });
  await page.waitForFunction(() => /drawing\.svg · 120×80/.test(document.querySelector('.caption').textContent));
  const gif = Buffer.from('R0lGODlhAQABAIAAAP///wAAACwAAAAAAQABAAACAkQBADs=', 'base64');
  await page.setInputFiles('#file', { name: 'dot.gif', mimeType: 'image/gif', buffer: gif });
  await page.waitForFunction(() => /dot\.gif · 1×1/.test(document.querySelector('.caption').textContent));
  await page.setInputFiles('#file', { name: 'notes.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.7') });
  await page.waitForFunction(() => /notes\.pdf is not a picture that the server or this browser can decode/.test(document.querySelector('.source .problem').textContent));
  await done(page);
});

test('a picture beyond the limit of the server is sent smaller', async () => {
  mock.imagePixels = 20000;
  const page = await fresh(desk);
  await page.waitForSelector('.status.ready');
  const png = await page.evaluate(() => {
    const canvas = document.createElement('canvas');
    canvas.width = 400;
    canvas.height = 200;
    return canvas.toDataURL('image/png').split(',')[1];
  });
  await page.setInputFiles('#file', { name: 'large.png', mimeType: 'image/png', buffer: Buffer.from(png, 'base64') });
  await page.waitForFunction(() => /large\.png · 200×100/.test(document.querySelector('.caption').textContent));
  mock.imagePixels = undefined;
  await done(page);
});
