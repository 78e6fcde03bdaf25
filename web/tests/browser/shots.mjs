// shots.mjs FOLDER [URL] - pictures of every tab, to be looked at: light, dark, Chinese, phone. EXAMPLE and EXPECT choose
// the picture and the expected answer; ONLY names one of the four.
import { mkdirSync } from 'node:fs';
import { startMock } from '../mock/server.mjs';
import { example, launch, open, run } from './browser.mjs';

const folder = process.argv[2] ?? '.work/shots';
mkdirSync(folder, { recursive: true });
const mock = process.argv[3] ? null : await startMock();
const url = process.argv[3] ?? mock.url;
const browser = await launch();

async function shoot(name, options) {
  if ((process.env.ONLY ?? name) !== name) return;
  const page = await open(browser, url, options);
  const shot = (part, fullPage = true) => page.screenshot({ path: `${folder}/${name}-${part}.png`, fullPage });
  await shot('first');
  await example(page, process.env.EXAMPLE ?? 'harbour');
  await page.waitForTimeout(200);
  await shot('plan');
  await run(page);
  await page.check('#look-regions');
  await page.focus('.grid');
  for (let i = 0; i < 5; i++) await page.keyboard.press('ArrowDown');
  await page.waitForTimeout(150);
  await shot('done');
  await page.click('#tab-compare');
  await page.fill('#expect', process.env.EXPECT ?? '');
  await page.click('#compare-run');
  await page.waitForFunction(() => document.querySelectorAll('.compare-card .answer-line').length === 4);
  await page.waitForTimeout(200);
  await shot('compare');
  await page.click('#tab-results');
  await page.waitForSelector('.chart, .results .empty');
  await page.waitForTimeout(300);
  await shot('results');
  await page.context().close();
}

await shoot('light', { viewport: { width: 1360, height: 860 } });
await shoot('dark', { viewport: { width: 1360, height: 860 }, colorScheme: 'dark' });
await shoot('phone', { viewport: { width: 360, height: 640 }, hasTouch: true, isMobile: true });
await shoot('chinese', { viewport: { width: 1360, height: 860 }, locale: 'zh-CN' });
await browser.close();
await mock?.stop();
