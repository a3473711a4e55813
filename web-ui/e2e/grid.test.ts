/** The dashboard on a real grid: what it shows is what the coordinator knows, whatever is killed. */

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';

import type { JobDetail, Run } from '../src/lib/types.ts';
import { SHOTS, figure, launch, open } from './browser.ts';
import { Grid, app, until } from './real.ts';

/** Long enough to be watched, and to lose a host. */
const QUEENS = '17';
/** OEIS A000170. */
const ANSWER = '95815104';
/** Of a minute's work on a machine that does much else. */
const PATIENCE_MS = 600_000;
/** Enough to find one whose parameters are known. */
const JOBS_ASKED = 200;

let browser: Browser;
let grid: Grid;

beforeAll(async () => {
  browser = await launch();
  grid = await Grid.start();
  await grid.addHost('ada', 'amsterdam');
  await grid.addHost('bob', 'amsterdam');
  await grid.addHost('cyd', 'delft');
});
afterAll(async () => {
  await browser.close();
  await grid.stop();
});

interface Node {
  job: string;
  state: string;
  redone: boolean;
}
interface Tree {
  nodes: Node[];
  left_out: number;
}
type Counts = { [name: string]: string };

const shown = (value: number) => new Intl.NumberFormat('en').format(value);

/** What the tree's legend counts, and how many jobs it says that it shows. */
async function countsShown(page: Page): Promise<Counts> {
  const lines = await page.getByRole('list', { name: 'States, with the number of jobs' }).getByRole('listitem').allInnerTexts();
  const counts: Counts = {};
  for (const line of lines) {
    const [, name, count] = /^(.*?)\s+(\S+)$/s.exec(line.trim()) ?? [];
    counts[name] = count;
  }
  counts.shown = (await page.locator('.shown').innerText()).split(' ')[0];
  return counts;
}

async function countsKnown(run: string): Promise<Counts> {
  const tree = await grid.api<Tree>(`runs/${run}/tree`);
  const counts: Counts = {};
  for (const state of ['running', 'done', 'failed', 'aborted', 'lost', 'reused', 'adopted', 'given back']) {
    counts[state] = shown(tree.nodes.filter((node) => node.state === state).length);
  }
  counts.redone = shown(tree.nodes.filter((node) => node.redone).length);
  counts.shown = shown(tree.nodes.length);
  return counts;
}

/** The page's and the coordinator's counts, once these did not move while they were read. */
async function sameCounts(page: Page, run: string): Promise<Counts> {
  let last = '';
  const begun = Date.now();
  while (Date.now() - begun < 40_000) {
    const before = await countsKnown(run);
    await page.waitForTimeout(900);
    const onPage = await countsShown(page);
    const after = await countsKnown(run);
    if (JSON.stringify(before) !== JSON.stringify(after)) continue;
    if (JSON.stringify(onPage) === JSON.stringify(after)) return onPage;
    last = `the page says ${JSON.stringify(onPage)}, the coordinator ${JSON.stringify(after)}`;
  }
  throw new Error(last || 'the counts did not rest');
}

async function submit(...words: string[]): Promise<string> {
  return (await grid.sateen('submit', app('nqueens'), ...words)).match(/\d+/)?.[0] ?? '';
}

