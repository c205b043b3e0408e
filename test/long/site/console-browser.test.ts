/** All pages of the console in both languages, at both widths and in both schemes, with rows and without. */

import type { Browser } from 'playwright-core';
import { type ConsoleApp, startConsoleApp } from '../../http/console/console-app.js';
import { chromiumFor } from '../../support/browser/chromium.js';
import { lookAtConsole } from '../../support/browser/console-pages.js';
import { launchPageBrowser } from '../../support/browser/page-browser.js';

describe('all states of the console in a browser', () => {
  let its: ConsoleApp;
  let browser: Browser;

  before(async function () {
    const executable = await chromiumFor(this);
    its = await startConsoleApp();
    browser = await launchPageBrowser(executable);
  });
  after(async () => {
    await browser?.close();
    await its?.app.close();
  });

  it('break no rule', async function () {
    this.timeout(1_200_000);
    const media = [
      { width: 1_280, colorScheme: 'light' },
      { width: 1_280, colorScheme: 'dark' },
      { width: 390, colorScheme: 'light' },
      { width: 320, colorScheme: 'dark' },
    ] as const;
    await lookAtConsole(its, browser, { languages: ['en', 'vi'], media, withEmpty: true });
  });
});
