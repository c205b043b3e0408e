/** Videos by signed links: two tracks, playlists and manifests become one file; cuts, heights, and what is refused. */

import { createCipheriv, randomBytes } from 'node:crypto';
import { get, type IncomingMessage } from 'node:http';
import { expect } from 'chai';
import { type Clock, systemClock } from 'mediagate';
import { ffmpegPath } from '../../support/audio/ffmpeg.js';
import { type Clips, inspect, KEY_SECONDS, makeClips, SECONDS } from '../../support/links/video-clips.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';
import { sendRange } from './audio-origin.js';
import { type MediaItem, startMediaOrigin } from './media-origin.js';

const GATEWAY = 'http://gateway.example';
const PICTURE = { kind: 'video', mime: 'video/mp4', codecs: 'avc1.42c00a', has_audio: false, height: 48 } as const;
const SOUND = { kind: 'audio', mime: 'audio/mp4', codecs: 'mp4a.40.2' } as const;
const HLS = { kind: 'manifest', mime: 'application/vnd.apple.mpegurl' } as const;
const DASH = { kind: 'manifest', mime: 'application/dash+xml' } as const;

describe('links to videos', function () {
  this.timeout(60_000);
  let origin: Awaited<ReturnType<typeof startMediaOrigin>>;
  let app: ListeningApp;
  let key: string;
  let clips: Clips;
  let elapsed = 0;
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + elapsed };

  before(async function () {
    if (!ffmpegPath) this.skip();
    clips = await makeClips();
    origin = await startMediaOrigin();
    app = await startApp({
      extractor: origin.extractor,
      clock,
      mediaProxy: 'on',
      gateway: { mediaLinks: { baseUrl: GATEWAY, secrets: [randomBytes(32)] }, services: { http: origin.http } },
    });
    key = await app.makeKey();
  });

  after(async () => {
    await app?.close();
    await origin?.close();
  });

  beforeEach(() => {
    elapsed = 0;
  });

  async function mediaOf(item: MediaItem, byKey = key) {
    const id = origin.put(item);
    const { json } = await app.extract(byKey, {
      url: `https://invented.example/item/${id}`,
      include_media_links: true,
    });
    return { id, media: json.data.media };
  }

  async function linkOf(item: MediaItem, container: 'mp4' | 'webm' = 'mp4') {
    const { media, id } = await mediaOf(item);
    return { id, link: (media.video_download_links[container] as string).replace(GATEWAY, '') };
  }

  const tracks = (): MediaItem => ({
    entries: [PICTURE, SOUND],
    content: [clips.get('picture.mp4'), clips.get('sound.mp4')],
  });
  /** A playlist, which is the only entry, and files beside it. */
  const listed = (
    manifest: string,
    files: MediaItem['files'],
    entry: MediaItem['entries'][number] = HLS,
  ): MediaItem => ({
    entries: [entry],
    content: [Buffer.from(manifest)],
    files: files ?? {},
  });

  async function load(target: string, headers: Record<string, string> = {}, method = 'GET') {
    const response = await new Promise<IncomingMessage>((resolve, reject) =>
      get(app.url + target, { headers, method }, resolve).once('error', reject),
    );
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    return { status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) };
  }

  const codeOf = ({ body }: { body: Buffer }) => JSON.parse(body.toString()).error.code as string;

  /** Whole seconds of picture and sound that begin together. */
  async function expectVideo(body: Buffer, seconds: number, codecs = ['h264', 'aac']) {
    const [picture, sound] = await inspect(body);
    expect([picture?.type, picture?.codec, sound?.type, sound?.codec]).to.deep.equal([
      'video',
      codecs[0],
      'audio',
      codecs[1],
    ]);
    expect(picture?.packets).to.equal(seconds * 10);
    expect((picture?.last ?? 0) - (picture?.first ?? 0)).to.be.closeTo(seconds - 0.1, 0.01);
    expect(Math.abs((picture?.first ?? 0) - (sound?.first ?? 9))).to.be.lessThan(0.1);
    expect((sound?.last ?? 0) - (sound?.first ?? 0)).to.be.closeTo(seconds, 0.15);
  }

  it('are given for separate tracks, as MP4', async () => {
    const { link } = await linkOf(tracks());
    const { status, headers, body } = await load(link);
    expect(status, body.toString()).to.equal(200);
    expect(headers).to.include({
      'content-type': 'video/mp4',
      'accept-ranges': 'none',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
      'x-robots-tag': 'noindex',
    });
    expect(headers['content-disposition']).to.match(
      /^inline; filename="invented-\d+\.mp4"; filename\*=UTF-8''Item%20\d+\.mp4$/,
    );
    expect(headers).not.to.have.property('set-cookie');
    await expectVideo(body, SECONDS);
  });

  it('are the download link of a document if no file has more, and only with media links', async () => {
    const whole = { kind: 'video', mime: 'video/mp4', height: 32 } as const;
    const of = async (entries: MediaItem['entries']) => {
      const content = entries.map(() => Buffer.alloc(0));
      const { media, id } = await mediaOf({ entries, content });
      const { json } = await app.extract(key, { url: `https://invented.example/item/${id}` });
      const plain = json.data.media.download_links.video as string | null;
      return { linked: media.download_links.video, links: media.video_download_links, plain, entries: media.entries };
    };
    const separate = await of([PICTURE, SOUND]);
    expect([separate.linked, separate.plain]).to.deep.equal([separate.links.mp4, null]);
    const better = await of([whole, PICTURE, SOUND]);
    expect([better.linked, better.plain]).to.deep.equal([better.links.mp4, better.entries[0].url]);
    const enough = await of([{ ...whole, height: 48 }, PICTURE, SOUND]);
    expect([enough.linked, enough.plain]).to.deep.equal([enough.entries[0].proxy_url, enough.entries[0].url]);
    const listing = await of([HLS]);
    expect([listing.linked, listing.plain]).to.deep.equal([listing.links.mp4, null]);
    const pictures = await of([{ kind: 'image' }]);
    expect([pictures.linked, pictures.links, pictures.plain]).to.deep.equal([null, undefined, null]);
    const ofTwo = await of([PICTURE, { kind: 'image' }, SOUND]);
    expect(ofTwo.linked).to.equal(ofTwo.entries[0].proxy_url);
  });

  it('cannot cut a file without an index where no file is kept', async () => {
    const { link } = await linkOf({ entries: [{ ...PICTURE, has_audio: true }], content: [clips.get('whole.mp4')] });
    await expectVideo((await load(link)).body, SECONDS);
    expect(codeOf(await load(`${link}?start=2`))).to.equal('unsupported_value');
  });

  it('are given as WebM where the tracks need it', async () => {
    const entries = [
      { ...PICTURE, mime: 'video/webm', codecs: 'vp8' },
      { ...SOUND, mime: 'audio/webm', codecs: 'opus' },
    ];
    const { link } = await linkOf({ entries, content: [clips.get('picture.webm'), clips.get('sound.webm')] }, 'webm');
    const { status, headers, body } = await load(link);
    expect([status, headers['content-type']]).to.deep.equal([200, 'video/webm']);
    await expectVideo(body, SECONDS, ['vp8', 'opus']);
    const cut = await load(`${link}?start=5&end=6`);
    expect([cut.headers['x-cut-start'], cut.headers['x-cut-end']]).to.deep.equal(['4.000', '6.000']);
    await expectVideo(cut.body, 2, ['vp8', 'opus']);
  });

  it('are given for playlists with picture and sound together, and apart', async () => {
    const together = await linkOf(listed(clips.get('both.m3u8').toString(), clips.matching(/^both\d\.ts$/)));
    await expectVideo((await load(together.link)).body, SECONDS);
    const master = `#EXTM3U
      #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="Sound",DEFAULT=YES,URI="audio.m3u8"
      #EXT-X-STREAM-INF:BANDWIDTH=90000,RESOLUTION=64x48,AUDIO="a"
      video.m3u8`;
    const apart = await linkOf(listed(master, clips.matching(/^(?:audio|video).*\.(?:ts|m3u8)$/)));
    await expectVideo((await load(apart.link)).body, SECONDS);
    const cut = await load(`${apart.link}?start=3.5&end=5`);
    expect([cut.headers['x-cut-start'], cut.headers['x-cut-end']]).to.deep.equal(['2.000', '6.000']);
    await expectVideo(cut.body, 4);
  });

  it('are given for DASH manifests', async () => {
    const { link } = await linkOf(listed(clips.get('dash.mpd').toString(), clips.matching(/\.m4s$/), DASH));
    await expectVideo((await load(link)).body, SECONDS);
    await expectVideo((await load(`${link}?start=6`)).body, KEY_SECONDS);
  });

  it('begin at the key frame before the start, and end at the one after the end', async () => {
    const { link } = await linkOf(tracks());
    origin.requests.length = 0;
    const { headers, body } = await load(`${link}?start=2.9&end=5.999`);
    expect(headers).to.include({ 'x-cut-start': '2.000', 'x-cut-end': '6.000' });
    expect(headers['access-control-expose-headers']).to.include('X-Cut-Start');
    await expectVideo(body, 4);
  });

  it('are limited in height, to the lowest if none is low enough', async () => {
    const high = { ...PICTURE, height: 96 };
    const { link, id } = await linkOf({
      entries: [high, PICTURE, SOUND],
      content: [
        (_request, response) => response.writeHead(404).end(),
        clips.get('picture.mp4'),
        clips.get('sound.mp4'),
      ],
    });
    for (const height of [95, 48, 1]) await expectVideo((await load(`${link}?max_height=${height}`)).body, SECONDS);
    expect(codeOf(await load(link))).to.equal('media_unavailable');
    expect(origin.resolved(id)).to.be.greaterThan(1);
  });

  it('refuse wrong numbers by name', async () => {
    const { link } = await linkOf(tracks());
    const cases = {
      max_height: ['max_height=0', 'max_height=-1', 'max_height=1.5', 'max_height=x', 'max_height=1&max_height=2'],
      start: ['start=-1', 'start=1e3', 'start=x', 'start=', 'start=1.2345', 'start=8', 'start=999999'],
      end: ['end=0', 'start=3&end=3', 'start=3&end=2', 'end=NaN'],
    };
    for (const [param, queries] of Object.entries(cases)) {
      for (const query of queries) {
        const { status, body } = await load(`${link}?${query}`);
        const { error } = JSON.parse(body.toString());
        expect([status, error.code, error.param], query).to.deep.equal([400, 'invalid_value', param]);
      }
    }
  });

  it('start nothing for HEAD', async () => {
    const { link } = await linkOf(tracks());
    const { status, headers, body } = await load(link, {}, 'HEAD');
    expect([status, headers['content-type'], body.length]).to.deep.equal([200, 'video/mp4', 0]);
  });

  it('resolve the item again when its addresses have expired, also between parts', async () => {
    const { link, id } = await linkOf(tracks());
    origin.expire(id);
    await expectVideo((await load(link)).body, SECONDS);
    let refused = 0;
    const files = clips.matching(/^both\d\.ts$/);
    const late = await linkOf(
      listed(clips.get('both.m3u8').toString(), {
        ...files,
        'both2.ts': (request, response) => {
          refused += 1;
          if (refused === 1) response.writeHead(403).end();
          else sendRange(files['both2.ts'] as Buffer, request, response);
        },
      }),
    );
    await expectVideo((await load(late.link)).body, SECONDS);
    expect([refused > 1, origin.resolved(late.id)]).to.deep.equal([true, 2]);
  });

  it('decrypt the parts of a playlist that has a key', async () => {
    const [secret, iv] = [randomBytes(16), randomBytes(16)];
    const encrypt = (content: Buffer) => {
      const cipher = createCipheriv('aes-128-cbc', secret, iv);
      return Buffer.concat([cipher.update(content), cipher.final()]);
    };
    const files = Object.fromEntries(
      Object.entries(clips.matching(/^both\d\.ts$/)).map(([name, content]) => [name, encrypt(content)]),
    );
    const tag = `#EXT-X-KEY:METHOD=AES-128,URI="key.bin",IV=0x${iv.toString('hex')}\n`;
    const playlist = clips.get('both.m3u8').toString().replace('#EXTINF', `${tag}#EXTINF`);
    const { link } = await linkOf(listed(playlist, { ...files, 'key.bin': secret }));
    await expectVideo((await load(link)).body, SECONDS);
    const wrong = await linkOf(listed(playlist, { ...files, 'key.bin': secret.subarray(1) }));
    expect(codeOf(await load(wrong.link))).to.equal('media_unavailable');
  });

  it('are cut off, never short, if the source breaks off', async () => {
    const picture = clips.get('picture.mp4');
    const { link } = await linkOf({
      entries: [PICTURE, SOUND],
      content: [
        (request, response) => {
          const start = Number(/\d+/.exec(request.headers.range ?? '')?.[0] ?? 0);
          if (start > 0) return response.writeHead(403).end();
          response.writeHead(206, {
            'content-range': `bytes 0-${picture.length - 1}/${picture.length}`,
            'content-length': picture.length,
          });
          response.write(picture.subarray(0, picture.length - 20_000), () => response.destroy());
        },
        clips.get('sound.mp4'),
      ],
    });
    const outcome = await load(link).catch((error: Error) => error);
    expect(outcome instanceof Error || outcome.status === 502).to.equal(true);
  });

  it('never open what a playlist or manifest names elsewhere', async () => {
    const segments = clips.matching(/^both\d\.ts$/);
    const redirect = (location: string): MediaItem['files'] => ({
      'both0.ts': (_request, response) => response.writeHead(302, { location }).end(),
    });
    const playlist = clips.get('both.m3u8').toString();
    const foreign = [
      'file:///etc/passwd',
      'https://127.0.0.1/x.ts',
      'https://evil.example/x.ts',
      'http://media.invented.example/x.ts',
      'https://169.254.169.254/latest',
      'data:video/mp2t,x',
      'concat:a|b',
      'subfile,,start,0,end,9,,:/etc/passwd',
    ];
    const items = foreign.flatMap((address) => [
      listed(playlist.replace('both0.ts', address), segments),
      listed(playlist.replace('#EXTINF', `#EXT-X-KEY:METHOD=AES-128,URI="${address}"\n#EXTINF`), segments),
      listed(playlist.replace('#EXTINF', `#EXT-X-MAP:URI="${address}"\n#EXTINF`), segments),
      listed(`#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n${address}`, segments),
      listed(playlist, { ...segments, ...redirect(address) }),
      listed(
        `<MPD mediaPresentationDuration="PT8S"><Period><AdaptationSet mimeType="video/mp4"><Representation><BaseURL>${address.replace('&', '')}</BaseURL></Representation></AdaptationSet></Period></MPD>`,
        {},
        DASH,
      ),
    ]);
    origin.hosts.length = 0;
    for (const item of items) {
      const { link } = await linkOf(item);
      const answer = await load(link);
      expect([answer.status, codeOf(answer)], JSON.stringify(item.content.map(String))).to.deep.equal([
        502,
        'media_unavailable',
      ]);
    }
    expect([...new Set(origin.hosts)]).to.deep.equal(['media.invented.example']);
  });

  it('never pass on a playlist in place of a file, or a file of another kind', async () => {
    const playlist = Buffer.from('#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n#EXT-X-ENDLIST');
    for (const content of [playlist, Buffer.from('<html>'), clips.get('picture.webm'), randomBytes(9_000)]) {
      const { link } = await linkOf({ ...tracks(), content: [content, clips.get('sound.mp4')] });
      expect(codeOf(await load(link))).to.equal('media_unavailable');
    }
  });

  it('end with lists without end and parts that are too large', async () => {
    const endless: NonNullable<MediaItem['files']>[string] = (_request, response) => {
      const chunk = Buffer.from('#EXTINF:1,\nx.ts\n'.repeat(60_000));
      response.writeHead(200);
      const more = () => response.write(chunk, () => !response.destroyed && more());
      response.write('#EXTM3U\n');
      more();
    };
    const huge: NonNullable<MediaItem['files']>[string] = (_request, response) => {
      const size = 200 * 1024 * 1024;
      response.writeHead(206, { 'content-range': `bytes 0-${size - 1}/${size}`, 'content-length': size });
      response.write(clips.get('both0.ts'));
    };
    const segments = clips.matching(/^both\d\.ts$/);
    const playlist = clips.get('both.m3u8').toString();
    for (const item of [
      listed('#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nendless.m3u8', { 'endless.m3u8': endless }),
      listed(playlist.replace('#EXT-X-ENDLIST', ''), segments),
      listed(playlist, { ...segments, 'both0.ts': huge }),
    ]) {
      const { link } = await linkOf(item);
      expect(codeOf(await load(link))).to.equal('media_unavailable');
    }
  });

  it('are valid only as they were made, until they expire, and as long as their key', async () => {
    const leaving = await app.makeKey();
    const { media } = await mediaOf(tracks(), leaving);
    const link = media.video_download_links.mp4.replace(GATEWAY, '') as string;
    const name = /([\w-]+)\.mp4$/.exec(link)?.[1] ?? '';
    const flipped = name.slice(0, -3) + (name.at(-3) === 'A' ? 'B' : 'A') + name.slice(-2);
    const ofFile = media.entries[0].proxy_url.split('/').at(-1) as string;
    for (const wrong of [flipped, `${name}A`, ofFile, randomBytes(60).toString('base64url')]) {
      expect(codeOf(await load(`/v1/extract/video/${wrong}.mp4`)), wrong).to.equal('file_not_found');
    }
    expect(codeOf(await load(link.replace('.mp4', '.webm')))).to.equal('file_not_found');
    expect((await load(`/v1/media/${name}`)).status).to.equal(404);
    elapsed = 6 * 3_600_000;
    expect(codeOf(await load(link))).to.equal('link_expired');
    elapsed = 0;
    await app.state.keys.revoke((await app.keys.verify(leaving)).id, Date.now());
    await app.keys.refresh();
    expect(codeOf(await load(link))).to.equal('link_expired');
  });

  it('end in the middle when their key is revoked', async () => {
    const leaving = await app.makeKey();
    const revoked = Promise.withResolvers<void>();
    const files = clips.matching(/^both\d\.ts$/);
    const last = files['both3.ts'] as Buffer;
    const { media } = await mediaOf(
      listed(clips.get('both.m3u8').toString(), {
        ...files,
        'both3.ts': (request, response) => void revoked.promise.then(() => sendRange(last, request, response)),
      }),
      leaving,
    );
    const response = await new Promise<IncomingMessage>((resolve, reject) =>
      get(app.url + media.video_download_links.mp4.replace(GATEWAY, ''), resolve).once('error', reject),
    );
    const ended = new Promise<'whole' | 'cut'>((resolve) => {
      response.once('end', () => resolve('whole'));
      response.once('close', () => resolve('cut'));
      response.once('error', () => resolve('cut'));
    });
    response.once('data', async () => {
      await app.state.keys.revoke((await app.keys.verify(leaving)).id, Date.now());
      await app.keys.refresh();
      revoked.resolve();
    });
    response.on('data', () => undefined);
    expect(await ended).to.equal('cut');
  });
});
