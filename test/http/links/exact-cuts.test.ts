/** Exact cuts of videos: they begin and end at the wanted picture, with its sound, where the operator allows them. */

import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { ffmpegPath } from '../../support/audio/ffmpeg.js';
import {
  type Clips,
  inspect,
  makeClips,
  picturesOf,
  SECONDS,
  statedDuration,
} from '../../support/links/video-clips.js';
import { variants } from '../../support/runner/variants.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';
import { type MediaItem, startMediaOrigin } from './media-origin.js';

const GATEWAY = 'http://gateway.example';
const RATE = 10;
const PICTURE = { kind: 'video', mime: 'video/mp4', has_audio: false } as const;
const SOUND = { kind: 'audio', mime: 'audio/mp4' } as const;

describe('exact cuts of videos', function () {
  this.timeout(60_000);
  let origin: Awaited<ReturnType<typeof startMediaOrigin>>;
  let app: ListeningApp;
  let key: string;
  let clips: Clips;

  before(async function () {
    if (!ffmpegPath) this.skip();
    clips = await makeClips();
    origin = await startMediaOrigin();
  });

  afterEach(() => app?.close());

  after(() => origin?.close());

  async function start(exactCutSeconds: number): Promise<void> {
    app = await startApp({
      extractor: origin.extractor,
      mediaProxy: 'on',
      gateway: {
        mediaLinks: { baseUrl: GATEWAY, secrets: [randomBytes(32)], spoolBytes: 16 * 1024 * 1024, exactCutSeconds },
        services: { http: origin.http },
      },
    });
    key = await app.makeKey();
  }

  async function load(item: MediaItem, query: string, container: 'mp4' | 'webm' = 'mp4') {
    const id = origin.put(item);
    const { json } = await app.extract(key, { url: `https://invented.example/item/${id}`, include_media_links: true });
    const link = (json.data.media.video_download_links[container] as string).replace(GATEWAY, app.url);
    const response = await fetch(link + query);
    return { status: response.status, headers: response.headers, body: Buffer.from(await response.arrayBuffer()) };
  }

  const tracks = (): MediaItem => ({
    entries: [PICTURE, SOUND],
    content: [clips.get('picture.mp4'), clips.get('sound.mp4')],
  });
  const codeOf = ({ status, body }: { status: number; body: Buffer }) => {
    const { code, param } = JSON.parse(body.toString()).error;
    return [status, code, param];
  };

  /** Which picture of the whole clip each of `body` is most like. */
  async function positions(body: Buffer, of: Buffer): Promise<number[]> {
    const [all, cut] = await Promise.all([picturesOf(of), picturesOf(body)]);
    const difference = (one: Buffer, other: Buffer) =>
      one.reduce((sum, value, index) => sum + Math.abs(value - (other[index] ?? 0)), 0);
    return cut.map((picture) => {
      const differences = all.map((one) => difference(picture, one));
      return differences.indexOf(Math.min(...differences));
    });
  }

  it('have the pictures of the wanted time and no others, with their sound', async () => {
    await start(5);
    const playlist: MediaItem = {
      entries: [{ kind: 'manifest', mime: 'application/vnd.apple.mpegurl' }],
      content: [clips.get('both.m3u8')],
      files: clips.matching(/^both\d\.ts$/),
    };
    const file: MediaItem = {
      entries: [{ kind: 'video', mime: 'video/mp4', size: 100_000 }],
      content: [clips.get('late.mp4')],
    };
    const webm: MediaItem = {
      entries: [
        { ...PICTURE, mime: 'video/webm' },
        { ...SOUND, mime: 'audio/webm' },
      ],
      content: [clips.get('picture.webm'), clips.get('sound.webm')],
    };
    const items = [tracks(), playlist, file, webm];
    for (const item of variants(items, (one) => one === items[0] || one === webm)) {
      const container = item === webm ? 'webm' : 'mp4';
      const { status, headers, body } = await load(item, '?start=2.5&end=5.1&exact=1', container);
      expect(status, container).to.equal(200);
      expect([headers.get('x-cut-start'), headers.get('x-cut-end')]).to.deep.equal(['2.500', '5.100']);
      const found = await positions(body, clips.get(item === webm ? 'picture.webm' : 'picture.mp4'));
      expect(found).to.have.length(26);
      // Neighbours are much alike after they were encoded twice.
      for (const [index, at] of found.entries()) expect(at, `${found}`).to.be.closeTo(25 + index, 2);
      expect([found[0], found.at(-1)]).to.deep.equal([25, 50]);
      const [picture, sound] = await inspect(body);
      expect([picture?.codec, sound?.codec]).to.deep.equal(item === webm ? ['vp9', 'opus'] : ['h264', 'aac']);
      expect((sound?.last ?? 0) - (sound?.first ?? 0)).to.be.closeTo(2.6, 0.1);
      if (item !== webm) expect(await statedDuration(body)).to.be.closeTo(2.6, 0.01);
    }
  });

  it('go to the end of the video without one, and begin with it without a start', async () => {
    await start(5);
    const last = await load(tracks(), '?start=6.3&exact=1');
    expect(last.headers.get('x-cut-end')).to.equal(`${SECONDS}.000`);
    expect(await picturesOf(last.body)).to.have.length((SECONDS - 6.3) * RATE);
    const first = await load(tracks(), '?end=1.5&exact=1');
    expect(await picturesOf(first.body)).to.have.length(1.5 * RATE);
  });

  it('are refused if they are too long, without times, or where they are off', async () => {
    await start(5);
    expect(codeOf(await load(tracks(), '?start=1&end=6.5&exact=1'))).to.deep.equal([400, 'invalid_value', 'end']);
    expect(codeOf(await load(tracks(), '?start=1&exact=1'))).to.deep.equal([400, 'invalid_value', 'end']);
    expect(codeOf(await load(tracks(), '?exact=1'))).to.deep.equal([400, 'invalid_value', 'exact']);
    expect(codeOf(await load(tracks(), '?start=1&exact=yes'))).to.deep.equal([400, 'invalid_value', 'exact']);
    await app.close();
    await start(0);
    const off = await load(tracks(), '?start=1&end=2&exact=1');
    expect(codeOf(off)).to.deep.equal([400, 'unsupported_value', 'exact']);
    expect(off.body.toString()).to.contain('EXACT_CUT_SECONDS');
  });

  it('end the work when their reader leaves', async () => {
    await start(5);
    const id = origin.put(tracks());
    const { json } = await app.extract(key, { url: `https://invented.example/item/${id}`, include_media_links: true });
    const link = (json.data.media.video_download_links.mp4 as string).replace(GATEWAY, app.url);
    for (let count = 0; count < 40; count += 1) {
      const leaving = new AbortController();
      const asked = fetch(`${link}?start=0.1&end=${1 + count / 100}&exact=1`, { signal: leaving.signal });
      setTimeout(() => leaving.abort(), 5 * (count % 20));
      await asked.then(
        (response) => response.body?.cancel(),
        () => undefined,
      );
    }
    // A line of 2 and 16 that were left would refuse it.
    expect((await load(tracks(), '?start=2&end=3&exact=1')).status).to.equal(200);
  });
});
