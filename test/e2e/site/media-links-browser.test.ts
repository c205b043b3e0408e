/** Files of platforms in the playground, in a real browser: videos play to their end, seek and are saved; pictures show. */

import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import type { Browser, Page } from 'playwright-core';
import { createPepper } from '../../../server/keys/index.js';
import { type SignInApp, startSignInApp } from '../../http/accounts/sign-in-app.js';
import { startMediaOrigin } from '../../http/links/media-origin.js';
import { useAccount } from '../../support/accounts/used-account.js';
import { ffmpegPath, runFfmpeg, tone } from '../../support/audio/ffmpeg.js';
import { chromiumFor } from '../../support/browser/chromium.js';
import { findings, launchPageBrowser, signInAs } from '../../support/browser/page-browser.js';
import { sampleImage } from '../../support/images/sample-images.js';
import { invented } from '../../support/links/invented-plugin.js';
import { longIt } from '../../support/runner/variants.js';

const SECONDS = 20;
const CODECS = [
  '-c:v',
  'libvpx',
  '-deadline',
  'realtime',
  '-cpu-used',
  '8',
  '-b:v',
  '2M',
  '-g',
  '10',
  '-c:a',
  'libopus',
];
const SUBTITLES =
  'WEBVTT\n\n00:00:01.000 --> 00:00:03.000\nTwo tugs leave the quay.\n\n00:00:14.000 --> 00:00:17.000\nThe lock is narrow.\n';
const TITLE = `Tugs ${'🚢'.repeat(3)} of Ostend`;

