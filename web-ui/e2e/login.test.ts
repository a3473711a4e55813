/** How people log in to the dashboard of a grid that needs tokens, and what a viewer cannot do. */

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { LOOKS, expectSound, launch, open } from './browser.ts';
import { Grid } from './real.ts';

let browser: Browser;
let grid: Grid;

beforeAll(async () => {
  browser = await launch();
  grid = await Grid.startGuarded();
});
afterAll(async () => {
  await browser.close();
  await grid.stop();
});

const token = (scope: string, name: string) => grid.sateen('token', 'new', '--scope', scope, '--name', name);

async function logIn(page: Page, secret: string): Promise<void> {
  await page.getByLabel('Token').fill(secret);
  await page.getByRole('button', { name: 'Log in' }).click();
}

it.each(LOOKS)('axe finds nothing in the %s theme, %i pixels wide', async (colorScheme, width) => {
  const { page, mistakes } = await open(browser, { colorScheme, viewport: { width, height: 900 }, bypassCSP: true });
  await page.goto(grid.url);
  await page.waitForURL(`${grid.url}/login`);
  await logIn(page, 'nonsense');
  await page.getByRole('alert').waitFor();
  await expectSound(page, `login-${width}-${colorScheme}`);
  expect(mistakes).toEqual([]);
  await page.context().close();
});

it('shows the dashboard after a login, under its own policy, until the token is revoked', async () => {
  const { page, mistakes } = await open(browser);
  const screen = await token('viewer', 'screen');
  await page.goto(`${grid.url}/hosts`);
  await page.waitForURL(`${grid.url}/login`);
  // The page has its styles.
  const width = await page.getByRole('main').evaluate((main) => main.getBoundingClientRect().width);
  expect(width).toBeLessThan(500);
  await logIn(page, `sateen_viewer_${'7'.repeat(64)}`);
  await page.getByText('does not know the token').waitFor();
  await logIn(page, screen);
  await page.getByRole('link', { name: 'Hosts', exact: true }).waitFor();
  await page.getByText('No host is connected').first().waitFor();
  expect(mistakes).toEqual([]);
  const status = (path: string, method: string) =>
    page.evaluate(async ([path, method]) => (await fetch(path, { method })).status, [path, method] as const);
  expect(await status('/api/v1/status', 'GET')).toBe(200);
  expect(await status('/api/v1/tokens', 'GET')).toBe(403);
  expect(await status('/api/v1/runs', 'POST')).toBe(403);
  await page.goto(`${grid.url}/login`);
  await page.getByText('You are logged in with the token screen (viewer)').waitFor();
  await page.getByRole('link', { name: 'Go to the dashboard' }).click();
  await page.getByRole('link', { name: 'Hosts', exact: true }).waitFor();
  await grid.sateen('token', 'revoke', 'screen');
  await page.goto(grid.url);
  await page.waitForURL(`${grid.url}/login`);
  await page.context().close();
});

it('lets somebody log out', async () => {
  const { page } = await open(browser);
  await page.goto(grid.url);
  await logIn(page, await token('viewer', 'visitor'));
  await page.getByRole('link', { name: 'Hosts', exact: true }).waitFor();
  await page.goto(`${grid.url}/login`);
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.waitForURL(`${grid.url}/login`);
  expect(await page.context().cookies()).toEqual([]);
  await page.goto(grid.url);
  await page.waitForURL(`${grid.url}/login`);
  await page.context().close();
});
