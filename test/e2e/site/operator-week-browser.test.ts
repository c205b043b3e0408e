/** The week of an operator in Chromium, by the forms of the console, and by commands where there is no page. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import type { Browser, Page } from 'playwright-core';
import { GatewayError } from '../../../core/runtime/errors.js';
import { createLivePrices } from '../../../server/prices/index.js';
import { type ConsoleApp, startConsoleApp } from '../../http/console/console-app.js';
import { post } from '../../http/models/text-app.js';
import { order, signUp, topUpOrder, transfer } from '../../support/accounts/people.js';
import { chromiumFor } from '../../support/browser/chromium.js';
import { findings, launchPageBrowser, showIn, WIDE_AND_NARROW } from '../../support/browser/page-browser.js';
import { inventedProduct, inventedShop, productLink } from '../../support/links/invented-shop.js';
import { scriptedText } from '../../support/models/scripted-text.js';
import { runCommand } from '../../support/processes/command-line.js';
import { until } from '../../support/until.js';

const USAGE = { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 };

describe("an operator's week in a browser", () => {
  const failing = { yes: true };
  let its: ConsoleApp;
  let browser: Browser;
  let page: Page;

  before(async function () {
    browser = await launchPageBrowser(await chromiumFor(this));
    const text = scriptedText(({ model }) => {
      if (model === 'm-chat') throw new GatewayError('upstream_error', 'The vendor is down.');
      const choices = [{ index: 0, message: { role: 'assistant', content: 'OK' }, finish_reason: 'stop' }];
      const answer = { id: 'c', object: 'chat.completion', created: 1, model, choices, usage: USAGE };
      return { contentType: 'application/json', pieces: [Buffer.from(JSON.stringify(answer))] };
    });
    const shop = inventedShop({
      extract: async ({ link }) => {
        if (failing.yes) throw new GatewayError('upstream_error', 'The source failed.');
        return inventedProduct(link.id);
      },
    });
    const livePrices = createLivePrices({ currency: 'USD' });
    its = await startConsoleApp({ plugins: [{ use: text.plugin }, { use: shop }], livePrices });
    const passkeys = { state: 'ready', host: 'localhost' } as const;
    const real = its.app.identity.status();
    Object.defineProperty(its.app.identity, 'status', { value: () => ({ ...real, passkeys }) });
    const context = await browser.newContext();
    const { url } = its.app;
    await context.addCookies([{ name: 'mediagate', value: its.operator.cookie(url, 'mediagate') ?? '', url }]);
    page = await context.newPage();
  });
  after(async () => {
    await browser?.close();
    await its?.app.close();
  });

  const open = (path: string) => page.goto(`${its.app.url}/admin${path}`);
  /** Sends a form of the page as a person does, and returns what the next page says. */
  async function send(path: string, fields: Readonly<Record<string, string>> = {}): Promise<string> {
    const form = page.locator(`form[action="/admin${path}"]`).first();
    const part = page.locator(`.action:has(form[action="/admin${path}"])`).first();
    if (!(await form.isVisible())) {
      // What is rare is in a menu.
      const menu = part.locator('> details.menu > summary');
      if ((await menu.count()) > 0) await menu.click();
      const dialog = part.locator(`dialog:has(form[action="/admin${path}"])`);
      await part
        .locator(`button[popovertarget="${await dialog.getAttribute('id')}"]`)
        .first()
        .click();
    }
    for (const [name, value] of Object.entries(fields)) {
      const field = form.locator(`[name="${name}"]`).first();
      if ((await field.getAttribute('type')) === 'radio') {
        // The choice lies over its words.
        await form.locator(`[name="${name}"][value="${value}"]`).check();
        continue;
      }
      if ((await field.evaluate((one) => one.tagName)) === 'SELECT') await field.selectOption(value);
      else await field.fill(value);
    }
    await form.getByRole('button').last().click();
    await page.locator('[autofocus]').first().waitFor();
    return (await page.locator('main').innerText()).replace(/\s+/g, ' ');
  }

  it('connects, invites, sets budgets, sees to money, finds an error and rotates a key', async () => {
    const { app } = its;
    const customer = await signUp(app.state);
    const key = await app.makeKey({ name: 'night', grants: ['extract'] });
    await open('/models');
    await page.locator('a[href="/admin/models/m-5.5"]').first().click();
    expect(await send('/models/m-5.5/test')).to.match(/m-5\.5: answered in \d+ ms/);
    await open('/models/m-5.5');
    expect(await send('/models/m-5.5/prices', { price_input: '1.25', price_output: '10' })).to.contain('$1.25');
    const chats = await app.makeKey({ name: 'chats', grants: ['text'] });
    const chat = (model: string) =>
      post(app, '/v1/chat/completions', chats, { model, messages: [{ role: 'user', content: 'Ahoy!' }] });
    expect((await chat('m-5.5')).headers.get('x-mediagate-cost')).to.match(/^0\.0000\d\d USD$/);

    await open('/invitations');
    expect(await send('/invitations', { role: 'billing', name: 'Ben' })).to.match(/\/invite#[\w-]{43}/);

    await open('/groups');
    const budget = { budget_0_amount: '500', budget_0_unit: 'requests', budget_0_period: 'day' };
    await send('/groups', { name: 'research', budgets: 'other', ...budget });
    expect(await send('/groups/research/members')).to.contain('Members of the group see its keys');

    const bought = await order(app.state, customer.accountId);
    await app.state.orders.record(transfer('no code', { amount: bought.amount, currency: bought.currency }));
    await open('/transfers');
    expect(await page.locator('main').innerText()).to.contain('no code');
    const { code } = await topUpOrder(app.state, customer.accountId);
    await open(`/orders/${code}`);
    await send(`/orders/${code}/confirm`);
    await send(`/orders/${code}/refund`, { note: 'sent back by the bank' });
    await open(`/balances/${customer.accountId}`);
    expect(await page.locator('#movements').locator('xpath=..').count()).to.be.greaterThan(0);
    expect((await app.state.ledger.sums()).different).to.deep.equal([]);

    const quoted = (await chat('m-chat')).json.error.request_id;
    const found = await until(async () => {
      await open(`/requests?request_id=${quoted}`);
      const words = await page.locator('main').innerText();
      return words.includes('upstream_error') && words;
    });
    expect(found).to.contain('m-chat');

    const { json } = await app.extract(key, { url: productLink(1), async_mode: true });
    await app.ended(key, json.data.job.job_id);
    failing.yes = false;
    await open('/jobs?state=failed');
    await page.locator(`a[href="/admin/jobs/${json.data.job.job_id}"]`).first().click();
    const retried = await send(`/jobs/${json.data.job.job_id}/retry`, { note: 'the source is back' });
    expect(retried).to.contain('The work is done again by this job.');
    const made = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    expect((await app.ended(key, made)).json.ok).to.equal(true);

    const id = key.slice(6, 14);
    await open(`/keys/${id}`);
    const rotated = await send(`/keys/${id}/rotate`);
    expect(rotated).to.match(/sk-mg-[\w-]{8}-/);
  });

  it('ends with a backup, its restoration, and the check before an upgrade, by commands', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-week-'));
    try {
      const run = async (dataDir: string, ...words: string[]) => {
        const { code, stdout, stderr } = await runCommand(words, { DATA_DIR: dataDir, BROWSER: 'off' });
        expect(code, stderr).to.equal(0);
        return stdout;
      };
      const copy = path.join(folder, 'copy');
      const restored = path.join(folder, 'data');
      expect(await run(its.app.dataDir, 'backup', copy, '--secrets')).to.match(/\d+ rows, \d+ files/);
      await run(restored, 'restore', copy);
      expect(await run(restored, 'keys', 'list')).to.contain('chats');
      expect(await run(restored, 'migrate', '--check')).to.match(/up to date|nothing/i);
      const changed = JSON.parse(await run(restored, 'models', 'update', 'm-5.5', '--off', '--json'));
      expect(changed).to.deep.equal({ id: 'm-5.5', changed: ['switched_off', 'prices'] });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('has pages without a violation of accessibility at both widths', async () => {
    for (const at of ['/models', '/models/m-5.5', '/groups']) {
      await open(at);
      await page.evaluate(() => {
        for (const one of document.querySelectorAll<HTMLDialogElement>('main .action-dialog')) {
          one.setAttribute('open', '');
          one.style.position = 'static';
        }
      });
      for (const medium of WIDE_AND_NARROW) {
        await showIn(page, medium);
        expect(await findings(page), at).to.deep.equal([]);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        expect(wide, at).to.be.at.most(0);
      }
    }
  });
});
