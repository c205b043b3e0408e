/** Large request bodies and the threads that parse them. */

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { isGatewayError, type TextCall } from 'mediagate';
import { readJsonBody } from '../../../server/http/bodies/body.js';
import { BodyBudget } from '../../../server/http/bodies/body-budget.js';
import { parseInWorker } from '../../../server/http/bodies/json-threads.js';
import { pngChunk } from '../../support/images/images.js';
import { sampleImage } from '../../support/images/sample-images.js';
import { scriptedText } from '../../support/models/scripted-text.js';
import { rejection } from '../../support/rejection.js';
import { until } from '../../support/until.js';
import { imageClient, PROMPT, startImageApp } from '../images/client.js';
import { CHAT, post } from '../models/text-app.js';
import { type ListeningApp, startApp } from './listening-app.js';

const KIBIBYTE = 1024;
const WHOLE = 'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\ndata: [DONE]\n\n';

/** Sends the beginning of a chunked body and never its end. Resolves with what comes back. */
function sendOpen(app: ListeningApp, path: string, key: string, begin: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(app.port, '127.0.0.1');
    socket.once('data', (chunk) => {
      socket.destroy();
      resolve(String(chunk));
    });
    socket.once('error', reject);
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${begin.length.toString(16)}\r\n${begin}\r\n`,
    );
  });
}

describe('bodies with many values', () => {
  let app: ListeningApp;
  let calls: TextCall[];
  let key: string;

  before(async () => {
    calls = [];
    const { plugin } = scriptedText((call) => {
      calls.push(call);
      return {
        contentType: 'application/json',
        pieces: [
          Buffer.from(
            '{"choices":[{"index":0,"message":{"role":"assistant","content":"Hi."},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}',
          ),
        ],
      };
    });
    app = await startApp({ gateway: { plugins: [{ use: plugin, timeoutMs: 20_000 }] } });
    key = await app.makeKey({ grants: ['text', 'images', 'extract'] });
  });
  after(() => app.close());

  it("are refused beyond the route's limit of values while they arrive", async () => {
    for (const [path, values] of [
      ['/v1/images/jobs', 20_000],
      ['/v1/extract/batch', 20_000],
      ['/v1/chat/completions', 500_000],
    ] as const) {
      const answer = await sendOpen(app, path, key, `{"model":"nope","x":[${'{},'.repeat(values / 2)}`);
      expect(answer, path)
        .to.match(/^HTTP\/1\.1 413 /)
        .and.to.contain('request_too_large')
        .and.to.contain(`more than ${values} JSON values`);
    }
  });

  it('are refused beyond 64 levels of nesting while they arrive', async () => {
    for (const path of ['/v1/images/jobs', '/v1/chat/completions']) {
      const answer = await sendOpen(app, path, key, `{"model":"nope","x":${'['.repeat(64)}`);
      expect(answer, path)
        .to.match(/^HTTP\/1\.1 400 /)
        .and.to.contain('invalid_json');
    }
    const allowed = { ...CHAT, metadata: JSON.parse(`${'['.repeat(62)}1${']'.repeat(62)}`) };
    expect((await post(app, '/v1/chat/completions', key, allowed)).status).to.equal(200);
  });

  it('count no comma, brace or bracket inside a string, for any cut of chunks and escapes', async () => {
    const text = `${'[{,'.repeat(40_000)}\\"${'{},'.repeat(20_000)}\\\\`;
    const body = `{"model":"m-5.5","messages":[{"role":"user","content":"${text}"}]}`;
    const answer = await post(app, '/v1/chat/completions', key, body);
    expect(answer.status, answer.text).to.equal(200);
    expect(Buffer.from(calls.at(-1)?.body ?? []).toString()).to.equal(body);
  });

  it('pass through byte for byte if accepted, with the short fields parsed', async () => {
    const tokens = Array.from({ length: 150_000 }, (_, index) => index % 1000);
    const body = JSON.stringify({ ...CHAT, tokens, user: 'u', max_completion_tokens: 7 });
    const answer = await post(app, '/v1/chat/completions', key, body);
    expect(answer.status, answer.text).to.equal(200);
    const call = calls.at(-1);
    expect(Buffer.from(call?.body ?? []).toString()).to.equal(body);
    expect(call?.parsed)
      .to.include({ model: 'm-5.5', user: 'u', max_completion_tokens: 7 })
      .and.not.to.have.property('tokens');
  });

  it('are refused like small ones if they are invalid', async () => {
    const padding = 'x'.repeat(300 * KIBIBYTE);
    for (const [change, code] of [
      [{ stream: 'yes' }, 'invalid_value'],
      [{ model: 'nope' }, 'model_not_found'],
      [{ model: undefined }, 'missing_required_parameter'],
    ] as const) {
      const answer = await post(app, '/v1/chat/completions', key, { ...CHAT, padding, ...change });
      expect(answer.json.error.code).to.equal(code);
    }
    for (const broken of [`{"a":"${padding}"`, `["${padding}"]`, `{"a":"${padding}\u0001"}`]) {
      const answer = await post(app, '/v1/chat/completions', key, broken);
      expect([answer.status, answer.json.error.code]).to.deep.equal([400, 'invalid_json']);
    }
  });

  it('refuse more than 1,000 fields, and keep lists and objects of all fields up to 64 KiB', async () => {
    const fields = (count: number, value: unknown) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, value]));
    const padding = 'x'.repeat(300 * KIBIBYTE);
    const few = await post(app, '/v1/chat/completions', key, { ...fields(997, 1), ...CHAT, padding });
    expect(few.status, few.text).to.equal(200);
    expect(calls.at(-1)?.parsed).to.include({ k0: 1, k996: 1, model: 'm-5.5' });
    const many = await post(app, '/v1/chat/completions', key, { ...fields(998, 1), ...CHAT, padding });
    expect([many.status, many.json.error.code]).to.deep.equal([400, 'invalid_json']);
    expect(many.json.error.message).to.contain('1000 fields');

    const list = Array.from({ length: 2_000 }, () => 1);
    const long = await post(app, '/v1/chat/completions', key, { ...fields(100, list), ...CHAT, padding });
    expect(long.status, long.text).to.equal(200);
    expect(JSON.stringify(calls.at(-1)?.parsed).length).to.be.within(50_000, 70_000);
  });

  it('keep stream_options and reasoning up to 8 KiB', async () => {
    const padding = 'x'.repeat(300 * KIBIBYTE);
    const list = Array.from({ length: 2_000 }, () => 1);
    // Together they have more than 64 KiB, to the last few bytes.
    const lists = Object.fromEntries(
      Array.from({ length: 700 }, (_, index) => [`k${index}`, index < 100 ? list : [1]]),
    );
    const bare = { model: 'm-5.5', input: 'Ahoy!' };
    const effort = await post(app, '/v1/responses', key, { ...lists, ...bare, reasoning: { effort: 'much' }, padding });
    expect([effort.status, effort.json.error.param]).to.deep.equal([400, 'reasoning.effort']);
    const stream_options = { include_obfuscation: false };
    const chat = await post(app, '/v1/chat/completions', key, { ...lists, ...CHAT, stream_options, padding });
    expect(chat.status, chat.text).to.equal(200);
    expect(calls.at(-1)?.parsed).to.deep.include({ stream_options });
    for (const [path, body] of [
      ['/v1/responses', { ...bare, reasoning: { effort: 'low', more: 'x'.repeat(9_000) } }],
      ['/v1/chat/completions', { ...CHAT, stream: true, stream_options: { more: 'x'.repeat(9_000) } }],
    ] as const) {
      const answer = await post(app, path, key, { ...body, padding });
      expect([answer.status, answer.json.error.code], path).to.deep.equal([400, 'invalid_json']);
      expect(answer.json.error.message).to.contain('8192 bytes');
    }
  });

  it('count as refused bodies at any length', async () => {
    const own = await app.makeKey({ grants: ['text'] });
    const body = `{"model":"nope","x":[${'0,'.repeat(25_000)}0]}`;
    const statuses = new Set<number>();
    for (let sent = 0; sent < 60; sent += 1) statuses.add((await post(app, '/v1/chat/completions', own, body)).status);
    expect([...statuses]).to.deep.equal([404]);
    expect((await post(app, '/v1/chat/completions', own, body)).status).to.equal(429);
    expect((await post(app, '/v1/chat/completions', own, CHAT)).status).to.equal(200);
  });

  it('estimate the prompt of a large chat by its texts, without images', async () => {
    const { plugin } = scriptedText(() => ({ pieces: [Buffer.from(WHOLE)] }));
    const estimating = await startApp({ gateway: { plugins: [{ use: plugin, timeoutMs: 20_000 }] } });
    try {
      const own = await estimating.makeKey({ grants: ['text'] });
      const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(600 * KIBIBYTE)}` } };
      const content = [{ type: 'text', text: 'word '.repeat(1_000) }, image];
      const chat = { ...CHAT, stream: true, messages: [{ role: 'user', content }] };
      await post(estimating, '/v1/chat/completions', own, chat);
      const usage = () => estimating.request('/v1/usage', { headers: { authorization: `Bearer ${own}` } });
      // Another poll could be one too many.
      const counted = await until(async () => {
        const { text } = await usage();
        return text.includes('"requests":1') ? text : undefined;
      });
      const [, prompt, input] = /"prompt_tokens":(\d+)|"input_tokens":(\d+)/.exec(counted) ?? [];
      const total = Number(prompt ?? input);
      expect(total).to.be.within(900, 1_500);
    } finally {
      await estimating.close();
    }
  });
});

describe('large image bodies', () => {
  let app: ListeningApp;

  before(async () => {
    app = await startImageApp();
  });
  after(() => app.close());

  it('match equal requests, regardless of what was cut out of them', async () => {
    const client = imageClient(app, await app.makeKey({ grants: ['images'] }));
    const key = { 'idempotency-key': 'cut' };
    const long = 'x'.repeat(400 * KIBIBYTE);
    const first = await client.submit({ ...PROMPT, long, list: [long, 'short'] }, key);
    expect(first.status).to.equal(202);
    const spaced = ` {"list":[ "${long}" ,"sh\\u006frt"],"long" : "\\u0078${long.slice(1)}","prompt":"${PROMPT.prompt}","model":"gen-img-2"}`;
    const again = await client.submit(spaced, key);
    expect([again.json.id, again.headers.get('idempotency-replayed')]).to.deep.equal([first.json.id, 'true']);
    const other = await client.submit({ ...PROMPT, long, list: ['short', long] }, key);
    expect(other.status).to.equal(422);
    const longName = await client.submit(`{"model":"gen-img-2","prompt":"a","${long}":"cut:0"}`, {
      'idempotency-key': 'name',
    });
    expect(longName.status).to.equal(202);
  });

  it('may have escaped slashes in base64, as some encoders write them', async () => {
    const client = imageClient(app, await app.makeKey({ grants: ['images'] }));
    const key = { 'idempotency-key': 'slashes' };
    const png = await sampleImage({ width: 64, height: 64, format: 'png', seed: 7 });
    const end = png.length - 12;
    const long = Buffer.concat([png.subarray(0, end), pngChunk('teST', randomBytes(400_000)), png.subarray(end)]);
    const image = `data:image/png;base64,${long.toString('base64')}`;
    const body = JSON.stringify({ ...PROMPT, image });
    const plain = await client.submit(body, key);
    expect(plain.status, plain.text).to.equal(202);
    const escaped = await client.submit(body.replaceAll('/', '\\/'), key);
    expect([escaped.json.id, escaped.headers.get('idempotency-replayed')]).to.deep.equal([plain.json.id, 'true']);
    const text = await client.submit({ ...PROMPT, padding: 'é'.repeat(3_000_000) });
    expect([text.status, text.json.error.code]).to.deep.equal([400, 'invalid_json']);
    expect(text.json.error.message).to.contain('base64');
  });
});

describe('the threads that parse large bodies', () => {
  it('take turns: many bodies of one owner delay another by one of them', async () => {
    const body = () => Buffer.from(JSON.stringify({ values: Array.from({ length: 30_000 }, () => ({})) }));
    const ended: string[] = [];
    const parse = async (owner: string) => {
      await parseInWorker(owner, Buffer.from(new Uint8Array(body()).buffer), { longStrings: [], fingerprinted: false });
      ended.push(owner);
    };
    await Promise.all([...Array.from({ length: 12 }, () => parse('many')), parse('one')]);
    expect(ended).to.have.lengthOf(13);
    // Two are under way when it comes, and one more may end on the other thread.
    expect(ended.indexOf('one')).to.be.at.most(4);
  });

  const refuse = (owner: string) =>
    parseInWorker(owner, Buffer.from(new ArrayBuffer(5_000)), { longStrings: [], fingerprinted: false });

  it('refuse more than 24 waiting bodies of one owner, and let others in', async () => {
    // Two are being parsed.
    const parses = Array.from({ length: 26 }, () => refuse('many'));
    const refused = rejection(refuse('many'));
    parses.push(refuse('one'));
    expect(await refused).to.have.property('code', 'queue_full');
    await Promise.all(parses);
    expect((await refuse('many')).parsed).to.have.property('refusal');
  });

  it('count a body that finds the queue of its owner full as refused', async () => {
    const parses: Promise<unknown>[] = [];
    const refused: string[] = [];
    const fill = () => {
      for (let waiting = 0; waiting < 26; waiting += 1) parses.push(refuse('one'));
      return undefined;
    };
    const refusals = { max: 60, blockedFor: fill, add: (owner: string) => void refused.push(owner) };
    const budget = new BodyBudget({ refusals });
    const server = createServer(async (request, response) => {
      const limits = { maxBytes: 100_000, maxValues: 50_000, budget, owner: 'one' };
      const answer = await readJsonBody(request, response, limits).catch((error: unknown) => error);
      response.end(isGatewayError(answer) ? answer.code : 'read');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: `{"x":[${'0,'.repeat(25_000)}0]}`,
      });
      expect(await answer.text()).to.equal('queue_full');
      expect(refused).to.deep.equal(['one']);
      expect(budget.taken()).to.deep.equal({ small: 0, big: 0 });
    } finally {
      server.close();
      await Promise.all(parses);
    }
  });

  it('drop the latest body of the owner with the most if 64 wait', async () => {
    const owners = [...Array(26).fill('most'), ...Array(22).fill('many'), ...Array(18).fill('some')];
    const parses = owners.map(refuse);
    const newcomer = refuse('one');
    const ends = await Promise.allSettled(parses);
    const refused = ends.flatMap(({ status }, index) => (status === 'rejected' ? [index] : []));
    expect(refused).to.deep.equal([25]);
    expect(ends[25]).to.have.nested.property('reason.code', 'queue_full');
    expect((await newcomer).parsed).to.have.property('refusal');
  });
});

describe('refused requests with a body above 64 KiB', () => {
  let app: ListeningApp;
  const large = { ...PROMPT, n: 2, padding: 'x'.repeat(70 * KIBIBYTE) };

  before(async () => {
    app = await startImageApp();
  });
  after(() => app.close());

  it('stop reading bodies after 60 a minute of an account', async () => {
    const client = imageClient(app, await app.makeKey({ grants: ['images'], rpm: 3 }));
    for (let sent = 0; sent < 60; sent += 1) expect((await client.submit(large)).status).to.equal(400);
    const refused = await client.submit(large);
    expect([refused.status, refused.json.error.code]).to.deep.equal([429, 'rate_limit_exceeded']);
    expect(Number(refused.headers.get('retry-after'))).to.be.within(1, 60);
    expect(refused.json.error.message).to.contain('64 KiB');
    // Small requests, those of others, and the window of accepted requests are as they were.
    for (let sent = 0; sent < 3; sent += 1) expect((await client.submit()).status).to.equal(202);
    const another = imageClient(app, await app.makeKey({ grants: ['images'] }));
    expect((await another.submit(large)).status).to.equal(400);
  });

  it('are answered before the body has arrived', async () => {
    const key = await app.makeKey({ grants: ['images'] });
    const client = imageClient(app, key);
    for (let sent = 0; sent < 60; sent += 1) await client.submit(large);
    const announced = await app.raw(
      `POST /v1/images/jobs HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 70000\r\n\r\n`,
    );
    expect(announced).to.match(/^HTTP\/1\.1 429 /);
    expect(await sendOpen(app, '/v1/images/jobs', key, `{"a":"${'x'.repeat(66 * KIBIBYTE)}`)).to.match(
      /^HTTP\/1\.1 429 /,
    );
  });

  it('do not count accepted requests, nor those over the rate limit', async () => {
    const client = imageClient(app, await app.makeKey({ grants: ['images'], rpm: 2 }));
    const good = { ...PROMPT, padding: 'x'.repeat(70 * KIBIBYTE) };
    for (const status of [202, 202]) expect((await client.submit(good)).status).to.equal(status);
    for (let sent = 0; sent < 65; sent += 1) {
      const answer = await client.submit(good);
      expect([answer.status, answer.json.error.message]).to.satisfy(
        ([status, message]: [number, string]) => status === 429 && !message.includes('64 KiB'),
      );
    }
  });
});

