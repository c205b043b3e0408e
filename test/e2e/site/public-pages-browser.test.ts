/** The pages of models and of the status in a real browser. */

import { expect } from 'chai';
import echoText from 'mediagate/plugins/echo_text';
import sketchImage from 'mediagate/plugins/sketch_image';
import type { Browser, Page } from 'playwright-core';
import { type SignInApp, startSignInApp } from '../../http/accounts/sign-in-app.js';
import { chromiumFor } from '../../support/browser/chromium.js';
import { launchPageBrowser } from '../../support/browser/page-browser.js';

describe('public pages in a real browser', () => {
  let app: SignInApp;
  let browser: Browser;
  let page: Page;

  before(async function () {
    const executable = await chromiumFor(this);
    app = await startSignInApp({
      plugins: [
        { use: echoText, options: { model: 'm-5.5' } },
        { use: echoText, id: 'other', options: { model: 'other/model:1' } },
        { use: sketchImage },
      ],
      withoutUsers: true,
    });
    browser = await launchPageBrowser(executable);
    page = await (await browser.newContext()).newPage();
  });
  after(async () => {
    await browser?.close();
    await app?.close();
  });

  it('lead from a model through the sign-in to the playground with it', async () => {
    await page.goto(`${app.url}/models`);
    await page.getByRole('link', { name: 'Try other/model:1' }).click();
    await page.getByRole('link', { name: 'Continue' }).click();
    await page.getByLabel('Email').fill('ann@example.com');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL(/\/playground\?model=other%2Fmodel%3A1#\w+$/);
    const chosen = await page
      .locator('select[name="model"]:visible')
      .evaluateAll((selects) => selects.map((select) => (select as HTMLSelectElement).value));
    expect(chosen).to.include('other/model:1');
    await page.goto(`${app.url}/playground?model=gen-img-2`);
    await page.getByRole('tabpanel', { name: 'Images' }).waitFor();
  });

  it('show times in the zone of the visitor, and by UTC at the mouse; dates stay', async () => {
    const startedAt = Date.parse('2026-11-21T20:26:07Z');
    const { id } = await app.state.incidents.add({
      title: 'x',
      kind: 'outage',
      message: null,
      startedAt,
      actor: 'test',
    });
    const seen = async (timezoneId: string, locale: string) => {
      const visitor = await (await browser.newContext({ timezoneId, locale })).newPage();
      await visitor.goto(`${app.url}/status`);
      const time = visitor.locator(`time[datetime="2026-11-21T20:26:07.000Z"]`);
      const found = [await time.textContent(), await time.getAttribute('title')];
      await visitor.context().close();
      return found;
    };
    expect(await seen('Asia/Ho_Chi_Minh', 'en-US')).to.deep.equal(['22 Nov, 03:26', '21 Nov 2026, 20:26:07 UTC']);
    expect((await seen('Asia/Ho_Chi_Minh', 'vi-VN'))[0]).to.equal('22/11, 03:26');
    expect((await seen('UTC', 'en-US'))[0]).to.equal('21 Nov, 20:26 UTC');
    await app.state.incidents.close(id, { outcome: null, actor: 'test' });
  });
});
