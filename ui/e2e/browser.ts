/** The distribution's Chromium. */

import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
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
  const mistakes: string[] = [];
  page.on('pageerror', (error) => mistakes.push(String(error)));
  page.on('console', (message) => {
    // A refused request or a lost socket is told by the page itself.
    if (message.type() === 'error' && !/Failed to load resource|WebSocket connection/.test(message.text())) mistakes.push(message.text());
  });
  return { page, mistakes };
}

/** The number behind a figure's name. */
export async function figure(page: Page, name: string): Promise<string> {
  return page.locator('dl > div', { has: page.locator('dt', { hasText: new RegExp(`^${name}$`) }) }).locator('.value').innerText();
}
