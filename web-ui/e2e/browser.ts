/** The distribution's Chromium. */

import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { expect } from 'vitest';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
/** A busy machine is slow; what never comes is still reported by its name, before the test's own limit is over. */
const WAIT_MS_MAX = 120_000;
export const SHOTS = fileURLToPath(new URL('shots', import.meta.url));
export const BUILT = fileURLToPath(new URL('../dist', import.meta.url));

export function executable(): string {
  for (const name of NAMES) {
    try {
      return execFileSync('which', [name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
    } catch {
      // The next one.
    }
  }
  throw new Error('There is no Chromium here; on Debian and Ubuntu: apt install chromium');
}

export function launch(): Promise<Browser> {
  mkdirSync(SHOTS, { recursive: true });
  return chromium.launch({
    executablePath: executable(),
    args: ['--no-sandbox', '--disable-background-networking', '--disable-gpu', '--disable-dev-shm-usage', '--disable-component-update'],
  });
}

/** A page whose mistakes are gathered: errors of scripts, and what the policy has blocked. */
export async function open(browser: Browser, options: BrowserContextOptions = {}): Promise<{ page: Page; mistakes: string[] }> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(WAIT_MS_MAX);
  const mistakes: string[] = [];
  page.on('pageerror', (error) => mistakes.push(String(error)));
  page.on('console', (message) => {
    // A refused request or a lost socket is reported by the page itself.
    if (message.type() === 'error' && !/Failed to load resource|WebSocket connection/.test(message.text())) mistakes.push(message.text());
  });
  return { page, mistakes };
}

/** The themes and widths in which a page is looked at. */
export const LOOKS = [
  ['light', 1440],
  ['dark', 1440],
  ['light', 390],
  ['dark', 390],
] as const;

/** Keeps a picture of a page; axe finds nothing in it, and it is no wider than its window. */
export async function expectSound(page: Page, picture: string): Promise<void> {
  await page.screenshot({ path: `${SHOTS}/${picture}.png`, fullPage: true });
  expect(await violations(page)).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(page.viewportSize()?.width ?? 0);
}

/** The number behind a figure's name. */
export async function figure(page: Page, name: string): Promise<string> {
  return page.locator('dl > div', { has: page.locator('dt', { hasText: new RegExp(`^${name}$`) }) }).locator('.value').innerText();
}

interface Violation {
  id: string;
  help: string;
  nodes: { html: string; failureSummary?: string }[];
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe finds wrong with a page. */
export async function violations(page: Page): Promise<string[]> {
  // By the debugger, which the page's policy does not bind.
  await page.evaluate(AXE);
  const found = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run(options: object): Promise<{ violations: unknown[] }> } };
    return (await axe.run({ resultTypes: ['violations'] })).violations;
  });
  return (found as Violation[]).map((one) => `${one.id}: ${one.help}: ${one.nodes.map((node) => `${node.html.slice(0, 160)} ${node.failureSummary?.slice(0, 200)}`).join(' | ')}`);
}
