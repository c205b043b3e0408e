/** Merged videos of files whose index is at the end, as encoders leave it, and the duration that a merged video states. */

import { randomBytes } from 'node:crypto';
import { get, type IncomingMessage } from 'node:http';
import { expect } from 'chai';
import { ffmpegPath } from '../../support/audio/ffmpeg.js';
import { type Clips, inspect, makeClips, SECONDS, statedDuration } from '../../support/links/video-clips.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';
import { type MediaItem, startMediaOrigin } from './media-origin.js';

const GATEWAY = 'http://gateway.example';
const PICTURE = { kind: 'video', mime: 'video/mp4', has_audio: false } as const;
const SOUND = { kind: 'audio', mime: 'audio/mp4' } as const;
const HLS = { kind: 'manifest', mime: 'application/vnd.apple.mpegurl' } as const;

describe('merged videos of whole files', function () {
  this.timeout(60_000);
  let origin: Awaited<ReturnType<typeof startMediaOrigin>>;
  let app: ListeningApp;
  let key: string;
  let clips: Clips;

  before(async function () {
    if (!ffmpegPath) this.skip();
    clips = await makeClips();
    origin = await startMediaOrigin();
    app = await startApp({
      extractor: origin.extractor,
      mediaProxy: 'on',
      gateway: {
        mediaLinks: { baseUrl: GATEWAY, secrets: [randomBytes(32)], spoolBytes: 16 * 1024 * 1024 },
        services: { http: origin.http },
      },
    });
    key = await app.makeKey();
  });

  after(async () => {
    await app?.close();
    await origin?.close();
  });

  async function load(item: MediaItem, query = '', container: 'mp4' | 'webm' = 'mp4') {
    const id = origin.put(item);
    const { json } = await app.extract(key, { url: `https://invented.example/item/${id}`, include_media_links: true });
    const link = (json.data.media.video_download_links[container] as string).replace(GATEWAY, app.url);
    const response = await new Promise<IncomingMessage>((resolve, reject) =>
      get(link + query, resolve).once('error', reject),
    );
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    return { id, link, status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) };
  }

  const whole = (content: MediaItem['content'][number]): MediaItem => ({
    entries: [{ kind: 'video', mime: 'video/mp4' }],
    content: [content],
  });

  async function expectVideo(body: Buffer, seconds: number, codecs = ['h264', 'aac']) {
    const [picture, sound] = await inspect(body);
    expect([picture?.codec, sound?.codec]).to.deep.equal(codecs);
    expect(picture?.packets).to.equal(seconds * 10);
    expect(Math.abs((picture?.first ?? 0) - (sound?.first ?? 9))).to.be.lessThan(0.1);
    expect((sound?.last ?? 0) - (sound?.first ?? 0)).to.be.closeTo(seconds, 0.15);
  }

  it('have all of a file whose index is at the end, and fetch its media once', async () => {
    for (const name of ['late.mp4', 'late.mov', 'whole.mp4']) {
      origin.requests.length = 0;
      const { status, body } = await load(whole(clips.get(name)));
      expect(status, name).to.equal(200);
      await expectVideo(body, SECONDS);
      expect(origin.requests.length, name).to.equal(name === 'whole.mp4' ? 1 : 2);
    }
  });

  it('have all of two such files', async () => {
    const content = [clips.get('late-picture.mp4'), clips.get('late-sound.mp4')];
    const { body } = await load({ entries: [PICTURE, SOUND], content });
    await expectVideo(body, SECONDS);
    const cut = await load(
      {
        entries: [
          { ...PICTURE, size: 100_000 },
          { ...SOUND, size: 100_000 },
        ],
        content,
      },
      '?start=4',
    );
    expect(cut.headers['x-cut-start']).to.equal('4.000');
    await expectVideo(cut.body, SECONDS - 4);
  });

  it('are refused if such an index is damaged, too large or missing', async () => {
    const late = clips.get('late.mp4');
    const at = late.lastIndexOf('moov') - 4;
    const table = Buffer.from(late);
    table.writeUInt32BE(0xffffff, table.lastIndexOf('stco') + 8);
    const large = Buffer.concat([late.subarray(0, at), boxHeader(100 * 1024 * 1024, 'moov'), late.subarray(at + 8)]);
    for (const content of [table, large, late.subarray(0, at), late.subarray(0, at + 200)]) {
      const { status, body } = await load(whole(content));
      expect([status, JSON.parse(body.toString()).error.code]).to.deep.equal([502, 'media_unavailable']);
    }
  });

  it('have no VP9 in an MP4, which browsers could not open', async () => {
    const vp9 = { ...PICTURE, codecs: 'vp09.00.10.08', height: 96 };
    const content = [randomBytes(9_000), clips.get('picture.mp4'), clips.get('sound.mp4')];
    const { body } = await load({ entries: [vp9, { ...PICTURE, codecs: 'avc1.42c00a', height: 48 }, SOUND], content });
    await expectVideo(body, SECONDS);
  });

  it('state how long they are', async () => {
    const tracks = (names: string[]): MediaItem => ({ entries: [PICTURE, SOUND], content: names.map(clips.get) });
    const webm = {
      entries: [
        { ...PICTURE, mime: 'video/webm' },
        { ...SOUND, mime: 'audio/webm' },
      ],
      content: [clips.get('picture.webm'), clips.get('sound.webm')],
      common: { duration_seconds: SECONDS },
    } as const;
    const playlist = {
      entries: [HLS],
      content: [clips.get('both.m3u8')],
      files: clips.matching(/^both\d\.ts$/),
    };
    const cases: [MediaItem, string, number][] = [
      [whole(clips.get('late.mp4')), '', SECONDS],
      [tracks(['late-picture.mp4', 'late-sound.mp4']), '', SECONDS],
      [{ ...tracks(['picture.mp4', 'sound.mp4']), common: { duration_seconds: SECONDS } }, '', SECONDS],
      [tracks(['picture.mp4', 'sound.mp4']), '?start=3&end=5.5', 4],
      [playlist, '', SECONDS],
      [playlist, '?start=6', 2],
      [webm, '', SECONDS],
      [webm, '?start=6', 2],
    ];
    for (const [item, query, seconds] of cases) {
      const { body } = await load(item, query, item === webm ? 'webm' : 'mp4');
      expect(await statedDuration(body), JSON.stringify([item.entries, query])).to.be.closeTo(seconds, 0.1);
    }
    const unknown = await load(tracks(['picture.mp4', 'sound.mp4']));
    await expectVideo(unknown.body, SECONDS);
  });
});

function boxHeader(length: number, type: string): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt32BE(length);
  header.write(type, 4, 'latin1');
  return header;
}
