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

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe-core finds on the page: what WCAG 2.2 A and AA forbid, and what practice has found out. */
export async function findings(page: Page): Promise<readonly Finding[]> {
  // The page's own policy lets no script in that is not a file of the site; this way comes from the browser itself.
  const session = await page.context().newCDPSession(page);
  await session.send('Runtime.evaluate', { expression: AXE });
  const { result } = await session.send('Runtime.evaluate', {
    expression:
      'axe.run(document, { resultTypes: ["violations"], rules: { "target-size": { enabled: true } } }).then(({ violations }) => JSON.stringify(violations))',
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
