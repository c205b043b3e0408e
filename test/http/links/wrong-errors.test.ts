/** Plugins that throw the wrong errors or return invalid values, over HTTP. */

import { createRequire } from 'node:module';
import { inspect } from 'node:util';
import { expect } from 'chai';
import {
  type Contributions,
  definePlugin,
  type ExtractCall,
  GatewayError,
  type GatewayErrorDetails,
  type LinkMatch,
  type Plugin,
  type TextReply,
} from 'mediagate';
import { Type } from 'mediagate/plugin';
import { tonePcm } from '../../support/audio/sounds.js';
import { imageModel, inventedImage } from '../../support/images/invented-image.js';
import { inventedExtraction } from '../../support/links/invented-plugin.js';
import { longIt } from '../../support/runner/variants.js';
import { until } from '../../support/until.js';
import { toForm } from '../audio/client.js';
import { type Answer, type ListeningApp, startApp } from '../http/listening-app.js';

/** Options of the entry: no client is to see one, and no line of the log. */
const API_KEY = 'a-key-that-nobody-may-see';
const NESTED = 'Basic "quoted" & secret';
const OPTIONS = {
  apiKey: API_KEY,
  short: 'tiny',
  models: ['liar-text'],
  upstreams: [{ url: 'https://vendor.internal/v1', word: NESTED }],
};
const ENTRY = 'liar';
const ACCOUNT = 'someone';
const MISSING = '@invented/not-installed';
const WORDS = `The vendor refuses ${API_KEY} at https://vendor.internal/v1/chat, ${NESTED} and tiny, for liar-text.`;
const CLEAN = 'The vendor refuses [redacted] at [redacted]/chat, [redacted] and tiny, for liar-text.';

/** What each contract lets a plugin throw, one of the codes, and one that only another contract has. */
const KINDS = {
  extractor: {
    own: 'private',
    status: 422,
    others: ['moderation_blocked', 'context_length_exceeded', 'response_not_found'],
  },
  image: { own: 'moderation_blocked', status: 400, others: ['removed', 'bot_check', 'response_not_found'] },
  audio: { own: 'invalid_value', status: 400, others: ['login_required', 'bot_check', 'previous_response_not_found'] },
  text: { own: 'context_length_exceeded', status: 400, others: ['private', 'bot_check', 'audio_unavailable'] },
} as const;
type Kind = keyof typeof KINDS;

/** As another copy of the package would make them, or a plugin in another language. */
class ForeignError extends Error {
  constructor(
    readonly code: unknown,
    message: string,
    more: object = {},
  ) {
    super(message);
    Object.assign(this, more, { [Symbol.for('mediagate.GatewayError')]: true });
  }
}
class OwnError extends GatewayError {}

const gatewayError = (code: unknown, message = 'No.', details?: GatewayErrorDetails) =>
  new GatewayError(code as 'private', message, details);

/** What no contract has: name, what is thrown, and the code that the log names, if any. */
const FORGED: readonly [string, unknown, string?][] = [
  ['a refused key', gatewayError('invalid_api_key'), 'invalid_api_key'],
  ['a used-up quota', gatewayError('insufficient_quota'), 'insufficient_quota'],
  ['a limit of ours', gatewayError('rate_limit_exceeded'), 'rate_limit_exceeded'],
  ['a suspended account', gatewayError('account_suspended'), 'account_suspended'],
  ['a job that is not there', gatewayError('job_not_found'), 'job_not_found'],
  ['a failure of the gateway', gatewayError('internal_error'), 'internal_error'],
  ['the end of the gateway', gatewayError('shutting_down'), 'shutting_down'],
  ['an unknown code', gatewayError('teapot'), 'teapot'],
  ['a code that every object has', gatewayError('constructor'), 'constructor'],
  ['a code that is no text', gatewayError(401), 'a number'],
  ['no code', gatewayError(undefined), 'a undefined'],
  ['a subclass', new OwnError('revoked_api_key', 'No.'), 'revoked_api_key'],
  ['a refused key of another copy', new ForeignError('invalid_api_key', 'No.'), 'invalid_api_key'],
  ['an unknown code of another copy', new ForeignError('teapot', 'No.'), 'teapot'],
  ['an error', new Error('oops')],
  ['an error with a status', Object.assign(new Error('oops'), { status: 401, expose: true, code: 'invalid_api_key' })],
  ['a text', `oops ${API_KEY}`],
  ['nothing', undefined],
  ['null', null],
  ['a number', 401],
  ['an object with a status', { status: 401, code: 'invalid_api_key', message: WORDS, headers: { a: NESTED } }],
  ['an object without a prototype', Object.create(null)],
  ['an error that names an option', new Error(WORDS, { cause: new Error(API_KEY) })],
];

