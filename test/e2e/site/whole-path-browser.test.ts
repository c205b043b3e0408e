/**
 * The whole path of a customer in one real browser: from the first page over plan, sign-in, order and transfer to a key, a
 * link with its file and transcript, an image and its edit, a chat with a table, and what all of it cost, to the receipt.
 */

import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import echoText from 'mediagate/plugins/echo_text';
import sketchImage from 'mediagate/plugins/sketch_image';
import type { Browser, Page } from 'playwright-core';
import { createPrices } from '../../../server/prices/index.js';
import { type SignInApp, startSignInApp } from '../../http/accounts/sign-in-app.js';
import { startMediaOrigin } from '../../http/links/media-origin.js';
import { genericNotice, SECRETS } from '../../http/payments/app.js';
import { EURO_RECEIVER, PRICED_PLANS } from '../../support/accounts/priced-plans.js';
import { ffmpegPath, runFfmpeg, tone } from '../../support/audio/ffmpeg.js';
import { chromiumFor } from '../../support/browser/chromium.js';
import { launchPageBrowser } from '../../support/browser/page-browser.js';
import { invented } from '../../support/links/invented-plugin.js';

const SECONDS = 4;
const CODECS = ['-c:v', 'libvpx', '-deadline', 'realtime', '-cpu-used', '8', '-c:a', 'libopus'];
const SUBTITLES = 'WEBVTT\n\n00:00:01.000 --> 00:00:03.000\nTwo tugs leave the quay.\n';
const TITLE = 'Tugs of Ostend';
const TABLE = 'Depths:\n\n| Harbour | Depth |\n|---|---:|\n| Rotterdam | 24 m |\n| Ostend | 8 m |';

