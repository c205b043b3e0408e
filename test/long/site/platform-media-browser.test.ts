/** What the playground offers of each platform plays to its end in a real browser, from hosts that behave as theirs do. */

import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import type { Browser, Page } from 'playwright-core';
import { createPepper } from '../../../server/keys/index.js';
import { type SignInApp, startSignInApp } from '../../http/accounts/sign-in-app.js';
import { type MediaItem, startMediaOrigin } from '../../http/links/media-origin.js';
import { useAccount } from '../../support/accounts/used-account.js';
import { ffmpegPath, runFfmpeg, tone } from '../../support/audio/ffmpeg.js';
import { chromiumFor } from '../../support/browser/chromium.js';
import { launchPageBrowser, signInAs } from '../../support/browser/page-browser.js';
import { invented } from '../../support/links/invented-plugin.js';
import { type HostRules, mediaHost, PLATFORM_RULES } from '../../support/links/media-host.js';

const SECONDS = 12;
/** In MP4, these play in every Chromium. */
const CODECS = ['-c:v', 'libsvtav1', '-preset', '12', '-g', '10', '-c:a', 'libopus'];
const FRAGMENTS = ['-movflags', 'frag_keyframe+empty_moov+default_base_moof+global_sidx', '-f', 'mp4'];

describe('media of the platforms in a real browser', function () {
  this.timeout(180_000);
  let origin: Awaited<ReturnType<typeof startMediaOrigin>>;
  let app: SignInApp;
  let browser: Browser;
  let page: Page;
  let files: Record<'whole' | 'late' | 'picture' | 'sound', Buffer>;

  before(async function () {
    if (!ffmpegPath) this.skip();
    const executable = await chromiumFor(this);
    files = await makeFiles();
    origin = await startMediaOrigin();
    const gateway = {
      mediaLinks: { baseUrl: 'http://gateway.example', secrets: [randomBytes(32)], spoolBytes: 64 * 1024 * 1024 },
      services: { http: origin.http },
    };
    app = await startSignInApp({ plugins: [{ use: invented(origin.extractor) }], gateway, mediaProxy: 'site' });
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
  });

  after(async () => {
    await browser?.close();
    await app?.close();
    await origin?.close();
  });

  /** Shows an item in the playground. */
  async function show(item: MediaItem): Promise<void> {
    const id = origin.put({ ...item, extraction: { mediaHeaders: { cookie: 'visit=0123abcd' } } });
    await page.getByLabel('Public link').fill(`https://invented.example/item/${id}`);
    await page.keyboard.press('Enter');
    await page.locator('.document', { hasText: `Item ${id}` }).waitFor();
    await page.locator('.document video').first().waitFor();
  }

  /** Plays from the beginning, jumps if the player can, and plays to the end. */
  async function play(selector: string, jumps: boolean) {
    const video = page.locator(selector).first();
    return video.evaluate(
      async (element, { canJump, end }) => {
        const player = element as HTMLVideoElement;
        const on = (name: string) =>
          new Promise<void>((resolve, reject) => {
            player.addEventListener(name, () => resolve(), { once: true });
            player.addEventListener('error', () => reject(new Error(player.error?.message)), { once: true });
          });
        player.muted = true;
        if (player.readyState === 0) {
          const loaded = on('loadedmetadata');
          player.load();
          await loaded;
        }
        const { duration } = player;
        const ended = on('ended');
        await player.play();
        if (canJump) {
          const jumped = on('seeked');
          player.currentTime = end - 2;
          await jumped;
        } else player.playbackRate = 4;
        await ended;
        return { duration, time: player.currentTime, width: player.videoWidth };
      },
      { canJump: jumps, end: SECONDS },
    );
  }

  for (const [platform, rules] of Object.entries(PLATFORM_RULES)) {
    it(`play files of ${platform}, with jumps`, async () => {
      const content = [mediaHost(files.whole, rules)];
      await show({ entries: [{ kind: 'video', mime: 'video/mp4' }], content });
      const { duration, time, width } = await play('.document video[src*="/v1/media/"]', true);
      expect([duration, time].map(Math.round)).to.deep.equal([SECONDS, SECONDS]);
      expect(width).to.equal(320);
    });

    it(`play merged videos of ${platform}, which show their duration`, async () => {
      await show(apart(files.picture, files.sound, rules));
      const { duration, time, width } = await play('.document video[src*="/v1/extract/video/"]', false);
      expect([duration, time].map(Math.round)).to.deep.equal([SECONDS, SECONDS]);
      expect(width).to.equal(320);
    });
  }

  it('play files whose index is at their end', async () => {
    const entries = [{ kind: 'video', mime: 'video/mp4' }] as const;
    await show({ entries, content: [mediaHost(files.late, {})] });
    const { time } = await play('.document video[src*="/v1/media/"]', true);
    expect(Math.round(time)).to.equal(SECONDS);
  });
});

function apart(picture: Buffer, sound: Buffer, rules: HostRules): MediaItem {
  return {
    entries: [
      { kind: 'video', mime: 'video/mp4', has_audio: false, size: picture.length },
      { kind: 'audio', mime: 'audio/mp4', size: sound.length },
    ],
    content: [mediaHost(picture, rules), mediaHost(sound, rules)],
    common: { duration_seconds: SECONDS },
  };
}

async function makeFiles() {
  const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-platforms-'));
  const at = (name: string) => path.join(folder, `${name}.mp4`);
  try {
    const picture = ['-f', 'lavfi', '-i', `testsrc2=size=320x180:rate=10:duration=${SECONDS}`];
    await runFfmpeg(...picture, ...tone(SECONDS), ...CODECS, at('late'));
    await runFfmpeg(
      ...['-i', at('late'), '-c', 'copy', '-movflags', 'faststart', at('whole')],
      ...['-map', '0:v', '-c', 'copy', ...FRAGMENTS, at('picture')],
      ...['-map', '0:a', '-c', 'copy', '-frag_duration', '1000000', ...FRAGMENTS, at('sound')],
    );
    const names = ['whole', 'late', 'picture', 'sound'] as const;
    const contents = await Promise.all(names.map((name) => readFile(at(name))));
    return Object.fromEntries(names.map((name, index) => [name, contents[index]])) as Record<
      (typeof names)[number],
      Buffer
    >;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
