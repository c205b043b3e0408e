/** A real browser for pages of the site, with checks of accessibility. */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, chromium, type Page } from 'playwright-core';
import type { BrowserExecutable } from '../../../core/browser/browser-process.js';

/** Far more than a page needs, and less than a test may take. */
const TIMEOUT_MS = 90_000;

/** A browser as people use it, for the pages of the gateway. The caller closes it. */
export async function launchPageBrowser({ path, libraryFolder }: BrowserExecutable): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: path,
    args: ['--no-sandbox', '--disable-gpu', '--force-color-profile=srgb'],
    env: { ...process.env, ...(libraryFolder !== undefined && { LD_LIBRARY_PATH: libraryFolder }) } as Record<
      string,
      string
    >,
  });
  browser.on('context', (context) => context.setDefaultTimeout(TIMEOUT_MS));
  return browser;
}

/** Signs in with the development identity provider, by its own page, and ends up on the dashboard. */
export async function signInAs(
  page: Page,
  siteUrl: string,
  { email, name }: { email: string; name: string },
): Promise<void> {
  await page.goto(`${siteUrl}/login`);
  await page.getByRole('link', { name: 'Continue' }).click();
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Name').fill(name);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(`${siteUrl}/dashboard`);
}

/** A violation that axe-core found. */
export interface Finding {
  id: string;
  impact: string;
  help: string;
  nodes: readonly string[];
}

/** Each width and each scheme once: what depends on both of them together, no rule looks at. */
export const WIDE_AND_NARROW = [
  { width: 1_280, colorScheme: 'light' },
  { width: 390, colorScheme: 'dark' },
] as const;

/** How a page is looked at. */
export interface Medium {
  width: number;
  colorScheme: 'light' | 'dark';
  forcedColors?: 'active';
}

/** Shows the page in a medium, and waits until that is drawn. */
export async function showIn(page: Page, { width, ...look }: Medium): Promise<void> {
  await page.setViewportSize({ width, height: 844 });
  await page.emulateMedia(look);
  await page.evaluate(async () => {
    for (let frames = 0; frames < 2; frames++) await new Promise((resolve) => requestAnimationFrame(resolve));
    const fading = document.getAnimations().filter((one) => one instanceof CSSTransition);
    await Promise.allSettled(fading.map(({ finished }) => finished));
  });
}

/** The first form of a page of the API reference, and what it answers; for a stranger, the field of the key. */
export async function tryRoute(page: Page): Promise<void> {
  const form = page.locator('.try').first();
  await form.locator('summary').click();
  await form.locator('.try-access > *').waitFor();
  if (await form.locator('[name="key"]').isVisible()) return;
  await form.locator('.try-form .row button').click();
  await form.locator('.try-answer pre').waitFor();
  await page.evaluate(() => scrollTo(0, 0));
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/**
 * What axe-core finds on the page: what WCAG 2.2 A and AA forbid, and what practice has found out.
 * @param within - selector of the one part to look at. Default: the whole document.
 */
export async function findings(page: Page, within?: string): Promise<readonly Finding[]> {
  // The page's own policy lets no script in that is not a file of the site; this way comes from the browser itself.
  const session = await page.context().newCDPSession(page);
  const { result: known } = await session.send('Runtime.evaluate', { expression: 'typeof axe' });
  if (known.value === 'undefined') await session.send('Runtime.evaluate', { expression: AXE });
  const part = within === undefined ? 'document' : JSON.stringify(within);
  const { result } = await session.send('Runtime.evaluate', {
    expression: `axe.run(${part}, { resultTypes: ["violations"], rules: { "target-size": { enabled: true } } }).then(({ violations }) => JSON.stringify(violations))`,
    awaitPromise: true,
  });
  await session.detach();
  const violations = JSON.parse(result.value) as {
    id: string;
    impact: string;
    help: string;
    nodes: { html: string }[];
  }[];
  return violations.map(({ id, impact, help, nodes }) => ({
    id,
    impact,
    help,
    nodes: nodes.map(({ html }) => html),
  }));
}
