/** Every page with a grid that was never there: accessibility, both themes, wide and narrow, hostile names. */

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { BUILT, SHOTS, launch, open, violations } from './browser.ts';
import { serve, type Served } from './synthetic/server.ts';
import { tag } from './synthetic/tree.ts';

/** A job of the first run, with a parent, siblings and children. */
const TAG = tag(1, 5);
const PAGES: { [name: string]: string } = {
  overview: '/',
  run: '/runs/1',
  done: '/runs/2',
  queued: '/runs/3',
  failed: '/runs/4',
  tree: `/runs/1/tree?job=${TAG}`,
  'tree-by-host': '/runs/1/tree?colour=host&by=time',
  timeline: '/runs/1/timeline',
  hosts: '/hosts?host=h7919',
  'host-grid': '/hosts?view=grid',
  apps: '/apps?app=sat',
  missing: '/nowhere',
  gone: '/runs/99',
};

let browser: Browser;
let served: Served;
let hostile: Served;

beforeAll(async () => {
  browser = await launch();
  served = await serve({ port: 0, dist: BUILT });
  hostile = await serve({ port: 0, dist: BUILT, isHostile: true });
});
afterAll(async () => {
  await browser.close();
  await Promise.all([served.close(), hostile.close()]);
});

async function settled(page: Page): Promise<void> {
  await page.waitForFunction(() => document.querySelector('main h1') !== null && document.querySelector('[aria-busy=true]') === null);
  await page.waitForTimeout(400);
}

// Some at a time: axe computes for long, each page in a process of its own.
describe.concurrent.each(['light', 'dark'] as const)('in the %s theme', (colorScheme) => {
  it.each(Object.keys(PAGES))('axe finds nothing in %s', async (name) => {
    const { page, mistakes } = await open(browser, { colorScheme, bypassCSP: true });
    await page.goto(served.url + PAGES[name]);
    await settled(page);
    await page.screenshot({ path: `${SHOTS}/${name}-1440-${colorScheme}.png`, fullPage: true });
    expect(await violations(page)).toEqual([]);
    expect(mistakes).toEqual([]);
    await page.context().close();
  });
});

describe.concurrent('on a phone', () => {
  it.each(Object.keys(PAGES))('%s is no wider than the screen, and axe finds nothing', async (name) => {
    const { page, mistakes } = await open(browser, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, bypassCSP: true });
    await page.goto(served.url + PAGES[name]);
    await settled(page);
    await page.screenshot({ path: `${SHOTS}/${name}-390-light.png`, fullPage: true });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    expect(await violations(page)).toEqual([]);
    expect(mistakes).toEqual([]);
    await page.context().close();
  });
});

it('keeps the coordinator’s policy on every page', async () => {
  const { page, mistakes } = await open(browser);
  for (const path of Object.values(PAGES)) {
    await page.goto(served.url + path);
    await settled(page);
  }
  expect(mistakes).toEqual([]);
  await page.context().close();
});

it('shows hostile names as text', async () => {
  const { page, mistakes } = await open(browser);
  for (const path of Object.values(PAGES)) {
    await page.goto(hostile.url + path);
    await settled(page);
    expect(await page.title()).toMatch(/· Sateen$/);
    expect(await page.locator('main img, main script').count()).toBe(0);
  }
  await page.goto(hostile.url);
  await settled(page);
  expect(await page.locator('table').first().innerText()).toContain('<img src=x onerror=');
  expect(mistakes).toEqual([]);
  await page.context().close();
});

it('says that the connection is lost, since when, and finds it again', async () => {
  const own = await serve({ port: 0, dist: BUILT });
  const { page } = await open(browser);
  await page.goto(`${own.url}/runs/1/tree`);
  await settled(page);
  const port = Number(new URL(own.url).port);
  await own.close();
  const banner = page.getByText('Connection lost, trying again.');
  await banner.waitFor();
  expect(await page.locator('.banner').innerText()).toMatch(/What you see is of \d\d:\d\d:\d\d\./);
  expect(await page.getByText(/jobs shown/).count()).toBeGreaterThan(0);
  const again = await serve({ port, dist: BUILT });
  await banner.waitFor({ state: 'detached' });
  await page.getByText(/of [\d,]+ jobs shown/).waitFor();
  await again.close();
  await page.context().close();
});

