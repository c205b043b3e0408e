/** The playground in a real browser: links, chats and speech. */

import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { GatewayError } from 'mediagate';
import echoText from 'mediagate/plugins/echo_text';
import ffmpegAudio from 'mediagate/plugins/ffmpeg_audio';
import offlineSpeech from 'mediagate/plugins/offline_speech';
import type { Browser, Locator, Page } from 'playwright-core';
import { createPepper } from '../../../server/keys/index.js';
import { type SignInApp, startSignInApp } from '../../http/accounts/sign-in-app.js';
import { useAccount } from '../../support/accounts/used-account.js';
import { countWordErrors } from '../../support/audio/word-errors.js';
import { AWKWARD_TEXTS } from '../../support/browser/awkward-texts.js';
import { chromiumFor } from '../../support/browser/chromium.js';
import { findings, launchPageBrowser, showIn, signInAs, WIDE_AND_NARROW } from '../../support/browser/page-browser.js';
import { sampleImage } from '../../support/images/sample-images.js';
import { richPost, richProduct } from '../../support/links/invented-documents.js';
import { invented } from '../../support/links/invented-plugin.js';
import { inventedShop, productLink } from '../../support/links/invented-shop.js';
import { isLongRun, variants } from '../../support/runner/variants.js';

const SENTENCE = 'The quick brown fox jumps over the lazy dog.';
/** Every run looks at each state on a phone, where less fits. */
const MEDIA = variants(WIDE_AND_NARROW, ({ width }) => width === 390);
const LINK = 'https://invented.example/item/7';
const GONE = 'https://invented.example/item/404';
const UNREACHABLE = 'https://invented.example/item/502';
const LARGEST = Number.MAX_SAFE_INTEGER;
/** Over the wire, with the script for Markdown. */
const MAX_BYTES = 110_000;

