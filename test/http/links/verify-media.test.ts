/** Verification of media files: what is asked of the platform, what an answer says, and the same in jobs and batches. */

import { expect } from 'chai';
import { type Cache, createGateway, systemClock } from 'mediagate';
import { invented } from '../../support/links/invented-plugin.js';
import { linkSiblings } from '../../support/processes/linked-siblings.js';
import { until } from '../../support/until.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';
import { sendRange } from './audio-origin.js';
import { JPEG, type MediaItem, startMediaOrigin, videoOf } from './media-origin.js';

const VIDEO = { kind: 'video', mime: 'video/mp4', height: 720, has_audio: true } as const;
const HLS = { kind: 'manifest', mime: 'application/vnd.apple.mpegurl' } as const;
const SIZE = 3_000_000;
/** Three minutes: a third of its bytes are the first one. */
const LONG = { duration_seconds: 180 };
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

type Respond = Extract<MediaItem['content'][number], (...parts: never[]) => unknown>;

describe('verify_media', function () {
  this.timeout(60_000);
  let origin: Awaited<ReturnType<typeof startMediaOrigin>>;
  let app: ListeningApp;
  let key: string;
  /** How much shorter the waits of the gateway are. */
  let haste = 1;

  before(async () => {
    origin = await startMediaOrigin();
    const clock = {
      ...systemClock,
      sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(ms / haste, signal),
    };
    app = await startApp({ extractor: origin.extractor, gateway: { services: { http: origin.http, clock } } });
    key = await app.makeKey();
  });

  after(async () => {
    await app?.close();
    await origin?.close();
  });

  beforeEach(() => {
    origin.requests.length = 0;
    origin.hosts.length = 0;
    haste = 1;
  });

  const urlOf = (id: string) => `https://invented.example/item/${id}`;

  async function verified(item: MediaItem, body: object = {}) {
    const id = origin.put(item);
    const { status, json } = await app.extract(key, { url: urlOf(id), verify_media: true, ...body });
    expect(status, JSON.stringify(json)).to.equal(200);
    return { id, ...outcomesOf(json) };
  }

  // biome-ignore lint/suspicious/noExplicitAny: a document
  function outcomesOf(json: any) {
    const entries = json.data.media.entries as { verified_at?: string; verification_error?: { message: string } }[];
    const outcomes = entries.map(({ verified_at: at, verification_error: error }) => {
      if (at !== undefined) expect(at).to.match(ISO);
      return at === undefined ? error?.message : 'ok';
    });
    const notes = (json.limitations as string[]).filter((note) => note.startsWith('media_'));
    return { entries, outcomes, notes };
  }

  const rangesOf = (id: string) =>
    origin.requests.filter(({ path }) => path.startsWith(`/${id}/`)).map(({ range }) => range);

  it('asks for the first bytes and for some past the first minute', async () => {
    const { id, outcomes, notes } = await verified({ entries: [VIDEO], content: [videoOf(SIZE)], common: LONG });
    expect([outcomes, notes]).to.deep.equal([['ok'], []]);
    expect(rangesOf(id)).to.deep.equal(['bytes=0-4095', 'bytes=1000000-1016383']);
  });

  it('asks for the end of a short file, and for the beginning alone of a picture', async () => {
    const short = await verified({ entries: [VIDEO], content: [videoOf(SIZE)], common: { duration_seconds: 20 } });
    expect(rangesOf(short.id)).to.deep.equal(['bytes=0-4095', `bytes=${SIZE - 16_384}-${SIZE - 1}`]);
    const picture = await verified({ entries: [{ kind: 'image' }], content: [JPEG] });
    expect([picture.outcomes, rangesOf(picture.id)]).to.deep.equal([['ok'], ['bytes=0-4095']]);
  });

  it('sends what the visit found, and asks no other host', async () => {
    const bound: Respond = (request, response) => {
      const { cookie, referer } = request.headers;
      if (cookie === 'visit=7' && referer === 'https://invented.example/') sendRange(videoOf(500), request, response);
      else response.writeHead(403).end();
    };
    const elsewhere: Respond = (_request, response) =>
      response.writeHead(302, { location: 'https://169.254.169.254/latest' }).end();
    const { outcomes, notes } = await verified({
      entries: [VIDEO, { ...VIDEO, height: 360 }],
      content: [bound, elsewhere],
      extraction: { mediaHeaders: { cookie: 'visit=7' } },
    });
    expect(outcomes).to.deep.equal(['ok', 'The file is on a host that is not a media host of the platform.']);
    expect(notes).to.deep.equal(['media_unverified: 1 of 2']);
    expect(new Set(origin.hosts)).to.deep.equal(new Set(['media.invented.example']));
  });

  it('says of each file why it cannot be fetched', async () => {
    const file = videoOf(SIZE);
    const untilMinute: Respond = (request, response) => {
      const start = Number(/^bytes=(\d+)/.exec(request.headers.range ?? '')?.[1]);
      if (start < SIZE / 3) sendRange(file, request, response);
      else response.writeHead(403).end();
    };
    const whole: Respond = (_request, response) => {
      response.writeHead(200, { 'content-length': SIZE });
      response.on('error', () => undefined).end(file);
    };
    const content: MediaItem['content'] = [
      untilMinute,
      Buffer.from('<!doctype html><script>alert(1)</script>'),
      (_request, response) => response.writeHead(404).end(),
      (_request, response) => response.writeHead(500).end(),
      whole,
    ];
    const entries = content.map((_, index) => ({ ...VIDEO, height: 100 + index }));
    const { outcomes, entries: shown } = await verified({ entries, content, common: LONG });
    expect(outcomes).to.deep.equal([
      'The source refused the file with status 403.',
      'The source did not send a media file.',
      'The source refused the file with status 404.',
      'The source refused the file with status 500.',
      'ok',
    ]);
    expect(shown[0]).to.deep.nested.include({ 'verification_error.code': 'media_unavailable' });
  });

  it('gives a file a time', async () => {
    haste = 5;
    const { outcomes } = await verified({ entries: [VIDEO], content: [() => undefined] });
    expect(outcomes).to.deep.equal(['The source did not send the file in time.']);
  });

  it('reads the item again if the addresses of a cached document have expired', async () => {
    const id = origin.put({ entries: [VIDEO], content: [videoOf(500)] });
    const before = (await app.extract(key, { url: urlOf(id) })).json;
    expect(before.data.media.entries[0]).not.to.have.any.keys('verified_at', 'verification_error');
    origin.expire(id);
    const { status, headers, json } = await app.extract(key, { url: urlOf(id), verify_media: true });
    expect([status, headers.get('x-cache'), outcomesOf(json).outcomes]).to.deep.equal([200, 'miss', ['ok']]);
    expect(json.data.media.entries[0].url).not.to.equal(before.data.media.entries[0].url);
    const resolved = origin.resolved(id);
    const again = await app.extract(key, { url: urlOf(id), verify_media: true });
    expect([again.headers.get('x-cache'), outcomesOf(again.json).outcomes]).to.deep.equal(['hit', ['ok']]);
    const plain = (await app.extract(key, { url: urlOf(id) })).json;
    expect(plain.data.media.entries[0]).not.to.have.any.keys('verified_at', 'verification_error');
    expect(origin.resolved(id)).to.equal(resolved);
  });

  it('reads the item again if another process has the cookies of the visit', async () => {
    const visited: Respond = (request, response) => {
      if (request.headers.cookie === 'visit=7') sendRange(videoOf(500), request, response);
      else response.writeHead(403).end();
    };
    const id = origin.put({
      entries: [{ ...VIDEO, bound_to: ['cookie'] }],
      content: [visited],
      extraction: { mediaHeaders: { cookie: 'visit=7' } },
    });
    const cache = new Map<string, string>();
    const shared: Cache = {
      get: async <Value>(name: string) => JSON.parse(cache.get(name) ?? 'null') as Value | undefined,
      set: async (name, value) => void cache.set(name, JSON.stringify(value)),
      delete: async (name) => void cache.delete(name),
    };
    const others = await Promise.all(
      linkSiblings(2).map((siblings) =>
        createGateway({
          plugins: [{ use: invented(origin.extractor) }],
          services: { http: origin.http, cache: shared, siblings },
        }),
      ),
    );
    try {
      for (const gateway of others) {
        const { data, limitations } = await gateway.extract({ url: urlOf(id), verifyMedia: true });
        expect(outcomesOf({ data, limitations }).outcomes).to.deep.equal(['ok']);
      }
      expect(origin.resolved(id)).to.equal(2);
    } finally {
      for (const gateway of others) await gateway.close();
    }
  });

  it('asks for twelve files that a person would download, and says so', async () => {
    const entries: MediaItem['entries'] = [
      { kind: 'subtitle', language: 'en' },
      ...Array.from({ length: 14 }, (_, index) => ({ kind: 'image' as const, width: 100 + index })),
    ];
    const { outcomes, notes } = await verified({ entries, content: entries.map(() => JPEG) });
    expect(outcomes).to.deep.equal([undefined, ...Array(12).fill('ok'), undefined, undefined]);
    expect(notes).to.deep.equal(['media_not_all_verified: 12 of 14']);
  });

  it('asks for the part of a playlist past its first minute', async () => {
    const part = (index: number) => `#EXTINF:30,\npart${index}.ts\n`;
    const playlist = `#EXTM3U\n#EXT-X-TARGETDURATION:30\n${[0, 1, 2, 3].map(part).join('')}#EXT-X-ENDLIST\n`;
    const files = Object.fromEntries([0, 1, 2, 3].map((index) => [`part${index}.ts`, videoOf(5_000)]));
    const { 'part2.ts': _gone, ...others } = files;
    const item = { entries: [HLS], content: [Buffer.from(playlist)], common: LONG };
    const whole = await verified({ ...item, files });
    expect(whole.outcomes).to.deep.equal(['ok']);
    expect(origin.requests.map(({ path }) => path).at(-1)).to.equal(`/${whole.id}/part2.ts`);
    const broken = await verified({ ...item, files: others });
    expect(broken.outcomes).to.deep.equal(['The source refused the file with status 403.']);
  });

  it('is refused in a wrong type', async () => {
    const { status, json } = await app.extract(key, { url: urlOf('1'), verify_media: 'yes' });
    expect([status, json.error.param]).to.deep.equal([400, 'verify_media']);
  });

  describe('in the background', () => {
    const poll = async (id: string, query = '') =>
      (await app.request(`/v1/extract/jobs/${id}${query}`, { headers: { authorization: `Bearer ${key}` } })).json;
    const done = (id: string) =>
      until(async () => {
        const json = await poll(id);
        return json.data.job.status === 'completed' && json;
      }, 100);

    for (const fields of [{ background: true }, { async_mode: true }, { force_async: true }]) {
      it(`is the work of a job with ${Object.keys(fields)[0]}, also of a cached document`, async () => {
        const id = origin.put({ entries: [VIDEO], content: [videoOf(500)] });
        await app.extract(key, { url: urlOf(id) });
        const body = { url: urlOf(id), ...fields, verify_media: true };
        const { json } = await app.extract(key, body);
        expect(json.data.job.status).to.equal('queued');
        expect(json.limitations).to.deep.equal([]);
        expect(outcomesOf(await done(json.data.job.job_id)).outcomes).to.deep.equal(['ok']);
        expect(origin.resolved(id)).to.equal('force_async' in fields ? 2 : 1);
      });
    }

    it('is alone a reason to defer: async_mode without it is ignored with a note', async () => {
      const id = origin.put({ entries: [VIDEO], content: [videoOf(500)] });
      const { json } = await app.extract(key, { url: urlOf(id), async_mode: true, force_async: true });
      expect(json.limitations).to.include.members([
        'async_mode_ignored: the link was extracted at once',
        'force_async_ignored: the link was extracted at once',
      ]);
      expect(json.data.media.entries).to.have.length(1);
    });

    it('leaves jobs of requests apart that ask for other things', async () => {
      const id = origin.put({
        entries: [VIDEO],
        content: [(_request, response) => void setTimeout(() => response.end(), 300)],
      });
      const submit = async (fields: object) =>
        (await app.extract(key, { url: urlOf(id), background: true, force_async: true, ...fields })).json.data.job
          .job_id;
      const wanted = [{}, { verify_media: true }, { include_audio_mp3: false }];
      const ids = await Promise.all([...wanted, ...wanted].map(submit));
      expect(new Set(ids).size).to.be.within(3, 6);
      const documents = await Promise.all(ids.map(done));
      const verifiedOnes = documents.map((json) => outcomesOf(json).outcomes[0] !== undefined);
      expect(verifiedOnes).to.deep.equal([false, true, false, false, true, false]);
    });

    it('is done for each link of a batch, beside the words of its subtitles', async () => {
      const subtitles = { kind: 'subtitle', language: 'en' } as const;
      const said = Buffer.from('WEBVTT\n\n00:01.000 --> 00:02.500\nSlow water\n');
      const good = origin.put({ entries: [VIDEO, subtitles], content: [videoOf(500), said] });
      const bad = origin.put({ entries: [VIDEO], content: [(_request, response) => response.writeHead(404).end()] });
      const send = (method: string, target: string, body?: object) =>
        app.request(target, {
          method,
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          ...(body && { body: JSON.stringify(body) }),
        });
      const urls = [urlOf(good), urlOf(bad)];
      const { json } = await send('POST', '/v1/extract/batches', {
        urls,
        verify_media: true,
        include_transcript: true,
        transcript_languages: ['de'],
      });
      await until(async () => (await send('GET', json.status_url)).json.status === 'completed', 100);
      const { text } = await send('GET', json.results_url);
      const lines = text.trim().split('\n');
      expect(lines.map((line) => outcomesOf(JSON.parse(line).result).outcomes[0])).to.deep.equal([
        'ok',
        'The source refused the file with status 404.',
      ]);
      const words = lines.map((line) => {
        const { data, limitations } = JSON.parse(line).result;
        return [data.transcript?.text, limitations.filter((note: string) => note.startsWith('transcript'))];
      });
      expect(words).to.deep.equal([
        ['Slow water', ['transcript_language: en']],
        [undefined, ['transcript_unavailable: no subtitles, and batches have no speech recognition']],
      ]);
    });
  });
});
