/** MP3 files over HTTP: making, ranges, failures, damage and slow clients. */

import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { type Clock, GatewayError, systemClock } from 'mediagate';
import { openDiskFiles } from '../../../core/storage/files-disk.js';
import { DAMAGES, damageFiles } from '../../support/audio/damaged-files.js';
import { ffmpegPath, runFfmpeg, tone } from '../../support/audio/ffmpeg.js';
import { mp3Seconds } from '../../support/audio/mp3-length.js';
import { describeOnStacks, type Stack } from '../../support/databases/stacks.js';
import { rejection } from '../../support/rejection.js';
import { onceIt } from '../../support/runner/variants.js';
import { until } from '../../support/until.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';
import { type AudioOrigin, sendRange, startAudioOrigin } from './audio-origin.js';

const run = promisify(execFile);
const SECRET = randomBytes(32);

describeOnStacks('MP3 files over HTTP', (stack) => {
  const once = onceIt(stack);
  let folder: string;
  let origin: AudioOrigin;
  let app: ListeningApp;
  let key: string;
  let sound: Buffer;
  let elapsed = 0;
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + elapsed };

  before(async function () {
    if (!ffmpegPath) this.skip();
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-sounds-'));
    await runFfmpeg(...tone(6), '-c:a', 'aac', path.join(folder, 'six.m4a'));
    sound = await readFile(path.join(folder, 'six.m4a'));
    origin = await startAudioOrigin();
    app = await open();
    key = await app.makeKey();
  });

  after(async () => {
    await app?.close();
    await origin?.server.close();
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  function open(options: { clock?: Clock; stack?: Stack } = {}): Promise<ListeningApp> {
    return startApp({
      stack: options.stack ?? stack,
      extractor: origin.extractor,
      clock: options.clock ?? clock,
      gateway: {
        audioLinks: { baseUrl: '', secrets: [SECRET] },
        trustedOrigins: [origin.server.origin],
        // The gateway's own, in place of the one that makes no request.
        services: { http: undefined },
      },
    });
  }

  /** A new item with this sound, extracted; gives the path of its MP3. */
  let items = 100;
  async function offer(...content: Parameters<AudioOrigin['put']> extends [string, ...infer Rest] ? Rest : never) {
    items += 1;
    const id = String(items);
    origin.put(id, ...content);
    const { json } = await app.extract(key, { url: `https://invented.example/item/${id}` });
    return { id, target: json.data.media.audio_download_links.mp3 as string };
  }

  /** Without `fetch`, which sends `no-cache` along with conditions. */
  async function bytesOf(target: string, headers: Record<string, string> = {}, from = app) {
    const response = await new Promise<IncomingMessage>((resolve, reject) =>
      get(from.url + target, { headers }, resolve).once('error', reject),
    );
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    const received = new Headers(response.headers as Record<string, string>);
    return { status: response.statusCode, headers: received, bytes: Buffer.concat(chunks) };
  }

  /** Resolves when the work on this item is done. */
  async function made(id: string) {
    await until(() => app.log.some(({ message, fields }) => message === 'an MP3 was created' && fields.id === id));
  }

  /** Resolves when nothing is left of what was under way. */
  async function tidy(one = app) {
    await until(async () => (await readdir(path.join(one.dataDir, 'scratch')).catch(() => [])).length === 0);
  }

  it('make the file for the first GET, and serve every further one the same bytes with length and validators', async () => {
    const { target, id } = await offer(sound, { durationSeconds: 6 });
    const first = await bytesOf(target);
    expect(first.status).to.equal(200);
    expect(first.headers.get('content-type')).to.equal('audio/mpeg');
    expect(mp3Seconds(first.bytes)).to.be.closeTo(6, 0.2);
    const second = await bytesOf(target);
    expect(second.bytes.equals(first.bytes)).to.equal(true);
    expect(Object.fromEntries(second.headers)).to.include({
      'content-type': 'audio/mpeg',
      'content-length': String(first.bytes.length),
      'accept-ranges': 'bytes',
      'access-control-allow-origin': '*',
      'content-disposition': `attachment; filename="invented-${id}.mp3"`,
      'x-content-type-options': 'nosniff',
    });
    expect(second.headers.get('content-security-policy')).to.include("default-src 'none'");
    expect(second.headers.get('etag')).to.match(/^"[0-9a-f]{64}"$/);
    expect(Number(/^public, max-age=(\d+)$/.exec(second.headers.get('cache-control') ?? '')?.[1])).to.be.within(
      80_000,
      87_000,
    );
    expect(origin.requests.filter((request) => request.startsWith(`/${id}`))).to.have.length(1);
    await tidy();
  });

  once('share one file between links signed at different times', async () => {
    const { target, id } = await offer(sound);
    const first = await bytesOf(target);
    elapsed += 3_600_000;
    const { json } = await app.extract(key, { url: `https://invented.example/item/${id}` });
    const other: string = json.data.media.audio_download_links.mp3;
    expect(other).to.not.equal(target);
    expect((await bytesOf(other)).bytes.equals(first.bytes)).to.equal(true);
    expect(origin.requests.filter((request) => request.startsWith(`/${id}`))).to.have.length(1);
  });

  once('answer ranges, conditions and HEAD', async () => {
    const { target } = await offer(sound);
    const { bytes } = await bytesOf(target);
    const whole = await bytesOf(target);
    const [etag, modified] = [whole.headers.get('etag') ?? '', whole.headers.get('last-modified') ?? ''];
    const size = bytes.length;
    const cases: readonly (readonly [Record<string, string>, number, Buffer | undefined, string | null])[] = [
      [{ range: 'bytes=0-' }, 206, bytes, `bytes 0-${size - 1}/${size}`],
      [{ range: 'bytes=0-0' }, 206, bytes.subarray(0, 1), `bytes 0-0/${size}`],
      [{ range: 'bytes=100-199' }, 206, bytes.subarray(100, 200), `bytes 100-199/${size}`],
      [{ range: 'bytes=-5' }, 206, bytes.subarray(-5), `bytes ${size - 5}-${size - 1}/${size}`],
      [{ range: `bytes=5-${size + 999}` }, 206, bytes.subarray(5), `bytes 5-${size - 1}/${size}`],
      [{ range: `bytes=${size}-` }, 416, Buffer.alloc(0), `bytes */${size}`],
      [{ range: `bytes=-${size + 1}` }, 206, bytes, `bytes 0-${size - 1}/${size}`],
      [{ range: 'bytes=-0' }, 416, Buffer.alloc(0), `bytes */${size}`],
      [{ range: 'bytes=0-1,5-6' }, 200, bytes, null],
      [{ range: 'bytes=oops' }, 200, bytes, null],
      [{ range: 'bytes=-' }, 200, bytes, null],
      [{ range: 'bytes=9-5' }, 200, bytes, null],
      [{ range: 'bytes=0-9,oops' }, 200, bytes, null],
      [{ range: 'bytes=, 0-9 ,' }, 206, bytes.subarray(0, 10), `bytes 0-9/${size}`],
      [{ range: `bytes=0-${'9'.repeat(400)}` }, 206, bytes, `bytes 0-${size - 1}/${size}`],
      [{ range: 'items=0-1' }, 200, bytes, null],
      [{ range: 'bytes=0-9', 'if-range': etag }, 206, bytes.subarray(0, 10), `bytes 0-9/${size}`],
      [{ range: 'bytes=0-9', 'if-range': modified }, 206, bytes.subarray(0, 10), `bytes 0-9/${size}`],
      [{ range: 'bytes=0-9', 'if-range': '"other"' }, 200, bytes, null],
      [{ range: 'bytes=0-9', 'if-range': `W/${etag}` }, 200, bytes, null],
      [{ 'if-none-match': etag }, 304, Buffer.alloc(0), null],
      [{ 'if-none-match': '*' }, 304, Buffer.alloc(0), null],
      [{ 'if-none-match': `"x", W/${etag}`, range: 'bytes=0-9' }, 304, Buffer.alloc(0), null],
      [{ 'if-none-match': '"x"' }, 200, bytes, null],
      [{ 'if-modified-since': modified }, 304, Buffer.alloc(0), null],
      [{ 'if-modified-since': 'Thu, 01 Jan 1970 00:00:00 GMT' }, 200, bytes, null],
      [{ 'if-match': `"x", ${etag}`, range: 'bytes=0-9' }, 206, bytes.subarray(0, 10), `bytes 0-9/${size}`],
      [{ 'if-match': '*' }, 200, bytes, null],
      [{ 'if-match': '"x"', range: 'bytes=0-9' }, 412, Buffer.alloc(0), null],
      [{ 'if-match': `W/${etag}`, 'if-none-match': etag }, 412, Buffer.alloc(0), null],
      [{ 'if-unmodified-since': modified, range: 'bytes=0-9' }, 206, bytes.subarray(0, 10), `bytes 0-9/${size}`],
      [{ 'if-unmodified-since': 'Thu, 01 Jan 1970 00:00:00 GMT' }, 412, Buffer.alloc(0), null],
      [{ 'if-unmodified-since': 'Thu, 01 Jan 1970 00:00:00 GMT', 'if-match': etag }, 200, bytes, null],
      [{ 'if-unmodified-since': 'some day' }, 200, bytes, null],
    ];
    for (const [headers, status, expected, contentRange] of cases) {
      const answer = await bytesOf(target, headers);
      const label = JSON.stringify(headers);
      expect(answer.status, label).to.equal(status);
      expect(answer.headers.get('content-range'), label).to.equal(contentRange);
      expect(expected && answer.bytes.equals(expected), label).to.equal(true);
      if (status < 400) expect(answer.headers.get('etag'), label).to.equal(etag);
    }
    const head = await app.request(target, { method: 'HEAD', headers: { range: 'bytes=0-9' } });
    expect(head.status).to.equal(200);
    expect(head.headers.get('content-length')).to.equal(String(size));
    expect((await app.request(target, { method: 'POST' })).status).to.equal(405);
  });

  once('make no file for HEAD', async () => {
    const { target, id } = await offer(sound);
    const { status, headers } = await app.request(target, { method: 'HEAD' });
    expect(status).to.equal(200);
    expect(headers.get('content-type')).to.equal('audio/mpeg');
    expect(headers.get('content-length')).to.equal(null);
    expect(origin.requests.join()).to.not.include(`/${id}`);
  });

  once('let a range of an unfinished file wait for it', async () => {
    const { target } = await offer(sound);
    const part = await bytesOf(target, { range: 'bytes=1000-1099' });
    expect(part.status).to.equal(206);
    expect(part.bytes.equals((await bytesOf(target)).bytes.subarray(1000, 1100))).to.equal(true);
  });

  it('cost one extraction, one fetch and one conversion for twenty simultaneous requests', async () => {
    const { target, id } = await offer(sound);
    const asked = origin.asked;
    const answers = await Promise.all(Array.from({ length: 20 }, () => bytesOf(target)));
    for (const { status, bytes } of answers) {
      expect(status).to.equal(200);
      expect(bytes.equals(answers[0]?.bytes ?? Buffer.alloc(0))).to.equal(true);
    }
    expect(origin.asked - asked).to.equal(1);
    expect(origin.requests.filter((request) => request.startsWith(`/${id}`))).to.have.length(1);
    await made(id);
    expect(
      app.log.filter(({ message, fields }) => message === 'an MP3 was created' && fields.id === id),
    ).to.have.length(1);
  });

  once('continue when a client leaves', async () => {
    const arrived = Promise.withResolvers<void>();
    const left = Promise.withResolvers<void>();
    const { target, id } = await offer((request, response) => {
      arrived.resolve();
      void left.promise.then(() => sendRange(sound, request, response));
    });
    const request = get(app.url + target);
    const cut = new Promise((resolve) => request.once('error', resolve));
    await arrived.promise;
    request.destroy();
    await cut;
    left.resolve();
    expect(mp3Seconds((await bytesOf(target)).bytes)).to.be.closeTo(6, 0.2);
    expect(origin.requests.filter((one) => one.startsWith(`/${id}`))).to.have.length(1);
  });

  once('fetch the source in pieces with the required header fields', async () => {
    const long = path.join(folder, 'long.wav');
    await runFfmpeg(...tone(70), '-ar', '48000', '-ac', '2', '-c:a', 'pcm_s24le', long);
    const content = await readFile(long);
    const { target } = await offer(
      (request, response) => {
        if (request.headers.referer === 'https://invented.example/')
          response.writeHead(302, { location: '/moved' }).end();
        else response.writeHead(403).end();
      },
      { headers: { referer: 'https://invented.example/' }, durationSeconds: 70 },
    );
    origin.put('moved', content);
    const before = origin.requests.length;
    expect(mp3Seconds((await bytesOf(target)).bytes)).to.be.closeTo(70, 0.2);
    const asked = origin.requests.slice(before);
    expect(content.length).to.be.above(20_000_000);
    expect(asked[0]).to.match(/^\/\d+ bytes=0-10485759$/);
    expect(asked.slice(1)).to.deep.equal([
      '/moved bytes=0-10485759',
      '/moved bytes=10485760-20971519',
      ...(content.length > 20_971_520 ? ['/moved bytes=20971520-31457279'] : []),
    ]);
  });

  once('fetch the source of a host without ranges in one piece', async () => {
    const { target } = await offer((_request, response) => response.end(sound));
    expect(mp3Seconds((await bytesOf(target)).bytes)).to.be.closeTo(6, 0.2);
  });

  describe('if they are unavailable', () => {
    async function refusal(...content: Parameters<typeof offer>) {
      const { target } = await offer(...content);
      const { status, json, headers } = await app.request(target);
      expect(headers.get('cache-control')).to.equal('no-store');
      await tidy();
      return { status, ...json?.error, ok: json?.ok, platform: json?.platform, target };
    }

    const playlist = (text: string) => () => refusal(Buffer.from(text));
    const failures: Readonly<Record<string, [() => ReturnType<typeof refusal>, number, string, RegExp]>> = {
      'the source refuses': [
        () => refusal((_request, response) => response.writeHead(403).end()),
        502,
        'audio_unavailable',
        /with status 403/,
      ],
      'the source is cut': [
        () =>
          refusal((_request, response) => {
            response.writeHead(200, { 'content-length': sound.length });
            response.write(sound.subarray(0, 1000), () => response.destroy());
          }),
        502,
        'audio_unavailable',
        /could not be fetched/,
      ],
      'the item is too long': [
        () => refusal(sound, { durationSeconds: 10_801 }),
        502,
        'audio_unavailable',
        /longer than 3 hours/,
      ],
      'the source is too large': [
        () =>
          refusal((_request, response) =>
            response.writeHead(206, { 'content-range': 'bytes 0-9/209715201', 'content-length': 10 }).end('0123456789'),
          ),
        502,
        'audio_unavailable',
        /larger than 200 MiB/,
      ],
      'the source announces too much': [
        () => refusal((_request, response) => response.writeHead(200, { 'content-length': 209_715_201 }).write('x')),
        502,
        'audio_unavailable',
        /more than the limit/,
      ],
      'the source answers with another part': [
        () =>
          refusal((_request, response) =>
            response.writeHead(206, { 'content-range': 'bytes 5-9/10', 'content-length': 5 }).end('01234'),
          ),
        502,
        'audio_unavailable',
        /another byte range/,
      ],
      'the source is an HLS playlist': [
        playlist('#EXTM3U\nhttp://127.0.0.1/x'),
        502,
        'audio_unavailable',
        /did not send an audio or video/,
      ],
      'the source is a DASH manifest': [
        playlist('<?xml version="1.0"?><MPD/>'),
        502,
        'audio_unavailable',
        /did not send an audio or video/,
      ],
      'the source is an ffconcat script': [
        playlist('ffconcat version 1.0\nfile x'),
        502,
        'audio_unavailable',
        /did not send an audio or video/,
      ],
      'the source is an SDP file': [
        playlist('v=0\no=- 0 0 IN IP4 127.0.0.1'),
        502,
        'audio_unavailable',
        /did not send an audio or video/,
      ],
      'the source is empty': [playlist(''), 502, 'audio_unavailable', /with status 416/],
      'the source only begins like a video': [
        playlist('\0\0\0\x20ftypisom#EXTM3U\nhttp://127.0.0.1/x'),
        502,
        'audio_unavailable',
        /damaged/,
      ],
      'the sound lies elsewhere': [
        () => refusal(sound, { url: 'https://elsewhere.example/a.m4a' }),
        502,
        'audio_unavailable',
        /not a media host/,
      ],
      'the sound lies on a name that ends alike': [
        () => refusal(sound, { url: 'https://not127.0.0.1.example/a.m4a' }),
        502,
        'audio_unavailable',
        /not a media host/,
      ],
      'the source redirects elsewhere': [
        () =>
          refusal((_request, response) =>
            response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data' }).end(),
          ),
        502,
        'audio_unavailable',
        /not a media host/,
      ],
      'the source redirects to another port of its host': [
        () => refusal((_request, response) => response.writeHead(302, { location: 'https://127.0.0.1:9/x' }).end()),
        502,
        'audio_unavailable',
        /could not be fetched/,
      ],
      'the source redirects in circles': [
        () => refusal((request, response) => response.writeHead(302, { location: request.url ?? '' }).end()),
        502,
        'audio_unavailable',
        /too often/,
      ],
    };
    for (const [title, [provoke, status, code, words]] of Object.entries(failures)) {
      once(`answer ${status} ${code}: ${title}`, async () => {
        const failure = await provoke();
        expect(failure).to.include({ status, code, ok: false, platform: 'invented' });
        expect(failure.message).to.match(words);
      });
    }

    once('cut the connection if the source is too short and bytes were sent', async () => {
      const { target } = await offer(sound, { durationSeconds: 60 });
      const response = await fetch(app.url + target);
      expect(response.status).to.equal(200);
      expect(await rejection(response.arrayBuffer())).to.be.an('error');
      const { status, json } = await app.request(target);
      expect([status, json.error.code]).to.deep.equal([502, 'audio_unavailable']);
      expect(json.error.message).to.match(/ended early/);
      expect((await readdir(path.join(app.dataDir, 'files'))).filter((name) => name.startsWith('.'))).to.deep.equal([]);
    });

    once('do not ask a source again for a while after a refusal', async () => {
      const { target } = await refusal((_request, response) => response.writeHead(403).end());
      const before = [origin.asked, origin.requests.length];
      const again = await app.request(target);
      expect(again.json.error.code).to.equal('audio_unavailable');
      expect([origin.asked, origin.requests.length]).to.deep.equal(before);
    });

    once('send no request to a private host that the platform names', async () => {
      const closed = await startApp({
        stack,
        extractor: origin.extractor,
        gateway: { audioLinks: { baseUrl: '', secrets: [SECRET] }, services: { http: undefined } },
      });
      try {
        origin.put('99', sound, { url: `https://127.0.0.1:${origin.server.port}/99` });
        const before = origin.server.connections;
        const made = await closed.extract(await closed.makeKey(), { url: 'https://invented.example/item/99' });
        const { status, json } = await closed.request(made.json.data.media.audio_download_links.mp3);
        expect([status, json.error.code]).to.deep.equal([502, 'audio_unavailable']);
        expect(origin.server.connections).to.equal(before);
      } finally {
        await closed.close();
      }
    });

    once("return the platform's own code", async () => {
      const { id, target } = await offer(sound);
      const { resolveAudio } = origin.extractor;
      Object.assign(origin.extractor, {
        resolveAudio: () =>
          Promise.reject(new GatewayError('removed', 'It is gone.', { reason: 'This item was removed.' })),
      });
      const changed = await open();
      try {
        const { status, json } = await changed.request(target);
        expect(status).to.equal(422);
        expect(json.error).to.include({ code: 'removed', reason: 'This item was removed.' });
        expect(json.platform, id).to.equal('invented');
      } finally {
        Object.assign(origin.extractor, { resolveAudio });
        await changed.close();
      }
    });

    once('answer 504 after the timeout of a stalling source', async () => {
      const hasty: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(ms / 200, signal) };
      const quick = await open({ clock: hasty });
      try {
        const { target } = await offer((_request, response) => {
          response.writeHead(200, { 'content-length': sound.length });
          response.write(sound.subarray(0, 5000));
        });
        const { status, json } = await quick.request(target);
        expect([status, json.error.code, json.error.type]).to.deep.equal([504, 'audio_timeout', 'source_timeout']);
        await tidy(quick);
      } finally {
        await quick.close();
      }
    });

    once('answer 404 to unknown names, and 410 to expired ones', async () => {
      const { target } = await offer(sound);
      const name = path.basename(target, '.mp3');
      const odd = [
        name.slice(0, -1),
        `${name}A`,
        `${name}=`,
        name.toUpperCase(),
        name.replace(/^./, (first) => (first === 'A' ? 'B' : 'A')),
        'a',
        'a'.repeat(2000),
        '..%2f..%2fsecrets%2flink-secret',
        '%2e%2e',
        '....',
        '%00',
        'audio_AAAA',
        'a.mp3',
      ];
      for (const wrong of odd) {
        const { status, json } = await app.request(`/v1/extract/audio/${wrong}.mp3`);
        expect([status, json?.error.code], wrong).to.deep.equal([404, 'file_not_found']);
      }
      for (const wrong of ['', '.mp3', `${name}`, `${name}.mp3/`, `x/${name}.mp3`, `${name}.MP3`, '%zz.mp3']) {
        const { status } = await app.request(`/v1/extract/audio/${wrong}`);
        expect(status, wrong).to.be.oneOf([400, 404]);
      }
      expect(origin.requests.join()).to.not.include('secret');
      elapsed += 90_000_000;
      const { status, json } = await app.request(target);
      expect([status, json.error.code]).to.deep.equal([410, 'link_expired']);
      expect((await app.request(target, { method: 'HEAD' })).status).to.equal(410);
    });
  });

  once('answer 503 on a full disk, leave no file, and recover', async function () {
    const disk = path.join(folder, 'disk');
    await mkdir(disk);
    // Only root can make a disk that is this small.
    if ((await run('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk]).catch(() => 'no')) === 'no') this.skip();
    const small = await openDiskFiles(path.join(disk, 'files'), clock);
    const full = await startApp({
      stack,
      extractor: origin.extractor,
      clock,
      gateway: {
        audioLinks: { baseUrl: '', secrets: [SECRET] },
        trustedOrigins: [origin.server.origin],
        scratchFolder: path.join(disk, 'scratch'),
        services: { http: undefined, storage: small },
      },
    });
    try {
      const { target } = await offer(sound);
      await writeFile(path.join(disk, 'filler'), Buffer.alloc(1_020_000));
      const { status, json } = await full.request(target);
      expect([status, json.error.code]).to.deep.equal([503, 'upstream_unavailable']);
      await truncate(path.join(disk, 'filler'), 850_000);
      // Room for the source and one copy, but not for two: those who follow get theirs, and nothing is stored.
      const cut = await full.request(target).catch((error: Error) => error);
      expect(cut).to.satisfy(
        (answer: typeof cut) => answer instanceof Error || answer.status === 200 || answer.status === 503,
      );
      await rm(path.join(disk, 'filler'));
      await until(async () => (await readdir(path.join(disk, 'scratch'))).length === 0);
      expect(await readdir(path.join(disk, 'files'))).to.deep.equal([]);
      const made = await full.request(target, { headers: { range: 'bytes=0-9' } });
      expect(made.status).to.equal(206);
    } finally {
      await full.close();
      await small.close();
      await run('umount', [disk]);
    }
  });

  for (const damage of DAMAGES) {
    it(`make a damaged file (${damage}) again, once for all callers`, async () => {
      const place = await stack.place();
      const { filesUrl } = place.settings;
      const one = await open({ stack: { ...stack, place: async () => place } });
      try {
        const { target, id } = await offer(sound);
        const first = await bytesOf(target, {}, one);
        await tidy(one);
        expect(await damageFiles({ dataDir: one.dataDir, filesUrl }, '.mp3', damage)).to.equal(1);
        expect((await one.request(target, { method: 'HEAD' })).status).to.equal(200);
        const again = await Promise.all([
          bytesOf(target, {}, one),
          bytesOf(target, { range: 'bytes=0-99' }, one),
          bytesOf(target, {}, one),
        ]);
        expect(again.map(({ status }) => status)).to.deep.equal([200, 206, 200]);
        for (const { status, bytes } of again) {
          expect(bytes.equals(status === 206 ? first.bytes.subarray(0, 100) : first.bytes)).to.equal(true);
        }
        await tidy(one);
        const whole = await bytesOf(target, {}, one);
        expect(Number(whole.headers.get('content-length'))).to.equal(first.bytes.length);
        expect(origin.requests.filter((request) => request.startsWith(`/${id}`))).to.have.length(2);
        expect(
          one.log.filter(({ message }) => message === 'a stored MP3 is damaged; its next download creates it again'),
        ).not.to.deep.equal([]);
      } finally {
        await one.close();
      }
    });
  }

  once('serve a slow client completely without delaying others', async () => {
    const minutes = path.join(folder, 'minutes.m4a');
    await runFfmpeg(...tone(90), '-c:a', 'aac', minutes);
    const { target, id } = await offer(await readFile(minutes));
    const slow = await new Promise<IncomingMessage>((resolve) => get(app.url + target, resolve));
    slow.pause();
    const quick = await bytesOf(target);
    expect(mp3Seconds(quick.bytes)).to.be.closeTo(90, 0.5);
    await made(id);
    const chunks: Buffer[] = [];
    for await (const chunk of slow) chunks.push(chunk as Buffer);
    expect(Buffer.concat(chunks).equals(quick.bytes)).to.equal(true);
  });
});
