/** Fakes of the testing kit: clock, HTTP client, services and replays. */

import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import type { GatewayError, HttpClient, HttpRequest } from 'mediagate';
import {
  createFakeHttp,
  createManualClock,
  createMemoryCache,
  createMemoryStorage,
  createRecording,
  createRecordingLogger,
  createReplay,
  type FixtureExchange,
  readFixture,
} from '../../../core/testing/index.js';

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'no error',
    (error: { code?: string }) => error.code,
  );

describe('the manual clock', () => {
  it('wakes sleepers in the order of their time', async () => {
    const clock = createManualClock('2026-01-01T00:00:00Z');
    const woken: string[] = [];
    const sleep = (name: string, ms: number) =>
      clock.sleep(ms).then(() => void woken.push(`${name} at ${clock.monotonic()}`));
    void sleep('late', 500);
    void sleep('early', 100).then(() => sleep('again', 100));
    await clock.advance(499);
    expect(woken).to.deep.equal(['early at 100', 'again at 200']);
    await clock.advance(1);
    expect(woken.at(-1)).to.equal('late at 500');
    expect(new Date(clock.now()).toISOString()).to.equal('2026-01-01T00:00:00.500Z');
  });

  it('ends a sleep with the signal', async () => {
    const clock = createManualClock();
    const controller = new AbortController();
    const slept = clock.sleep(100, controller.signal).catch((error: unknown) => error);
    controller.abort('enough');
    expect(await slept).to.equal('enough');
    expect(await clock.sleep(1, AbortSignal.abort('before')).catch((error: unknown) => error)).to.equal('before');
    expect(clock.sleepers).to.equal(0);
  });
});

describe('the fake HTTP client', () => {
  it('answers by script, the last reply again and again', async () => {
    const http = createFakeHttp([{ status: 500 }, { body: { a: 1 } }]);
    const get = () => http.request({ url: 'https://t.example/' });
    expect((await get()).status).to.equal(500);
    expect([(await get()).json(), (await get()).headers]).to.deep.equal([
      { a: 1 },
      { 'content-type': 'application/json' },
    ]);
    expect(http.requests).to.have.length(3);
  });

  it('fails as the real client does', async () => {
    const url = 'https://t.example/';
    expect(await codeOf(createFakeHttp([{ fail: 'timeout' }]).request({ url }))).to.equal('upstream_timeout');
    expect(await codeOf(createFakeHttp([{ fail: 'connection' }]).request({ url }))).to.equal('upstream_error');
    expect(await codeOf(createFakeHttp([]).request({ url }))).to.equal('upstream_error');
    const page = await createFakeHttp([{ body: '<html>' }]).request({ url });
    expect(() => page.json())
      .to.throw()
      .with.property('code', 'upstream_refused');
    const controller = new AbortController();
    const hanging = createFakeHttp([{ hang: true }]).request({ url, signal: controller.signal });
    controller.abort(new Error('left'));
    expect(await hanging.catch((error: Error) => error.message)).to.equal('left');
  });

  it('follows redirects if scripted', async () => {
    const http = createFakeHttp(({ url }) =>
      String(url).endsWith('/end') ? { body: 'there' } : { status: 302, headers: { location: '/end' } },
    );
    expect((await http.request({ url: 'https://t.example/a' })).status).to.equal(302);
    const followed = await http.request({ url: 'https://t.example/a', maxRedirects: 1 });
    expect([followed.text(), followed.url]).to.deep.equal(['there', 'https://t.example/end']);
  });

  it('streams', async () => {
    const { body } = await createFakeHttp([{ body: 'whole' }]).stream({ url: 'https://t.example/' });
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) chunks.push(chunk);
    expect(Buffer.concat(chunks).toString()).to.equal('whole');
  });

  it('breaks off and hangs behind a body if scripted', async () => {
    const url = 'https://t.example/';
    const readAll = async (http: HttpClient, signal?: AbortSignal) => {
      let text = '';
      try {
        for await (const chunk of (await http.stream({ url, signal })).body) text += Buffer.from(chunk).toString();
      } catch (error) {
        return [text, (error as GatewayError).code ?? (error as Error).message];
      }
      return [text];
    };
    const breaking = createFakeHttp([{ body: 'half', after: 'break' }]);
    expect(await readAll(breaking)).to.deep.equal(['half', 'upstream_error']);
    expect(await codeOf(breaking.request({ url }))).to.equal('upstream_error');
    const controller = new AbortController();
    const hanging = readAll(createFakeHttp([{ body: 'half', after: 'hang' }]), controller.signal);
    setImmediate(() => controller.abort(new Error('left')));
    expect(await hanging).to.deep.equal(['half', 'left']);
  });

  it('records bodies that arrive in pieces as a whole', async () => {
    const http = createFakeHttp([{ body: 'ok' }]);
    await http.request({
      url: 'https://t.example/',
      method: 'POST',
      body: {
        size: 2,
        async *read() {
          yield Buffer.from('a');
          yield Buffer.from('b');
        },
      },
    });
    expect(String(http.requests[0]?.body)).to.equal('ab');
  });
});

