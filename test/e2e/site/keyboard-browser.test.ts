/** The site's pages by keyboard alone. */

import { expect } from 'chai';
import echoText from 'mediagate/plugins/echo_text';
import sketchImage from 'mediagate/plugins/sketch_image';
import type { Browser, Page } from 'playwright-core';
import { createPepper } from '../../../server/keys/index.js';
import { type SignInApp, startSignInApp } from '../../http/accounts/sign-in-app.js';
import { EURO_RECEIVER, PRICED_PLANS } from '../../support/accounts/priced-plans.js';
import { useAccount } from '../../support/accounts/used-account.js';
import { chromiumFor } from '../../support/browser/chromium.js';
import { createKeyboard, type Keyboard, MOST_STOPS } from '../../support/browser/keyboard.js';
import { launchPageBrowser } from '../../support/browser/page-browser.js';
import { invented } from '../../support/links/invented-plugin.js';
import { isLongRun, longIt } from '../../support/runner/variants.js';
import { until } from '../../support/until.js';

/** Whose stops every run visits: one of each kind of form and control. */
const PAGES = ['/plans', '/dashboard', '/keys', '/playground', '/playground#chat'];
const MORE_PAGES = ['/', '/setup', '/usage', '/requests', '/playground#audio', '/device'];

describe('pages of the site by keyboard alone', () => {
  let app: SignInApp;
  let browser: Browser;
  let page: Page;

  before(async function () {
    const executable = await chromiumFor(this);
    app = await startSignInApp({
      catalogue: PRICED_PLANS,
      paymentReceiver: EURO_RECEIVER,
      plugins: [{ use: invented() }, { use: sketchImage }, { use: echoText, options: { model: 'm-5.5', paceMs: 100 } }],
    });
    browser = await launchPageBrowser(executable);
    page = await (
      await browser.newContext({ viewport: { width: 1_280, height: 800 }, reducedMotion: 'reduce' })
    ).newPage();
  });
  after(async () => {
    await browser?.close();
    await app?.close();
  });

  const press: Keyboard['press'] = (...keys) => createKeyboard(page).press(...keys);
  const focused = () => createKeyboard(page).focused();
  const tabTo: Keyboard['tabTo'] = (name) => createKeyboard(page).tabTo(name);

  async function open(path: string): Promise<void> {
    await page.goto('about:blank');
    await page.goto(app.url + path);
  }

  it('create, limit, rotate and revoke a key', async () => {
    await open('/');
    await tabTo('Sign in');
    await press('Enter');
    await page.waitForURL(/\/login/);
    await tabTo(/^Continue/);
    await press('Enter');
    await page.getByLabel('Email').waitFor();
    await press('Enter');
    await page.waitForURL(`${app.url}/dashboard`);
    await tabTo('Name of the new key');
    await page.keyboard.type('laptop');
    await press('Enter');
    await page.getByText('Your new key').waitFor();
    expect((await focused()).id).to.equal('new-key');
    await tabTo('I have stored it');
    await press('Enter');
    await page.getByText('Not used yet').waitFor();
    await tabTo('Limits, rotate, revoke');
    await press('Enter');
    await page.waitForURL(`${app.url}/keys`);
    await tabTo('Change laptop');
    await press('Enter');
    await tabTo('Requests a minute');
    await page.keyboard.type('7');
    await tabTo('Save laptop');
    await press('Enter');
    await page.getByText('is saved').waitFor();
    expect((await focused()).name).to.contain('“laptop” is saved');
    await page.getByText(/^7 \(plan: \d+\)$/).waitFor();
    await tabTo(/More: laptop$/);
    await press('Enter');
    await tabTo('Rotate laptop');
    await press('Enter');
    await tabTo('Replace the key laptop');
    await press('Enter');
    await page.getByText('Your new key').waitFor();
    expect((await focused()).id).to.equal('new-key');
    await tabTo('I have stored it');
    await press('Enter');
    await page.getByText('Rotated').waitFor();
    await tabTo(/More: laptop$/);
    await press('Enter');
    await tabTo('Revoke laptop');
    await press('Space');
    await page.getByRole('dialog').waitFor();
    await press('Escape');
    await page.locator('dialog').waitFor({ state: 'detached' });
    expect((await focused()).name).to.match(/More: laptop$/);
    await press('Enter');
    await tabTo('Revoke laptop');
    await press('Enter');
    await page.getByRole('dialog').waitFor();
    await tabTo('Revoke');
    await press('Enter');
    await page.getByText('is revoked').waitFor();
    expect((await focused()).name).to.contain('“laptop” is revoked');
  });

  it('revoke nothing when a key is held down too long', async () => {
    const user = (await app.state.users.list({ limit: 1 }))[0]!;
    await useAccount(app.state, user, createPepper(Buffer.alloc(32, 'keyboard')));
    await open('/keys');
    const sent: string[] = [];
    page.on('request', (request) => request.method() === 'POST' && sent.push(request.url()));
    await tabTo(/More: shop website$/);
    await press('Enter');
    await tabTo('Revoke shop website');
    for (let repeats = 0; repeats < 6; repeats += 1) await page.keyboard.down('Enter');
    await page.keyboard.up('Enter');
    await press('Escape');
    await page.locator('dialog').waitFor({ state: 'detached' });
    expect(sent).to.deep.equal([]);
  });

  it('choose a day in a calendar, or leave the field as it is', async () => {
    await open('/usage?from=2026-06-15&to=2026-06-16');
    const field = page.getByLabel('From', { exact: true });
    const dialog = page.getByRole('dialog');
    await tabTo('Choose a day: From');
    await press('Enter');
    await dialog.waitFor();
    expect((await focused()).name).to.contain('15 June 2026');
    await press('PageUp', 'Home');
    expect((await focused()).name).to.match(/Monday,? 11 May 2026/);
    await press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(await field.inputValue()).to.equal('15 Jun 2026');
    expect((await focused()).name).to.equal('Choose a day: From');
    await press('Enter', 'ArrowUp', 'ArrowLeft', 'Enter');
    await dialog.waitFor({ state: 'detached' });
    expect(await field.inputValue()).to.equal('7 Jun 2026');
    await tabTo('Show');
    await press('Enter');
    await page.waitForURL(/from=7\+Jun\+2026/);
    expect(await field.inputValue()).to.equal('7 Jun 2026');
  });

  it('order a plan, cancel it, and authorize a program or report a wrong code', async () => {
    await open('/plans');
    await tabTo('Buy more 30M tokens');
    await press('Enter');
    await page.waitForURL(/\/pay\//);
    expect(await page.title()).to.match(/^Awaiting payment: order MG/);
    await tabTo('Cancel this order');
    await press('Enter');
    await page.getByRole('dialog').waitFor();
    await tabTo('Cancel the order');
    await press('Enter');
    await page.getByRole('heading', { name: 'This order was cancelled' }).waitFor();

    await open('/device');
    await tabTo('Code');
    await page.keyboard.type('BCDF-GHJK');
    await press('Enter');
    await page.getByText('Code not found').waitFor();
    const field = page.getByLabel('Code', { exact: true });
    expect(await field.inputValue()).to.equal('BCDF-GHJK');
    expect((await focused()).id).to.equal('user_code');
    const described = await field.getAttribute('aria-describedby');
    expect(await page.locator(`#${described}`).textContent()).to.contain('start again');
  });

  it('focus the refused field and explain it', async () => {
    await open('/dashboard');
    await tabTo('Name of the new key');
    await page.keyboard.type('a\u200bb');
    await tabTo('Create a key');
    await press('Enter');
    await page.getByRole('alert').getByText('name must be').waitFor();
    const field = page.getByLabel('Name of the new key');
    expect((await focused()).id).to.equal('key-name');
    expect(await field.getAttribute('aria-invalid')).to.equal('true');
    expect(await field.getAttribute('aria-describedby')).to.equal('problem-new');
    await open('/playground#chat');
    await page.getByRole('tab', { name: 'Chat' }).focus();
    await tabTo('Send');
    await press('Enter');
    await page.getByRole('alert').getByText('Write a message first.').waitFor();
    expect((await focused()).id).to.equal('chat-text');
    await page.keyboard.type('Ahoy');
    await press('Enter');
    await page.locator('#chat-log').getByText('You said: Ahoy').waitFor();
    expect(await page.getByLabel('Message').getAttribute('aria-invalid')).to.equal(null);
  });

  longIt('focus a field in a collapsed part', async () => {
    await open('/playground#links');
    await page.getByText('Options', { exact: true }).click();
    await page.getByLabel('Reviews of a product').fill('1000');
    await page.getByText('Options', { exact: true }).click();
    await page.getByLabel('Public link').fill('https://invented.example/item/7');
    await press('Enter');
    await page.getByLabel('Reviews of a product').waitFor({ state: 'visible' });
    await until(async () => (await focused()).id === 'link-reviews');
  });

  longIt('keep the focus on a cancelled image', async () => {
    await open('/images');
    await page.getByLabel('Prompt').fill('A tug');
    await page.getByRole('button', { name: 'Create images' }).click();
    await page.getByRole('button', { name: 'Cancel A tug' }).focus();
    await page.locator('#image-cards').getByRole('link', { name: 'Download' }).waitFor();
    const at = await page.evaluate(() => document.activeElement?.closest('.image-card') !== null);
    expect(at).to.equal(true);
  });

  it('show the focus at every stop of every page, and trap it nowhere', async () => {
    for (const path of isLongRun ? [...PAGES, ...MORE_PAGES] : PAGES) {
      await open(path);
      const seen = new Set<string>();
      for (let stops = 0; stops < MOST_STOPS; stops += 1) {
        await press('Tab');
        const stop = await focused();
        if (stop.tag === 'body') break;
        const where = `${path}: ${stop.tag} ${stop.name.slice(0, 60)}`;
        expect(stop.isMarked, `${where} is not marked`).to.equal(true);
        expect(stop.isInView, `${where} is out of sight`).to.equal(true);
        seen.add(stop.name);
      }
      expect((await focused()).tag, `${path} keeps the focus`).to.equal('body');
      expect([...seen], path).to.include.members(['Documentation', 'Status']);
    }
  });
});
