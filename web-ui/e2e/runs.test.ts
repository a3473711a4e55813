/** More runs than the coordinator feeds, runs with inputs, and runs that go while somebody looks at them. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';

import type { Run } from '../src/lib/types.ts';
import { SHOTS, expectSound, figure, launch, open } from './browser.ts';
import { Grid, app, until } from './real.ts';

/** The coordinator feeds the newest hundred. */
const RUNS = 130;
const FILES = mkdtempSync(join(tmpdir(), 'sateen-e2e-'));

let browser: Browser;
let grid: Grid;

beforeAll(async () => {
  browser = await launch();
  grid = await Grid.start('--trees-kept', '1');
  await grid.sateen('publish', app('fib'));
});
afterAll(async () => {
  await browser.close();
  await grid.stop();
  rmSync(FILES, { recursive: true });
});

async function submit(...words: string[]): Promise<number> {
  const response = await fetch(`${grid.url}/api/v1/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ app: 'fib', arguments: words }),
  });
  expect(response.status).toBe(201);
  return ((await response.json()) as { run: number }).run;
}

it('finds the oldest of many runs, and shows all of them page by page', async () => {
  const needle = await submit('3');
  await grid.sateen('cancel', String(needle));
  for (let run = 1; run < RUNS; run += 1) await submit('4');
  const { page, mistakes } = await open(browser);
  await page.goto(grid.url);
  await page.getByText(`50 of ${RUNS} shown`).waitFor();
  const rows = page.getByRole('table').first().locator('tbody tr');
  await page.getByRole('searchbox', { name: 'Search runs' }).fill('fib main 3');
  await page.getByText('1 of 1 shown').waitFor();
  expect(await rows.count()).toBe(1);
  expect(await rows.first().innerText()).toContain('cancelled');
  await page.screenshot({ path: `${SHOTS}/real-search.png` });

  await page.getByRole('searchbox', { name: 'Search runs' }).fill('');
  await page.getByLabel('State').selectOption('cancelled');
  await page.getByText('1 of 1 shown').waitFor();
  await page.getByRole('searchbox', { name: 'Search runs' }).fill('nowhere');
  await page.getByText('No run matches.').waitFor();

  await page.goto(grid.url);
  for (const shown of [100, RUNS]) {
    await page.getByRole('button', { name: 'Show more' }).click();
    await page.getByText(`${shown} of ${RUNS} shown`).waitFor();
  }
  expect(await page.getByRole('button', { name: 'Show more' }).count()).toBe(0);
  const numbers = await rows.locator('td:first-child').allInnerTexts();
  expect(numbers.map(Number)).toEqual(Array.from({ length: RUNS }, (_, at) => needle + RUNS - 1 - at));
  expect(mistakes).toEqual([]);
  await page.context().close();
});

it('says of an older run that its tree is no longer kept', async () => {
  const [old, newer] = [await submit('6'), await submit('6')];
  for (const run of [old, newer]) await grid.sateen('cancel', String(run));
  await until('the older tree is gone', async () => (await fetch(`${grid.url}/api/v1/runs/${old}/tree`)).status === 410);
  const { page, mistakes } = await open(browser);
  for (const view of ['', '/tree', '/timeline']) {
    await page.goto(`${grid.url}/runs/${old}${view}`);
    await page.getByText(/no longer kept/).first().waitFor();
    expect(await page.getByText(/Waiting for|No worker has begun/).count()).toBe(0);
    await page.screenshot({ path: `${SHOTS}/real-old${view.replace('/', '-')}.png` });
  }
  await page.goto(`${grid.url}/runs/${newer}`);
  await page.getByRole('heading', { name: 'Events' }).waitFor();
  expect(await page.getByText(/no longer kept/).count()).toBe(0);
  expect(mistakes).toEqual([]);
  await page.context().close();
});

it('says that a run was removed while its page was open', async () => {
  const run = await submit('5');
  await grid.sateen('cancel', String(run));
  for (const view of ['', '/tree', '/timeline']) {
    const one = view === '' ? run : await submit('5');
    if (one !== run) await grid.sateen('cancel', String(one));
    const { page, mistakes } = await open(browser);
    await page.goto(`${grid.url}/runs/${one}${view}`);
    await page.getByRole('status').getByText('cancelled').first().waitFor();
    await grid.sateen('rm', String(one));
    await page.getByRole('heading', { name: `Run ${one} was removed` }).waitFor();
    expect(await page.getByRole('link', { name: 'All runs' }).count()).toBe(1);
    // And found nowhere when the page is loaded again.
    await page.reload();
    await page.getByRole('heading', { name: 'Not found' }).waitFor();
    expect(mistakes).toEqual([]);
    await page.context().close();
  }
});

it('runs an app with an input that is chosen on the page, and says what held it up', async () => {
  await grid.addHost('ada', 'amsterdam');
  await until('all runs are over', async () => (await grid.api<Run[]>('runs?state=queued,running')).length === 0);
  await grid.sateen('publish', app('sat'));
  const file = join(FILES, 'small.cnf');
  writeFileSync(file, 'p cnf 2 2\n1 2 0\n-1 0\n');
  const { page, mistakes } = await open(browser, { viewport: { width: 390, height: 844 } });
  await page.goto(`${grid.url}/apps?app=sat`);
  await page.getByRole('button', { name: 'Add an input file' }).click();
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.getByText(/Choose a file for/).waitFor();
  await page.getByLabel('File of this input').setInputFiles(file);
  await page.getByLabel('Name', { exact: true }).fill('cnf');
  await page.screenshot({ path: `${SHOTS}/real-input-390.png`, fullPage: true });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.getByText(/s SATISFIABLE/).first().waitFor();
  await page.getByRole('link', { name: /^[0-9a-f]{64}$/ }).waitFor();

  // Long enough that something can be said of it: on one host, nothing holds it up or its machine is busy.
  const run = await grid.sateen('submit', app('nqueens'), '15');
  await grid.sateen('wait', run);
  const { held_up_by } = await grid.api<Run>(`runs/${run}`);
  if (((await grid.api<Run>(`runs/${run}`)).elapsed_s ?? 0) > 3) expect(held_up_by?.text).toMatch(/\d/);
  await page.goto(`${grid.url}/runs/${run}`);
  if (held_up_by) await page.getByText(held_up_by.text).waitFor();
  expect(mistakes).toEqual([]);
  await page.context().close();
});

it('says how far a result is checked', async () => {
  const run = await grid.sateen('submit', app('nqueens'), '10', '--trust', 'quorum=2');
  const { page, mistakes } = await open(browser, { viewport: { width: 1280, height: 900 } });
  await page.goto(`${grid.url}/runs/${run}`);
  const panel = page.getByRole('region', { name: 'Checked results' });
  await panel.getByText('quorum=2').waitFor();
  // Of the only host.
  await page.getByText(/start more hosts/).first().waitFor();
  expect(await panel.innerText()).toContain('0 of 1 unit, with 0 % of the work');
  await expectSound(page, 'real-checking-1280');
  await grid.addHost('bob', 'amsterdam');
  await panel.getByText('1 of 1 unit, with 100 % of the work').waitFor();
  await page.getByRole('status').getByText('done').first().waitFor();
  expect(await panel.innerText()).toMatch(/Computed again\s+1 time[^]*Barred\s+no host/);
  await page.setViewportSize({ width: 390, height: 844 });
  await expectSound(page, 'real-checked-390');
  expect(mistakes).toEqual([]);
  // Most runs trust their hosts.
  await page.goto(`${grid.url}/runs/${await submit('5')}`);
  await page.getByRole('heading', { name: 'About this run' }).waitFor();
  expect(await panel.count()).toBe(0);
  await page.context().close();
});

it('says what runs are due of each host, by the priority that was chosen on the page', async () => {
  await grid.addHost('cyd', 'amsterdam');
  await until('all runs are over', async () => (await grid.api<Run[]>('runs?state=queued,running')).length === 0);
  // It computes until it is cancelled.
  const normal = await submit('60');
  const { page, mistakes } = await open(browser, { viewport: { width: 390, height: 844 }, bypassCSP: true });
  await page.goto(`${grid.url}/runs/${normal}`);
  await expect.poll(() => figure(page, 'Share')).toBe('100 %');
  await page.getByText('of each host, while all runs have work enough').waitFor();
  expect(await page.getByText('Priority', { exact: true }).count()).toBe(0);

  await page.goto(`${grid.url}/apps?app=fib`);
  const priority = page.getByLabel('Priority');
  expect(await priority.inputValue()).toBe('normal');
  await page.getByText(/four times as much as a normal one of the same submitter/).waitFor();
  await priority.selectOption('high');
  await page.getByLabel('Arguments').fill('60');
  await expectSound(page, 'real-priority-390');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.getByText('high, among the runs of its submitter').waitFor();
  await expect.poll(() => figure(page, 'Share')).toBe('80 %');
  await expectSound(page, 'real-share-390');
  const high = Number(new URL(page.url()).pathname.split('/').at(-1));

  // With the name beside it where the list has no headings.
  await page.goto(grid.url);
  const shareOf = (run: number) => page.locator('tbody tr', { has: page.getByRole('link', { name: String(run), exact: true }) }).locator('.due').innerText();
  await expect.poll(() => shareOf(high)).toBe('Share 80 %');
  expect(await shareOf(normal)).toBe('Share 20 %');
  await expectSound(page, 'real-shares-390');
  await page.setViewportSize({ width: 1280, height: 900 });
  expect(await shareOf(normal)).toBe('20 %');
  await page.getByTitle(/^The part of each host’s workers/).waitFor();
  await expectSound(page, 'real-shares-1280');
  await grid.sateen('cancel', String(high));
  await expect.poll(() => shareOf(normal)).toBe('100 %');
  expect(await shareOf(high)).toBe('');
  await grid.sateen('cancel', String(normal));
  await expect.poll(() => shareOf(normal)).toBe('');
  expect(mistakes).toEqual([]);
  await page.context().close();
});
