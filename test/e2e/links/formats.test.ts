/** Links as yt-dlp and oEmbed return them. */

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { createGateway, type Extraction, GatewayError, type LinkRef } from 'mediagate';
import clipVideo from 'mediagate/plugins/clip_video';
import photo from 'mediagate/plugins/photo';
import social from 'mediagate/plugins/social';
import vidsite from 'mediagate/plugins/vidsite';
import { type Answer, LINK, type ListeningApp, startApp } from '../../http/http/listening-app.js';
import { richPost } from '../../support/links/invented-documents.js';
import { inventedProduct, productLink } from '../../support/links/invented-shop.js';
import { type OriginServer, startOrigin } from '../../support/links/origin-server.js';

const VIDEO_LINK = 'https://invented.example/item/8';
const VIDEO = Buffer.alloc(5_000, 'video');
const SUBTITLES = 'WEBVTT\n\n00:00.000 --> 00:01.000\nTugs\n';

/** The yt-dlp of this machine; undefined where there is none. */
const ytDlpPath = (process.env.PATH ?? '')
  .split(path.delimiter)
  .map((folder) => path.join(folder, 'yt-dlp'))
  .find((file) => existsSync(file));

/** What is used of @extractus/oembed-extractor. */
interface OembedConsumer {
  setProviderList(providers: object[]): number;
  extract(url: string, params: object, fetcher: (url: string) => Promise<Response>): Promise<Record<string, unknown>>;
}