describe('the tree', () => {
  it('is walked with the keyboard, and the address says where one is', async () => {
    const { page, mistakes } = await open(browser, { reducedMotion: 'reduce' });
    await page.goto(`${served.url}/runs/2/tree`);
    await settled(page);
    const canvas = page.getByRole('application');
    await canvas.focus();
    await page.keyboard.press('ArrowDown');
    await page.getByRole('complementary').waitFor();
    const root = new URL(page.url()).searchParams.get('job');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowRight');
    const chosen = new URL(page.url()).searchParams.get('job');
    expect(chosen).toMatch(/^[0-9a-f]{16}$/);
    expect(chosen).not.toBe(root);
    expect(await page.locator('[role=status]', { hasText: 'children' }).count()).toBeGreaterThan(0);
    await page.keyboard.press('Enter');
    expect(new URL(page.url()).searchParams.get('focus')).toBe(chosen);
    await page.keyboard.press('+');
    await expect.poll(() => new URL(page.url()).searchParams.get('view')).toMatch(/^0\.\d+-0\.\d+$/);
    const address = page.url();
    // What the address says is what one sees.
    await page.goto(address);
    await settled(page);
    expect(await page.getByRole('complementary').locator('.key').innerText()).toBe(chosen);
    expect(await page.getByRole('navigation', { name: 'Where in the tree' }).innerText()).toContain(chosen?.slice(0, 8));
    expect(page.url()).toBe(address);
    await page.getByRole('application').focus();
    await page.keyboard.press('Home');
    expect(new URL(page.url()).searchParams.get('focus')).toBeNull();
    expect(mistakes).toEqual([]);
    await page.context().close();
  });

  it('is searched, and copies the command that runs a job again', async () => {
    const { page } = await open(browser, { permissions: ['clipboard-read', 'clipboard-write'] });
    await page.goto(`${served.url}/runs/2/tree`);
    await settled(page);
    await page.getByPlaceholder('Function or job').fill('count_l');
    await page.getByText(/30 of [\d,]+ found shown/).waitFor();
    await page.getByRole('list', { name: 'Jobs found' }).getByRole('button').nth(3).click();
    const job = new URL(page.url()).searchParams.get('job') ?? '';
    await page.getByRole('button', { name: 'Copy' }).click();
    await page.getByText('Copied.').waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(`sateen replay ${job} --run 2`);
    const words = page.getByPlaceholder('Function or job');
    await words.fill(job.slice(0, 10));
    await page.getByText('1 of 1 found shown').waitFor();
    await words.fill('count_l');
    await page.getByText(/30 of [\d,]+ found shown/).waitFor();
    await words.press('Enter');
    const next = new URL(page.url()).searchParams;
    expect(next.get('job')).not.toBe(job);
    await page.goto(page.url());
    await settled(page);
    expect(await words.inputValue()).toBe('count_l');
    expect(await page.getByRole('complementary').locator('.key').innerText()).toBe(next.get('job'));
    await page.context().close();
  });

  it('asks for the job that is chosen once, and says why it cannot be run again', async () => {
    const { page } = await open(browser);
    const asked: string[] = [];
    page.on('request', (request) => {
      if (request.url().includes('/jobs/')) asked.push(request.url());
    });
    await page.goto(`${served.url}/runs/2/tree?job=${tag(2, 15)}`);
    await page.getByText('It cannot be replayed without its parameters.').waitFor();
    expect(await page.getByText('sateen replay').count()).toBe(0);
    await page.waitForTimeout(1000);
    expect(asked.length).toBe(1);
    await page.context().close();
  });

  it('draws the chosen job among those around it, from where one goes on', async () => {
    const { page, mistakes } = await open(browser);
    await page.goto(`${served.url}/runs/2/tree`);
    await settled(page);
    const around = page.getByRole('region', { name: 'Around this job' });
    expect(await around.count()).toBe(0);
    await page.goto(`${served.url}/runs/2/tree?job=${tag(2, 5)}`);
    await around.waitFor();
    const chosen = () => new URL(page.url()).searchParams.get('job');
    const of = (role: string) => around.getByRole('button', { name: new RegExp(`^${role}:`) });
    const said = await around.getByText(/siblings? shown/).innerText();
    expect(said).toMatch(new RegExp(`^${await of('sibling').count()} of \\d+ siblings? shown, ${await of('child').count()} of \\d+ child`));
    expect(await of('chosen').getAttribute('aria-current')).toBe('true');
    // As many lines as there are jobs below another.
    expect(await around.locator('path').count()).toBe((await around.getByRole('button').count()) - 1);
    await of('child').first().click();
    expect(chosen()).not.toBe(tag(2, 5));
    expect(await page.getByRole('complementary').locator('.key').innerText()).toBe(chosen());
    await of('parent').click();
    expect(chosen()).toBe(tag(2, 5));
    // The same by keys, and the focus goes along.
    await of('chosen').focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    expect(chosen()).not.toBe(tag(2, 5));
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('Enter');
    expect(chosen()).toBe(tag(2, 5));
    await page.getByRole('complementary').getByRole('button', { name: 'Close' }).click();
    await around.waitFor({ state: 'detached' });
    expect(mistakes).toEqual([]);
    await page.context().close();
  });

  it('goes back to where one was', async () => {
    const { page } = await open(browser, { reducedMotion: 'reduce' });
    await page.goto(`${served.url}/runs/2/tree`);
    await settled(page);
    const crumbs = page.getByRole('navigation', { name: 'Where in the tree' });
    const whole = await crumbs.innerText();
    await page.getByRole('application').focus();
    for (const key of ['ArrowDown', 'ArrowDown', 'Enter', '+', '+']) await page.keyboard.press(key);
    await expect.poll(() => new URL(page.url()).searchParams.get('view')).not.toBeNull();
    expect(await crumbs.innerText()).not.toBe(whole);
    const inSight = page.getByText(/^In sight:/);
    const closer = await inSight.innerText();
    await page.goBack();
    await expect.poll(() => crumbs.innerText()).toBe(whole);
    await expect.poll(() => inSight.innerText()).not.toBe(closer);
    await page.goForward();
    await expect.poll(() => inSight.innerText()).toBe(closer);
    await page.context().close();
  });

  it('is zoomed by the wheel and by two fingers, and dragged', async () => {
    const { page } = await open(browser, { hasTouch: true });
    await page.goto(`${served.url}/runs/2/tree`);
    await settled(page);
    const view = () => new URL(page.url()).searchParams.get('view');
    const box = await page.getByRole('application').boundingBox();
    if (!box) throw new Error('the tree has no canvas');
    await page.mouse.move(box.x + 200, box.y + 60);
    await page.mouse.wheel(0, -600);
    await expect.poll(view).not.toBeNull();
    const zoomed = view();
    await page.mouse.down();
    await page.mouse.move(box.x + 500, box.y + 60, { steps: 5 });
    await page.mouse.up();
    await expect.poll(view).not.toBe(zoomed);
    const dragged = view();
    const touch = await page.context().newCDPSession(page);
    const fingers = (type: string, gap: number) =>
      touch.send('Input.dispatchTouchEvent', {
        type: type as 'touchStart',
        touchPoints: type === 'touchEnd' ? [] : [-gap, gap].map((dx, id) => ({ x: box.x + 400 + dx, y: box.y + 60, id })),
      });
    await fingers('touchStart', 20);
    for (const gap of [40, 80, 120]) await fingers('touchMove', gap);
    await fingers('touchEnd', 0);
    await expect.poll(view).not.toBe(dragged);
    await page.context().close();
  });

  it('says that a job of the address is not there', async () => {
    const { page } = await open(browser);
    await page.goto(`${served.url}/runs/2/tree?job=ffffffffffffffff`);
    await page.getByText('No job of run 2 has the tag ffffffffffffffff.').waitFor();
    await page.context().close();
  });
});

