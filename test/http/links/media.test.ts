/** Media links over HTTP: whose they are, ranges, platforms that refuse and break off, what is never passed on. */

import { randomBytes } from 'node:crypto';
import { get, type IncomingMessage } from 'node:http';
import { expect } from 'chai';
import { type Clock, systemClock } from 'mediagate';
import { until } from '../../support/until.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';
import { sendRange } from './audio-origin.js';
import { JPEG, type MediaItem, startMediaOrigin, videoOf } from './media-origin.js';

const VIDEO = { kind: 'video', mime: 'video/mp4', height: 720 } as const;
const MIB = 1024 * 1024;
const SECRET = randomBytes(32);
const GATEWAY = 'http://gateway.example';

describe('media links', function () {
  this.timeout(60_000);
  let origin: Awaited<ReturnType<typeof startMediaOrigin>>;
  let app: ListeningApp;
  let key: string;
  let elapsed = 0;
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + elapsed };

  before(async () => {
    origin = await startMediaOrigin();
    app = await open('on');
    key = await app.makeKey();
  });

  after(async () => {
    await app.close();
    await origin.close();
  });

  beforeEach(() => {
    elapsed = 0;
  });

  function open(mediaProxy: 'off' | 'site' | 'on'): Promise<ListeningApp> {
    return startApp({
      extractor: origin.extractor,
      clock,
      mediaProxy,
      gateway: {
        mediaLinks: { baseUrl: GATEWAY, secrets: [SECRET] },
        services: { http: origin.http },
      },
    });
  }

  /** The links of a new item, in the order of its entries. */
  async function linksOf(item: MediaItem, byKey = key) {
    const id = origin.put(item);
    const { json } = await app.extract(byKey, {
      url: `https://invented.example/item/${id}`,
      include_media_links: true,
    });
    const entries = json.data.media.entries as { proxy_url?: string; proxy_expires_at?: string }[];
    return { id, entries, links: entries.map((entry) => entry.proxy_url?.replace(GATEWAY, '') ?? '') };
  }

  async function linkOf(content: MediaItem['content'][number], more: Partial<MediaItem> = {}) {
    const { id, links } = await linksOf({ entries: [VIDEO], content: [content], ...more });
    return { id, link: links[0] ?? '' };
  }

  /** Without `fetch`, which changes headers. */
  async function load(target: string, headers: Record<string, string> = {}, method = 'GET') {
    const response = await new Promise<IncomingMessage>((resolve, reject) =>
      get(app.url + target, { headers, method }, resolve).once('error', reject),
    );
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    return { status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) };
  }

  async function idOf(secret: string): Promise<string> {
    return (await app.keys.verify(secret)).id;
  }

  const codeOf = ({ body }: { body: Buffer }) => JSON.parse(body.toString()).error.code as string;

  describe('in documents', () => {
    it('are given on request, for six hours at most, and not to manifests', async () => {
      const { entries } = await linksOf({
        entries: [VIDEO, { kind: 'manifest' }, { kind: 'image' }],
        content: [videoOf(100), videoOf(100), JPEG],
      });
      expect(entries.map(({ proxy_url: link }) => link !== undefined)).to.deep.equal([true, false, true]);
      const hours = (Date.parse(entries[0]?.proxy_expires_at ?? '') - Date.now()) / 3_600_000;
      expect(hours).to.be.within(5.7, 6);
    });

    it('are absent without a request', async () => {
      const id = origin.put({ entries: [VIDEO], content: [videoOf(100)] });
      const { json } = await app.extract(key, { url: `https://invented.example/item/${id}` });
      expect(json.data.media.entries[0]).not.to.have.property('proxy_url');
    });

    it('are given in batches', async () => {
      const id = origin.put({ entries: [VIDEO], content: [videoOf(100)] });
      const urls = [`https://invented.example/item/${id}`];
      const { json } = await app.batch(key, { urls, include_media_links: true });
      expect(json.items[0].result.data.media.entries[0].proxy_url).to.match(/^http:\/\/gateway\.example\/v1\/media\//);
    });

    it('are the addresses of formats and subtitles for yt-dlp', async () => {
      const id = origin.put({
        entries: [VIDEO, { kind: 'subtitle', language: 'en' }],
        content: [videoOf(100), Buffer.from('WEBVTT\n')],
      });
      const { json } = await app.request('/v1/extract?format=yt-dlp', {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ url: `https://invented.example/item/${id}`, include_media_links: true }),
      });
      for (const { url } of [json.formats[0], json.subtitles.en[0]]) {
        expect(url).to.match(/^http:\/\/gateway\.example\/v1\/media\//);
      }
    });

    it('are refused where the operator allows them to the site alone', async () => {
      const strict = await open('site');
      try {
        const other = await strict.makeKey();
        const url = 'https://invented.example/item/1';
        const { status, json } = await strict.extract(other, { url, include_media_links: true });
        expect([status, json.error.code, json.error.param]).to.deep.equal([
          400,
          'unsupported_value',
          'include_media_links',
        ]);
        expect(json.error.message).to.include('MEDIA_PROXY=on');
        expect((await strict.extract(other, { url, include_media_links: false })).status).to.equal(200);
      } finally {
        await strict.close();
      }
    });
  });

  describe('give the file', () => {
    it('whole, with the headers of a file that nothing can run in', async () => {
      const content = videoOf(3 * MIB);
      const { link } = await linkOf(content);
      const { status, headers, body } = await load(link);
      expect(status).to.equal(200);
      expect(body.equals(content)).to.equal(true);
      expect(headers).to.include({
        'content-type': 'video/mp4',
        'content-length': String(content.length),
        'accept-ranges': 'bytes',
        'x-content-type-options': 'nosniff',
        'content-security-policy': "default-src 'none'; sandbox",
        'x-robots-tag': 'noindex',
        'cross-origin-resource-policy': 'cross-origin',
        'access-control-allow-origin': '*',
      });
      expect(headers['cache-control']).to.match(/^private, max-age=\d+$/);
      expect(headers).not.to.have.property('set-cookie');
    });

    it('in ranges, from the end too, in pieces of 10 MiB from the platform', async () => {
      const content = videoOf(25 * MIB);
      const { link } = await linkOf(content);
      const cases = [
        ['bytes=0-', 0, content.length],
        ['bytes=1000-1999', 1_000, 2_000],
        [`bytes=${12 * MIB}-`, 12 * MIB, content.length],
        ['bytes=-500', content.length - 500, content.length],
      ] as const;
      for (const [range, start, end] of cases) {
        const { status, headers, body } = await load(link, { range });
        expect([status, headers['content-range']], range).to.deep.equal([
          206,
          `bytes ${start}-${end - 1}/${content.length}`,
        ]);
        expect(body.equals(content.subarray(start, end)), range).to.equal(true);
      }
      const lengths = origin.requests.flatMap(({ range }) => {
        const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(range ?? '') ?? [];
        return first === undefined ? [] : [Number(last) - Number(first) + 1];
      });
      expect(Math.max(...lengths)).to.equal(10 * MIB);
    });

    it('by its validators: 304 for a copy, the whole file if another one was begun, 416 outside', async () => {
      const content = videoOf(5_000);
      const { link } = await linkOf(content);
      const { etag = '' } = (await load(link)).headers;
      expect((await load(link, { 'if-none-match': etag })).status).to.equal(304);
      expect((await load(link, { range: 'bytes=10-', 'if-range': '"other"' })).status).to.equal(200);
      expect((await load(link, { range: 'bytes=10-', 'if-range': etag })).status).to.equal(206);
      expect((await load(link, { range: 'bytes=9999-' })).status).to.equal(416);
      const head = await load(link, {}, 'HEAD');
      expect([head.status, head.headers['content-length'], head.body.length]).to.deep.equal([200, '5000', 0]);
    });

    it('with the headers and cookies of the visit, which no client sees', async () => {
      const { link } = await linkOf(videoOf(100), { extraction: { mediaHeaders: { cookie: 'visit=invented' } } });
      origin.requests.length = 0;
      const { headers } = await load(link);
      expect(origin.requests[0]?.headers).to.include({
        cookie: 'visit=invented',
        referer: 'https://invented.example/',
      });
      expect(JSON.stringify(headers)).not.to.include('visit=');
    });

    it('under the title of the item, in any script, without what file systems refuse', async () => {
      const title = `Ö/\\:*?"<>| ${'😀'.repeat(300)}\u202e\r\nX: y`;
      const { id, link } = await linkOf(videoOf(100), { title });
      const { headers } = await load(`${link}?download=1`);
      const name = headers['content-disposition'] ?? '';
      expect(name).to.match(/^attachment; filename="invented-\d+\.mp4"; filename\*=UTF-8''%C3%96%20%F0%9F%98%80/);
      expect(name).to.include(`invented-${id}.mp4`);
      expect(decodeURIComponent(name.split("''")[1] ?? '')).to.match(/^Ö 😀{34}\.mp4$/u);
      expect((await load(link)).headers['content-disposition']).to.match(/^inline; /);
    });

    it('of its own type, whatever the platform says it is', async () => {
      const types = async (entry: MediaItem['entries'][number], content: Uint8Array) => {
        const { links } = await linksOf({ entries: [entry], content: [content] });
        return (await load(links[0] ?? '')).headers['content-type'];
      };
      expect(await types({ kind: 'image', mime: 'image/png' }, JPEG)).to.equal('image/jpeg');
      expect(await types({ kind: 'audio' }, videoOf(100))).to.equal('audio/mp4');
      expect(await types({ kind: 'subtitle' }, Buffer.from('WEBVTT\n\n00:00.000 --> 00:01.000\nHi'))).to.equal(
        'text/vtt; charset=utf-8',
      );
      expect(await types({ kind: 'subtitle' }, Buffer.from('<?xml version="1.0"?><tt><p>Hi</p></tt>'))).to.equal(
        'text/plain; charset=utf-8',
      );
    });

    it('without a length or ranges of the platform: from its start only with a length', async () => {
      const content = videoOf(200_000);
      const { link } = await linkOf((_request, response) => response.end(content));
      const whole = await linkOf((_request, response) => {
        response.writeHead(200, { 'content-length': content.length }).end(content);
      });
      const { status, body } = await load(whole.link, { range: 'bytes=150000-150009' });
      expect([status, body.equals(content.subarray(150_000, 150_010))]).to.deep.equal([206, true]);
      const without = await linkOf((_request, response) => {
        response.writeHead(200, { 'transfer-encoding': 'chunked' });
        response.write(content.subarray(0, 10));
        response.end(content.subarray(10));
      });
      expect(codeOf(await load(without.link))).to.equal('media_unavailable');
      expect((await load(link)).status).to.equal(200);
    });
  });

  describe('of a platform in trouble', () => {
    it('go on after each connection that breaks, byte for byte', async () => {
      const content = videoOf(4 * MIB);
      let broken = 0;
      const { link } = await linkOf((request, response) => {
        if (broken >= 20) return sendRange(content, request, response);
        const start = Number(/\d+/.exec(request.headers.range ?? '')?.[0] ?? 0);
        broken += 1;
        response.writeHead(206, {
          'content-range': `bytes ${start}-${content.length - 1}/${content.length}`,
          'content-length': content.length - start,
        });
        response.write(content.subarray(start, start + 1 + Math.floor(Math.random() * 150_000)), () =>
          setTimeout(() => response.destroy(), 5),
        );
      });
      const { body } = await load(link);
      expect(broken).to.equal(20);
      expect(body.equals(content)).to.equal(true);
    });

    it('resolve the item again when its address has expired, also in the middle of the file', async () => {
      const content = videoOf(25 * MIB);
      let isExpired = false;
      const { id, link } = await linkOf((request, response) => {
        const start = Number(/\d+/.exec(request.headers.range ?? '')?.[0] ?? 0);
        if (start >= 20 * MIB && !isExpired) {
          isExpired = true;
          response.writeHead(403).end();
        } else sendRange(content, request, response);
      });
      expect((await load(link)).body.equals(content)).to.equal(true);
      expect([isExpired, origin.resolved(id)]).to.deep.equal([true, 2]);
      origin.expire(id);
      expect((await load(link, { range: 'bytes=0-9' })).body.equals(content.subarray(0, 10))).to.equal(true);
    });

    it('end if the item has another file at its new address', async () => {
      const contents = [videoOf(12 * MIB), videoOf(13 * MIB)];
      const { id, link } = await linkOf((request, response) => sendRange(contents[0] as Buffer, request, response));
      expect((await load(link, { range: 'bytes=0-9' })).status).to.equal(206);
      origin.expire(id);
      contents.shift();
      const cut = await load(link).catch((error: Error) => error);
      expect(cut).to.be.an('error');
    });

    for (const [what, respond] of [
      [
        'refuses every address',
        (_request: unknown, response: { writeHead(status: number): { end(): void } }) => response.writeHead(403).end(),
      ],
      [
        'fails',
        (_request: unknown, response: { writeHead(status: number): { end(): void } }) => response.writeHead(503).end(),
      ],
    ] as const) {
      it(`are 502 if the platform ${what}`, async () => {
        const { link } = await linkOf(respond as MediaItem['content'][number] & ((...all: never[]) => void));
        const answer = await load(link);
        expect([answer.status, codeOf(answer)]).to.deep.equal([502, 'media_unavailable']);
      });
    }
  });

  describe('never pass on', () => {
    const pages: Readonly<Record<string, string>> = {
      'a page': '<!doctype html><script>alert(1)</script>',
      'an SVG': '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>',
      'a script': 'alert(document.cookie)',
      'a playlist': '#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd',
    };
    for (const [what, text] of Object.entries(pages)) {
      it(`${what} in place of a video or a picture`, async () => {
        for (const kind of ['video', 'image'] as const) {
          const { links } = await linksOf({ entries: [{ kind }], content: [Buffer.from(text)] });
          const answer = await load(links[0] ?? '');
          expect([answer.status, codeOf(answer)]).to.deep.equal([502, 'media_unavailable']);
        }
      });
    }

    it('markup in place of subtitles', async () => {
      for (const text of [pages['a page'], pages['an SVG'], '\ufeff <html>']) {
        const { links } = await linksOf({ entries: [{ kind: 'subtitle' }], content: [Buffer.from(text ?? '')] });
        expect(codeOf(await load(links[0] ?? ''))).to.equal('media_unavailable');
      }
    });

    it('files of other hosts, and of private addresses behind redirects', async () => {
      const content = videoOf(1_000);
      for (const location of [
        'https://evil.example/x',
        'http://media.invented.example/x',
        'https://127.0.0.1/x',
        'https://media.invented.example.evil.example/x',
        'file:///etc/passwd',
      ]) {
        const { link } = await linkOf((_request, response) => response.writeHead(302, { location }).end());
        origin.hosts.length = 0;
        expect(codeOf(await load(link)), location).to.equal('media_unavailable');
        expect(new Set(origin.hosts), location).to.deep.equal(new Set(['media.invented.example']));
      }
      const { link } = await linkOf((request, response) => {
        if (request.url?.includes('&moved')) sendRange(content, request, response);
        else response.writeHead(302, { location: 'https://a.cdn.invented.example/x' }).end();
      });
      // Allowed, but there is nothing at that address.
      expect((await load(link)).status).to.equal(502);
      expect(origin.hosts.at(-1)).to.equal('a.cdn.invented.example');
    });

    it('a body without an end', async () => {
      const content = videoOf(1_000);
      const { link } = await linkOf((_request, response) => {
        response.writeHead(206, { 'content-range': `bytes 0-999/1000` });
        response.write(content);
        const more = setInterval(() => response.write(Buffer.alloc(10_000)), 1);
        response.once('close', () => clearInterval(more));
      });
      const { body } = await load(link);
      expect(body.equals(content)).to.equal(true);
    });
  });

  describe('are valid', () => {
    it('only as they were made: forged, altered, of another purpose and expired ones are refused', async () => {
      const { link } = await linkOf(videoOf(100));
      const name = link.split('/').at(-1) ?? '';
      const flipped = name.slice(0, -3) + (name.at(-3) === 'A' ? 'B' : 'A') + name.slice(-2);
      for (const wrong of [flipped, `${name}A`, name.slice(1), randomBytes(60).toString('base64url'), 'x']) {
        const answer = await load(`/v1/media/${wrong}`);
        expect([answer.status, codeOf(answer)], wrong).to.deep.equal([404, 'file_not_found']);
      }
      expect((await load(`/v1/extract/audio/${name}.mp3`)).status).to.equal(404);
      elapsed = 6 * 3_600_000;
      const late = await load(link);
      expect([late.status, codeOf(late)]).to.deep.equal([410, 'link_expired']);
    });

    it('until the key that they were made for is revoked, which ends transfers too', async () => {
      const leaving = await app.makeKey();
      const content = videoOf(48 * MIB);
      const { links } = await linksOf({ entries: [VIDEO], content: [content] }, leaving);
      const [link = ''] = links;
      const begun = new Promise<'whole' | 'cut'>((resolve, reject) => {
        get(app.url + link, (response) => {
          response.once('data', async () => {
            response.pause();
            await app.state.keys.revoke(await idOf(leaving), Date.now());
            await app.keys.refresh();
            response.resume();
          });
          response.once('end', () => resolve('whole'));
          response.once('close', () => resolve('cut'));
          response.once('error', () => resolve('cut'));
        }).once('error', reject);
      });
      expect(await begun).to.equal('cut');
      const answer = await load(link);
      expect([answer.status, codeOf(answer)]).to.deep.equal([410, 'link_expired']);
    });
  });

  describe('are limited', () => {
    it('to four connections at a time', async () => {
      const open: (() => void)[] = [];
      const { link } = await linkOf((request, response) => {
        const content = videoOf(2_000);
        if (request.headers.range?.startsWith('bytes=0-')) {
          response.writeHead(206, { 'content-range': 'bytes 0-1999/2000', 'content-length': 2_000 });
          response.write(content.subarray(0, 1_000));
          open.push(() => response.end(content.subarray(1_000)));
        }
      });
      // The head of a file is 4,096 bytes, or all of it: these answers wait for their second half.
      const four = Array.from({ length: 4 }, () => load(link));
      await until(() => open.length === 4);
      const fifth = await load(link);
      expect([fifth.status, codeOf(fifth), fifth.headers['retry-after']]).to.deep.equal([
        429,
        'rate_limit_exceeded',
        '5',
      ]);
      for (const end of open) end();
      expect((await Promise.all(four)).map(({ status }) => status)).to.deep.equal([200, 200, 200, 200]);
      expect((await load(link, { range: 'bytes=0-3' })).status).to.be.oneOf([206, 429]);
    });

    it('to three times the file', async () => {
      const content = videoOf(2 * MIB);
      const { link } = await linkOf(content);
      for (let time = 0; time < 3; time += 1) expect((await load(link)).status).to.equal(200);
      const fourth = await load(link);
      expect([fourth.status, codeOf(fourth)]).to.deep.equal([429, 'rate_limit_exceeded']);
      expect(Number(fourth.headers['retry-after'])).to.be.greaterThan(3_600);
    });

    it('and counted as requests of their key', async () => {
      const counted = await app.makeKey();
      const { links } = await linksOf({ entries: [VIDEO], content: [videoOf(100)] }, counted);
      await load(links[0] ?? '');
      await app.state.usage.flushCounts();
      const day = new Date().toISOString().slice(0, 10);
      const rows = await app.state.usage.totals({ keyId: await idOf(counted), from: day, to: day });
      expect(rows.map(({ route, model, requests }) => ({ route, model, requests }))).to.deep.include({
        route: '/v1/media/:name',
        model: 'invented',
        requests: 1,
      });
    });
  });
});