describe('the services in memory', () => {
  it('forget cached values by the clock', async () => {
    const clock = createManualClock();
    const cache = createMemoryCache(clock);
    await cache.set('a', { n: 1 }, 1000);
    expect(await cache.get('a')).to.deep.equal({ n: 1 });
    await clock.advance(1000);
    expect(await cache.get('a')).to.equal(undefined);
  });

  it('store files with their range and tag', async () => {
    const storage = createMemoryStorage();
    await storage.write({ name: 'a.txt', contentType: 'text/plain', body: Buffer.from('hello') });
    const part = await storage.read('a.txt', { start: 1, end: 3 });
    let text = '';
    for await (const chunk of part?.body ?? []) text += Buffer.from(chunk).toString();
    expect(text).to.equal('ell');
    expect(part).to.include({ size: 5, contentType: 'text/plain' });
    expect(part?.etag).to.match(/^"[0-9a-f]{64}"$/);
    await storage.delete('a.txt');
    expect(await storage.stat('a.txt')).to.equal(undefined);
  });

  it('store log lines', () => {
    const logger = createRecordingLogger();
    logger.warn('careful', { method: 'page' });
    logger.info('well');
    expect(logger.lines).to.deep.equal([
      { level: 'warn', message: 'careful', fields: { method: 'page' } },
      { level: 'info', message: 'well', fields: {} },
    ]);
  });
});

describe('recording and replaying', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-fixture-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const write = (exchanges: FixtureExchange[]) =>
    writeFile(path.join(folder, 'exchanges.json'), JSON.stringify({ exchanges }));

  it('replays by method, path, named parameters and body', async () => {
    const url = 'https://t.example/p?v=1';
    await write([
      { request: { method: 'POST', url, bodyIncludes: ['"A"'] }, response: { status: 200, text: 'for A' } },
      { request: { method: 'POST', url }, response: { status: 200, text: 'first' } },
      { request: { method: 'POST', url }, response: { status: 200, text: 'second' } },
      { request: { method: 'GET', url }, response: { status: 200, text: 'unused' } },
    ]);
    const replay = createReplay(readFixture(folder));
    const post = async (more: Partial<HttpRequest>) => (await replay.request({ url, method: 'POST', ...more })).text();
    expect(await post({ body: '{"client":"A"}', url: `${url}&more=1` })).to.equal('for A');
    expect([await post({}), await post({}), await post({})]).to.deep.equal(['first', 'second', 'second']);
    expect(await codeOf(post({ url: 'https://t.example/p?v=2' }))).to.equal('upstream_error');
    expect(await codeOf(post({ method: 'PUT' }))).to.equal('upstream_error');
    expect(replay.unmatched).to.deep.equal(['POST https://t.example/p?v=2', `PUT ${url}`]);
    expect(replay.unused).to.deep.equal([`GET ${url}`]);
  });

  it('records what it can replay, without credentials', async () => {
    const client = createFakeHttp(({ body, url }) => ({
      headers: {
        'content-type': 'application/json; charset=utf-8',
        'set-cookie': 'session=cookie-value',
        'x-trace': 't',
      },
      body: `{"asked":${JSON.stringify(String(body ?? url))},"visitorData":"visitor-value","echo":"key-value"}`,
    }));
    const recording = createRecording(client, ['key-value']);
    const api = 'https://t.example/api?key=key-value&v=1';
    const ask = (client: HttpRequest['body']): HttpRequest => ({
      url: api,
      method: 'POST',
      body: client,
      headers: { authorization: 'key-value', cookie: 'cookie-value' },
    });
    const asked = [ask('{"name":"one","v":"1"}'), ask('{"name":"two","v":"1"}'), { url: 'https://t.example/page' }];
    for (const request of asked) await recording.request(request);
    recording.save(folder);

    const written = ['exchanges.json', '1.json', '2.json', '3.json'].map((file) =>
      readFileSync(path.join(folder, file), 'utf8'),
    );
    for (const secret of ['key-value', 'cookie-value', 'visitor-value', 'x-trace'])
      expect(written.join()).to.not.include(secret);
    const replay = createReplay(readFixture(folder));
    for (const request of asked) {
      const { asked: echoed } = (await replay.request(request)).json() as { asked: string };
      expect(echoed).to.equal(String(request.body ?? request.url));
    }
    expect([replay.unmatched, replay.unused]).to.deep.equal([[], []]);
  });
});