describe('errors of plugins over HTTP', () => {
  let app: ListeningApp;
  let key: string;
  let item = 0;
  /** What the plugin does where it is asked for something. */
  let act: (where: string) => void;
  /** What is said beside results. */
  let notes: readonly string[] = [];
  /** What the text model replies instead of an answer, if anything. */
  let reply: (() => unknown) | undefined;

  /** What `match` returns instead of a link, if anything. */
  let matched: (() => unknown) | undefined;

  const link = (url: URL): LinkMatch => {
    if (url.hostname !== 'liar.example') return undefined;
    act('match');
    if (matched) return matched() as LinkMatch;
    const [, kind, id = ''] = /^\/(item|short|product)\/(\d+)$/.exec(url.pathname) ?? [];
    const kinds = { item: 'video', short: 'short_link', product: 'product' } as const;
    return { kind: kinds[kind as keyof typeof kinds], id, url: url.origin + url.pathname };
  };

  const liar: Plugin = definePlugin({
    name: ENTRY,
    apiVersion: 1,
    summary: 'Throws what it is told to.',
    provides: ['extractor', 'image', 'audio', 'text'],
    options: Type.Object({}, { additionalProperties: true }),
    setup(): Contributions {
      const extract = async ({ link: { id } }: ExtractCall) => {
        act('extract');
        return inventedExtraction(id, { limitations: notes });
      };
      async function* body(): AsyncGenerator<Uint8Array> {
        act('body');
        yield Buffer.alloc(4_800);
        act('flow');
        yield Buffer.alloc(4_800);
      }
      async function* text(stream: boolean): AsyncGenerator<Uint8Array> {
        act('body');
        const piece = { id: 'r', choices: [{ index: 0, delta: { content: 'Ostend' } }] };
        yield Buffer.from(stream ? `data: ${JSON.stringify(piece)}\n\n` : '{"id":"r",');
        act('flow');
        yield Buffer.from(stream ? 'data: [DONE]\n\n' : '"choices":[]}');
      }
      const upstreams = () => {
        act('upstreams');
        return [];
      };
      const shared = { platform: ENTRY, displayName: 'Liar', linkForms: ['https://liar.example/item/<digits>'] };
      return {
        extractors: [
          {
            ...shared,
            match: (url) => (url.pathname.startsWith('/product') ? undefined : link(url)),
            extract,
            methods: upstreams,
            async resolve() {
              act('resolve');
              return new URL(`https://liar.example/item/${item}`);
            },
          },
          {
            ...shared,
            platform: 'liar_shop',
            background: true,
            match: (url) => (url.pathname.startsWith('/product') ? link(url) : undefined),
            extract,
          },
        ],
        imageProviders: [
          {
            models: [imageModel('gen-img-2')],
            upstreams,
            async generate(call) {
              act('generate');
              return {
                ...(await inventedImage(call)),
                warnings: notes.map((details) => ({ setting: 'size', details })),
              };
            },
          },
        ],
        audioProviders: [
          {
            models: [
              { id: 'liar-ear', operations: ['transcribe'] },
              { id: 'liar-mouth', operations: ['speak'] },
            ],
            upstreams,
            async transcribe() {
              act('transcribe');
              return { text: 'Hello.', segments: [] };
            },
            async speak() {
              act('speak');
              return { body: body(), format: 'pcm' };
            },
          },
        ],
        textProviders: [
          {
            models: [{ id: 'liar-text', routes: ['chat_completions', 'responses'], efforts: [] }],
            upstreams,
            async send({ stream }) {
              act('send');
              if (reply) return reply() as TextReply;
              const type = stream ? 'text/event-stream' : 'application/json';
              return {
                status: 200,
                headers: { 'content-type': type },
                body: text(stream),
                upstream: 'first',
                upstreamModel: 'm',
              };
            },
          },
        ],
      };
    },
  });

  before(async () => {
    act = () => {};
    app = await startApp({ gateway: { plugins: [{ use: liar, options: OPTIONS, timeoutMs: 5_000 }] } });
    key = await app.makeKey({ grants: ['extract', 'images', 'audio', 'text'] }, { accountId: ACCOUNT });
  });
  after(() => app?.close());

  const throwAt = (place: string, thrown: unknown) => {
    act = (where) => {
      if (where === place) throw thrown;
    };
  };
  const post = (target: string, body: unknown) =>
    app.request(target, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const chat = (stream: boolean) =>
    post('/v1/chat/completions', { model: 'liar-text', stream, messages: [{ role: 'user', content: 'Hello' }] });
  /** Each of an item of its own, so that no refusal is remembered. */
  const next = (form = 'item') => {
    item += 1;
    return `https://liar.example/${form}/${item}`;
  };

  /** Ways in which a client meets what a plugin throws. */
  const WAYS: readonly { kind: Kind; way: string; place: string; ask(): Promise<Answer> }[] = [
    { kind: 'extractor', way: 'an extraction', place: 'extract', ask: () => app.extract(key, { url: next() }) },
    { kind: 'extractor', way: 'a short link', place: 'resolve', ask: () => app.extract(key, { url: next('short') }) },
    {
      kind: 'image',
      way: 'an image',
      place: 'generate',
      ask: () => post('/v1/images/generations', { model: 'gen-img-2', prompt: 'A tug' }),
    },
    {
      kind: 'audio',
      way: 'a transcript',
      place: 'transcribe',
      ask: () =>
        app.request('/v1/audio/transcriptions', {
          method: 'POST',
          headers: { authorization: `Bearer ${key}` },
          body: toForm({ model: 'liar-ear', file: new File([new Uint8Array(toneWav())], 'a.wav') }),
        }),
    },
    ...(['speak', 'body'] as const).map((place) => ({
      kind: 'audio' as const,
      way: `speech, ${place === 'speak' ? 'asked for' : 'before its first byte'}`,
      place,
      ask: () => post('/v1/audio/speech', { model: 'liar-mouth', voice: 'v', input: 'Hello', response_format: 'pcm' }),
    })),
    { kind: 'text', way: 'a chat', place: 'send', ask: () => chat(false) },
    { kind: 'text', way: 'a stream of a chat', place: 'send', ask: () => chat(true) },
    {
      kind: 'text',
      way: 'a response',
      place: 'send',
      ask: () => post('/v1/responses', { model: 'liar-text', input: 'Hello' }),
    },
  ];

  /** Nothing of the options is in it, however it is written down. */
  function isClean(seen: unknown, what: string): void {
    const shown =
      typeof seen === 'string' ? seen : inspect(seen, { depth: 12, showHidden: true, maxStringLength: null });
    for (const value of [API_KEY, 'vendor.internal', 'quoted']) expect(shown, what).not.to.include(value);
  }
  const errorLines = (from: number) => app.log.slice(from).filter(({ level }) => level === 'error');

  for (const [turn, { kind, way, place, ask }] of WAYS.entries()) {
    // Every run has each way, and a third of them with every fault.
    const some = turn % 3 === 0 ? it : longIt;
    it(`follow the contract: ${way}`, async () => {
      const foreign = KINDS[kind].others.map(
        (code) => [`${code} of another contract`, gatewayError(code), code] as const,
      );
      for (const [name, thrown, code] of [...FORGED, ...foreign]) {
        const logged = app.log.length;
        throwAt(place, thrown);
        const { status, json, headers, text } = await ask();
        expect([status, json?.error?.code, json?.error?.message], name).to.deep.equal([
          502,
          'upstream_changed',
          'The answer of the source could not be read.',
        ]);
        for (const header of ['www-authenticate', 'retry-after']) expect(headers.get(header), name).to.equal(null);
        isClean(text, name);
        const lines = errorLines(logged);
        expect(lines, name).to.have.length(1);
        expect([lines[0]?.fields.entry, lines[0]?.fields.code], name).to.deep.equal([ENTRY, code]);
        expect(lines[0]?.fields.error, name).to.be.an('error');
        isClean(app.log.slice(logged), name);
      }
    });

    some(`name a missing package, and not the upstream: ${way}`, async () => {
      for (const [name, load] of [
        ['an import', () => import(`${MISSING}/sub-path.js`)],
        ['a require', async () => createRequire(import.meta.url)(MISSING)],
        ['a cause', () => import(MISSING).catch((cause) => Promise.reject(new Error('No engine.', { cause })))],
      ] as const) {
        const thrown = await load().catch((error: unknown) => error);
        const logged = app.log.length;
        throwAt(place, thrown);
        const { status, json, text } = await ask();
        expect([status, json?.error?.code], name).to.deep.equal([503, 'plugin_unavailable']);
        expect(json.error.message, name)
          .to.include(`"${MISSING}"`)
          .and.not.to.include(import.meta.dirname);
        isClean(text, name);
        const lines = errorLines(logged);
        expect(lines, name).to.have.length(1);
        expect(lines[0]?.fields, name).to.include({ entry: ENTRY, error: thrown });
      }
      // A file of the plugin itself is no package.
      throwAt(place, await import(`${import.meta.dirname}/no-such-file.js`).catch((error: unknown) => error));
      expect((await ask()).json.error.code).to.equal('upstream_changed');
    });

    some(`hide the values of the plugin's options: ${way}`, async () => {
      const { own, status } = KINDS[kind];
      const details = { reason: WORDS, param: API_KEY, cause: new Error(WORDS, { cause: API_KEY }) };
      const odd = {
        reason: { a: API_KEY },
        param: 7,
        retryAfterSeconds: Number.NaN,
        attempts: 'x',
        retryable: 'yes',
        platform: 5,
      };
      for (const [name, thrown] of [
        ['an error of ours', gatewayError(own, WORDS, details)],
        ['a subclass', new OwnError(own, WORDS, details)],
        ['one of another copy', new ForeignError(own, WORDS, { reason: WORDS, param: API_KEY })],
        ['one whose fields are none', new ForeignError(own, WORDS, odd)],
        ['only its cause', gatewayError(own, CLEAN, { cause: new Error(WORDS) })],
      ] as const) {
        const logged = app.log.length;
        throwAt(place, thrown);
        const answer = await ask();
        expect([answer.status, answer.json.error.code], name).to.deep.equal([status, own]);
        expect(answer.json.error.message, name).to.include(CLEAN);
        isClean(answer.text, name);
        isClean(app.log.slice(logged), name);
      }
      throwAt(place, gatewayError('upstream_rate_limited', 'Slow down.', { retryAfterSeconds: 7 }));
      const limited = await ask();
      expect([limited.json.error.code, limited.headers.get('retry-after')]).to.deep.equal([
        'upstream_rate_limited',
        '7',
      ]);
      throwAt(place, new ForeignError('upstream_rate_limited', 'Slow down.', { retryAfterSeconds: Number.NaN }));
      expect((await ask()).headers.get('retry-after')).not.to.equal('NaN');
    });
  }

  it('are the same for background jobs, images and batches', async () => {
    for (const [thrown, code] of [
      [gatewayError('invalid_api_key', WORDS), 'upstream_changed'],
      [gatewayError('teapot', WORDS), 'upstream_changed'],
      [new ForeignError('insufficient_quota', WORDS), 'upstream_changed'],
      [gatewayError('upstream_refused', WORDS), 'upstream_refused'],
    ] as const) {
      throwAt('extract', thrown);
      const { json } = await app.extract(key, { url: next('product'), async_mode: true });
      const job = await app.ended(key, json.data.job.job_id);
      expect(job.json.data.job.error.code).to.equal(code);
      const batch = await app.batch(key, { urls: [next(), next()] });
      expect(batch.json.items.map((one: { error: { code: string } }) => one.error.code)).to.deep.equal([code, code]);
      throwAt('generate', thrown);
      const submitted = await post('/v1/images/jobs', { model: 'gen-img-2', prompt: 'A tug' });
      const picture = await until(async () => {
        const headers = { authorization: `Bearer ${key}` };
        const polled = await app.request(`/v1/images/jobs/${submitted.json.id ?? submitted.json.job_id}?wait=5`, {
          headers,
        });
        return polled.text.includes('"failed"') && polled;
      });
      expect(picture.text).to.include(`"${code}"`);
      for (const { text } of [job, batch, picture]) isClean(text, code);
    }
  });

  it('are the same within a whole answer and within a stream', async () => {
    for (const place of ['body', 'flow']) {
      for (const [name, thrown, code] of FORGED) {
        const logged = app.log.length;
        throwAt(place, thrown);
        const whole = await chat(false);
        expect([whole.status, whole.json?.error?.type], name).to.deep.equal([502, 'server_error']);
        expect(whole.json.error.code, name).to.equal(code === undefined ? 'upstream_error' : 'upstream_changed');
        const stream = await chat(true);
        expect(stream.status, name).to.equal(200);
        expect(stream.text, name).to.match(/"code":"upstream_(error|changed)"/);
        isClean(whole.text + stream.text, name);
        if (code === undefined) continue;
        expect(
          errorLines(logged).map(({ fields }) => [fields.entry, fields.code]),
          name,
        ).to.deep.equal([
          [ENTRY, code],
          [ENTRY, code],
        ]);
      }
      throwAt(place, gatewayError('upstream_timeout', WORDS));
      const late = await chat(false);
      expect([late.status, late.json.error.code]).to.deep.equal([504, 'upstream_timeout']);
      const stream = await chat(true);
      expect(stream.text).to.include('"upstream_timeout"');
      isClean(late.text + stream.text, place);
    }
  });

  it('report invalid return values, without a hanging request', async () => {
    const body = (async function* () {})();
    const good = { status: 200, headers: {}, body, upstream: 'first', upstreamModel: 'm' };
    async function* words() {
      yield 'Ostend';
    }
    const broken = { [Symbol.asyncIterator]: () => ({ next: () => 7 }) };
    const throwing = {
      [Symbol.asyncIterator]: () => ({
        next() {
          throw gatewayError('invalid_api_key');
        },
      }),
    };
    for (const [name, given] of [
      ['nothing', undefined],
      ['a text', 'oops'],
      ['a refusal', { ...good, status: 401 }],
      ['no headers', { ...good, headers: undefined }],
      ['no body', { ...good, body: undefined }],
      ['a body of texts', { ...good, body: words() }],
      ['a body that is no iterator', { ...good, body: broken }],
      ['a body that throws at once', { ...good, body: throwing }],
    ] as const) {
      act = () => {};
      reply = () => given;
      const whole = await chat(false);
      expect([whole.status, whole.json?.error?.code], name).to.satisfy(
        ([status, code]: [number, string]) => status === 502 && /^upstream_(changed|error)$/.test(code),
      );
      const stream = await chat(true);
      expect(stream.text, name).to.match(/"code":"upstream_(changed|error)"/);
    }
    reply = undefined;
  });

  it('hide values of options within the answer of an upstream', async () => {
    act = () => {};
    const told = JSON.stringify({ error: { message: WORDS, code: 'server_error' } });
    async function* body() {
      yield Buffer.from(`data: ${told}\n\ndata: [DONE]\n\n`);
    }
    for (const plainWords of [undefined, (words: string) => `${words} (${API_KEY})`]) {
      reply = () => ({
        status: 200,
        headers: { 'content-type': 'text/event-stream' },
        body: body(),
        upstream: 'u',
        upstreamModel: 'm',
        plainWords,
      });
      const { text } = await chat(true);
      expect(text).to.include('The vendor refuses [redacted]');
      isClean(text, 'an event');
    }
    reply = undefined;
  });

  it('hide values of options in notes beside a result', async () => {
    act = () => {};
    notes = [WORDS, 'metadata_only'];
    const { json, text } = await app.extract(key, { url: next() });
    expect(json.limitations).to.deep.equal([CLEAN, 'metadata_only']);
    isClean(text, 'limitations');
    const submitted = await post('/v1/images/jobs', { model: 'gen-img-2', prompt: 'A tug' });
    const job = await until(async () => {
      const found = await app.gateway.images.find(submitted.json.id ?? submitted.json.job_id, ACCOUNT);
      return found.image && found;
    });
    expect(job.image?.warnings).to.deep.equal([
      { setting: 'size', details: CLEAN },
      { setting: 'size', details: 'metadata_only' },
    ]);
    notes = [];
  });

  it('end running audio, and name the plugin in the log', async () => {
    for (const [name, thrown, code] of FORGED.filter(([, , named]) => named !== undefined)) {
      const logged = app.log.length;
      throwAt('flow', thrown);
      const ask = { model: 'liar-mouth', voice: 'v', input: 'Hello', response_format: 'pcm' };
      const failure = await post('/v1/audio/speech', ask).then(
        () => undefined,
        (error: Error) => error,
      );
      expect(failure, name).to.be.an('error');
      const [line] = await until(() => errorLines(logged).length > 0 && errorLines(logged));
      expect([line?.fields.entry, line?.fields.code], name).to.deep.equal([ENTRY, code]);
    }
  });

  it('name the kind of a refused link, without values of options', async () => {
    act = () => {};
    matched = () => ({ unsupported: WORDS });
    const refused = await app.extract(key, { url: next() });
    expect([refused.status, refused.json.error.code, refused.json.platform]).to.deep.equal([
      400,
      'unsupported_link',
      ENTRY,
    ]);
    expect(refused.json.error.message).to.equal(
      `The link is ${CLEAN}, not an item of Liar; accepted, for example: https://liar.example/item/<digits>.`,
    );
    for (const wrong of [
      null,
      'a profile',
      [],
      {},
      { unsupported: '' },
      { unsupported: 1 },
      { kind: 'video', id: 7 },
    ]) {
      const logged = app.log.length;
      matched = () => wrong;
      const { status, json } = await app.extract(key, { url: next() });
      expect([status, json.error.code], JSON.stringify(wrong)).to.deep.equal([400, 'unsupported_platform']);
      expect(errorLines(logged).map(({ fields }) => fields.entry)).to.deep.equal([ENTRY]);
    }
    matched = undefined;
  });

  it('count as no match, and are logged without values of options', async () => {
    for (const thrown of [
      gatewayError('unsupported_link', WORDS),
      new ForeignError('unsupported_link', WORDS),
      gatewayError('invalid_api_key'),
      gatewayError('teapot'),
      new Error('oops'),
      undefined,
      'oops',
    ]) {
      const logged = app.log.length;
      throwAt('match', thrown);
      const { status, json } = await app.extract(key, { url: next() });
      expect([status, json.error.code]).to.deep.equal([400, 'unsupported_platform']);
      const [line] = errorLines(logged);
      expect(line?.fields.entry).to.equal(ENTRY);
      isClean(app.log.slice(logged), 'the log');
    }
  });

  it('affect only the plugin whose state fails', async () => {
    for (const thrown of [gatewayError('invalid_api_key'), new Error(WORDS), undefined]) {
      throwAt('upstreams', thrown);
      const headers = { authorization: `Bearer ${key}` };
      const health = await app.request('/health');
      expect([health.status, health.text]).to.satisfy(
        ([status, text]: [number, string]) => status === 200 && text.includes(ENTRY),
      );
      expect((await app.request('/v1/capabilities', { headers })).status).to.equal(200);
      isClean(health.text, 'health');
    }
  });

  it('in the set-up appear in the health without values of options', async () => {
    for (const thrown of [
      new Error(WORDS),
      WORDS,
      { message: WORDS },
      undefined,
      Object.create(null),
      new ForeignError('invalid_api_key', WORDS),
    ]) {
      const failing = { ...liar, name: 'failing', setup: () => Promise.reject(thrown) };
      const other = await startApp({ gateway: { plugins: [{ use: failing, options: OPTIONS }] } });
      try {
        const health = await other.request('/health');
        expect(health.text).to.include('failing');
        isClean(health.text, inspect(thrown));
        isClean(other.gateway.plugins()[0]?.reason, inspect(thrown));
      } finally {
        await other.close();
      }
    }
  });

  it('in the disposal affect no other plugin', async () => {
    for (const thrown of [gatewayError('invalid_api_key'), undefined, WORDS]) {
      const leaving = {
        ...liar,
        setup: async () => ({
          extractors: [
            {
              platform: 'x',
              displayName: 'X',
              linkForms: ['x'],
              match: () => undefined,
              extract: async () => inventedExtraction('1'),
            },
          ],
          dispose: () => Promise.reject(thrown),
        }),
        provides: ['extractor' as const],
      };
      const other = await startApp({ gateway: { plugins: [{ use: leaving, options: OPTIONS }] } });
      await other.close();
      expect(other.log.filter(({ message }) => message === 'a plugin failed to dispose')).to.have.length(1);
    }
  });
});

/** A second of a tone. */
function toneWav(): Buffer {
  const pcm = tonePcm(1);
  const header = Buffer.alloc(44);
  header.write('RIFF');
  header.writeUInt32LE(36 + pcm.length, 4);
  header.write('WAVEfmt ', 8);
  for (const [at, value] of [
    [16, 16],
    [24, 24_000],
    [28, 48_000],
    [40, pcm.length],
  ] as const)
    header.writeUInt32LE(value, at);
  for (const [at, value] of [
    [20, 1],
    [22, 1],
    [32, 2],
    [34, 16],
  ] as const)
    header.writeUInt16LE(value, at);
  header.write('data', 36);
  return Buffer.concat([header, pcm]);
}
