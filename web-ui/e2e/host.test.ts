/** The host's own page, which it serves to whoever sits at its machine: accessibility, both themes, wide and narrow. */

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { LOOKS, expectSound, launch, open, violations } from './browser.ts';
import { Grid, app } from './real.ts';

let browser: Browser;
let grid: Grid;
let address: string;
let run: string;

beforeAll(async () => {
  browser = await launch();
  grid = await Grid.start();
  await grid.addHost('bob', 'delft');
  address = await grid.addHost('ada', 'amsterdam');
  // Longer than all that follows.
  run = (await grid.sateen('submit', app('fib'), '60')).match(/\d+/)?.[0] ?? '';
});
afterAll(async () => {
  await browser.close();
  await grid.stop();
});

const state = (page: Page) => page.locator('#state');

it.each(LOOKS)('axe finds nothing in the %s theme, %i pixels wide', async (colorScheme, width) => {
  const { page, mistakes } = await open(browser, { colorScheme, viewport: { width, height: 900 }, bypassCSP: true });
  await page.goto(address);
  await state(page).getByText('works: 1 of 1 worker busy').waitFor();
  await page.getByRole('cell', { name: 'main 60' }).waitFor();
  await expectSound(page, `host-${width}-${colorScheme}`);
  expect(mistakes).toEqual([]);
  await page.context().close();
});

it('keeps its own policy, and says the same as the coordinator', async () => {
  const { page, mistakes } = await open(browser);
  await page.goto(address);
  await state(page).getByText(/^works/).waitFor();
  expect(await page.getByRole('row').nth(1).getByRole('cell').first().innerText()).toBe(run);
  const hosts = await grid.api<{ id: string; name: string }[]>('hosts');
  const id = hosts.find((host) => host.name === 'ada')?.id ?? '';
  await page.getByText(id, { exact: true }).waitFor();
  expect(mistakes).toEqual([]);
  await page.context().close();
});

it('pauses for as long as it is told, and resumes', async () => {
  const { page } = await open(browser, { bypassCSP: true });
  await page.goto(address);
  await state(page).getByText(/^works/).waitFor();
  await page.getByRole('combobox', { name: 'Pause' }).selectOption('for 30 minutes');
  await page.getByRole('button', { name: 'Pause', exact: true }).click();
  await state(page).getByText(/^paused by you until \d/).waitFor();
  expect(await violations(page)).toEqual([]);
  await page.getByRole('button', { name: 'Resume' }).click();
  await state(page).getByText(/^works/).waitFor();
  await page.context().close();
});

it('leaves when it is told to, once that is confirmed', async () => {
  const { page } = await open(browser);
  const hosts = async () => (await grid.api<{ name: string }[]>('hosts')).map((host) => host.name).toSorted();
  await page.goto(address);
  await state(page).getByText(/^works/).waitFor();
  page.once('dialog', (dialog) => void dialog.dismiss());
  await page.getByRole('button', { name: 'Hand over and leave' }).click();
  await page.waitForTimeout(1500);
  expect(await hosts()).toEqual(['ada', 'bob']);
  page.once('dialog', (dialog) => void dialog.accept());
  await page.getByRole('button', { name: 'Hand over and leave' }).click();
  await page.getByText('The host does not answer: it has ended').waitFor();
  await expect.poll(hosts).toEqual(['bob']);
  await page.context().close();
});
