// server.test.mjs - the page on the real server with the bundled model. S2PRUNE names the program.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { dist, example, judgesTimes, launch, open, run } from './browser.mjs';

const program = process.env.S2PRUNE ?? '';
const skip = program && spawnSync(program, ['serve', '--help']).status === 0 ? false : 'S2PRUNE names no program with a server';
let browser;
let server;
let folder;
let url;

const freePort = () =>
  new Promise((done) => {
    const s = createServer().listen(0, '127.0.0.1', () => {
      const { port } = s.address();
      s.close(() => done(port));
    });
  });

async function start(port) {
  const child = spawn(program, ['serve', '--port', String(port), '--results-dir', folder], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (d) => (said += d));
  for (let i = 0; i < 300; i++) {
    const answer = await fetch(`http://127.0.0.1:${port}/health`).catch(() => null);
    if (answer?.ok) return child;
    assert.equal(child.exitCode, null, `the server ended: ${said}`);
    await new Promise((r) => setTimeout(r, 100));
  }
  throw new Error(`no server: ${said}`);
}

const stop = (child) => new Promise((done) => (child.exitCode !== null ? done() : (child.once('exit', done), child.kill('SIGTERM'))));

before(async () => {
  if (skip) return;
  folder = mkdtempSync(join(tmpdir(), 's2prune-page-'));
  const { summary, browser: samples } = JSON.parse(readFileSync(new URL('../mock/run.json', import.meta.url)));
  mkdirSync(join(folder, 'synth-demo'));
  writeFileSync(join(folder, 'synth-demo/summary.json'), JSON.stringify(summary));
  const data = JSON.stringify(samples).replaceAll('<', '\\u003c');
  writeFileSync(join(folder, 'synth-demo/report.html'), `<script type="application/json" id="data">${data}</script>`);
  const port = await freePort();
  url = `http://127.0.0.1:${port}/`;
  server = await start(port);
  browser = await launch();
});
after(async () => {
  await browser?.close();
  if (server) await stop(server);
  if (folder) rmSync(folder, { recursive: true });
});

test('the server sends the page as it was built, closed to the outside', { skip }, async (t) => {
  const answer = await fetch(url);
  if (process.env.PAGE === 'outside') return t.skip('PAGE=outside: the files come from dist/');
  assert.equal(await answer.text(), readFileSync(join(dist, 'index.html'), 'utf8'));
  const policy = answer.headers.get('content-security-policy');
  for (const part of ["default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"]) assert.ok(policy.includes(part), policy);
});

test('a first load is interactive below 300 ms', { skip }, async () => {
  const times = [];
  for (let i = 0; i < 7; i++) {
    const page = await open(browser, url); // in a context of its own: nothing is cached
    times.push(await page.evaluate(() => performance.getEntriesByName('s2prune-interactive')[0].startTime));
    await page.context().close();
  }
  times.sort((a, b) => a - b);
  console.log(`interactive after ${times[3].toFixed(0)} ms (median of 7, ${times[0].toFixed(0)} to ${times[6].toFixed(0)})`);
  if (judgesTimes) assert.ok(times[3] < 300);
});

test('the bundled model answers what the examples ask, and says what it is elsewhere', { skip }, async () => {
  const page = await open(browser, url);
  for (const [name, answer] of [['shapes', '63427'], ['harbour', 'triangle'], ['menu', 'bottom right']]) {
    await example(page, name);
    await run(page);
    assert.equal(await page.textContent('#answer'), answer, name);
    assert.equal(await page.locator('.answer [data-t=answerBundled]').count(), 0, name);
  }
  await page.setInputFiles('#file', new URL('../../../data/synth/images/0000.jpg', import.meta.url).pathname);
  await page.waitForFunction(() => document.querySelector('.summary')?.textContent);
  await page.fill('#question', 'Read the word.');
  await run(page);
  assert.equal(await page.textContent('#answer'), 'BOOKS');
  assert.match(await page.textContent('.answer'), /only knows drawn test scenes/);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test('plan, run, cached prefix, edited tokens, comparison, reconnection', { skip }, async () => {
  const page = await open(browser, url);
  await page.waitForSelector('.status.ready');
  assert.ok((await page.locator('#method option').count()) > 10);
  await example(page, 'shapes');
  assert.match(await page.textContent('#summary'), /^64 cells for 576 tokens \(24×24\), 5×5 regions · H = /);
  await run(page);
  const answer = await page.textContent('#answer');
  assert.match(answer, /^\d+$/, 'a number was asked for');
  assert.match(await page.textContent('#summary'), /^64 of 576 tokens kept/);
  await page.check('#look-erc');
  assert.match(await page.textContent('.legend'), /ERC/);
  await page.focus('.explore .grid');
  await page.keyboard.press('ArrowRight');
  assert.match(await page.textContent('.readout'), /Laplacian variance.*ERC.* of \d+ in its cell/);

  await page.fill('#question', 'What word is written?');
  await page.click('#run');
  await page.waitForFunction(() => document.querySelectorAll('.history li').length === 2);
  console.log(`second question: ${await page.textContent('.cached')}`); // how much depends on the server's cache

  await page.click('#edit');
  await page.keyboard.press('Space');
  await page.click('#run');
  await page.waitForFunction(() => document.querySelectorAll('.history li').length === 3);
  assert.match(await page.textContent('#summary'), /^6[35] of 576 tokens kept/);
  await page.click('#edit');

  await page.click('#tab-compare');
  await page.click('#compare-run');
  await page.waitForFunction(() => document.querySelectorAll('.compare-card .answer-line').length === 4);
  assert.equal(await page.locator('.iou tbody tr').count(), 4);
  await page.click('#tab-results');
  await page.waitForSelector('.chart');
  await page.selectOption('#filter', 'aOnly');
  await page.waitForSelector('.pair .stage');

  await page.click('#tab-explore');
  await page.click('details.more summary');
  await page.selectOption('#grid', '16');
  await page.waitForSelector('#budget-problem:not(:empty)');
  await page.click('#run');
  await page.waitForSelector('.answer .error');
  assert.match(await page.textContent('.answer .error'), /Error 400/);
  await page.selectOption('#grid', '0');
  const port = new URL(url).port;
  await stop(server);
  await page.click('#run');
  await page.waitForSelector('.banner.lost');
  server = await start(port);
  await page.waitForSelector('.status.ready');
  await page.click('#run');
  await page.waitForSelector('.answer .error', { state: 'detached' });
  await page.waitForSelector('.answer .cost');
  assert.deepEqual(page.faults, []);
  await page.context().close();
});