it('counts what the coordinator counts, before and after a host is killed, and survives the coordinator', { timeout: PATIENCE_MS }, async () => {
  const { page, mistakes } = await open(browser);
  const run = await submit(QUEENS);
  await page.goto(`${grid.url}/runs/${run}/tree`);
  await until('jobs were stolen', async () => (await grid.api<Run>(`runs/${run}`)).jobs.stolen >= 3);
  await grid.sateen('suspend', run);
  await page.getByRole('button', { name: 'Resume…' }).waitFor();
  await sameCounts(page, run);
  await page.screenshot({ path: `${SHOTS}/real-suspended.png` });
  await grid.sateen('resume', run);
  await page.getByRole('button', { name: 'Suspend…' }).waitFor();

  const about = await grid.api<Run>(`runs/${run}`);
  const victim = about.by_host.find((host) => host.host !== about.root_host && host.jobs.stolen > 0)?.name ?? 'cyd';
  await until('more jobs were stolen', async () => (await grid.api<Run>(`runs/${run}`)).jobs.stolen >= about.jobs.stolen + 2);
  await grid.killHost(victim);
  await until('the loss is known', async () => (await grid.api<Run>(`runs/${run}`)).by_host.some((host) => host.name === victim && !host.there));
  await page.goto(`${grid.url}/runs/${run}`);
  await page.getByRole('row', { name: new RegExp(`${victim} ?gone`) }).waitFor();
  await page.getByText(new RegExp(`${victim}.*(lost|gone)|(lost|gone).*${victim}`)).first().waitFor();

  await page.goto(`${grid.url}/runs/${run}/tree`);
  await page.getByText(/jobs shown/).waitFor();
  await grid.killCoordinator();
  await page.getByText('Connection lost, trying again.').waitFor();
  expect(await page.locator('.banner').innerText()).toMatch(/What you see is of \d\d:\d\d:\d\d\./);
  await grid.startCoordinator();
  await page.getByText('Connection lost, trying again.').waitFor({ state: 'detached' });

  await grid.sateen('wait', run);
  expect(await grid.sateen('result', run)).toBe(ANSWER);
  await page.getByRole('status').getByText('done').first().waitFor();
  const counts = await sameCounts(page, run);
  expect(counts.running).toBe('0');
  await page.screenshot({ path: `${SHOTS}/real-tree.png` });

  await page.getByRole('link', { name: 'Summary' }).click();
  await page.getByText(ANSWER).waitFor();
  const ended = await grid.api<Run>(`runs/${run}`);
  await expect.poll(() => figure(page, 'Jobs run')).toBe(shown(ended.jobs.executed));
  expect(await figure(page, 'Stolen')).toBe(shown(ended.jobs.stolen));
  expect(await figure(page, 'Redone')).toBe(shown(ended.jobs.redone));
  await page.waitForTimeout(500);
  await page.screenshot({ path: `${SHOTS}/real-run.png`, fullPage: true });
  await page.getByRole('link', { name: 'Timeline' }).click();
  await page.getByText(/of \d+ workers shown/).waitFor();
  await page.waitForTimeout(800);
  expect(await page.getByText(/^(\d+) of \1 workers shown$/).count()).toBe(1);
  expect(await page.getByText('0 of 0 workers shown').count()).toBe(0);
  await page.screenshot({ path: `${SHOTS}/real-timeline.png` });
  expect(mistakes).toEqual([]);
  await page.context().close();
});

it('shows one job as the coordinator knows it', async () => {
  const { page, mistakes } = await open(browser);
  const run = (await grid.api<Run[]>('runs'))[0].run;
  const { nodes } = await grid.api<Tree>(`runs/${run}/tree`);
  // What began before the coordinator was killed may be known by its end alone, without its parameters.
  const known: JobDetail[] = [];
  for (const { job } of nodes.slice(0, JOBS_ASKED)) known.push(await grid.api<JobDetail>(`runs/${run}/jobs/${job}`));
  const whole = known.find((job) => job.replay !== null && !job.is_root);
  const bare = known.find((job) => job.replay === null);
  expect(whole).toBeDefined();
  const inspector = page.getByRole('complementary');
  for (const job of [whole, bare]) {
    if (job === undefined) continue;
    await page.goto(`${grid.url}/runs/${run}/tree?job=${job.job}`);
    await inspector.getByText(/of \d+ shown/).waitFor();
    const text = await inspector.innerText();
    expect(text).toContain(job.job);
    expect(text).toContain(job.state);
    expect(text).toContain(job.replay ?? 'It cannot be replayed without its parameters.');
    expect(text).toContain(job.parameters_text ?? job.parameters?.slice(0, 16) ?? job.parameters_why);
    await page.screenshot({ path: `${SHOTS}/real-job${job.replay === null ? '-without-parameters' : ''}.png` });
  }
  expect(mistakes).toEqual([]);
  await page.context().close();
});

