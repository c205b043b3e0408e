/** A new user's first visit, in a real browser. */

import { setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import type { Browser, Page } from 'playwright-core';
import { type SellingGateway, startSellingGateway } from '../../support/accounts/selling-gateway.js';
import { chromiumFor } from '../../support/browser/chromium.js';
import { launchPageBrowser, signInAs } from '../../support/browser/page-browser.js';

/** How long scripts are on their way, as over a slow line: nobody who is quicker than they are may be led astray. */
const SCRIPT_DELAY_MS = 400;

interface Seen {
  what: string;
  text: string;
}

describe('a new user, from the first page to the first image', () => {
  let gateway: SellingGateway;
  let browser: Browser;
  let page: Page;
  const seen: Promise<Seen | undefined>[] = [];
  const complaints: string[] = [];
  let key = '';

  before(async function () {
    const executable = await chromiumFor(this);
    gateway = await startSellingGateway();
    browser = await launchPageBrowser(executable);
    page = await (await browser.newContext()).newPage();
    page.on('pageerror', (error) => complaints.push(error.message));
    // What platforms serve stays where it is: nothing here leaves this machine.
    await page.route(
      ({ hostname }) => hostname !== '127.0.0.1',
      (route) => route.abort(),
    );
    await page.route(
      ({ pathname }) => pathname.endsWith('.js'),
      async (route) => {
        await setTimeout(SCRIPT_DELAY_MS);
        await route.continue();
      },
    );
    page.on('response', (response) => {
      const { origin, pathname } = new URL(response.url());
      const type = response.headers()['content-type'] ?? '';
      if (origin !== gateway.url || !/html|json|javascript|svg/.test(type)) return;
      const what = `${response.request().method()} ${pathname}`;
      seen.push(
        response.text().then(
          (text) => ({ what, text }),
          // A page that was left before its answer was read.
          () => undefined,
        ),
      );
    });
  });
  after(async () => {
    await browser?.close();
    await gateway?.stop();
  });

  const use = (path: string, body: object) =>
    gateway.request(path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });

  it('finds sign-in on the first page, and arrives at the dashboard', async () => {
    await page.goto(gateway.url);
    await page.getByRole('link', { name: 'Sign in' }).first().click();
    await page.waitForURL(/\/login/);
    await signInAs(page, gateway.url, { email: 'ann@example.com', name: 'Ann' });
    await page.getByText('No plan yet').waitFor();
  });

  it('makes a key, which is shown once and works at once', async () => {
    await page.getByLabel('Name of the new key').fill('laptop');
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByText('Your new key').waitFor();
    expect(await page.getByText('No key yet').isVisible(), 'the page says that there is no key').to.equal(false);
    expect(await page.getByLabel('Name of the new key').isVisible(), 'the form makes the first key again').to.equal(
      false,
    );
    key = (await page.textContent('#new-key-text')) ?? '';
    expect(key).to.match(/^sk-mg-[0-9A-Za-z]{8}-[0-9A-Za-z]{38}$/);
    const chat = await use('/v1/responses', { model: 'm-5.5', input: 'Ahoy!' });
    expect(chat.status, chat.text).to.equal(200);
    const link = await use('/v1/extract', { url: gateway.link });
    expect([link.status, link.json.error.code]).to.deep.equal([403, 'route_not_allowed']);
    await page.reload();
    expect(await page.content()).not.to.contain(key.slice(15));
    await page.getByText('but not images, link data or audio models').waitFor();
  });

  it('orders a plan, whose page updates when the bank reports the transfer', async () => {
    await page.getByRole('link', { name: 'Choose a plan' }).click();
    await page.getByRole('button', { name: `Choose ${gateway.planName}` }).click();
    await page.waitForURL(/\/pay\/MG[0-9A-Z]{8}$/);
    await page.getByText('€19.00', { exact: true }).waitFor();
    await page.getByRole('img', { name: 'QR code' }).waitFor();
    const code = page.url().slice(-10);
    const short = await gateway.tell(code, gateway.price - 900);
    expect(short.status, short.text).to.equal(200);
    await page.getByText('€10.00 of €19.00 has arrived').waitFor();
    expect((await gateway.tell(code, 900)).status).to.equal(200);
    await page.getByText('Payment received').waitFor();
    await page.getByRole('link', { name: 'Go to the dashboard' }).click();
    await page.locator('.plan-name', { hasText: gateway.planName }).waitFor();
    await page.getByText('Your keys can use images, link data, text models and audio models.').waitFor();
  });

  it('gets a first document and a first image with the same key', async () => {
    const link = await use('/v1/extract', { url: gateway.link });
    expect(link.status, link.text).to.equal(200);
    await page.goto(gateway.url);
    const answer = (await page.getByLabel('Answer, shortened').textContent()) ?? '';
    const { media, ...shown } = JSON.parse(answer.replaceAll(', …', '')).data;
    expect(media).to.be.an('object');
    expect(link.json.data).to.containSubset(shown);
    const image = await use('/v1/images/generations', { model: 'gen-img-2', prompt: 'A tug at dawn' });
    expect(image.status, image.text).to.equal(200);
    const file = await fetch(image.json.data[0].url);
    expect(file.headers.get('content-type')).to.equal('image/png');
  });

  it('gets both in the playground without a key', async () => {
    await page.goto(`${gateway.url}/playground#links`);
    await page.getByLabel('Public link').fill(gateway.link);
    await page.keyboard.press('Enter');
    await page.locator('.document:not(.skeleton)').waitFor();
    await page.goto(`${gateway.url}/playground`);
    await page.locator('.tab-list').getByRole('link', { name: 'Images' }).click();
    await page.getByLabel('Prompt').fill('A tug in the harbour at dawn');
    await page.getByRole('button', { name: 'Create images' }).click();
    await page.locator('#image-cards img').first().waitFor();
  });

  it('signs out, after each secret was shown only in its place', async () => {
    const cookies = await page.context().cookies(gateway.url);
    const session = cookies.find(({ name }) => name === 'mediagate')?.value ?? '';
    expect(session).to.have.length.greaterThan(40);
    await page.goto(`${gateway.url}/dashboard`);
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    await page.waitForURL(`${gateway.url}/`);
    const answers = (await Promise.all(seen)).filter((one) => one !== undefined);
    const kept = await gateway.secrets();
    expect(answers.length).to.be.greaterThan(30);
    expect(kept.length).to.be.greaterThan(2);
    const shown = (secret: string) => answers.filter(({ text }) => text.includes(secret)).map(({ what }) => what);
    expect(shown(key.slice(15))).to.deep.equal(['POST /api/user/keys']);
    for (const secret of [session, ...kept]) expect(shown(secret)).to.deep.equal([]);
    for (const secret of [key.slice(15), session, ...kept]) {
      expect(gateway.output().includes(secret), 'a secret is in the log').to.equal(false);
    }
    expect(complaints).to.deep.equal([]);
  });
});
