// Opens the dashboard of a running daemon in headless Chromium, light and dark, wide and narrow, and takes pictures.
//
//   npm install --no-save --ignore-scripts @sparticuz/chromium puppeteer-core
//   node dashboard.mjs http://127.0.0.1:9821 dashboard
//
// Ends with 1 where the page reports an error, asks anyone else for anything, shows no state, or is wider than its window.
import chromium from '@sparticuz/chromium';
import puppeteer from 'puppeteer-core';

const [, , url, out] = process.argv;
const browser = await puppeteer.launch({
  args: [...chromium.args, '--no-sandbox'],
  executablePath: await chromium.executablePath(),
  headless: 'shell',
});
const wrong = [];
for (const scheme of ['light', 'dark']) {
  const page = await browser.newPage();
  page.on('pageerror', (error) => wrong.push(`${scheme}: ${error}`));
  page.on('request', (request) => {
    if (!request.url().startsWith(url)) wrong.push(`${scheme}: asks ${request.url()}`);
  });
  await page.setViewport({ width: 1200, height: 860 });
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
  await page.goto(url, { waitUntil: 'networkidle2' });
  await new Promise((wait) => setTimeout(wait, 2500));
  const look = () => page.evaluate(() => ({
    phase: document.getElementById('phase').textContent,
    devices: document.querySelectorAll('#devices .device').length,
    jobs: document.querySelectorAll('#jobs tbody tr').length,
    ground: getComputedStyle(document.body).backgroundColor,
    overflows: document.documentElement.scrollWidth > innerWidth,
  }));
  const wide = await look();
  if (out) await page.screenshot({ path: `${out}-${scheme}.png` });
  await page.setViewport({ width: 420, height: 900 });
  await new Promise((wait) => setTimeout(wait, 300));
  const narrow = await look();
  console.log(scheme, JSON.stringify(wide));
  if (wide.phase !== 'serving') wrong.push(`${scheme}: phase ${wide.phase}`);
  if (wide.devices === 0) wrong.push(`${scheme}: no device`);
  if (wide.overflows || narrow.overflows) wrong.push(`${scheme}: wider than its window`);
  await page.close();
}
await browser.close();
wrong.forEach((text) => console.error(text));
process.exit(wrong.length ? 1 : 0);