it('publishes a module that is dropped, runs it, suspends and cancels it', async () => {
  const { page, mistakes } = await open(browser);
  await page.goto(`${grid.url}/apps`);
  await page.getByLabel('Module to publish').setInputFiles(app('fib'));
  await page.getByRole('heading', { name: 'Run fib' }).waitFor();
  await page.getByLabel('Arguments').fill('50');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.getByRole('heading', { name: /Run \d+ · fib 50/ }).waitFor();
  await page.getByRole('button', { name: 'Suspend…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'No' }).click();
  await page.getByRole('button', { name: 'Suspend…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click();
  await page.getByRole('button', { name: 'Resume…' }).waitFor();
  await page.getByRole('button', { name: 'Cancel…' }).click();
  await page.screenshot({ path: `${SHOTS}/real-cancel.png` });
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel the run' }).click();
  await page.getByRole('status').getByText('cancelled').first().waitFor();
  expect(await page.getByRole('button', { name: 'Cancel…' }).count()).toBe(0);
  expect(mistakes).toEqual([]);
  await page.context().close();
});

it('says why a module is refused, and why a run fails', async () => {
  const { page } = await open(browser);
  await page.goto(`${grid.url}/apps`);
  await page.getByText('Published', { exact: true }).first().waitFor();
  await page.getByLabel('Module to publish').setInputFiles({ name: 'bad.wasm', mimeType: 'application/wasm', buffer: Buffer.from('no module') });
  await page.getByText(/bad\.wasm: The module is refused/).waitFor();
  await grid.sateen('publish', app('nqueens'));
  await page.goto(`${grid.url}/apps?app=nqueens`);
  await page.getByLabel('Arguments').fill('many');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.getByText(/`many`; expected a whole number/).first().waitFor();
  // This the app itself refuses, when it runs.
  await page.getByLabel('Arguments').fill('99');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.getByRole('heading', { name: 'Why there is no result' }).waitFor();
  await page.context().close();
});

it('shows hosts and the overview', async () => {
  const { page, mistakes } = await open(browser);
  await page.goto(`${grid.url}/hosts`);
  const hosts = await grid.api<{ name: string }[]>('hosts');
  await page.getByText(`${hosts.length} of ${hosts.length} shown`).waitFor();
  for (const host of hosts) await page.getByRole('rowheader', { name: host.name }).waitFor();
  await page.screenshot({ path: `${SHOTS}/real-hosts.png` });
  await page.goto(grid.url);
  const runs = await grid.api<Run[]>('runs');
  await page.getByText(`${runs.length} of ${runs.length} shown`).waitFor();
  await page.waitForTimeout(500);
  await page.screenshot({ path: `${SHOTS}/real-overview.png`, fullPage: true });
  expect(mistakes).toEqual([]);
  await page.context().close();
});

it('answers a wrong link with a sentence, and an address without a page with 404', async () => {
  const { page } = await open(browser);
  for (const [path, sentence] of [
    ['/runs/9999', /9999/],
    ['/runs/x', /is not a run’s number/],
    ['/nowhere', /There is no page/],
  ] as const) {
    await page.goto(grid.url + path);
    await page.getByRole('heading', { name: 'Not found' }).waitFor();
    expect(await page.locator('main p').first().innerText()).toMatch(sentence);
  }
  for (const path of ['/assets/nothing.js', '/api/v1/nothing', '/api/v1/runs/9999']) {
    const response = await fetch(grid.url + path);
    expect(response.status).toBe(404);
    expect(response.headers.get('content-type')).toContain('application/problem+json');
  }
  const policy = (await fetch(grid.url)).headers.get('content-security-policy');
  expect(policy).toContain("default-src 'self'");
  await page.context().close();
});
