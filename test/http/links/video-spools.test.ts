/** Merged videos that are kept for a while: viewers share one, any range of it is read, and it is deleted in time. */

import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import path from 'node:path';
import { expect } from 'chai';
import { type Clock, systemClock } from 'mediagate';
import { VideoSpools } from '../../../core/extraction/index.js';
import { ScratchFolders } from '../../../core/media/index.js';
import { ffmpegPath } from '../../support/audio/ffmpeg.js';
import { codeOf } from '../../support/code-of.js';
import { type Clips, inspect, makeClips } from '../../support/links/video-clips.js';
import { until } from '../../support/until.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';
import { type MediaItem, startMediaOrigin } from './media-origin.js';

const GATEWAY = 'http://gateway.example';
const HOUR_MS = 3_600_000;
/** Of the clips, several times. */
const SPOOL_BYTES = 4 * 1024 * 1024;

describe('spools of videos', function () {
  this.timeout(60_000);
  let origin: Awaited<ReturnType<typeof startMediaOrigin>>;
  let app: ListeningApp;
  let key: string;
  let clips: Clips;
  /** Ends long sleeps, and moves the clock behind them. */
  let wake: (() => void)[] = [];
  let elapsed = 0;
  const clock: Clock = {
    ...systemClock,
    now: () => systemClock.now() + elapsed,
    sleep(ms, signal) {
      if (ms < HOUR_MS) return systemClock.sleep(ms, signal);
      return new Promise((resolve, reject) => {
        wake.push(resolve);
        signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      });
    },
  };

  before(async function () {
    if (!ffmpegPath) this.skip();
    clips = await makeClips();
    origin = await startMediaOrigin();
    app = await startApp({
      extractor: origin.extractor,
      clock,
      mediaProxy: 'on',
      gateway: {
        mediaLinks: { baseUrl: GATEWAY, secrets: [randomBytes(32)], spoolBytes: SPOOL_BYTES },
        services: { http: origin.http },
      },
    });
    key = await app.makeKey();
  });

  after(async () => {
    await app?.close();
    await origin?.close();
  });

  afterEach(async () => {
    elapsed += 7 * HOUR_MS;
    for (const end of wake) end();
    wake = [];
    await until(async () => (await spooled()).length === 0);
  });

  const tracks = (more: Partial<MediaItem['entries'][number]> = {}): MediaItem => ({
    entries: [
      { kind: 'video', mime: 'video/mp4', has_audio: false, size: clips.get('picture.mp4').length, ...more },
      { kind: 'audio', mime: 'audio/mp4', size: clips.get('sound.mp4').length },
    ],
    content: [clips.get('picture.mp4'), clips.get('sound.mp4')],
  });

  async function linkOf(item: MediaItem) {
    const id = origin.put(item);
    const { json } = await app.extract(key, { url: `https://invented.example/item/${id}`, include_media_links: true });
    return { id, link: json.data.media.video_download_links.mp4.replace(GATEWAY, '') as string };
  }

  const open = (target: string, headers: Record<string, string> = {}, method = 'GET') =>
    new Promise<IncomingMessage>((resolve, reject) =>
      get(app.url + target, { headers, method }, resolve).once('error', reject),
    );

  async function load(target: string, headers: Record<string, string> = {}, method = 'GET') {
    const response = await open(target, headers, method);
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    return { status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) };
  }

  async function spooled(): Promise<string[]> {
    const names = await readdir(path.join(app.dataDir, 'scratch')).catch(() => []);
    return names.filter((name) => name.startsWith('mediagate-video-'));
  }

  it('are shared by viewers, and give any range once they are whole', async () => {
    const { link, id } = await linkOf(tracks());
    origin.requests.length = 0;
    const [one, other] = await Promise.all([load(link), load(link)]);
    expect([one?.status, one?.body.equals(other?.body ?? Buffer.alloc(0))]).to.deep.equal([200, true]);
    expect(origin.requests.filter(({ path: asked }) => asked.startsWith(`/${id}/0?`)).length).to.equal(1);
    const whole = one?.body ?? Buffer.alloc(0);
    const part = await load(link, { range: 'bytes=1000-1999' });
    expect([part.status, part.headers['content-range']]).to.deep.equal([206, `bytes 1000-1999/${whole.length}`]);
    expect(part.body.equals(whole.subarray(1_000, 2_000))).to.equal(true);
    const last = await load(link, { range: 'bytes=-10', 'if-range': part.headers.etag ?? '' });
    expect(last.body.equals(whole.subarray(-10))).to.equal(true);
    expect((await load(`${link}?start=4`)).headers).to.include({ 'x-cut-start': '4.000', 'accept-ranges': 'none' });
    expect((await load(`${link}?start=4`, { range: 'bytes=0-0' })).headers['x-cut-start']).to.equal('4.000');
    expect((await spooled()).length).to.equal(2);
  });

  it('give a cut after the video was watched, since the limit of a link is that of its whole video', async () => {
    const { link } = await linkOf(tracks({ size: 2_500_000 }));
    const cut = `${link}?start=2&end=4`;
    const { length } = (await load(cut)).body;
    let sent = 0;
    // More than three times what a small file may give.
    while (sent <= 3.2 * 1024 * 1024) sent += (await load(link)).body.length;
    const again = await load(cut);
    expect([again.status, again.body.length]).to.deep.equal([200, length]);
  });

  it('are waited for by requests of a range', async () => {
    const { link } = await linkOf(tracks());
    const { status, headers, body } = await load(link, { range: 'bytes=5-14' });
    expect([status, headers['accept-ranges'], body.length]).to.deep.equal([206, 'bytes', 10]);
  });

  it('end with their last viewer while they are not whole', async () => {
    const picture = clips.get('picture.mp4');
    const item = tracks();
    const { link } = await linkOf({
      ...item,
      content: [
        (_request, response) => {
          response.writeHead(206, {
            'content-range': `bytes 0-${picture.length - 1}/${picture.length}`,
            'content-length': picture.length,
          });
          response.write(picture.subarray(0, picture.length - 100));
        },
        clips.get('sound.mp4'),
      ],
    });
    const viewers = await Promise.all([open(link), open(link)]);
    expect((await spooled()).length).to.equal(1);
    viewers[0]?.destroy();
    viewers[1]?.destroy();
    await until(async () => (await spooled()).length === 0);
  });

  it('make room for others, and have none for what is too large or of unknown size', async () => {
    const large = await linkOf(tracks({ size: SPOOL_BYTES }));
    const unknown = await linkOf(tracks({ size: undefined as never }));
    for (const { link } of [large, unknown]) {
      expect((await load(link, { range: 'bytes=5-14' })).status).to.equal(200);
      expect(await spooled()).to.deep.equal([]);
    }
    // With what a file needs beyond its tracks, only one of them has room.
    const size = Math.floor((SPOOL_BYTES - 1_100_000) / 1.1);
    const links = await Promise.all([1, 2, 3].map(() => linkOf(tracks({ size }))));
    for (const { link } of links) {
      expect((await load(link, { range: 'bytes=0-9' })).status).to.equal(206);
      await until(async () => (await spooled()).length === 1);
    }
  });

  it('take more than the platform states while there is room', async () => {
    const spoolOf = async (maxBytes: number) => {
      const folders = new ScratchFolders(path.join(app.dataDir, 'spools'));
      const spools = new VideoSpools({ folders, maxBytes, clock: systemClock });
      const spool = await spools.begin('key', {
        facts: { fileName: 'a.mp4', plainName: 'a.mp4', contentType: 'video/mp4', cut: undefined },
        bytes: 1,
        expiresAt: Date.now() + HOUR_MS,
        run: (write) => write(Buffer.alloc(3 * 1024 * 1024)),
        life: new AbortController(),
      });
      const size = await spool?.whole.then(({ size: whole }) => whole);
      await spools.close();
      return size;
    };
    expect(await spoolOf(4 * 1024 * 1024)).to.equal(3 * 1024 * 1024);
    const small = await codeOf(spoolOf(2 * 1024 * 1024));
    expect(small).to.equal('media_unavailable');
  });

  it('fetch no faster than their key may', async () => {
    const rate = 400_000;
    const padding = 600_000;
    const padded = (name: string) => Buffer.concat([clips.get(name), freeBox(padding)]);
    const slow = await startApp({
      extractor: origin.extractor,
      mediaProxy: 'on',
      gateway: {
        mediaLinks: { baseUrl: app.url, secrets: [randomBytes(32)], spoolBytes: SPOOL_BYTES, keyBytesPerSecond: rate },
        services: { http: origin.http },
      },
    });
    try {
      const whole = padded('whole.mp4');
      const sized = { kind: 'video', mime: 'video/mp4', size: whole.length } as const;
      const slowKey = await slow.makeKey();
      const first = async (item: MediaItem, query: string) => {
        const url = `https://invented.example/item/${origin.put(item)}`;
        const { json } = await slow.extract(slowKey, { url, include_media_links: true });
        const target = new URL(json.data.media.video_download_links.mp4).pathname + query;
        const began = performance.now();
        // A range waits until the video is whole, a cut of a file until that is here: neither is sent meanwhile.
        const answer = await slow.request(target, { headers: { range: 'bytes=0-0' } });
        return { status: answer.status, seconds: (performance.now() - began) / 1000 };
      };
      const apart = { ...tracks(), content: [padded('picture.mp4'), clips.get('sound.mp4')] };
      // The last chunk of a track is not waited for.
      const least = (padding - 2 * 65_536) / rate;
      for (const [item, query] of [
        [apart, ''],
        [{ entries: [sized], content: [whole] }, '?start=4'],
      ] as const) {
        const { status, seconds } = await first(item, query);
        expect([status, seconds >= least], `${query} ${seconds}`).to.deep.equal([206, true]);
      }
    } finally {
      await slow.close();
    }
  });

  it('take files without an index, to cut them', async () => {
    const whole = clips.get('whole.mp4');
    const { link, id } = await linkOf({
      entries: [{ kind: 'video', mime: 'video/mp4', size: whole.length }],
      content: [whole],
    });
    expect((await load(`${link}?start=3.5`, {}, 'HEAD')).headers).not.to.have.property('x-cut-start');
    const { status, headers, body } = await load(`${link}?start=3.5&end=5`);
    expect([status, headers['x-cut-start'], headers['x-cut-end']]).to.deep.equal([200, '2.000', '5.000']);
    const [picture, sound] = await inspect(body);
    expect([picture?.codec, picture?.packets, sound?.codec]).to.deep.equal(['h264', 30, 'aac']);
    expect(Math.abs((picture?.first ?? 0) - (sound?.first ?? 9))).to.be.lessThan(0.1);
    expect((sound?.last ?? 0) - (sound?.first ?? 0)).to.be.closeTo(3, 0.15);
    const late = await load(`${link}?start=9`);
    expect([late.status, JSON.parse(late.body.toString()).error.param]).to.deep.equal([400, 'start']);
    const unfit = await linkOf({
      entries: [{ kind: 'video', mime: 'video/mp4', size: 2 * SPOOL_BYTES }],
      content: [whole],
    });
    const refused = await load(`${unfit.link}?start=1`);
    expect(JSON.parse(refused.body.toString()).error.code).to.equal('unsupported_value');
    expect(origin.resolved(id)).to.equal(1);
  });

  it('take two files without an index, and cut them together', async () => {
    const [picture, sound] = ['picture.mp4', 'sound.mp4'].map((name) => withoutIndex(clips.get(name)));
    if (!picture || !sound) throw new Error('there are no clips');
    const { link } = await linkOf({ ...tracks(), content: [picture, sound] });
    const { headers, body } = await load(`${link}?start=4.5`);
    expect(headers['x-cut-start']).to.equal('4.000');
    const [video, audio] = await inspect(body);
    expect([video?.packets, audio?.codec]).to.deep.equal([40, 'aac']);
    expect(Math.abs((video?.first ?? 0) - (audio?.first ?? 9))).to.be.lessThan(0.1);
    expect(await spooled()).to.have.lengthOf(1);
  });
});

/** Bytes that players skip. */
function freeBox(length: number): Buffer {
  const box = Buffer.alloc(length);
  box.writeUInt32BE(length);
  box.write('free', 4, 'latin1');
  return box;
}

/** The name of the index is another one. */
function withoutIndex(file: Buffer): Buffer {
  const copy = Buffer.from(file);
  copy.write('free', copy.indexOf('sidx'), 'latin1');
  return copy;
}