describe('the playground in a real browser', () => {
  let app: SignInApp;
  let browser: Browser;
  let page: Page;
  const complaints: string[] = [];

  before(async function () {
    const executable = await chromiumFor(this);
    const extract = async ({ link: { id } }: { link: { id: string } }) => {
      if (id === '404') throw new GatewayError('removed', 'The owner took it down.', { reason: 'Gone since May' });
      if (id === '502')
        throw new GatewayError('upstream_error', 'It failed.', { reason: 'The host name could not be resolved.' });
      const post = richPost(id);
      if (id !== '300' || !('common' in post.data)) return post;
      post.data.common.title = AWKWARD_TEXTS.rightToLeft;
      post.data.common.description = AWKWARD_TEXTS.unbroken;
      post.data.common.author = { name: AWKWARD_TEXTS.unbroken, url: 'https://invented.example/w' };
      post.data.metrics = { views: LARGEST, likes: LARGEST, comments: LARGEST, shares: LARGEST, saves: LARGEST };
      return post;
    };
    app = await startSignInApp({
      plugins: [
        { use: invented({ extract, probeLinks: [{ url: LINK, fills: {} }] }) },
        { use: inventedShop({ extract: async ({ link }) => richProduct(link.id) }) },
        { use: echoText, options: { model: 'm-5.5' } },
        // On a busy machine, engines take longer than people wait.
        { use: offlineSpeech, timeoutMs: 120_000 },
        { use: ffmpegAudio, timeoutMs: 120_000 },
      ],
    });
    browser = await launchPageBrowser(executable);
    page = await (await browser.newContext()).newPage();
    page.setDefaultTimeout(20_000);
    page.on('console', (message) => complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
    // The platforms' own pictures; what they are does not matter here.
    const body = await sampleImage({ width: 640, height: 360, format: 'png', seed: 3 });
    await page.route('https://media.invented.example/**', (route) => route.fulfill({ contentType: 'image/png', body }));
    await signInAs(page, app.url, { email: 'ann@example.com', name: 'Ann' });
  });
  after(async () => {
    await browser?.close();
    await app?.close();
  });

  const open = async (tab: string): Promise<void> => {
    await page.goto('about:blank');
    await page.goto(`${app.url}/playground#${tab}`);
    await page.locator(`#${tab}`).waitFor({ state: 'visible' });
  };
  const alert = (form: string): Locator => page.locator(`#${form} [role="alert"]`);

  async function read(url: string): Promise<void> {
    await page.getByLabel('Public link').fill(url);
    await page.keyboard.press('Enter');
  }

  /** In each medium: nothing too wide, and whatever else is to be held. */
  async function expectFits(what: string, hold: (where: string) => Promise<void> = async () => {}): Promise<void> {
    for (const medium of MEDIA) {
      await showIn(page, medium);
      const where = `${what} at ${medium.width}, ${medium.colorScheme}`;
      const tooWide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(tooWide, `${where} scrolls sideways`).to.be.at.most(0);
      await hold(where);
    }
    await page.setViewportSize({ width: 1_280, height: 844 });
  }

  /** As people meet it: nothing that keeps anybody out. */
  const expectGood = (what: string): Promise<void> =>
    expectFits(what, async (where) => {
      // Every run holds these pages to the rules with accessible-pages-browser.test.ts, in fewer states.
      if (isLongRun) expect(await findings(page), where).to.deep.equal([]);
    });

  it('works without a key that the user made, and explains missing grants of the plan', async () => {
    await open('chat');
    await page.getByLabel('Message').fill('Ahoy!');
    await page.keyboard.press('Enter');
    await page.locator('#chat-log').getByText('You said: Ahoy!').waitFor();
    await page.goto(`${app.url}/dashboard`);
    // Until the chat is written to the usage log, the page has its list of first steps.
    const isWithoutKey = page.getByText('No key yet').or(page.getByText('For a program of yours: one key for each.'));
    await isWithoutKey.first().waitFor();
    await open('links');
    await page.getByText('This gateway does not offer link data.').waitFor();
    expect(await page.getByLabel('Public link').isDisabled()).to.equal(true);
    expect(await page.getByRole('button', { name: 'Extract' }).isDisabled()).to.equal(true);
    await page.locator('#link-form').evaluate((form: HTMLFormElement) => form.querySelector('button')?.click());
    await expectGood('closed-links');
    await open('audio');
    await page
      .getByText('does not include audio models. Included in 30M tokens, 100M tokens or 300M tokens.')
      .first()
      .waitFor();
    expect(await page.getByRole('button', { name: 'Speak' }).isDisabled()).to.equal(true);
    await expectGood('closed-audio');
    await open('chat');
    expect(await page.getByRole('button', { name: 'Send' }).isEnabled()).to.equal(true);
    const user = (await app.state.users.list({ limit: 1 }))[0]!;
    await useAccount(app.state, user, createPepper(Buffer.alloc(32, 'playground')));
    await open('links');
    expect(await page.content()).not.to.contain('sk-mg-');
    expect(await page.getByText('does not include').count()).to.equal(0);
    expect(await page.locator('fieldset:disabled').count()).to.equal(0);
    complaints.length = 0;
  });

  it('shows a link as a card, as JSON, and as the curl command', async () => {
    await open('links');
    await read(LINK);
    await page.getByRole('heading', { name: 'Tugs of Ostend, a morning on the quay' }).waitFor();
    const card = page.locator('.document:not(.skeleton)');
    for (const said of ['Harbour Notes', '48,213', 'about 1,904', '3:32', '<b>Filmed</b>']) {
      expect(await card.textContent()).to.contain(said);
    }
    expect(await card.locator('video').getAttribute('src')).to.equal('https://media.invented.example/tugs.mp4');
    await page.getByText('JSON', { exact: true }).click();
    const document = JSON.parse((await page.locator('#link-json').textContent()) ?? '');
    expect(document.data.ids.video_id).to.equal('7');
    const curl = (await page.locator('#link-curl').textContent()) ?? '';
    expect(curl).to.equal(
      `curl ${app.url}/v1/extract \\\n  -H "Authorization: Bearer $MEDIAGATE_API_KEY" \\\n  -H "Content-Type: application/json" \\\n  -d '{"url":"${LINK}"}'`,
    );
    await expectGood('link');
  });

  it('reads an example with one press, and holds the place of the document meanwhile', async () => {
    await open('links');
    const example = page.getByRole('button', { name: 'Invented', exact: true });
    await page.route('**/api/play/v1/extract', async (route) => {
      await page.locator('.skeleton').waitFor();
      expect(await page.locator('#link-result').evaluate((result) => result.clientHeight)).to.be.above(150);
      await expectGood('waiting');
      await route.continue();
    });
    await example.click();
    await page.getByRole('heading', { name: 'Tugs of Ostend, a morning on the quay' }).waitFor();
    await page.unroute('**/api/play/v1/extract');
    expect(await page.locator('.skeleton').count()).to.equal(0);
    expect(await page.getByLabel('Public link').inputValue()).to.equal(LINK);
    expect(await page.getByText('Recorded samples').count()).to.equal(0);
  });

  it('cancels the reading of a link at once', async () => {
    await open('links');
    const extract = '**/api/play/v1/extract';
    await page.route(extract, () => undefined);
    await read(LINK);
    await page.locator('#link-work').getByText('Reading from Invented 1 s').waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    expect(await page.getByLabel('Public link').evaluate((field) => field === document.activeElement)).to.equal(true);
    expect(await page.locator('.skeleton, #link-form .problem:not(:empty)').count()).to.equal(0);
    await page.unroute(extract);
    complaints.length = 0;
  });

  it('holds its layout with long texts of every script and with the largest numbers', async () => {
    await open('links');
    await read('https://invented.example/item/300');
    const title = page.locator('.document h3');
    await title.waitFor();
    expect(await title.evaluate((heading) => getComputedStyle(heading).direction)).to.equal('rtl');
    expect(await page.locator('.metrics dd').allTextContents()).to.include('9,007,199,254,740,991');
    await expectFits('awkward', async (where) => {
      const outside = await page.locator('.document:not(.skeleton)').evaluate((card) => {
        const { left, right } = card.getBoundingClientRect();
        const parts = [...card.querySelectorAll('h3, .author, .document-text, .metrics dd')];
        return parts.flatMap((part) => {
          const box = part.getBoundingClientRect();
          return box.left < left - 1 || box.right > right + 1 ? [part.className || part.tagName] : [];
        });
      });
      expect(outside, where).to.deep.equal([]);
    });
  });

  it('shows a product with its reviews, as a background job on request', async () => {
    await open('links');
    await page.getByText('Options', { exact: true }).click();
    await page.getByLabel('Products as a background job').check();
    await read(productLink('31'));
    await page.getByRole('heading', { name: 'Stoneware teapot' }).waitFor();
    const card = (await page.locator('.document:not(.skeleton)').textContent()) ?? '';
    for (const said of ['€34.50', '€42.00', '4.7 of 5', 'Pours without a drip.', 'The lid came in two.']) {
      expect(card).to.contain(said);
    }
    for (const said of ['Variants (2)', 'Sand', '€36.00 · sold out', 'Verified purchase', '5 ★256'])
      expect(card).to.contain(said);
    const count = page.locator('.carousel-controls');
    await count.getByText('1 of 2').waitFor();
    await page.getByRole('group', { name: 'Pictures' }).focus();
    await page.keyboard.press('ArrowRight');
    await count.getByText('2 of 2').waitFor();
    // Without a media link, the file of the platform is opened.
    const file = page.getByRole('link', { name: 'Download picture' });
    expect(await file.getAttribute('href')).to.match(/^https:\/\/media\.invented\.example\//);
    expect(await file.getAttribute('download')).to.equal(null);
    const tops = async (width: number) => {
      await page.setViewportSize({ width, height: 844 });
      const boxes = await page.locator('.media-head > *').evaluateAll((parts) =>
        parts.map((part) => {
          const { left, top, right, bottom } = part.getBoundingClientRect();
          return { left, top, right, bottom };
        }),
      );
      return boxes as [DOMRect, DOMRect];
    };
    const [above, below] = await tops(390);
    expect(below.top).to.be.at.least(above.bottom);
    const [before, after] = await tops(1_280);
    expect(after.left).to.be.at.least(before.right);
    await page.getByRole('button', { name: 'Previous picture' }).click();
    await count.getByText('1 of 2').waitFor();
    expect(await page.getByRole('link', { name: 'Photo 1 of the review' }).count()).to.equal(2);
    await expectGood('product');
  });

  it('offers the MP3 of a video without a transcript to the form for transcription', async () => {
    const extract = '**/api/play/v1/extract';
    const mp3 = '**/v1/made.mp3';
    await page.route(extract, async (route) => {
      const response = await route.fetch();
      const json = await response.json();
      json.data.media.audio_download_links = { mp3: `${app.url}/v1/made.mp3` };
      json.limitation_messages = [{ code: 'transcript_unavailable', message: 'There is no transcript.' }];
      delete json.data.transcript;
      await route.fulfill({ response, json });
    });
    await page.route(mp3, (route) => route.fulfill({ contentType: 'audio/mpeg', body: 'ID3' }));
    try {
      await open('links');
      await read(LINK);
      await page.getByRole('button', { name: 'Show transcript' }).click();
      await page.locator('.timeline .notice').getByText('There is no transcript.').waitFor();
      await expectGood('no transcript');
      await page.getByRole('button', { name: 'Transcribe the MP3' }).click();
      await page.locator('#hearing-form .drop-files').getByText('a morning on the quay.mp3').waitFor();
      expect(await page.getByRole('radio', { name: 'Transcription' }).isChecked()).to.equal(true);
      const start = page.getByRole('button', { name: 'Transcribe', exact: true });
      expect(await start.evaluate((button) => button === document.activeElement)).to.equal(true);
    } finally {
      await page.unroute(extract);
      await page.unroute(mp3);
    }
    complaints.length = 0;
  });

  it('reads a list of links, with progress and results, also after a reload', async () => {
    await open('links');
    await page.getByRole('radio', { name: 'Several links' }).check();
    await page.getByRole('button', { name: 'Read all' }).click();
    await alert('batch-form').getByText('There is no link in this text.').waitFor();
    expect(await page.locator('.field:has(#batch-links) > .problem').count()).to.equal(1);
    const csv = `name,link\nTugs,${LINK}\n=cmd(),"${productLink('31')}"\n`;
    const file = { name: 'links.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) };
    await page.getByLabel('File with links').setInputFiles(file);
    await page.getByText('Links found: 2.').waitFor();
    const field = page.getByLabel('Links, one on each line');
    await field.fill(`${await field.inputValue()}\n${GONE}\nno link\n`);
    await page.getByRole('button', { name: 'Read all' }).click();
    await page.getByText('1 line is not a link and was left out: “no link”').waitFor();
    await page.getByText('Completed · 2 of 3 read, 1 failed').waitFor();
    expect(await page.locator('.field .problem, #batch-form .problem:not(:empty)').count()).to.equal(0);
    await page.reload();
    await page.getByText('List of 3 links').waitFor();
    expect(await page.locator('#batch-list time').textContent()).to.match(/^\d+ \w+, \d\d:\d\d:\d\d$/);
    await page.getByRole('button', { name: 'Show results' }).click();
    const results = page.getByRole('region', { name: 'Results' });
    await results.getByRole('link', { name: 'Tugs of Ostend, a morning on the quay' }).waitFor();
    for (const said of ['Stoneware teapot, 0.9 litres', GONE, 'Check the link, or try another one.'])
      expect(await results.textContent()).to.contain(said);
    await page.setViewportSize({ width: 390, height: 844 });
    // Nothing of a row is outside of the list.
    const widths = await results.evaluate(({ scrollWidth, clientWidth }) => [scrollWidth, clientWidth]);
    expect(widths[0]).to.equal(widths[1]);
    await expectGood('batch');
    // The document of a row, without another request.
    const extract = '**/api/play/v1/extract';
    await page.route(extract, (route) => route.abort());
    await results.getByRole('button', { name: 'Open: Stoneware teapot' }).click();
    await page.locator('#link-result').getByRole('heading', { name: 'Stoneware teapot' }).waitFor();
    expect(await page.locator('#link-result').evaluate((result) => result === document.activeElement)).to.equal(true);
    await page.unroute(extract);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page
        .locator('#batch-list .menu > summary')
        .click()
        .then(() => page.getByRole('link', { name: 'CSV', exact: true }).click()),
    ]);
    expect(await page.getByRole('link', { name: 'CSV', exact: true }).isVisible()).to.equal(false);
    const saved = await readFile(await download.path(), 'utf8');
    expect(saved.split('\r\n')).to.have.length(5);
    expect(saved).to.contain(`0,${LINK},completed,invented,"Tugs of Ostend, a morning on the quay"`);
  });

  it('sends the failed links of a list once more, as a list of their own', async () => {
    await page.getByRole('button', { name: 'Retry failed' }).click();
    await page.getByText('List of 1 links').waitFor();
    await page.getByText('Completed · 0 of 1 read, 1 failed').waitFor();
  });

  it('takes Enter that was pressed before the scripts had come', async () => {
    const held = Promise.withResolvers<void>();
    const script = /\/playground\.js$/;
    await page.route(script, async (route) => {
      await held.promise;
      await route.continue();
    });
    try {
      await page.goto('about:blank');
      await page.goto(`${app.url}/playground`, { waitUntil: 'commit' });
      const field = page.locator('#link-url');
      await field.waitFor({ state: 'attached' });
      await field.fill(LINK, { force: true });
      await field.press('Enter');
      expect(await page.locator('#link-form button:not([type])').isDisabled()).to.equal(true);
      held.resolve();
      await page.getByRole('heading', { name: 'Tugs of Ostend, a morning on the quay' }).waitFor();
    } finally {
      held.resolve();
      await page.unroute(script);
    }
  });

  it('shows the progress of a list no older than its results', async () => {
    // The clock is that of a whole context.
    const context = await browser.newContext({ storageState: await page.context().storageState() });
    const visit = await context.newPage();
    try {
      await visit.clock.install();
      await visit.goto(`${app.url}/playground#links`);
      await visit.getByRole('radio', { name: 'Several links' }).check();
      await visit.getByText('List of 3 links').waitFor();
      // Time stands still, so the page does not poll by itself.
      await visit.clock.pauseAt(Date.now() + 60_000);
      await visit.getByText('New list', { exact: true }).click();
      await visit.getByLabel('Links, one on each line').fill(LINK);
      await visit.getByRole('button', { name: 'Read all' }).click();
      const list = visit.locator('#batch-list > li').first();
      await list.getByText('List of 1 links').waitFor();
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      expect(await list.locator('p').first().textContent()).to.match(/^(Queued|Reading) /);
      await list.getByRole('button', { name: 'Show results' }).click();
      await list.getByText('Completed · 1 of 1 read, 0 failed').waitFor();
    } finally {
      await context.close();
    }
  });

  it("shows the gateway's message for an unavailable link", async () => {
    await open('links');
    await page.getByRole('radio', { name: 'One link' }).check();
    await read(GONE);
    await alert('link-form').locator('[data-code="removed"]').waitFor();
    expect(await alert('link-form').textContent()).to.contain('The platform says: “Gone since May”.');
    const remedy = alert('link-form').getByRole('link', { name: 'About this error' });
    expect(await remedy.getAttribute('href')).to.equal('/docs/api/errors#removed');
    // The example is hidden: it would look like a result.
    expect(await page.locator('#link-result > .example').count()).to.equal(1);
    expect(await page.locator('#link-result > .example').isVisible()).to.equal(false);
    // What the gateway met is not what the platform said.
    await read(UNREACHABLE);
    await alert('link-form').locator('[data-code="upstream_error"]').waitFor();
    expect(await alert('link-form').textContent())
      .to.contain('Reason: The host name could not be resolved.')
      .and.not.contain('says');
    expect(await page.locator('.document').count()).to.equal(0);
    await read('https://example.com/');
    await page.locator('.form-row + .problem [data-code="unsupported_platform"]').waitFor();
    expect(await page.getByLabel('Public link').getAttribute('aria-invalid')).to.equal('true');
  });

  it('speaks a sentence, and transcribes the result with times', async function () {
    // Engines on a busy machine take their time.
    this.timeout(180_000);
    await open('audio');
    await page.getByLabel('Text', { exact: true }).fill(SENTENCE);
    await page.getByLabel('Text', { exact: true }).press('Control+Enter');
    const player = page.locator('#speech-result').getByRole('group', { name: 'What was spoken' });
    await player.waitFor({ timeout: 90_000 });
    await page.waitForFunction(
      () => (document.querySelector<HTMLAudioElement>('#speech-result audio')?.duration ?? 0) > 1,
    );
    // By keyboard: to another time, and played from there.
    await player.locator('.waveform').waitFor();
    const slider = player.getByRole('slider', { name: 'Start at' });
    await slider.focus();
    await page.keyboard.press('End');
    expect(await slider.getAttribute('aria-valuetext')).to.match(/^0:0[1-9]$/);
    await page.keyboard.press('Home');
    await page.waitForFunction(
      () => document.querySelector<HTMLAudioElement>('#speech-result audio')?.currentTime === 0,
    );
    await player.getByRole('button', { name: 'Play' }).press('Enter');
    await player.getByRole('button', { name: 'Pause' }).press('Enter');
    await player.getByRole('button', { name: 'Play' }).waitFor();
    const saved = page.waitForEvent('download');
    await page.locator('#speech-result').getByRole('link', { name: 'Download' }).click();
    const buffer = await readFile(await (await saved).path());
    await page.getByRole('radio', { name: 'Transcription' }).check();
    await page.locator('#hearing-file').setInputFiles({ name: 'fox.mp3', mimeType: 'audio/mpeg', buffer });
    await page.getByRole('button', { name: 'Transcribe' }).click();
    await page.locator('#hearing-result .timed, #hearing-form .problem:not(:empty)').waitFor({ timeout: 90_000 });
    expect(await page.locator('#hearing-form .problem').allTextContents()).to.deep.equal(['']);
    const heard = await page.locator('#hearing-result .timed-button > span:last-child').allTextContents();
    expect(countWordErrors(SENTENCE, heard.join(' ')).errors, heard.join(' ')).to.be.below(3);
    await page.locator('#hearing-result .timed-button').last().click();
    await page.waitForFunction(
      () => (document.querySelector<HTMLAudioElement>('#hearing-result audio')?.currentTime ?? 0) >= 0,
    );
    const file = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download as subtitles' }).click();
    expect(await readFile(await (await file).path(), 'utf8')).to.match(/^1\n00:00:0\d,\d{3} --> 00:00:0\d,\d{3}\n/);
    await expectGood('audio');
  });

  it('records with the microphone, changes the voice, and creates a sound, each marked as made by a mock', async function () {
    this.timeout(180_000);
    const recording = page.locator('#changer-form .drop-files li');
    const madeBy = async (id: string) => {
      await page.locator(`#${id}-result .sound-player`).waitFor({ timeout: 90_000 });
      await page.waitForFunction(
        (name) => (document.querySelector<HTMLAudioElement>(`#${name}-result audio`)?.duration ?? 0) > 1,
        id,
      );
      await page.locator(`#${id}-result`).getByText('A mock made this').waitFor();
    };
    await open('audio');
    // As browsers refuse it; this one has nobody to ask.
    await page.evaluate(() => {
      navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('refused', 'NotAllowedError'));
    });
    await page.getByRole('radio', { name: 'Voice changer' }).check();
    await page.locator('#changer-record').click();
    await page.locator('#changer-form .problem').getByText('does not allow this page to use the microphone').waitFor();
    expect(await recording.count()).to.equal(0);
    // A headless browser has no microphone: what it would hear is a tone.
    await page.evaluate(() => {
      navigator.mediaDevices.getUserMedia = async () => {
        const audio = new AudioContext();
        const tone = new OscillatorNode(audio, { frequency: 330 });
        const heard = new MediaStreamAudioDestinationNode(audio);
        tone.connect(heard);
        tone.start();
        return heard.stream;
      };
    });
    await page.locator('#changer-record').click();
    await page.locator('#changer-record-time').getByText('Recording 0:02').waitFor();
    await page.getByRole('button', { name: 'Stop recording' }).click();
    await recording.getByText('Recording 1.webm').waitFor();
    await page.locator('#changer-voice').selectOption('onyx');
    await page.getByRole('button', { name: 'Change the voice' }).click();
    await madeBy('changer');
    await page.getByRole('radio', { name: 'Effects' }).check();
    await page.getByLabel('Seconds').fill('2');
    // The offline engine makes few sounds: the sample is one of them.
    await page.getByRole('button', { name: 'Try the sample text' }).click();
    await madeBy('sound');
    await expectGood('sounds');
  });

  it('sends requests from the API reference with the session, and shows them in one language', async () => {
    complaints.length = 0;
    const hosts = new Set<string>();
    page.on('request', (request) => hosts.add(new URL(request.url()).host));
    await page.goto(`${app.url}/docs#/Images/postV1ImagesJobs`);
    await page.waitForURL(`${app.url}/docs/api/images#postV1ImagesJobs`);
    const operation = page.locator('#postV1ImagesJobs');
    await operation.getByRole('radio', { name: 'Python' }).check();
    await operation.getByText('requests.post(').waitFor();
    expect(await page.getByText('await fetch(').first().isVisible()).to.equal(false);
    await page.goto(`${app.url}/docs/api/links`);
    // The language is remembered.
    expect(await page.getByText('requests.post(').first().isVisible()).to.equal(true);
    await page.goto(`${app.url}/docs/api/models#getV1Models`);
    const models = page.locator('#getV1Models');
    await models.getByText('Try it').click();
    await models.getByText('Sent with your session, without an API key.').waitFor();
    await models.getByRole('button', { name: 'Send' }).click();
    await models.getByText('"object": "list"').waitFor();
    // The address opens the operation, and closes the other one.
    await page.goto(`${app.url}/docs/api/models#postV1Embeddings`);
    expect(await models.isVisible()).to.equal(false);
    // Forms that wait for their script are no scripts that did not come.
    expect(await page.locator('body > .scripts-missing').isVisible()).to.equal(false);
    expect(await page.locator('.try button:disabled').count()).to.equal(0);
    const chat = page.locator('#postV1Embeddings');
    await chat.getByText('Try it').click();
    await chat.getByLabel('Body, as JSON').fill('{');
    await chat.getByRole('button', { name: 'Send' }).click();
    await chat.getByText('The body is not valid JSON').waitFor();
    expect([...hosts].filter((host) => host !== '' && host !== new URL(app.url).host)).to.deep.equal([]);
    expect(complaints).to.deep.equal([]);
    await expectFits('reference');
  });

  it('asks strangers for a key in the API reference, sends it to the API alone, and keeps it nowhere', async () => {
    const stranger = await (await browser.newContext()).newPage();
    await stranger.goto(`${app.url}/docs/api/models#getV1Models`);
    const models = stranger.locator('#getV1Models');
    await models.getByText('Try it').click();
    await models.getByLabel('API key').fill('sk-mg-wrong');
    await models.getByRole('button', { name: 'Send' }).click();
    await models.getByText('"code": "invalid_api_key"').waitFor();
    expect(
      await stranger.evaluate(() => JSON.stringify([localStorage, sessionStorage, document.cookie])),
    ).not.to.contain('sk-mg-wrong');
    await stranger.context().close();
  });

  it('works by keyboard, and breaks no policy', async () => {
    expect(complaints.filter((text) => !/status of 4\d\d/.test(text))).to.deep.equal([]);
    await open('chat');
    await page.getByRole('tab', { name: 'Links' }).click();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Tab');
    // The link to the page of images is the next stop after the tabs.
    expect(await page.evaluate(() => (document.activeElement as HTMLAnchorElement).pathname)).to.equal('/images');
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.closest('[role="tabpanel"]')?.id)).to.equal('chat');
    await page.goto('about:blank');
    await page.goto(`${app.url}/playground#images`);
    await page.waitForURL(`${app.url}/images`);
  });

  for (const locale of variants(['en-GB', 'vi-VN'] as const, (one) => one === 'vi-VN')) {
    it(`is small at the first visit, for ${locale}`, async () => {
      const context = await browser.newContext({ locale, storageState: await page.context().storageState() });
      const visit = await context.newPage();
      const session = await context.newCDPSession(visit);
      let bytes = 0;
      await session.send('Network.enable');
      session.on('Network.loadingFinished', ({ encodedDataLength }) => {
        bytes += encodedDataLength;
      });
      await visit.goto(`${app.url}/playground`, { waitUntil: 'networkidle' });
      expect(await visit.getAttribute('html', 'lang')).to.equal(locale.slice(0, 2));
      await visit.locator('#tab-chat').click();
      await visit.locator('#chat-text').fill('Ahoy!');
      await visit.keyboard.press('Enter');
      await visit.locator('.chat-prose:not(.chat-plain)').getByText('You said: Ahoy!').waitFor();
      expect(bytes).to.be.within(60_000, MAX_BYTES);
      await context.close();
    });
  }
});