describe('media links in a real browser', function () {
  this.timeout(120_000);
  let origin: Awaited<ReturnType<typeof startMediaOrigin>>;
  let app: SignInApp;
  let browser: Browser;
  let page: Page;
  let folder: string;

  before(async function () {
    if (!ffmpegPath) this.skip();
    const executable = await chromiumFor(this);
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-videos-'));
    const file = path.join(folder, 'tugs.webm');
    const picture = ['-f', 'lavfi', '-i', `testsrc2=size=320x180:rate=10:duration=${SECONDS}`];
    await runFfmpeg(...picture, ...tone(SECONDS), ...CODECS, file);
    const track = (name: string) => [
      '-c',
      'copy',
      '-dash',
      '1',
      '-cues_to_front',
      '1',
      '-reserve_index_space',
      '4096',
      path.join(folder, name),
    ];
    await runFfmpeg('-i', file, '-map', '0:v', ...track('picture.webm'), '-map', '0:a', ...track('sound.webm'));
    origin = await startMediaOrigin();
    const gateway = {
      mediaLinks: { baseUrl: 'http://gateway.example', secrets: [randomBytes(32)] },
      services: { http: origin.http },
    };
    app = await startSignInApp({ plugins: [{ use: invented(origin.extractor) }], gateway, mediaProxy: 'site' });
    const image = await sampleImage({ width: 640, height: 360, format: 'png', seed: 3 });
    const id = origin.put({
      title: TITLE,
      extraction: { carousel: true },
      entries: [
        { kind: 'video', mime: 'video/webm' },
        { kind: 'image' },
        { kind: 'image' },
        { kind: 'subtitle', mime: 'text/vtt', language: 'en' },
      ],
      content: [await readFile(file), image, image, Buffer.from(SUBTITLES)],
    });
    browser = await launchPageBrowser(executable);
    page = await (await browser.newContext({ acceptDownloads: true })).newPage();
    await signInAs(page, app.url, { email: 'ann@example.com', name: 'Ann' });
    const [user] = await app.state.users.list({ limit: 1 });
    if (!user) throw new Error('nobody is signed in');
    await useAccount(app.state, user, createPepper(Buffer.alloc(32, 'playground')));
    await page.goto(`${app.url}/dashboard`);
    await page.getByLabel('Name of the new key').fill('laptop');
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByText('Your new key').waitFor();
    await page.goto(`${app.url}/playground#links`);
    await page.getByLabel('Public link').fill(`https://invented.example/item/${id}`);
    await page.keyboard.press('Enter');
    await page.locator('.document video').waitFor();
  });

  after(async () => {
    await browser?.close();
    await app?.close();
    await origin?.close();
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  it('play a video to its end, after a jump to its last seconds', async () => {
    const video = page.locator('.document video');
    expect(await video.getAttribute('src')).to.match(new RegExp(`^${app.url}/v1/media/`));
    const played = await video.evaluate(async (element, seconds) => {
      const player = element as HTMLVideoElement;
      player.muted = true;
      await player.play();
      const jumped = new Promise((resolve) => player.addEventListener('seeked', resolve, { once: true }));
      const ended = new Promise((resolve) => player.addEventListener('ended', resolve, { once: true }));
      player.currentTime = seconds - 2;
      await jumped;
      await ended;
      return { duration: player.duration, currentTime: player.currentTime, width: player.videoWidth };
    }, SECONDS);
    expect(played.duration).to.be.closeTo(SECONDS, 0.5);
    expect(played.currentTime).to.be.closeTo(SECONDS, 0.5);
    expect(played.width).to.equal(320);
  });

  longIt('show pictures', async () => {
    const widths = await page
      .locator('.document img')
      .evaluateAll((images) => images.map((image) => (image as HTMLImageElement).naturalWidth));
    expect(widths.length).to.be.greaterThan(0);
    expect(new Set(widths)).to.deep.equal(new Set([640]));
  });

  it('save a file under the title of the item', async () => {
    await page.locator('.document summary', { hasText: 'Media files' }).click();
    const saving = page.waitForEvent('download');
    await page.locator('.downloads a').first().click();
    const download = await saving;
    expect(download.suggestedFilename()).to.equal(`${TITLE}.webm`);
    const saved = await readFile((await download.path()) ?? '');
    expect(saved.equals(await readFile(path.join(folder, 'tugs.webm')))).to.equal(true);
  });

  longIt('save subtitles in three formats, and all files as a ZIP', async () => {
    const save = async (name: string) => {
      const saving = page.waitForEvent('download');
      await page.locator('.document:not(.skeleton)').getByRole('link', { name, exact: true }).click();
      return readFile((await (await saving).path()) ?? '');
    };
    expect((await save('TXT')).toString()).to.contain('Two tugs leave the quay.');
    expect((await save('SRT')).toString()).to.contain('00:00:01,000 --> 00:00:03,000');
    expect((await save('VTT')).toString()).to.contain('00:00:01.000 --> 00:00:03.000');
    const zip = await save('Download all');
    expect(zip.subarray(0, 4).toString('latin1')).to.equal('PK\x03\x04');
    expect(zip.byteLength).to.be.above((await readFile(path.join(folder, 'tugs.webm'))).byteLength);
  });

  it('play a video of separate tracks from a later time to its end, and save it', async () => {
    const [picture, sound] = await Promise.all(
      ['picture.webm', 'sound.webm'].map((name) => readFile(path.join(folder, name))),
    );
    if (!picture || !sound) throw new Error('there are no tracks');
    const id = origin.put({
      title: TITLE,
      entries: [
        { kind: 'video', mime: 'video/webm', has_audio: false },
        { kind: 'audio', mime: 'audio/webm' },
        { kind: 'subtitle', mime: 'text/vtt', language: 'en' },
      ],
      content: [picture, sound, Buffer.from(SUBTITLES)],
      common: {
        duration_seconds: SECONDS,
        chapters: [
          { title: 'The quay', start_seconds: 0 },
          { title: 'The lock', start_seconds: 12 },
        ],
      },
    });
    await page.getByLabel('Public link').fill(`https://invented.example/item/${id}`);
    await page.keyboard.press('Enter');
    const video = page.locator('.document video[src*="/v1/extract/video/"]');
    await video.waitFor();
    const ended = video.evaluate((element) => {
      const player = element as HTMLVideoElement;
      player.muted = true;
      return new Promise<{ time: number; width: number }>((resolve) =>
        player.addEventListener('ended', () => resolve({ time: player.currentTime, width: player.videoWidth }), {
          once: true,
        }),
      );
    });
    await page.locator('.document input[type=range]').fill(String(SECONDS - 2));
    const { time, width } = await ended;
    // From the key frame before, which is at most a second earlier.
    expect(time).to.be.within(1.5, 3.5);
    expect(width).to.equal(320);
    const saving = page.waitForEvent('download');
    await page.getByText('Download video').click();
    const download = await saving;
    expect(download.suggestedFilename()).to.equal(`${TITLE}.webm`);
    expect((await readFile((await download.path()) ?? '')).length).to.be.greaterThan(picture.length);
  });

  /** Second of the item that is played, once it has begun there. */
  const playedAt = (second: number) =>
    page.waitForFunction(
      (wanted) => {
        const video = document.querySelector<HTMLVideoElement>('.document video');
        return video?.src.endsWith(`start=${wanted}`) && video.currentTime > 0 && !video.paused;
      },
      second,
      { timeout: 30_000 },
    );

  it('play from a chapter, and from a line of the transcript that is searched for by keyboard', async () => {
    await page.locator('.document video').evaluate((element) => {
      (element as HTMLVideoElement).muted = true;
    });
    await page.getByRole('button', { name: '0:12 The lock' }).press('Enter');
    await playedAt(12);
    await page.getByRole('button', { name: 'Show transcript' }).press('Enter');
    await page.getByText('From the subtitles of the platform, English.').waitFor();
    const lines = page.locator('.timed-tall li');
    expect(await lines.allTextContents()).to.deep.equal([
      '0:00The quay',
      '0:01Two tugs leave the quay.',
      '0:12The lock',
      '0:14The lock is narrow.',
    ]);
    await page.getByLabel(/^Search in the transcript/).fill('LOCK');
    await page.getByText('1 line', { exact: true }).waitFor();
    expect(await page.locator('.timed-tall mark').allTextContents()).to.deep.equal(['lock']);
    await page.getByLabel(/^Search in the transcript/).press('Enter');
    await page.locator('.timed-tall li[aria-current]', { hasText: 'The lock is narrow.' }).waitFor();
    expect(await findings(page)).to.deep.equal([]);
  });

  longIt('save a cut, and explain times that are none', async () => {
    await page.locator('.document summary', { hasText: 'Cut' }).press('Enter');
    await page.getByRole('textbox', { name: 'From' }).fill('0:09');
    await page.getByRole('textbox', { name: 'To' }).fill('9');
    await page.getByRole('textbox', { name: 'To' }).press('Enter');
    await page.getByText('Give two times such as 1:35').waitFor();
    await page.getByRole('textbox', { name: 'To' }).fill('0:11');
    const saving = page.waitForEvent('download');
    await page.getByRole('textbox', { name: 'To' }).press('Enter');
    const cut = await readFile((await (await saving).path()) ?? '');
    expect(cut.byteLength).to.be.within(1_000, 500_000);
    await page.getByText(/^Cut from 0:0[89] to 0:1[12]\.$/).waitFor();
  });

  it('lead to the platform where nothing can be played', async () => {
    const id = origin.put({
      title: TITLE,
      entries: [{ kind: 'image' }],
      content: [],
      common: { duration_seconds: 60 },
    });
    await page.getByLabel('Public link').fill(`https://invented.example/item/${id}`);
    await page.keyboard.press('Enter');
    const link = page.getByRole('link', { name: /^Open on / });
    expect(await link.getAttribute('href')).to.match(/^https:\/\/invented\.example\//);
    expect(await page.locator('.document video').count()).to.equal(0);
    expect(await page.locator('#link-result').textContent()).not.to.match(/invented_|Read from invented/);
  });
});