it('links to a moment of a worker, and says what it did then', async () => {
  const { page } = await open(browser);
  await page.goto(`${served.url}/runs/1/timeline`);
  await settled(page);
  await page.getByText(/^From 0:00 to [\d:]+, all workers shown: work \d+ %/).waitFor();
  const canvas = page.getByRole('application');
  await canvas.focus();
  for (const key of ['ArrowDown', 'ArrowDown', 'ArrowRight']) await page.keyboard.press(key);
  const told = page.getByText(/, worker 1, 0:\d\d: work \d+ %/);
  await told.waitFor();
  const text = await told.innerText();
  await page.goto(page.url());
  await settled(page);
  expect(await told.innerText()).toBe(text);
  await canvas.focus();
  await page.keyboard.press('Escape');
  await page.getByText('Choose a moment of a worker').waitFor();
  expect(new URL(page.url()).searchParams.get('moment')).toBeNull();
  await page.context().close();
});

it('shows an address that one comes to as it says, from the same page, too', async () => {
  const { page } = await open(browser);
  await page.goto(`${served.url}/hosts?q=ada`);
  await settled(page);
  const all = page.getByText(/^48 of 48 shown$/);
  expect(await all.count()).toBe(0);
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Hosts' }).click();
  await all.waitFor();
  await page.goBack();
  await all.waitFor({ state: 'detached' });
  expect(await page.getByPlaceholder('Name, id, version').inputValue()).toBe('ada');
  await page.context().close();
});

it('refuses a module with the reason', async () => {
  const { page } = await open(browser);
  await page.goto(`${served.url}/apps`);
  await settled(page);
  await page.getByLabel('Module to publish').setInputFiles({ name: 'bad.wasm', mimeType: 'application/wasm', buffer: Buffer.from('\0asm') });
  await page.getByText('bad.wasm: The module is refused: it imports `wasi_snapshot_preview1.fd_write`').waitFor();
  await page.context().close();
});

it('takes a module that is dropped', async () => {
  const { page } = await open(browser);
  await page.goto(`${served.url}/apps`);
  await settled(page);
  const dropped = await page.evaluateHandle(() => {
    const transfer = new DataTransfer();
    transfer.items.add(new File(['\0asm'], 'dropped app.wasm', { type: 'application/wasm' }));
    return transfer;
  });
  const place = page.getByRole('group', { name: 'Publish an app' });
  await place.dispatchEvent('dragenter', { dataTransfer: dropped });
  await place.dispatchEvent('drop', { dataTransfer: dropped });
  await page.getByText('dropped app.wasm: The module is refused').waitFor();
  await page.context().close();
});

it('changes the theme by its switch, and keeps to it', async () => {
  const { page } = await open(browser, { colorScheme: 'light' });
  await page.goto(served.url);
  await settled(page);
  const background = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const light = await background();
  await page.getByRole('button', { name: /Change to: Light/ }).click();
  await page.getByRole('button', { name: /Change to: Dark/ }).click();
  expect(await background()).not.toBe(light);
  await page.reload();
  expect(await background()).not.toBe(light);
  await page.context().close();
});
