/** The site's pages under bad conditions. */

import { expect } from 'chai';
import echoText from 'mediagate/plugins/echo_text';
import offlineSpeech from 'mediagate/plugins/offline_speech';
import sketchImage from 'mediagate/plugins/sketch_image';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { createPepper } from '../../../server/keys/index.js';
import { type SignInApp, startSignInApp } from '../../http/accounts/sign-in-app.js';
import { EURO_RECEIVER, PRICED_PLANS } from '../../support/accounts/priced-plans.js';
import { useAccount } from '../../support/accounts/used-account.js';
import { chromiumFor } from '../../support/browser/chromium.js';
import { launchPageBrowser, signInAs } from '../../support/browser/page-browser.js';
import { invented } from '../../support/links/invented-plugin.js';
import { until } from '../../support/until.js';

/** Long enough for a chat to be cut in the middle, whatever else the machine does. */
const PACE_MS = 150;
const DAY_MS = 86_400_000;

describe('pages of the site under bad conditions', () => {
  let app: SignInApp;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let accountId: string;

  before(async function () {
    const executable = await chromiumFor(this);
    app = await startSignInApp({
      // Accounts without a plan create images as well.
      catalogue: { ...PRICED_PLANS, furtherGrants: [{ planId: 'free', grants: ['images'] }] },
      paymentReceiver: EURO_RECEIVER,
      plugins: [
        { use: invented() },
        { use: sketchImage },
        { use: offlineSpeech },
        { use: echoText, options: { model: 'm-5.5', paceMs: PACE_MS } },
      ],
    });
    browser = await launchPageBrowser(executable);
    context = await browser.newContext();
    page = await context.newPage();
    await signInAs(page, app.url, { email: 'ann@example.com', name: 'Ann' });
    const user = (await app.state.users.list({ limit: 1 }))[0]!;
    accountId = user.accountId;
    await useAccount(app.state, user, createPepper(Buffer.alloc(32, 'unlucky')));
  });
  afterEach(async () => {
    await context?.setOffline(false);
    await page?.unrouteAll({ behavior: 'ignoreErrors' });
  });
  after(async () => {
    await browser?.close();
    await app?.close();
  });

  const keys = () => app.state.keys.listOf(accountId);
  const orders = () => app.state.orders.list({ accountId, limit: 100 });

  async function open(path: string): Promise<void> {
    await page.goto('about:blank');
    await page.goto(app.url + path);
  }

  async function send(words: string): Promise<void> {
    await page.getByLabel('Message').fill(words);
    await page.getByRole('button', { name: 'Send' }).click();
  }

  /** As a script of the page would; one account may ask so often in a second. */
  // biome-ignore lint/suspicious/noExplicitAny: answers of many shapes
  function post(path: string, body: object): Promise<any> {
    return page.evaluate(
      async ([to, json]) => {
        await new Promise((resolve) => setTimeout(resolve, 100));
        const headers = { 'Content-Type': 'application/json' };
        return (await fetch(to, { method: 'POST', headers, body: json })).json();
      },
      [path, JSON.stringify(body)] as const,
    );
  }

  /** Answers of this kind are made, and never arrive. */
  async function loseAnswers(path: string, times: number): Promise<void> {
    let left = times;
    await page.route(`**${path}`, async (route) => {
      if (left === 0) return route.continue();
      left -= 1;
      await route.fetch();
      await route.abort('connectionreset');
    });
  }

  it('make one key, and show it, if the answer is lost and the form is sent again', async () => {
    const before = (await keys()).length;
    await open('/dashboard');
    await loseAnswers('/api/user/keys', 1);
    await page.getByLabel('Name of the new key').fill('tram');
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByRole('alert').getByText('cannot be reached').waitFor();
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByText('Your new key').waitFor();
    expect(await page.textContent('#new-key-text')).to.match(/^sk-mg-/);
    expect((await keys()).length).to.equal(before + 1);
  });

  it('report an answer that breaks off before its key', async () => {
    await open('/dashboard');
    await page.route('**/api/user/keys', (route) =>
      route.fulfill({ status: 201, contentType: 'application/json', body: '{"apiKey":"sk-' }),
    );
    await page.getByLabel('Name of the new key').fill('ferry');
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByRole('alert').getByText('was interrupted').waitFor();
  });

  it('place one order for several presses of the button', async () => {
    const before = (await orders()).length;
    await open('/plans');
    // The page of the order takes its time, as over a slow line.
    let held: (() => void) | undefined;
    await page.route('**/pay/*', async (route) => {
      await new Promise<void>((resolve) => {
        held = resolve;
      });
      await route.continue();
    });
    const choose = page.getByRole('button', { name: 'Choose 100M tokens' });
    let pressed = 0;
    await page.exposeFunction('told', () => {
      pressed += held ? 1 : 0;
    });
    await choose.evaluate((button: HTMLButtonElement) => {
      setInterval(() => {
        button.click();
        (window as unknown as { told(): void }).told();
      }, 50);
    });
    await until(() => held !== undefined);
    await until(() => pressed > 3);
    const asked = (await orders()).length;
    held?.();
    await page.waitForURL(/\/pay\//);
    expect(asked).to.equal(before + 1);
    await page.goBack();
    await page.getByRole('button', { name: 'Choose 100M tokens' }).and(page.locator(':not([aria-disabled])')).waitFor();
  });

  it('let a user cancel an order', async () => {
    await open(`/pay/${(await orders())[0]!.code}`);
    await page.getByRole('button', { name: 'Cancel this order' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel the order' }).click();
    await page.getByRole('heading', { name: 'This order was cancelled' }).waitFor();
    expect((await orders())[0]!.state).to.equal('cancelled');
  });

  it('keep the only view of a key until it is stored', async () => {
    await open('/keys');
    await page.locator('.key-card', { hasText: 'laptop' }).locator('.menu > summary').first().click();
    await page.getByRole('button', { name: 'Rotate laptop' }).click();
    await page.getByRole('button', { name: 'Replace the key laptop' }).click();
    await page.getByText('Your new key').waitFor();
    expect(await page.getByRole('button', { name: /^(Replace|Revoke|Save) / }).count()).to.equal(0);
    expect(await page.evaluate(() => document.activeElement?.id)).to.equal('new-key');
  });

  it("count down by the gateway's clock, not the computer's", async () => {
    const code = (await orders()).find(({ state }) => state === 'pending')!.code;
    for (const wrongBy of [-DAY_MS, DAY_MS]) {
      const wrong = await browser.newContext({ storageState: await context.storageState() });
      await wrong.clock.install({ time: Date.now() + wrongBy });
      const other = await wrong.newPage();
      await other.goto(`${app.url}/pay/${code}`);
      await other.clock.runFor(2_000);
      expect(await other.getByRole('timer').textContent()).to.match(/^23:5\d:\d\d$/);
      await wrong.close();
    }
  });

  it('report failed polls of an order, and recovery', async () => {
    await page.route('**/api/payment/gateway?*', (route) => route.abort('connectionrefused'));
    await open(`/pay/${(await orders()).find(({ state }) => state === 'pending')!.code}`);
    await page.getByText('No connection').waitFor();
    await page.unrouteAll();
    // Well before the time for which the gateway would hold on to a question.
    await page.getByText('Waiting for the transfer').waitFor({ timeout: 15_000 });
  });

  it('keep the question and the partial answer of an interrupted chat', async () => {
    await open('/playground#chat');
    await send(`one two three four five six seven eight nine ten ${'and so on '.repeat(20)}`);
    await page.locator('#chat-log').getByText('You said: one two').waitFor();
    app.server.closeAllConnections();
    await page.locator('#chat-form [role="alert"]').getByText('was interrupted').waitFor();
    expect(await page.locator('#chat-log').textContent()).to.contain('You said: one two');
    await page.locator('#chat-log').getByText('The answer was interrupted.').waitFor();
    await page.locator('#chat-log').getByRole('button', { name: 'Retry' }).waitFor();
  });

  it('start a new chat even during an answer', async () => {
    await open('/playground#chat');
    const asked: string[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/v1/chat/completions')) asked.push(request.postData() ?? '');
    });
    await send(`Harbour ${'and so on '.repeat(20)}`);
    await page.locator('#chat-log').getByText('You said: Harbour').waitFor();
    await page.getByRole('button', { name: 'New chat' }).click();
    await page.getByRole('button', { name: 'Delete and start' }).click();
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
    await send('Ahoy');
    await page.locator('#chat-log').getByText('You said: Ahoy').waitFor();
    expect(JSON.parse(asked.at(-1) ?? '').messages).to.deep.equal([{ role: 'user', content: 'Ahoy' }]);
  });

  it('keep the focus in another field when an answer ends', async () => {
    await open('/playground#chat');
    await send('one two three');
    // The conversation before it is still there.
    const answer = page.locator('#chat-log .chat-answer').filter({ hasText: 'You said: one' });
    await answer.waitFor();
    await page.getByLabel('Instructions').focus();
    await answer.locator('.chat-facts').waitFor();
    expect(await page.evaluate(() => document.activeElement?.id)).to.equal('chat-system');
    await open('/playground#links');
    await page.locator('#link-form summary').first().click();
    await page.route('**/v1/extract', async (route) => {
      await page.locator('#link-reviews').focus();
      await route.continue();
    });
    await page.getByLabel('Public link').fill('https://invented.example/item/7');
    await page.keyboard.press('Enter');
    await page.locator('#link-result .document').waitFor();
    expect(await page.evaluate(() => document.activeElement?.id)).to.equal('link-reviews');
  });

  it('follow an image through a network outage', async () => {
    await open('/images');
    await page.getByLabel('Prompt').fill('A tug in the fog');
    const submitted = page.waitForResponse('**/v1/images/jobs');
    await page.getByRole('button', { name: 'Create images' }).click();
    await submitted;
    await context.setOffline(true);
    await page.locator('#image-cards').getByText('No connection').waitFor();
    await context.setOffline(false);
    await page.locator('#image-cards img').waitFor();
  });

  it('make one image for a double click', async () => {
    await open('/images');
    await page.getByLabel('Prompt').fill('A tug in the snow');
    const before = await page.locator('.image-card').count();
    await page.getByRole('button', { name: 'Create images' }).dblclick();
    await page.locator('.image-card').nth(before).waitFor();
    // One of an earlier test may still be made.
    await page.waitForFunction(() => document.querySelector('.image-card[data-open]') === null);
    expect(await page.locator('.image-card').count()).to.equal(before + 1);
    await page.getByRole('button', { name: 'Create images' }).click();
    await page
      .locator('.image-card')
      .nth(before + 1)
      .waitFor();
  });

  it('send an image again that the gateway may have received, without making two', async () => {
    await open('/images');
    await loseAnswers('/v1/images/jobs', 1);
    await page.getByLabel('Prompt').fill('A tug in the rain');
    const before = (await app.state.jobs.latest(accountId, 100)).length;
    await page.getByRole('button', { name: 'Create images' }).click();
    await page.locator('.image-card').getByText('A tug in the rain').first().waitFor();
    expect((await app.state.jobs.latest(accountId, 100)).length).to.equal(before + 1);
  });

  it('report blocked scripts, and show what needs none', async () => {
    const blocked = await browser.newContext({ storageState: await context.storageState() });
    const other = await blocked.newPage();
    await other.route('**/*.js', (route) => route.abort());
    for (const path of ['/dashboard', '/plans', '/playground', '/docs/api/images']) {
      await other.goto(app.url + path);
      await other.getByText('scripts of this page have not loaded').waitFor();
    }
    await other.goto(`${app.url}/setup`);
    await other.getByText('npm install openai').waitFor();
    await other.getByRole('heading', { name: 'OpenAI SDK for Node.js' }).waitFor();
    await blocked.close();
    // Where they are there, nothing is said, also in forms that the account may not use.
    const free = await (await browser.newContext()).newPage();
    await signInAs(free, app.url, { email: 'dan@example.com', name: 'Dan' });
    await free.getByLabel('Name of the new key').fill('tram');
    await free.getByRole('button', { name: 'Create a key' }).click();
    await free.getByText('Your new key').waitFor();
    await free.goto(`${app.url}/playground`);
    const notice = free.locator('.scripts-missing');
    await until(async () => (await notice.evaluate((one) => getComputedStyle(one).display)) === 'none');
    await free.context().close();
  });

  it('select the text if the clipboard is denied', async () => {
    await open('/setup#curl');
    await page.evaluate(() => {
      navigator.clipboard.writeText = () => Promise.reject(new Error('denied'));
    });
    await page.getByRole('button', { name: 'Copy Shell' }).click();
    await page.getByText('Press Ctrl+C').waitFor();
    expect(await page.evaluate(() => getSelection()?.toString())).to.contain('/v1/extract');
  });

  it('return to the same page after signing in again', async () => {
    const stranger = await (await browser.newContext()).newPage();
    await signInAs(stranger, app.url, { email: 'bob@example.com', name: 'Bob' });
    await stranger.goto(`${app.url}/images`);
    const tab = await stranger.context().newPage();
    await tab.goto(app.url);
    await tab.getByRole('button', { name: 'Sign out' }).click();
    await tab.waitForURL(`${app.url}/`);
    await stranger.getByLabel('Prompt').fill('A tug');
    await stranger.getByRole('button', { name: 'Create images' }).click();
    await stranger.getByRole('alert').getByRole('link', { name: 'Sign in' }).click();
    await stranger.waitForURL(/\/login/);
    expect(new URL(stranger.url()).searchParams.get('return_to')).to.equal('/images');
    await stranger.context().close();
  });

  it('let two tabs make and replace keys side by side', async () => {
    const own = await browser.newContext();
    const tabs = [await own.newPage(), await own.newPage()] as const;
    await signInAs(tabs[0], app.url, { email: 'eve@example.com', name: 'Eve' });
    await tabs[1].goto(`${app.url}/dashboard`);
    for (const tab of tabs) {
      await tab.getByLabel('Name of the new key').fill('tram');
      await tab.getByRole('button', { name: 'Create a key' }).click();
      await tab.getByText('Your new key').waitFor();
    }
    for (const tab of tabs) await tab.goto(`${app.url}/keys`);
    for (const tab of tabs) {
      await tab.locator('.key-card .menu > summary').first().click();
      await tab.getByRole('button', { name: 'Rotate tram' }).click();
      await tab.getByRole('button', { name: 'Replace the key tram' }).first().click();
      await tab.locator('#new-key:not([hidden]), .problem a').first().waitFor();
    }
    await tabs[1].getByRole('link', { name: 'Reload the page' }).click();
    await tabs[1].getByText('Rotated').waitFor();
    await own.close();
  });

  it('explain what to do if the browser blocks cookies', async () => {
    const own = await browser.newContext();
    const stranger = await own.newPage();
    await stranger.goto(`${app.url}/login`);
    await stranger.getByRole('link', { name: 'Continue' }).click();
    await own.clearCookies({ name: 'mediagate-sign-in' });
    await stranger.getByRole('button', { name: 'Sign in' }).click();
    await stranger.getByText('Allow cookies').first().waitFor();
    await stranger.getByRole('link', { name: 'Sign in again' }).waitFor();
    await own.close();
  });

  it('explain what to do about a file that is too large', async () => {
    await open('/playground#audio');
    await page.getByRole('radio', { name: 'Transcription' }).check();
    await page
      .locator('#hearing-file')
      .setInputFiles({ name: 'tug.wav', mimeType: 'audio/wav', buffer: Buffer.alloc(30_000_000) });
    await page.getByRole('button', { name: 'Transcribe' }).click();
    await page.locator('#hearing-form [role="alert"]').getByText('Choose a smaller file.').waitFor();
    expect(await page.getByRole('button', { name: 'Remove tug.wav' }).count()).to.equal(1);
  });

  it('name images that were left out if there are too many', async () => {
    await open('/images');
    const files = [1, 2, 3, 4, 5].map((number) => `tug-${number}.png`);
    const picture = { mimeType: 'image/png', buffer: Buffer.from('a') };
    await page.getByText('Add input images').click();
    await page.getByLabel('Input images').setInputFiles(files.map((name) => ({ name, ...picture })));
    await page.getByRole('status').getByText('1 left out').waitFor();
  });

  it('collapse ended keys of an account with many, and never a valid one', async () => {
    await open('/keys');
    for (let made = 0; made < 8; made += 1) {
      const { key } = await post('/api/user/keys', { name: `barge ${made}` });
      await post(`/api/user/keys/${key.id}/revoke`, {});
    }
    await open('/keys');
    expect(
      await page
        .getByText(/^barge \d/)
        .filter({ visible: true })
        .count(),
    ).to.equal(0);
    for (const good of ['laptop', 'shop website']) await page.getByText(`Change ${good}`).first().waitFor();
    await page.getByText(/^Older keys/).click();
    await page.getByText('barge 0').waitFor();
  });

  it('show every order of an account that has many, the open ones first', async () => {
    const waiting = (await orders()).filter(({ state }) => state === 'pending');
    expect(waiting).not.to.deep.equal([]);
    await open('/dashboard');
    for (let made = 0; made < 12; made += 1) {
      const { payment } = await post('/api/agent/payment', { planId: 'token_30m' });
      await post(`/api/agent/payment/${payment.code}/cancel`, {});
    }
    await open('/dashboard');
    for (const { code } of waiting) await page.getByText(code).waitFor();
    expect(await page.getByRole('link', { name: '30M tokens' }).count()).to.be.below(8);
    await page.getByText(/^Older orders/).click();
    for (const { code } of await orders()) await page.getByText(code).waitFor();
  });
});
