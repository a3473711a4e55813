/** A run of a million jobs that was never run: how large the page is, and how fast. Figures are printed; bars on time hold with SATEEN_MEASURE=1, on a machine that does nothing else. */

import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { BUILT, SHOTS, launch, open } from './browser.ts';
import { serve, type Served } from './synthetic/server.ts';

const SCRIPT_BYTES_MAX = 90_000;
const TAB_BYTES_MAX = 150e6;
const FRAMES_PER_S_MIN = 50;
const FIRST_PAINT_MS_MAX = 300;
const isMeasured = process.env.SATEEN_MEASURE === '1';

let browser: Browser;
let served: Served;
const figures: { [name: string]: number } = {};

beforeAll(async () => {
  browser = await launch();
  served = await serve({ port: 0, dist: BUILT });
});
afterAll(async () => {
  console.log(JSON.stringify(figures, null, 2));
  await browser.close();
  await served.close();
});

it('has scripts of at most 90 kB, compressed', () => {
  const scripts = readdirSync(join(BUILT, 'assets')).filter((name) => name.endsWith('.js'));
  figures.scripts_gzip_bytes = scripts.reduce((sum, name) => sum + gzipSync(readFileSync(join(BUILT, 'assets', name)), { level: 9 }).length, 0);
  expect(scripts.length).toBeGreaterThan(0);
  expect(figures.scripts_gzip_bytes).toBeLessThanOrEqual(SCRIPT_BYTES_MAX);
});

it('paints soon', async () => {
  const paints: number[] = [];
  for (let once = 0; once < 5; once += 1) {
    const { page } = await open(browser);
    await page.goto(served.url);
    await page.waitForFunction(() => performance.getEntriesByName('first-contentful-paint').length > 0);
    paints.push(await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime));
    await page.context().close();
  }
  figures.first_paint_ms = paints.sort((a, b) => a - b)[2];
  if (isMeasured) expect(figures.first_paint_ms).toBeLessThanOrEqual(FIRST_PAINT_MS_MAX);
});

/** Frames a second while `doing` runs, and the longest of them. */
async function frames(page: Page, name: string, doing: () => Promise<void>): Promise<void> {
  await page.evaluate(() => {
    const times: number[] = [];
    Object.assign(globalThis, { times });
    const step = (now: number) => {
      times.push(now);
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  });
  await doing();
  const times = await page.evaluate(() => [...(globalThis as unknown as { times: number[] }).times]);
  const gaps = times.slice(1).map((time, at) => time - times[at]).sort((a, b) => a - b);
  figures[`${name}_frames_per_s`] = Math.round((10_000 * gaps.length) / (times[times.length - 1] - times[0])) / 10;
  figures[`${name}_frame_p99_ms`] = Math.round(gaps[Math.floor(gaps.length * 0.99)] * 10) / 10;
}

it('shows all of them, pans and zooms, and is not large', async () => {
  const { page, mistakes } = await open(browser);
  const begun = Date.now();
  await page.goto(`${served.url}/runs/6/tree`);
  await page.getByText('1,000,000 of 1,034,567 jobs shown').waitFor();
  await page.getByText('still coming').waitFor({ state: 'detached' });
  figures.million_shown_ms = Date.now() - begun;
  expect(await page.locator('.status').innerText()).toContain('34,567 left out for want of room');
  const inSight = (await page.locator('.status').innerText()).match(/([\d,]+) as boxes, ([\d,]+) in strips/);
  const number = (text: string | undefined) => Number(text?.replaceAll(',', ''));
  expect(number(inSight?.[1]) + number(inSight?.[2])).toBe(1_000_000);
  const layouts = await page.evaluate(() => performance.getEntriesByName('sateen.layout').map((entry) => entry.duration));
  // Where children hang on other parents than before, and where only widths are new.
  figures.layout_most_ms = Math.round(Math.max(...layouts) * 10) / 10;
  figures.layout_ms = Math.round(Math.min(...layouts.slice(-3)) * 10) / 10;
  await page.screenshot({ path: `${SHOTS}/million-1440-light.png` });

  const box = await page.getByRole('application').boundingBox();
  if (!box) throw new Error('the tree has no canvas');
  await page.mouse.move(box.x + box.width / 2, box.y + 150);
  await frames(page, 'zoom', async () => {
    for (let once = 0; once < 60; once += 1) {
      await page.mouse.wheel(0, once < 40 ? -120 : 120);
      await page.waitForTimeout(25);
    }
  });
  await frames(page, 'rest', () => page.waitForTimeout(3000));
  await frames(page, 'pan', async () => {
    await page.mouse.down();
    for (let once = 0; once < 90; once += 1) {
      await page.mouse.move(box.x + box.width / 2 + 300 * Math.sin(once / 9), box.y + 150 + 60 * Math.cos(once / 7));
      await page.waitForTimeout(16);
    }
    await page.mouse.up();
  });
  if (isMeasured) {
    expect(figures.zoom_frames_per_s).toBeGreaterThanOrEqual(FRAMES_PER_S_MIN);
    expect(figures.pan_frames_per_s).toBeGreaterThanOrEqual(FRAMES_PER_S_MIN);
  }

  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const usage = (await session.send('Runtime.getHeapUsage')) as { usedSize: number; embedderHeapUsedSize?: number; backingStorageSize?: number };
  figures.tab_bytes = usage.usedSize + (usage.embedderHeapUsedSize ?? 0) + (usage.backingStorageSize ?? 0);
  expect(figures.tab_bytes).toBeGreaterThan(50e6);
  expect(figures.tab_bytes).toBeLessThanOrEqual(TAB_BYTES_MAX);

  // A search through all of them, and a job far below.
  await page.getByPlaceholder('Function or job').fill('count_right');
  await page.getByText(/30 of \d{3},\d{3} found shown/).waitFor();
  await page.getByRole('list', { name: 'Jobs found' }).getByRole('button').last().click();
  await page.getByRole('complementary').getByRole('button', { name: 'Copy' }).waitFor();
  expect(mistakes).toEqual([]);
  await page.context().close();
});