describe('a customer, from the first page to the receipt', function () {
  this.timeout(60_000);
  let origin: Awaited<ReturnType<typeof startMediaOrigin>>;
  let app: SignInApp;
  let browser: Browser;
  let page: Page;
  let link: string;
  const complaints: string[] = [];

  before(async function () {
    this.timeout(120_000);
    if (!ffmpegPath) this.skip();
    const executable = await chromiumFor(this);
    origin = await startMediaOrigin();
    app = await startSignInApp({
      catalogue: { ...PRICED_PLANS, furtherGrants: [{ planId: 'token_30m', grants: ['extract', 'images'] }] },
      paymentReceiver: EURO_RECEIVER,
      paymentSecrets: { generic: SECRETS.generic },
      prices: createPrices({
        currency: 'EUR',
        models: { 'm-5.5': { input: 1_000, output: 2_000 }, 'gen-img-2': { images: [{ price: 0.04 }] } },
      }),
      plugins: [
        { use: invented(origin.extractor) },
        { use: sketchImage },
        { use: echoText, options: { model: 'm-5.5' } },
      ],
      gateway: {
        mediaLinks: { baseUrl: 'http://gateway.example', secrets: [randomBytes(32)] },
        services: { http: origin.http },
      },
      mediaProxy: 'site',
    });
    const id = origin.put({
      title: TITLE,
      entries: [
        { kind: 'video', mime: 'video/webm' },
        { kind: 'subtitle', mime: 'text/vtt', language: 'en' },
      ],
      content: [await makeVideo(), Buffer.from(SUBTITLES)],
      common: { duration_seconds: SECONDS },
    });
    link = `https://invented.example/item/${id}`;
    browser = await launchPageBrowser(executable);
    page = await (await browser.newContext()).newPage();
    page.setDefaultTimeout(20_000);
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  });
  after(async () => {
    await browser?.close();
    await app?.close();
    await origin?.close();
  });

  it('chooses a plan, signs in, and finds the choice again', async () => {
    await page.goto(app.url);
    await page.getByRole('navigation').getByRole('link', { name: 'Plans' }).click();
    await page.getByRole('link', { name: 'Choose 30M tokens' }).click();
    await page.getByRole('link', { name: 'Sign in and order' }).click();
    await page.getByRole('link', { name: 'Continue' }).click();
    await page.getByLabel('Email').fill('ann@example.com');
    await page.getByLabel('Name').fill('Ann Okafor');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL(/\/plans\?plan=token_30m/);
  });

  it('orders it, and sees the transfer arrive', async () => {
    await page.getByRole('button', { name: 'Order and pay' }).click();
    await page.waitForURL(/\/pay\/MG[0-9A-Z]{8}$/);
    await page.getByRole('img', { name: 'QR code' }).waitFor();
    const code = page.url().slice(-10);
    const { body, headers } = genericNotice({ id: randomUUID(), text: code, amount: 1_900, currency: 'EUR' });
    const answer = await app.request('/api/payment/webhook/generic', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    });
    expect(answer.status, answer.text).to.equal(200);
    await page.getByText('Payment received').waitFor();
    await page.getByRole('link', { name: 'Go to the dashboard' }).click();
    await page.locator('.plan-name', { hasText: '30M tokens' }).waitFor();
  });

  it('creates a key, which reads a link', async () => {
    await page.getByLabel('Name of the new key').fill('laptop');
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByText('Your new key').waitFor();
    const key = await page.textContent('#new-key-text');
    const answer = await app.request('/v1/extract', {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ url: link }),
    });
    expect(answer.status, answer.text).to.equal(200);
    expect(answer.json.data.common.title).to.equal(TITLE);
    await page.getByText('I have stored it').click();
  });

  it('reads the link on the page, plays its file, and reads what is said in it', async () => {
    await page.getByRole('navigation').getByRole('link', { name: 'Playground' }).first().click();
    // Until its scripts are there, the form is disabled, and Enter does nothing.
    await page.waitForURL(/\/playground/);
    await page.getByLabel('Public link').fill(link);
    await page.keyboard.press('Enter');
    const video = page.locator('.document video');
    await video.waitFor();
    const played = await video.evaluate(async (element) => {
      const player = element as HTMLVideoElement;
      player.muted = true;
      const ended = new Promise((resolve) => player.addEventListener('ended', resolve, { once: true }));
      await player.play();
      await ended;
      return player.currentTime;
    });
    expect(played).to.be.closeTo(SECONDS, 0.5);
    await page.getByRole('button', { name: 'Show transcript' }).click();
    await page.locator('.timed-tall').getByText('Two tugs leave the quay.').waitFor();
  });

  it('creates an image, and changes a part of it', async () => {
    await page.locator('.tab-list').getByRole('link', { name: 'Images' }).click();
    await page.getByLabel('Prompt').fill('A tug in the harbour at dawn');
    await page.getByRole('button', { name: 'Create images' }).click();
    await page.locator('#image-cards > li:not([data-open]) img').waitFor();
    await page.locator('a.image-open').click();
    await page.locator('.lightbox').getByRole('link', { name: 'Edit' }).click();
    await page.getByText('Add a rectangle by numbers').click();
    await page.getByRole('button', { name: 'Add rectangle' }).click();
    await page.getByText('Painted parts: 1.').waitFor();
    await page.getByLabel('What to put there').fill('A red lighthouse');
    await page.getByRole('button', { name: 'Create edit' }).click();
    await page.waitForURL(/\/images#/);
    await page.locator('#image-cards > li:not([data-open]) img').nth(1).waitFor();
  });

  it('chats, and reads a table with its cost', async () => {
    await page.goto(`${app.url}/playground#chat`);
    await page.getByLabel('Message').fill(TABLE);
    await page.keyboard.press('Control+Enter');
    await page.locator('#chat-log').getByRole('cell', { name: 'Rotterdam' }).waitFor();
    await page.locator('#chat-log .chat-facts').getByText('€').waitFor();
  });

  it('finds the usage with its cost, and the receipt', async () => {
    await page.goto(`${app.url}/usage?by=model`);
    await page.getByRole('heading', { name: 'Cost (EUR)' }).waitFor();
    const rows = await page.getByRole('row').allTextContents();
    for (const name of ['m-5.5', 'gen-img-2']) expect(rows.join('\n')).to.contain(name);
    expect(rows.find((row) => row.includes('gen-img-2'))).to.contain('0.08');
    // By keyboard a chart says what its bars consist of.
    const chart = page.getByRole('slider', { name: /^Requests\./ });
    await chart.focus();
    expect(await chart.getAttribute('aria-valuetext')).to.match(/: \d+ requests, m-5\.5 \d+, gen-img-2 \d/);
    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByRole('radio', { name: 'Tokens' }).check({ force: true });
    expect(await page.locator('.charts h2:visible').allTextContents()).to.deep.equal(['Tokens']);
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.goto(`${app.url}/requests`);
    await page.getByRole('link', { name: '/v1/extract' }).first().waitFor();
    await page.getByRole('link', { name: 'Orders' }).click();
    await page.getByRole('link', { name: /^Receipt \d{4}-000001$/ }).click();
    await page.getByRole('heading', { name: /^Receipt \d{4}-000001$/ }).waitFor();
    for (const text of ['€19.00', 'Ann Okafor', 'Mediagate Ltd']) await page.getByText(text).first().waitFor();
    expect(complaints).to.deep.equal([]);
  });
});

/** A video that every Chromium plays. */
async function makeVideo(): Promise<Buffer> {
  const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-path-'));
  const file = path.join(folder, 'tugs.webm');
  const picture = ['-f', 'lavfi', '-i', `testsrc2=size=320x180:rate=10:duration=${SECONDS}`];
  try {
    await runFfmpeg(...picture, ...tone(SECONDS), ...CODECS, file);
    return await readFile(file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
