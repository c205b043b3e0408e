/** The site's pages in a real browser. */

import { expect } from 'chai';
import echoText from 'mediagate/plugins/echo_text';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { createPepper } from '../../../server/keys/index.js';
import { type SignInApp, startSignInApp } from '../../http/accounts/sign-in-app.js';
import { EURO_RECEIVER, PRICED_PLANS } from '../../support/accounts/priced-plans.js';
import { useAccount } from '../../support/accounts/used-account.js';
import { chromiumFor } from '../../support/browser/chromium.js';
import { findings, launchPageBrowser, signInAs } from '../../support/browser/page-browser.js';
import { variants } from '../../support/runner/variants.js';
import { until } from '../../support/until.js';

const PUBLIC = variants(
  ['/', '/login', '/models', '/status', '/plans', '/setup', '/nowhere'],
  (path) => path === '/' || path === '/plans' || path === '/nowhere',
);
const MAX_BYTES = 80_000;
/** More than are ticked one by one. */
const MODELS = Array.from({ length: 8 }, (_, index) => `m-${index + 1}`);

describe('pages of the site in a real browser', () => {
  let app: SignInApp;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let orders: string[];

  before(async function () {
    const executable = await chromiumFor(this);
    const plugins = MODELS.map((model) => ({ id: model, use: echoText, options: { model } }));
    app = await startSignInApp({ catalogue: PRICED_PLANS, paymentReceiver: EURO_RECEIVER, plugins });
    browser = await launchPageBrowser(executable);
    context = await browser.newContext();
    page = await context.newPage();
    await signInAs(page, app.url, { email: 'ann@example.com', name: 'Ann' });
    const user = (await app.state.users.list({ limit: 1 }))[0]!;
    orders = (await useAccount(app.state, user, createPepper(Buffer.alloc(32, 'site')))).orders.map(({ code }) => code);
  });
  after(async () => {
    await browser?.close();
    await app?.close();
  });

  it('are small, load nothing foreign, break no policy, and do not shift while they load', async () => {
    const own = ['/dashboard', '/keys', '/usage', '/requests', `/pay/${orders[2]}`];
    const known = variants(own, (path) => path === '/dashboard' || path.startsWith('/pay'));
    for (const path of [...PUBLIC, ...known]) {
      const visit = await (await browser.newContext({ storageState: await context.storageState() })).newPage();
      const complaints: string[] = [];
      const hosts = new Set<string>();
      const session = await visit.context().newCDPSession(visit);
      let bytes = 0;
      await session.send('Network.enable');
      session.on('Network.loadingFinished', ({ encodedDataLength }) => {
        bytes += encodedDataLength;
      });
      visit.on('request', (request) => hosts.add(new URL(request.url()).host));
      visit.on('console', (message) => complaints.push(message.text()));
      visit.on('pageerror', (error) => complaints.push(error.message));
      await visit.goto(app.url + path, { waitUntil: 'load' });
      const shift = await visit.evaluate(
        () =>
          new Promise<number>((resolve) => {
            let sum = 0;
            new PerformanceObserver((list) => {
              for (const entry of list.getEntries()) sum += (entry as PerformanceEntry & { value: number }).value;
            }).observe({ type: 'layout-shift', buffered: true });
            setTimeout(() => resolve(sum), 300);
          }),
      );
      expect(
        [...hosts].filter((host) => host !== '' && host !== new URL(app.url).host),
        path,
      ).to.deep.equal([]);
      // The 404 of the page itself is what was asked for.
      expect(
        complaints.filter((text) => !text.includes('404')),
        path,
      ).to.deep.equal([]);
      // A tenth is what Web Vitals call good; a busy machine that is late with a font may move a line of it.
      expect(shift, `${path} moves`).to.be.at.most(0.02);
      expect(bytes, `${path} weighs`).to.be.within(20_000, MAX_BYTES);
      await visit.context().close();
    }
  });

  it('are readable without scripts', async () => {
    const plain = await (await browser.newContext({ javaScriptEnabled: false })).newPage();
    await plain.goto(`${app.url}/setup`);
    expect(await plain.getByText('npm install openai').isVisible()).to.equal(true);
    expect(await plain.getByText('wire_api = "responses"').isVisible()).to.equal(true);
    expect(await plain.getByRole('button', { name: 'Copy' }).count()).to.equal(0);
    expect(await plain.getByRole('tab').count()).to.equal(0);
    await plain.context().close();
  });

  it('move through the tabs by arrow keys, and reopen the one in the address', async () => {
    await page.goto(`${app.url}/setup`);
    await page.getByRole('tab', { name: 'curl' }).focus();
    await page.keyboard.press('ArrowRight');
    expect(await page.getByRole('tabpanel').count()).to.equal(1);
    expect(await page.getByRole('tabpanel', { name: 'Node.js' }).textContent()).to.contain(
      'process.env.MEDIAGATE_API_KEY',
    );
    expect(new URL(page.url()).hash).to.equal('#openai-node');
    await page.reload();
    expect(await page.getByRole('tab', { selected: true }).textContent()).to.contain('Node.js');
  });

  it('copy the text beside the button, and confirm it', async () => {
    await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: app.url });
    await page.goto(`${app.url}/setup#curl`);
    await page.getByRole('button', { name: 'Copy Shell' }).click();
    await page.getByText('Copied').waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    expect(copied).to.contain(`curl '${app.url}/v1/extract'`).and.to.contain('Bearer $MEDIAGATE_API_KEY');
  });

  it('work by keyboard, with a link that skips to the content', async () => {
    await page.goto(`${app.url}/dashboard`);
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.textContent)).to.equal('Skip to content');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    const focused = await page.evaluate(() => document.activeElement?.closest('main')?.id);
    expect(focused).to.equal('content');
  });

  it('show a new key once, in no page that the gateway sends, and let it be used, rotated and revoked', async () => {
    await page.goto(`${app.url}/dashboard`);
    await page.getByLabel('Name of the new key').fill('phone');
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByText('Your new key').waitFor();
    const key = (await page.textContent('#new-key-text')) ?? '';
    expect(key).to.match(/^sk-mg-[0-9A-Za-z]{8}-[0-9A-Za-z]{38}$/);
    expect(await page.evaluate(() => document.activeElement?.id)).to.equal('new-key');
    const used = () => app.request('/v1/usage', { headers: { authorization: `Bearer ${key}` } });
    expect((await used()).status).to.equal(200);
    await page.getByRole('link', { name: 'I have stored it' }).click();
    await page.getByText('phone').first().waitFor();
    expect(await page.content()).not.to.contain(key);

    await page.goto(`${app.url}/keys`);
    const menus = page.locator('.key-card', { hasText: 'phone' }).locator('.menu > summary');
    await menus.first().click();
    await page.getByRole('button', { name: 'Rotate phone' }).click();
    await page.getByLabel('The old key keeps working').filter({ visible: true }).selectOption('for 7 days');
    await page.getByRole('button', { name: 'Replace the key phone' }).click();
    await page.getByText('Your new key').waitFor();
    expect(await page.textContent('#new-key-text')).not.to.equal(key);
    await page.reload();
    await page.getByText('Rotated').first().waitFor();
    await menus.last().click();
    await page.getByRole('button', { name: 'Revoke phone' }).click();
    const asked = page.waitForRequest((request) => request.url().endsWith('/revoke'));
    await page.getByRole('dialog').getByLabel('Keep its queued jobs').check();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    expect((await asked).postDataJSON()).to.deep.equal({ jobs: 'keep' });
    await page.getByText('Revoked').first().waitFor();
    await until(async () => (await used()).status === 401);
  });

  it('offer every model of a new key on a phone, and tick all or none with one press', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(`${app.url}/keys`);
    await page.locator('.key-creation > summary').click();
    await page.getByText('Limits and access').click();
    const models = page.locator('form:has(#key-name) fieldset').filter({ hasText: 'Models (8)' });
    await models.getByText('Choose some').click();
    const heights = await models
      .locator('.checks')
      .evaluate(({ scrollHeight, clientHeight }) => [scrollHeight, clientHeight]);
    expect(heights[0]).to.equal(heights[1]);
    await models.getByRole('button', { name: 'None' }).click();
    expect(await models.locator(':checked').count()).to.equal(0);
    await models.getByRole('button', { name: 'All' }).click();
    expect(await models.locator(':checked').count()).to.equal(MODELS.length);
    await models.getByRole('button', { name: 'None' }).click();
    await models.getByLabel('m-3').check();
    await page.getByLabel('Name of the new key').fill('tablet');
    const asked = page.waitForRequest((request) => request.url().endsWith('/api/user/keys'));
    await page.getByRole('button', { name: 'Create a key' }).click();
    expect((await asked).postDataJSON()).to.deep.equal({ name: 'tablet', models: ['m-3'] });
    await page.getByText('Your new key').waitFor();
    await page.setViewportSize({ width: 1_280, height: 844 });
  });

  it("show the gateway's refusal beside the form", async () => {
    await page.goto(`${app.url}/dashboard`);
    await page.getByLabel('Name of the new key').fill('\u200bhidden');
    await page.getByRole('button', { name: 'Create a key' }).click();
    const problem = page.getByRole('alert').filter({ hasText: 'name must be' });
    await problem.waitFor();
    expect(await page.getByText('Your new key').isVisible()).to.equal(false);
    expect(await findings(page)).to.deep.equal([]);
  });

  it('lead from a plan to its order, whose page updates when the money arrives', async () => {
    await page.goto(`${app.url}/plans`);
    await page.getByRole('button', { name: 'Choose 100M tokens' }).click();
    await page.waitForURL(/\/pay\/MG[0-9A-Z]{8}$/);
    await page.getByText('€49.00', { exact: true }).waitFor();
    const picture = page.getByRole('img', { name: 'QR code' });
    expect(await picture.evaluate((image: HTMLImageElement) => image.complete && image.naturalWidth > 0)).to.equal(
      true,
    );
    expect(await page.getByRole('timer').textContent()).to.match(/^(24:00:00|23:59:\d\d)$/);
    const code = page.url().slice(-10);
    const transfer = { provider: 'bank', id: 'one', currency: 'EUR', text: code, at: Date.now() };
    await app.state.orders.record({ ...transfer, amount: 4_900 });
    await page.getByText('Payment received').waitFor();
    await page.getByRole('link', { name: 'Go to the dashboard' }).click();
    await page.getByText('100M tokens').first().waitFor();
  });

  it('confirm before a key is revoked, and do nothing after "no"', async () => {
    await page.goto(`${app.url}/keys`);
    let sent = 0;
    page.on('request', (request) => {
      if (request.method() === 'POST') sent += 1;
    });
    await page.locator('.key-card', { hasText: 'laptop' }).locator('.menu > summary').click();
    await page.getByRole('button', { name: 'Revoke laptop' }).click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.textContent()).to.contain('laptop');
    expect(await findings(page)).to.deep.equal([]);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(sent).to.equal(0);
  });

  it('sign out by a form, and show nothing of the account from then on', async () => {
    await page.goto(`${app.url}/dashboard`);
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    await page.waitForURL(`${app.url}/`);
    await page.goBack();
    await page.waitForURL(`${app.url}/login?return_to=%2Fdashboard`);
  });

  it('sign out everywhere by a form, which ends the other browser too', async () => {
    const other = await (await browser.newContext()).newPage();
    for (const each of [page, other]) await signInAs(each, app.url, { email: 'ann@example.com', name: 'Ann' });
    await page.goto(`${app.url}/dashboard`);
    await page.getByText('Sign-in and your data').click();
    await page.getByRole('button', { name: 'Sign out everywhere' }).click();
    await page.waitForURL(`${app.url}/`);
    await other.goto(`${app.url}/dashboard`);
    await other.waitForURL(`${app.url}/login?return_to=%2Fdashboard`);
  });
});
