/** Accessibility of large pages of the documentation in a real browser: `npm test` looks at another page of their template. */

import { expect } from 'chai';
import type { Browser, BrowserContext } from 'playwright-core';
import { type SignInApp, startSignInApp } from '../../http/accounts/sign-in-app.js';
import { chromiumFor } from '../../support/browser/chromium.js';
import {
  findings,
  launchPageBrowser,
  showIn,
  signInAs,
  tryRoute,
  WIDE_AND_NARROW,
} from '../../support/browser/page-browser.js';

/** A page of the API reference, looked at with an answer too. */
const TRIED = '/docs/api/images';

describe('accessible large pages of the documentation', () => {
  let app: SignInApp;
  let browser: Browser;
  let known: BrowserContext;

  before(async function () {
    const executable = await chromiumFor(this);
    app = await startSignInApp();
    browser = await launchPageBrowser(executable);
    known = await browser.newContext();
  });
  after(async () => {
    await browser?.close();
    await app?.close();
  });

  it('break no rule of WCAG 2.2 A or AA and no best practice of axe-core', async function () {
    this.timeout(900_000);
    const page = await known.newPage();
    await signInAs(page, app.url, { email: 'ann@example.com', name: 'Ann' });
    for (const path of ['/docs/reference/settings', '/docs/api/links', TRIED]) {
      await page.goto(app.url + path);
      for (const step of path === TRIED ? [undefined, tryRoute] : [undefined]) {
        await step?.(page);
        for (const medium of WIDE_AND_NARROW) {
          await showIn(page, medium);
          expect(await findings(page), `${path} ${step?.name ?? ''} ${medium.width}`).to.deep.equal([]);
        }
      }
    }
  });
});