describe('memory of request bodies, over HTTP', () => {
  let app: ListeningApp;
  const sockets: Socket[] = [];

  before(async () => {
    app = await startImageApp();
  });
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });
  after(() => app.close());

  const open = (key: string, framing: string, begin: string) => {
    const socket = connect(app.port, '127.0.0.1');
    sockets.push(socket);
    socket.on('error', () => {});
    socket.write(
      `POST /v1/images/jobs HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n${framing}\r\n\r\n${begin}`,
    );
    return socket;
  };

  it('does not reserve announced bytes: 200 bodies of 1 MiB that never arrive block no client', async () => {
    const key = await app.makeKey({ grants: ['images'] });
    for (let opened = 0; opened < 200; opened += 1) open(key, 'Content-Length: 1048576', '{');
    const client = imageClient(app, key);
    expect((await client.submit({ ...PROMPT, padding: 'x'.repeat(900 * KIBIBYTE) })).status).to.equal(202);
  });

  it('frees the memory of bodies that are not JSON, on every route', async () => {
    const key = await app.makeKey({ grants: ['images', 'text', 'extract', 'audio'] });
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const routes = [
      '/v1/images/jobs',
      '/v1/chat/completions',
      '/v1/responses',
      '/v1/extract/batch',
      '/v1/audio/speech',
    ];
    for (const route of routes) {
      for (let sent = 0; sent < 50; sent += 1) {
        const answer = await app.request(route, { method: 'POST', headers, body: 'x'.repeat(60 * KIBIBYTE) });
        expect([answer.status, answer.json.error.code], route).to.deep.equal([400, 'invalid_json']);
      }
    }
    const free = imageClient(app, key);
    // Three eighths of the room hold 24 bodies of 1 MB: none of that may be taken.
    const bodies = Array.from({ length: 20 }, () => free.submit({ ...PROMPT, padding: 'x'.repeat(1_000_000) }));
    for (const { status } of await Promise.all(bodies)) expect(status).to.equal(202);
  });

  it('counts the received bytes of chunked bodies', async () => {
    const key = await app.makeKey({ grants: ['images'] });
    const held = Array.from({ length: 60 }, () => open(key, 'Transfer-Encoding: chunked', '2\r\n{ \r\n'));
    expect((await imageClient(app, key).submit()).status).to.equal(202);
    const answers = held.map((socket) => once(socket, 'data'));
    for (const socket of held) socket.write('1\r\n}\r\n0\r\n\r\n');
    // All were read to their end: what is missing in them is told.
    for (const [answer] of await Promise.all(answers)) expect(String(answer)).to.match(/^HTTP\/1\.1 400 /);
  });

  it('refuses an announced body that is too large at once', async () => {
    const key = await app.makeKey({ grants: ['images'] });
    const head = `Host: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 90000000\r\n\r\n`;
    for (const path of ['/v1/images/jobs', '/v1/images/generations'])
      expect(await app.raw(`POST ${path} HTTP/1.1\r\n${head}`)).to.match(/^HTTP\/1\.1 413 /);
    const audio = await app.makeKey({ grants: ['audio'] });
    const form = `Host: a\r\nAuthorization: Bearer ${audio}\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 2000000000\r\n\r\n`;
    expect(await app.raw(`POST /v1/audio/transcriptions HTTP/1.1\r\n${form}`)).to.match(/^HTTP\/1\.1 413 /);
  });
});
