/** Accessibility of every page of the documentation in a real browser: `npm test` looks at some pages of each template. */

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

describe('accessible pages of the documentation', () => {
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
    await page.goto(`${app.url}/docs`);
    const links = page.locator('nav a[href^="/docs/"], main a[href^="/docs/"]');
    const addresses = await links.evaluateAll((found) =>
      found.map((link) => new URL((link as HTMLAnchorElement).href).pathname),
    );
    const paths = [...new Set(addresses)];
    expect(paths).to.include.members([TRIED, '/docs/reference/settings', '/docs/operate/security']);
    for (const path of paths) {
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
