/** The pages of models and of the status in a real browser. */

import { expect } from 'chai';
import echoText from 'mediagate/plugins/echo_text';
import sketchImage from 'mediagate/plugins/sketch_image';
import type { Browser, Page } from 'playwright-core';
import { DEFAULT_CATALOGUE } from '../../../server/plans/index.js';
import { type SignInApp, startSignInApp } from '../../http/accounts/sign-in-app.js';
import { order, transfer } from '../../support/accounts/people.js';
import { chromiumFor } from '../../support/browser/chromium.js';
import { findings, launchPageBrowser } from '../../support/browser/page-browser.js';
import { variants } from '../../support/runner/variants.js';

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
      catalogue: {
        ...DEFAULT_CATALOGUE,
        prices: [{ planId: 'token_30m', amount: 299_000, currency: 'VND' }],
        publicPriceTablesVisible: true,
      },
      paymentReceiver: {
        format: 'vietqr',
        bankName: 'Vietcombank',
        bankBin: '970436',
        accountNumber: '0011004321',
        accountName: 'CONG TY CANG BIEN',
      },
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
    await page.goto(`${app.url}/models`);
    await page.getByRole('link', { name: 'Try gen-img-2' }).click();
    await page.waitForURL(`${app.url}/images?model=gen-img-2`);
    await page.getByLabel('Prompt').waitFor();
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

  it('are accessible in Vietnamese, and offer banking apps on phones without asking another host', async () => {
    const { accountId } = (await app.state.users.list({ limit: 1 }))[0]!;
    const { code } = await order(app.state, accountId, { amount: 299_000, currency: 'VND' });
    const paid = await order(app.state, accountId, { amount: 299_000, currency: 'VND' });
    await app.state.orders.record(transfer(paid.code, { amount: 299_000, currency: 'VND' }));
    const storageState = await page.context().storageState();
    for (const colorScheme of variants(['light', 'dark'] as const, (scheme) => scheme === 'dark')) {
      const look = { colorScheme, hasTouch: true, isMobile: true, viewport: { width: 390, height: 844 } };
      const context = await browser.newContext({ ...look, locale: 'vi-VN', storageState });
      const phone = await context.newPage();
      const hosts = new Set<string>();
      phone.on('request', (request) => hosts.add(new URL(request.url()).host));
      for (const path of [
        '/models',
        '/status',
        '/plans',
        `/pay/${code}`,
        `/pay/${paid.code}/receipt`,
        '/orders',
        '/dashboard',
      ]) {
        await phone.goto(app.url + path);
        expect(await phone.locator('html').getAttribute('lang')).to.equal('vi');
        expect(await findings(phone), `${path} ${colorScheme}`).to.deep.equal([]);
        if (!path.endsWith(code)) continue;
        const link = phone.getByRole('link', { name: 'Vietcombank' });
        expect(await link.isVisible()).to.equal(true);
        expect(await link.getAttribute('href')).to.contain(`&am=299000&tn=${code}`);
      }
      expect([...hosts]).to.deep.equal([new URL(app.url).host]);
      await context.close();
    }
  });
});
