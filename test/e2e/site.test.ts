import { expect } from 'chai';
import { createPepper } from 'mediagate/server';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { type SignInApp, startSignInApp } from '../server/sign-in-app.js';
import { chromiumFor } from '../support/chromium.js';
import { launchPageBrowser, seriousFindings, signInAs } from '../support/page-browser.js';
import { useAccount } from '../support/used-account.js';

const PUBLIC = ['/', '/login', '/plans', '/setup', '/nowhere'];
const WIDTHS = [1_280, 390] as const;
const MAX_BYTES = 150 * 1024;
const QR = `data:image/svg+xml,${encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>')}`;

describe('pages of the site in a real browser', () => {
  let app: SignInApp;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let orders: string[];

  before(async function () {
    const executable = await chromiumFor(this);
    app = await startSignInApp({
      transferOf: ({ code }) => ({
        bankName: 'Harbour Bank',
        accountName: 'Mediagate Ltd',
        accountNumber: 'DE89370400440532013000',
        content: code,
        qrUrl: QR,
      }),
    });
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

  const ownPages = () => ['/dashboard', '/plans', '/device', ...orders.map((code) => `/pay/${code}`)];

  async function expectGood(visitor: Page, path: string): Promise<void> {
    for (const width of WIDTHS) {
      for (const colorScheme of ['light', 'dark'] as const) {
        await visitor.setViewportSize({ width, height: 844 });
        await visitor.emulateMedia({ colorScheme });
        await visitor.goto(app.url + path);
        const where = `${path} at ${width}, ${colorScheme}`;
        expect(await seriousFindings(visitor), where).to.deep.equal([]);
        const tooWide = await visitor.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        expect(tooWide, `${where} scrolls sideways`).to.be.at.most(0);
      }
    }
  }

  it('have nothing that keeps people out, wide and narrow, light and dark, and never scroll sideways', async () => {
    const stranger = await (await browser.newContext()).newPage();
    for (const path of PUBLIC) await expectGood(stranger, path);
    for (const path of ownPages()) await expectGood(page, path);
    await stranger.context().close();
  });

  it('weigh little, ask nobody else for anything, break no policy, and do not move while they load', async () => {
    for (const path of [...PUBLIC, '/dashboard', `/pay/${orders[2]}`]) {
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
      // The 404 of the page itself is what was asked for; the waiting for an order is answered by another part.
      expect(
        complaints.filter((text) => !text.includes('404')),
        path,
      ).to.deep.equal([]);
      expect(shift, `${path} moves`).to.equal(0);
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

  it('move through the tabs by arrow keys, and come back to the one that the address names', async () => {
    await page.goto(`${app.url}/setup`);
    await page.getByRole('tab', { name: 'Environment' }).focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    expect(await page.getByRole('tabpanel').count()).to.equal(1);
    expect(await page.getByRole('tabpanel', { name: 'Node' }).textContent()).to.contain(
      'process.env.MEDIAGATE_API_KEY',
    );
    expect(new URL(page.url()).hash).to.equal('#openai-node');
    await page.reload();
    expect(await page.getByRole('tab', { selected: true }).textContent()).to.equal('Node');
    await page.keyboard.press('Tab');
  });

  it('copy what stands beside the button, and say so', async () => {
    await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: app.url });
    await page.goto(`${app.url}/setup#curl`);
    const button = page.getByRole('button', { name: /^Copy Shell$/ }).first();
    await button.click();
    await page.getByText('Copied').waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).to.contain(`curl ${app.url}/v1/extract`);
  });

  it('reach everything by keyboard, the content first where one wants it', async () => {
    await page.goto(`${app.url}/dashboard`);
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.textContent)).to.equal('Skip to content');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    const focused = await page.evaluate(() => document.activeElement?.closest('main')?.id);
    expect(focused).to.equal('content');
  });

  it('ask before a key is revoked, and do nothing where the answer is no', async () => {
    await page.goto(`${app.url}/dashboard`);
    let sent = 0;
    page.on('request', (request) => {
      if (request.method() === 'POST') sent += 1;
    });
    await page.getByRole('button', { name: 'Revoke laptop' }).click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.textContent()).to.contain('“laptop”');
    expect(await seriousFindings(page)).to.deep.equal([]);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(sent).to.equal(0);
  });

  it('sign out by a form, and show nothing of the account from then on', async () => {
    await page.goto(`${app.url}/dashboard`);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.waitForURL(`${app.url}/`);
    await page.goBack();
    await page.waitForURL(`${app.url}/login?return_to=%2Fdashboard`);
  });
});