describe('a link in the formats of other programs', () => {
  let media: OriginServer;
  let app: ListeningApp;
  let key: string;
  let folder: string;

  before(async () => {
    media = await startOrigin(({ url = '' }, response) => {
      response.end(url.endsWith('.vtt') ? SUBTITLES : url.endsWith('.mp4') ? VIDEO : undefined);
    });
    app = await startApp({
      extractor: { extract: async ({ link }) => postWith(link.id, media.origin), embed },
      shop: { extract: async ({ link }) => inventedProduct(link.id) },
    });
    key = await app.makeKey();
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-formats-'));
  });
  after(async () => {
    await app?.close();
    await media?.close();
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  const infoOf = (url: string, more: object = {}, query = 'format=yt-dlp'): Promise<Answer> =>
    app.request(`/v1/extract?${query}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ url, ...more }),
    });

  describe('yt-dlp', () => {
    // Where the program is installed, as Debian's Chromium.
    const itDownloads = ytDlpPath === undefined ? () => undefined : it;

    itDownloads('downloads an info dict with its subtitles', async () => {
      const info = await infoOf(LINK);
      expect(info.status, info.text).to.equal(200);
      expect(info.headers.get('content-type')).to.equal('application/vnd.yt-dlp.info+json');
      expect(info.headers.get('x-cache')).to.equal('miss');
      await writeFile(path.join(folder, 'item.info.json'), info.text);
      const fields = [
        'id',
        'title',
        'uploader',
        'upload_date',
        'duration',
        'view_count',
        'like_count',
        'format_id',
        'height',
      ];
      const output = await runYtDlp(folder, [
        ...[
          '--load-info-json',
          'item.info.json',
          '--no-simulate',
          '--write-subs',
          '--sub-langs',
          'en',
          '--fixup',
          'never',
        ],
        ...['--output', '%(id)s.%(ext)s', '--print', fields.map((name) => `%(${name})s`).join('|')],
      ]);
      expect(output.trim()).to.equal(
        '7|Tugs of Ostend, a morning on the quay|Harbour Notes|20260314|212|48213|1904|720p-1|720',
      );
      expect(await readFile(path.join(folder, '7.mp4'))).to.deep.equal(VIDEO);
      expect(await readFile(path.join(folder, '7.en.vtt'), 'utf8')).to.equal(SUBTITLES);
    });

    it('gets formats with their known fields, and only those that it can download', async () => {
      const { json } = await infoOf(LINK);
      expect(json.formats.map((one: { format_id: string }) => one.format_id)).to.deep.equal(['sound-0', '720p-1']);
      const [sound, video] = json.formats;
      expect(sound).to.include({ vcodec: 'none', acodec: 'opus', ext: 'webm', tbr: 128 });
      expect(video).to.include({
        vcodec: 'avc1.640028',
        acodec: 'mp4a.40.2',
        width: 1280,
        ext: 'mp4',
        protocol: 'http',
      });
      expect(video.http_headers).to.deep.equal({ Referer: 'https://invented.example/item/7' });
      expect(json).to.include({
        extractor: 'invented',
        webpage_url: 'https://invented.example/item/7',
        availability: 'public',
      });
      expect(JSON.stringify(json)).not.to.contain('null');
    });

    for (const [what, url, more, query, error] of [
      ['pictures alone', `${LINK}0`, {}, 'format=yt-dlp', 'no video and no audio'],
      ['a product', productLink('3'), {}, 'format=yt-dlp', 'no video and no audio'],
      ['a job', productLink('3'), { async_mode: true }, 'format=yt-dlp', 'no background jobs'],
      ['another format', LINK, {}, 'format=xml', 'must be yt-dlp'],
      ['a format twice', LINK, {}, 'format=yt-dlp&format=yt-dlp', 'must be yt-dlp'],
    ] as const) {
      it(`is refused for ${what}`, async () => {
        const { status, json } = await infoOf(url, more, query);
        expect(status).to.equal(400);
        expect(json.error).to.include({ param: 'format' });
        expect(json.error.message).to.contain(error);
        expect(json).to.include({ ok: false, input_url: url });
      });
    }
  });

  describe('oEmbed', () => {
    let consumer: OembedConsumer;

    before(async () => {
      // Not a literal: the compiler need not find the package.
      const name = '@extractus/oembed-extractor';
      consumer = await import(name);
      const endpoints = [{ schemes: ['https://invented.example/*'], url: `${app.url}/v1/oembed` }];
      consumer.setProviderList([{ provider_name: 'mediagate', provider_url: app.url, endpoints }]);
    });

    /** It asks every provider over TLS. */
    const send = (target: string) =>
      fetch(target.replace('https:', 'http:'), { headers: { authorization: `Bearer ${key}` } });
    const read = (url: string, params = {}) => consumer.extract(url, params, send);

    const ask = (query: string, headers: Record<string, string> = { 'x-api-key': key }) =>
      app.request(`/v1/oembed?${query}`, { headers });

    const about = {
      version: '1.0',
      title: 'Tugs of Ostend, a morning on the quay',
      author_name: 'Harbour Notes',
      author_url: 'https://invented.example/harbour-notes',
      provider_name: 'Invented',
      provider_url: 'https://invented.example/',
    };

    it('gives a consumer a video that a browser can play, within its limits', async () => {
      const video = await read(VIDEO_LINK, { maxwidth: 640 });
      expect(video).to.include({
        ...about,
        type: 'video',
        width: 640,
        height: 360,
        method: 'provider-api',
        thumbnail_url: `${media.origin}/small.png`,
        thumbnail_width: 400,
        thumbnail_height: 300,
        html: `<video src="${media.origin}/tugs.mp4?a=1&#38;b=&#34;" poster="https://media.invented.example/thumbnail.png" width="640" height="360" controls playsinline preload="none"></video>`,
      });
      expect(video.cache_age).to.be.within(3_000, 3_600);
    });

    it("gives the platform's own player, in proportion to the video", async () => {
      const player = await read(`${LINK}9`);
      expect(player).to.include({ ...about, type: 'video', width: 480, height: 270 });
      expect(player.html).to.match(
        /^<iframe src="https:\/\/invented\.example\/player\/79\?a=1&#38;b=2" width="480" height="270" /,
      );
      expect(await read(`${LINK}9`, { maxheight: 90 })).to.include({ width: 160, height: 90 });
      // A player that fails costs the player alone.
      expect(await read(`${LINK}5`)).to.include({ ...about, type: 'link' });
    });

    it('has the players of the platforms', async () => {
      const plugins = [vidsite, clipVideo, photo, social].map((use) => ({ use }));
      await using gateway = await createGateway({ plugins });
      const playerOf = (url: string) => {
        const { platform, link } = gateway.match(url);
        return gateway.embed(platform, link)?.url;
      };
      for (const [url, player] of [
        ['https://youtu.be/Tugs0fOst3n', 'https://www.youtube.com/embed/Tugs0fOst3n'],
        ['https://www.tiktok.com/@a/video/7300000000000000001', 'https://www.tiktok.com/player/v1/7300000000000000001'],
        ['https://www.instagram.com/reel/DX6B-kzkPRH/', 'https://www.instagram.com/p/DX6B-kzkPRH/embed/'],
        [
          'https://www.facebook.com/watch/?v=1234567890',
          'https://www.facebook.com/plugins/video.php?href=https%3A%2F%2Fwww.facebook.com%2Fwatch%2F%3Fv%3D1234567890&show_text=false',
        ],
      ] as const) {
        expect(playerOf(url)).to.equal(player);
      }
    });

    it('returns the largest image within the limits, or its display size', async () => {
      const photo = { ...about, type: 'photo', cache_age: 86_400 };
      const large = { url: `${media.origin}/1.png`, width: 1600, height: 1200 };
      expect(await read(`${LINK}0`)).to.include({ ...photo, ...large });
      const small = { url: `${media.origin}/small.png`, width: 400, height: 300 };
      expect(await read(`${LINK}0`, { maxwidth: 1000, maxheight: 400 })).to.include({ ...photo, ...small });
      expect(await read(`${LINK}0`, { maxheight: 150 })).to.include({ ...photo, ...small, width: 200, height: 150 });
    });

    it('returns a link if nothing can be embedded', async () => {
      const bound = await read(LINK);
      expect(bound)
        .to.include({ ...about, type: 'link', thumbnail_width: 400 })
        .and.not.to.have.any.keys('html', 'url');
      const product = await ask(`url=${encodeURIComponent(productLink('3'))}`);
      expect(product.json).to.include({ type: 'link', title: 'Product 3', provider_name: 'Bazaar' });
    });

    it('is cached and counted like a link', async () => {
      const query = `url=${encodeURIComponent(`${LINK}1`)}`;
      const [first, second] = [await ask(query), await ask(query)];
      expect([first.headers.get('x-cache'), second.headers.get('x-cache')]).to.deep.equal(['miss', 'hit']);
      expect(second.headers.get('age')).to.equal('0');
      expect((await app.extract(key, { url: `${LINK}1` })).headers.get('x-cache')).to.equal('hit');
      const limited = await app.makeKey({ rpm: 1 });
      expect((await ask(query, { 'x-api-key': limited })).status).to.equal(200);
      expect((await ask(query, { 'x-api-key': limited })).json.error.code).to.equal('rate_limit_exceeded');
    });

    for (const [query, status, code, param] of [
      ['', 400, 'missing_required_parameter', 'url'],
      [`url=${LINK}&url=${LINK}`, 400, 'invalid_value', 'url'],
      [`url=${LINK}${'0'.repeat(2_048)}`, 400, 'invalid_value', 'url'],
      [`url=${LINK}&maxwidth=0`, 400, 'invalid_value', 'maxwidth'],
      [`url=${LINK}&maxheight=1.5`, 400, 'invalid_value', 'maxheight'],
      [`url=${LINK}&format=xml`, 501, 'format_not_supported', 'format'],
      ['url=https://nowhere.example/', 400, 'unsupported_platform', 'url'],
      [`url=${LINK}404`, 422, 'removed', null],
    ] as const) {
      it(`answers ${status} ${code} for ${query.slice(0, 60) || 'no query'}`, async () => {
        const answer = await ask(query);
        expect(answer.status, answer.text).to.equal(status);
        expect(answer.json).to.include({ ok: false }).and.to.have.property('error').that.includes({ code, param });
      });
    }

    it('needs a key with the grant of links', async () => {
      expect((await ask(`url=${LINK}`, {})).json.error.code).to.equal('missing_api_key');
      const other = await app.makeKey({ grants: ['text'] });
      expect((await ask(`url=${LINK}`, { 'x-api-key': other })).json.error.code).to.equal('route_not_allowed');
    });
  });
});

/** Of item 79; that of item 75 fails. */
function embed({ id }: LinkRef) {
  if (id === '75') throw new Error('There is no player.');
  if (id !== '79') return undefined;
  return { url: `https://invented.example/player/${id}?a=1&b=2`, width: 480, height: 360 };
}

/** Item 70 has pictures alone, 8 a video for everyone, 7404 is gone. The video of any other is bound to its page. */
function postWith(id: string, origin: string): Extraction {
  if (id === '7404') throw new GatewayError('removed', 'The item was removed.');
  const post = richPost(id);
  if (!('common' in post.data)) return post;
  const { common, ...rest } = post.data;
  const page = `https://invented.example/item/${id}`;
  const picture = { url: `${origin}/1.png`, kind: 'image', width: 1600, height: 1200 } as const;
  const small = { url: `${origin}/small.png`, kind: 'image', width: 400, height: 300 } as const;
  if (id === '70') {
    const { duration_seconds: _, ...still } = common;
    return {
      ...post,
      data: { ...rest, common: still, media: { image_urls: [picture.url], video_urls: [], entries: [picture, small] } },
    };
  }
  return {
    ...post,
    data: {
      ...rest,
      common,
      ids: { video_id: id, canonical_url: page },
      media: {
        image_urls: [],
        video_urls: [`${origin}/tugs.mp4`],
        entries: [
          {
            ...{ url: `${origin}/tugs.mp4`, kind: 'video', mime: 'video/mp4', codecs: 'avc1.640028, mp4a.40.2' },
            ...{ width: 1280, height: 720, quality: '720p' },
            ...(id === '8'
              ? { url: `${origin}/tugs.mp4?a=1&b="`, expires_at: new Date(Date.now() + 3_600_000).toISOString() }
              : { bound_to: ['referer'] }),
          },
          {
            url: `${origin}/tugs`,
            kind: 'audio',
            mime: 'audio/webm',
            codecs: 'opus',
            bitrate: 128_000,
            label: 'sound',
          },
          { url: `${origin}/tugs.vtt`, kind: 'subtitle', mime: 'text/vtt', language: 'en' },
          { url: `${origin}/tugs.mpd`, kind: 'manifest', mime: 'application/dash+xml' },
          small,
        ],
      },
    },
  };
}

/** Runs it without any settings of the machine. @throws Error with its own words. */
async function runYtDlp(folder: string, args: readonly string[]): Promise<string> {
  const program = ytDlpPath ?? 'yt-dlp';
  const run = promisify(execFile);
  const { stdout } = await run(program, ['--ignore-config', '--no-cache-dir', ...args], { cwd: folder });
  return stdout;
}
