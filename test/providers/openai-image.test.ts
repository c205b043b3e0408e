/** The OpenAI image provider over sockets. */

import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect } from 'chai';
import {
  type Clock,
  createGateway,
  type Gateway,
  type GatewayError,
  type ImageCall,
  type ImageProvider,
  type LogFields,
  type Logger,
  systemClock,
} from 'mediagate';
import openaiImage from 'mediagate/plugins/openai_image';
import sharp from 'sharp';
import {
  type ImageUpstream,
  type ImageUpstreamAnswer,
  type ImageUpstreamBehaviour,
  startImageUpstream,
} from '../support/images/image-upstream.js';
import { sampleImage } from '../support/images/sample-images.js';
import { rejection } from '../support/rejection.js';

const KEY = 'sk-canary-of-the-upstream-0001';
const MODEL = 'vendor-model-x9';

type UpstreamOptions = Record<string, unknown>;

describe('openai_image over sockets', () => {
  let first: ImageUpstream;
  let second: ImageUpstream;
  const gateways: Gateway[] = [];
  let lines: { level: string; message: string; fields: LogFields }[] = [];

  before(async () => {
    [first, second] = await Promise.all([startImageUpstream({ apiKey: KEY }), startImageUpstream()]);
  });
  beforeEach(() => {
    first.reset();
    second.reset();
    lines = [];
  });
  afterEach(async () => {
    movedMs = 0;
    await Promise.all(gateways.splice(0).map((gateway) => gateway.close()));
  });
  after(() => Promise.all([first.close(), second.close()]));

  const one = (more: UpstreamOptions = {}): UpstreamOptions => ({
    url: first.baseUrl,
    apiKey: KEY,
    model: MODEL,
    ...more,
  });
  const other = (more: UpstreamOptions = {}): UpstreamOptions => ({ url: second.baseUrl, ...more });

  /** How far the clock of the gateway is ahead. */
  let movedMs = 0;
  const clock: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() + movedMs };

  async function provider(upstreams: readonly UpstreamOptions[], more: object = {}): Promise<ImageProvider> {
    const write =
      (level: string) =>
      (message: string, fields: LogFields = {}) =>
        void lines.push({ level, message, fields });
    const logger: Logger = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
    const gateway = await createGateway({
      plugins: [{ use: openaiImage, options: { upstreams, ...more } }],
      services: { logger, clock },
    });
    gateways.push(gateway);
    const found = gateway.imageProvider('gen-img-2');
    if (!found) throw new Error(JSON.stringify(gateway.plugins()));
    return found;
  }

  const call = (more: Partial<ImageCall> = {}): ImageCall => ({
    model: 'gen-img-2',
    prompt: 'A tug at dawn',
    size: { width: 1024, height: 1536 },
    references: [],
    options: {},
    idempotencyKey: 'imgjob_1',
    signal: new AbortController().signal,
    ...more,
  });

  async function failureOf(work: Promise<unknown>): Promise<GatewayError> {
    const error = (await rejection(work)) as GatewayError;
    const said = JSON.stringify([error.message, error.reason, lines]);
    expect(said).not.to.include(KEY);
    expect(said).not.to.include(MODEL);
    return error;
  }

  const reference = async (seed: number, format: 'png' | 'jpeg' | 'webp') => ({
    bytes: await sampleImage({ width: 64, height: 48, format, seed }),
    contentType: `image/${format}`,
  });

  it("requests text-to-image with the caller's settings, and nothing that the vendor refuses", async () => {
    const options = { quality: 'high', output_format: 'webp', output_compression: 80, user: 'u1' };
    const strays = { response_format: 'url', input_fidelity: 'high', upload_to_storage: true, items: [], n: 4 };
    const image = await (await provider([one()])).generate(call({ options: { ...options, ...strays } }));
    expect(image.contentType).to.equal('image/webp');
    expect(await sharp(image.bytes).metadata()).to.include({ width: 1024, height: 1536, format: 'webp' });
    expect(image.usage).to.deep.equal({ inputTokens: 21, outputTokens: 1056, totalTokens: 1077, inputTextTokens: 21 });
    expect(first.requests).to.have.length(1);
    expect(first.requests[0]).to.deep.include({
      path: '/v1/images/generations',
      key: 'imgjob_1',
      members: { model: MODEL, prompt: 'A tug at dawn', n: 1, size: '1024x1536', ...options },
    });
  });

  it('leaves the size to the model if the caller does, and unreported usage unknown', async () => {
    first.behave([{ does: 'image', usage: false }]);
    const image = await (await provider([one()])).generate(call({ size: 'auto' }));
    expect(first.requests[0]?.members.size).to.equal('auto');
    expect(image).not.to.have.property('usage');
  });

  it('sends references as files of a form, in order, each with a name and a type', async () => {
    const references = await Promise.all([reference(1, 'png'), reference(2, 'jpeg'), reference(3, 'webp')]);
    const prompt = 'Färbe "das" 船\r\n--form; name="model"';
    await (await provider([one()])).generate(call({ references, prompt, options: { input_fidelity: 'high' } }));
    const [request] = first.requests;
    expect(request?.path).to.equal('/v1/images/edits');
    expect(request?.members).to.deep.equal({
      model: MODEL,
      prompt,
      n: '1',
      size: '1024x1536',
      input_fidelity: 'high',
    });
    expect(request?.files.map(({ name, fileName, contentType }) => [name, fileName, contentType])).to.deep.equal([
      ['image[]', 'image-1.png', 'image/png'],
      ['image[]', 'image-2.jpg', 'image/jpeg'],
      ['image[]', 'image-3.webp', 'image/webp'],
    ]);
    for (const [index, { bytes }] of references.entries())
      expect(request?.files[index]?.bytes.equals(bytes)).to.equal(true);
  });

  it('sends a mask once, as a file of the form or in JSON', async () => {
    const mask = await reference(4, 'png');
    const edit = call({ references: [await reference(1, 'png')], mask });
    await (await provider([one()])).generate(edit);
    const [form] = first.requests;
    expect(form?.files.map(({ name, fileName }) => [name, fileName])).to.deep.equal([
      ['image[]', 'image-1.png'],
      ['mask', 'mask.png'],
    ]);
    expect(form?.files[1]?.bytes.equals(mask.bytes)).to.equal(true);
    await (await provider([other({ jsonEdits: true })])).generate(edit);
    const [json] = second.requests;
    const image_url = `data:image/png;base64,${Buffer.from(mask.bytes).toString('base64')}`;
    expect(json?.members.mask).to.deep.equal({ image_url });
    expect(json?.members.images).to.have.length(1);
  });

  it('uses the dialect of an upstream', async () => {
    const dialect = { jsonEdits: true, sendsResponseFormat: true, sizes: ['1024x1024', '768x1344'] };
    const references = [await reference(1, 'jpeg')];
    const size = { width: 1152, height: 2048 };
    const image = await (await provider([one(dialect)])).generate(call({ references, size }));
    const { members, contentType } = first.requests[0] ?? {};
    expect(contentType).to.equal('application/json');
    expect(members).to.include({ response_format: 'b64_json', size: '768x1344' });
    expect(members?.images).to.deep.equal([
      { image_url: `data:image/jpeg;base64,${Buffer.from(references[0]?.bytes ?? []).toString('base64')}` },
    ]);
    expect(image.warnings).to.deep.equal([
      { setting: 'size', details: 'generated as 768x1344, since the upstream does not support 1152x2048' },
    ]);
  });

  it('fetches an image that is returned as an address, without the key', async () => {
    first.behave([{ does: 'url' }]);
    const image = await (await provider([one()])).generate(call());
    expect(await sharp(image.bytes).metadata()).to.include({ width: 1024, height: 1536 });
  });

  it('fetches images only by https or from the upstream itself', async () => {
    const addresses = [
      `${second.origin}/files/1.png`,
      'file:///etc/hostname',
      '/files/1.png',
      'https://127.0.0.1/1.png',
    ];
    const images = await provider([one()]);
    const { connections } = second;
    for (const at of addresses) {
      first.behave([{ does: 'url', at }]);
      const error = await failureOf(images.generate(call()));
      expect(error.code, at).to.be.oneOf(['upstream_changed', 'upstream_refused']);
    }
    expect(second.connections).to.equal(connections);
  });

  it('takes the first of two images', async () => {
    first.behave([{ does: 'duplicate' }]);
    expect((await (await provider([one()])).generate(call())).contentType).to.equal('image/png');
    expect(first.requests).to.have.length(1);
  });

  it('passes a wrong size and a pixel bomb to the core undecoded', async () => {
    first.behave([{ does: 'image', size: '512x512' }, { does: 'bomb' }]);
    const images = await provider([one()]);
    expect(await sharp((await images.generate(call())).bytes).metadata()).to.include({ width: 512, height: 512 });
    expect((await images.generate(call())).bytes.length).to.be.lessThan(1024 * 1024);
  });

  describe('retries', () => {
    const fivehundred: ImageUpstreamAnswer = { does: 'error', status: 500 };
    const unlucky: Record<string, ImageUpstreamAnswer[]> = {
      'after status 500': [fivehundred, { does: 'error', status: 503, text: '<html>busy</html>' }],
      'after a limit, once what it asked for has passed': [
        { does: 'error', status: 429, headers: { 'retry-after': '1' } },
      ],
    };
    for (const [name, answers] of Object.entries(unlucky)) {
      it(`repeat ${name}, with the same key`, async () => {
        first.behave(answers);
        await (await provider([one()])).generate(call());
        expect(first.calls('imgjob_1')).to.equal(answers.length + 1);
        expect(first.made).to.equal(1);
      });
    }

    it('wait as long as a limit states', async () => {
      first.behave([{ does: 'error', status: 429, headers: { 'retry-after': '1' } }]);
      const began = performance.now();
      await (await provider([one()])).generate(call());
      expect(performance.now() - began).to.be.greaterThan(990);
    });

    it('end after three attempts, with the wait', async () => {
      first.behave(() => ({ does: 'error', status: 429, headers: { 'retry-after': '1' } }));
      const error = await failureOf((await provider([one()])).generate(call()));
      expect(error).to.include({ code: 'upstream_rate_limited', retryable: true, retryAfterSeconds: 1 });
      expect(first.requests).to.have.length(3);
    });

    it('do not wait for a limit beyond the deadline', async () => {
      first.behave(() => ({ does: 'error', status: 429, headers: { 'retry-after': '3600' } }));
      const error = await failureOf((await provider([one()])).generate(call()));
      expect(error).to.include({ code: 'upstream_rate_limited', retryAfterSeconds: 3_600 });
      expect(first.requests).to.have.length(1);
    });

    it('follow a failed connection', async () => {
      const gone = createServer().listen(0, '127.0.0.1');
      await once(gone, 'listening');
      const { port } = gone.address() as { port: number };
      gone.close();
      await once(gone, 'close');
      const gateway = await createGateway({
        plugins: [{ use: openaiImage, options: { upstreams: [{ url: `http://127.0.0.1:${port}/v1` }] } }],
        services: { logger: counting() },
      });
      gateways.push(gateway);
      const error = await failureOf(gateway.imageProvider('gen-img-2')?.generate(call()) ?? Promise.resolve());
      expect(error).to.include({ code: 'upstream_error', retryable: true });
      expect(lines).to.have.length(3);
    });

    const counting = (): Logger => {
      const write = (message: string, fields: LogFields = {}) => void lines.push({ level: '', message, fields });
      return { debug: write, info: write, warn: write, error: write };
    };

    const paid: Record<string, [ImageUpstreamAnswer, string]> = {
      'a reset in the middle of the answer': [{ does: 'reset' }, 'upstream_error'],
      'a reset without an answer': [{ does: 'reset', before: true }, 'upstream_error'],
      'JSON that is cut': [{ does: 'cut_json' }, 'upstream_changed'],
      'a page in place of JSON': [{ does: 'html' }, 'upstream_changed'],
      'base64 that is none': [{ does: 'bad_base64' }, 'upstream_changed'],
      'a proxy that gave up waiting': [{ does: 'error', status: 524, text: 'timeout' }, 'upstream_timeout'],
    };
    for (const [name, [answer, code]] of Object.entries(paid)) {
      it(`pays once: it does not repeat ${name}`, async () => {
        first.behave([answer]);
        expect(await failureOf((await provider([one(), other()])).generate(call()))).to.include({ code });
        expect(first.requests.length + second.requests.length).to.equal(1);
      });
    }

    for (const does of ['stall', 'half_open'] as const) {
      it(`end at the deadline if the upstream does not: ${does}`, async () => {
        first.behave([{ does }]);
        const images = await provider([one()], { budgetMs: 1_000 });
        expect(await failureOf(images.generate(call()))).to.include({ code: 'upstream_timeout', retryable: true });
        expect(first.requests).to.have.length(1);
      });
    }

    it('repeats a request only at an upstream that recognizes its key', async () => {
      first.behave([{ does: 'reset' }]);
      const images = await provider([one({ idempotent: true })]);
      await images.generate(call());
      expect(first.calls('imgjob_1')).to.equal(2);
      first.behave([{ does: 'reset' }]);
      await failureOf(images.generate(call({ idempotencyKey: undefined })));
      expect(first.calls('')).to.equal(1);
    });
  });

  describe('refusals', () => {
    it('report a moderation block without a retry, a fallback or a cool-down', async () => {
      first.behave(() => ({ does: 'moderation' }));
      const images = await provider([one(), other()]);
      for (let count = 1; count <= 12; count++) {
        const error = await failureOf(images.generate(call()));
        expect(error).to.include({ code: 'moderation_blocked', retryable: false });
        expect(error.reason)
          .to.match(/safety_violations=\[violence\]/)
          .and.not.match(/req_/);
      }
      expect(first.requests).to.have.length(12);
      expect(second.requests).to.have.length(0);
    });

    it("report the caller's fault with the upstream's message, without its names", async () => {
      const message = `Invalid size for ${MODEL} with ${KEY}; see https://vendor.example/docs?id=1.`;
      first.behave([{ does: 'error', status: 400, code: 'invalid_value', message }]);
      const error = await failureOf((await provider([one(), other()])).generate(call()));
      expect(error).to.include({ code: 'invalid_value', retryable: false });
      expect(error.reason).to.equal('Invalid size for gen-img-2 with …; see …');
      expect(second.requests).to.have.length(0);
    });

    for (const [status, code] of [
      [401, 'invalid_api_key'],
      [402, undefined],
      [403, 'unsupported_country_region_territory'],
      [429, 'insufficient_quota'],
    ] as const) {
      it(`alert the operator if the upstream refuses the gateway (${status}), and use the next one`, async () => {
        const type = status === 403 ? 'request_forbidden' : undefined;
        first.behave(() => ({ does: 'error', status, code, type, message: `Incorrect key ${KEY}` }));
        await (await provider([one(), other()])).generate(call());
        expect([first.requests.length, second.requests.length]).to.deep.equal([1, 1]);
        expect(lines.map(({ level, fields }) => [level, fields.code, fields.member])).to.deep.equal([
          ['error', 'upstream_auth_error', 'upstreams.0'],
        ]);
        const alone = await failureOf((await provider([one()])).generate(call()));
        expect(alone).to.include({ code: 'upstream_auth_error', retryable: false });
        expect(alone.reason).to.equal(undefined);
      });
    }
  });

  describe('several upstreams', () => {
    it('move on to the next at once, and come back to the first', async () => {
      first.behave([{ does: 'error', status: 500 }]);
      const images = await provider([one(), other()]);
      await images.generate(call());
      await images.generate(call());
      expect([first.requests.length, second.requests.length]).to.deep.equal([2, 1]);
    });

    it('respect the wait of a limited one, for other calls too', async () => {
      first.behave([{ does: 'error', status: 429, headers: { 'retry-after': '60' } }]);
      const images = await provider([one(), other()]);
      await images.generate(call());
      await images.generate(call());
      expect([first.requests.length, second.requests.length]).to.deep.equal([1, 2]);
    });

    it('cool one down that keeps failing, and try it again later', async () => {
      first.behave(() => ({ does: 'error', status: 500 }));
      const restMs = 10_000;
      const images = await provider([one(), other()], { restMs });
      for (let count = 1; count <= 12; count++) await images.generate(call());
      expect([first.requests.length, second.requests.length]).to.deep.equal([10, 12]);
      first.behave([]);
      movedMs = restMs;
      await images.generate(call());
      expect([first.requests.length, second.requests.length]).to.deep.equal([11, 12]);
    });

    it('report at once that all are in cool-down', async () => {
      first.behave(() => ({ does: 'reset' }));
      const images = await provider([one()], { restMs: 60_000 });
      await Promise.all(Array.from({ length: 10 }, () => failureOf(images.generate(call()))));
      expect(await failureOf(images.generate(call()))).to.include({
        code: 'upstream_unavailable',
        retryAfterSeconds: 60,
      });
      expect(first.requests).to.have.length(10);
    });

    it('are used only if they take as many references', async () => {
      const references = await Promise.all([1, 2, 3].map((seed) => reference(seed, 'png')));
      await (await provider([one({ maxReferences: 2 }), other()])).generate(call({ references }));
      expect([first.requests.length, second.requests.length]).to.deep.equal([0, 1]);
      const images = await provider([one({ maxReferences: 2 }), other({ maxReferences: 1 })]);
      expect(await failureOf(images.generate(call({ references })))).to.include({
        code: 'too_many_images',
        param: 'image',
      });
    });

    it('may be on origins that the operator names, also by a name of this machine', async () => {
      const url = second.baseUrl.replace('127.0.0.1', 'localhost');
      const images = await provider([other({ url })]);
      expect((await images.generate(call())).contentType).to.equal('image/png');
      expect(second.requests).to.have.length(1);
    });

    it('get no requests for each other, nor for other ports of their hosts', async () => {
      const { port } = new URL(first.origin);
      const secure = second.origin.replace('http:', 'https:');
      for (const url of [
        `${second.origin}/files/a.png`,
        `${secure}/files/a.png`,
        `http://localhost:${port}/a.png`,
        `https://127.0.0.1:${port}/a`,
      ]) {
        first.reset();
        second.reset();
        first.behave(() => ({ does: 'url', at: url }));
        const error = await failureOf(
          (await provider([one(), other(), other({ url: `${secure}/v1` })])).generate(call()),
        );
        expect(error.code, url).to.be.oneOf(['upstream_changed', 'upstream_refused']);
        // The remedy is the operator's.
        if (error.code === 'upstream_refused') expect(error.message).to.include('TRUSTED_ORIGINS');
        expect(second.requests).to.have.length(0);
      }
    });
  });

  it('ends at once when the caller leaves, and closes the connection', async () => {
    const behaviours: ImageUpstreamBehaviour[] = [
      [{ does: 'stall' }],
      [{ does: 'half_open' }],
      [{ does: 'error', status: 429, headers: { 'retry-after': '100' } }],
    ];
    const images = await provider([one()]);
    for (const behaviour of behaviours) {
      first.reset();
      first.behave(behaviour);
      const leaving = new AbortController();
      const gone = new Error('the caller left');
      const ended = rejection(images.generate(call({ signal: leaving.signal })));
      while (first.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      setTimeout(() => leaving.abort(gone), 50);
      expect(await ended).to.equal(gone);
    }
    await Promise.all(gateways.splice(0).map((gateway) => gateway.close()));
    await first.idle();
  });

  it('reads megabytes of base64 byte for byte, several answers at once', async () => {
    first.behave(() => ({ does: 'image', large: true }));
    const images = await provider([one()]);
    const size = { width: 1536, height: 1024 };
    const answers = await Promise.all([1, 2, 3].map(() => images.generate(call({ size, idempotencyKey: undefined }))));
    for (const { bytes } of answers) {
      expect(bytes.length).to.be.greaterThan(3_500_000);
      expect((await sharp(bytes, { failOn: 'warning' }).raw().toBuffer()).length).to.equal(1536 * 1024 * 3);
    }
  });
});
