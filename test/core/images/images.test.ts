/** The image service: inputs, masks, stores, failures and paid images. */

import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { expect } from 'chai';
import {
  type Clock,
  createGateway,
  createLogger,
  type Gateway,
  GatewayError,
  type GeneratedImage,
  type ImageCall,
  type ImageSubmitRequest,
  type Jobs,
  type Media,
  type Storage,
  systemClock,
  type Usage,
} from 'mediagate';
import sharp from 'sharp';
import { openDatabase } from '../../../core/database/database.js';
import { inventMask } from '../../../core/testing/models/image-run.js';
import { openState, type State } from '../../../server/state.js';
import { type JobRequestTerms, toJobTerms } from '../../../server/usage/job-admission.js';
import { placeMigratedFile } from '../../support/databases/migrated-file.js';
import {
  createDarkroom,
  imageModel,
  inventedImage,
  inventedModel,
  MODEL,
} from '../../support/images/invented-image.js';
import { sampleImage } from '../../support/images/sample-images.js';
import { rejection } from '../../support/rejection.js';
import { until } from '../../support/until.js';

const ACCOUNT = 'local';
const REQUEST = {
  model: MODEL,
  prompt: 'A tug at dawn',
  size: { width: 64, height: 64 },
  references: [],
  options: {},
  delivery: 'url',
  owner: ACCOUNT,
} satisfies ImageSubmitRequest;
/** Nobody waits between two tries. */
const clock: Clock = { ...systemClock, sleep: async () => {} };

type Wish = Partial<ImageSubmitRequest> & JobRequestTerms;

interface OtherNode {
  processLeaseMs?: number;
  workers?: number;
  generate?: Parameters<typeof inventedModel>[0];
}

describe('the image service', () => {
  let folder: string;
  let state: State;
  let gateway: Gateway;
  let darkroom: ReturnType<typeof createDarkroom>;
  let write: Storage['write'];
  let read: Storage['read'];
  let accept: Jobs['accept'];

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-images-'));
    const logger = createLogger({ level: 'silent' });
    await placeMigratedFile(folder);
    state = await openState({ dataDir: folder, clock: systemClock, logger });
    darkroom = createDarkroom();
    write = (file) => state.files.write(file);
    read = (name, range) => state.files.read(name, range);
    accept = (acceptance) => state.jobs.accept(acceptance);
    const storage: Storage = {
      write: (file) => write(file),
      read: (name, range) => read(name, range),
      stat: (name) => state.files.stat(name),
      delete: (name) => state.files.delete(name),
    };
    gateway = await createGateway({
      plugins: [{ use: inventedModel(darkroom.generate) }],
      jobs: { store: { ...state.jobs, accept: (acceptance) => accept(acceptance) } },
      services: { storage, clock, logger },
    });
  });
  afterEach(async () => {
    await gateway.close();
    await state.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function submit({ rateLimit, quota, idempotency, ...more }: Wish = {}): Promise<string> {
    const terms = toJobTerms({ rateLimit, quota, idempotency });
    const submission = await gateway.images.submit({ ...REQUEST, ...more, terms });
    if (!('job' in submission)) throw new Error('there is no job');
    return submission.job.id;
  }

  const ended = (id: string) => gateway.images.wait(id, ACCOUNT, { timeoutMs: 20_000 });
  const files = () => readdir(path.join(folder, 'files'));

  it('refuses more input images than the model accepts, before the job exists', async () => {
    const models = [imageModel('one', { maxReferences: 1 }), imageModel('none', { maxReferences: 0 })];
    await using few = await createGateway({
      plugins: [{ use: inventedModel(darkroom.generate, models) }],
      jobs: { store: state.jobs },
      services: { storage: { ...state.files }, clock, logger: createLogger({ level: 'silent' }) },
    });
    const ask = async (model: string, count: number) => {
      const references = await Promise.all(Array.from({ length: count }, inlineReference));
      return few.images.submit({ ...REQUEST, model, references });
    };
    expect(await rejection(ask('one', 2))).to.include({ code: 'too_many_images', param: 'image_url' });
    expect(await rejection(ask('none', 1))).to.include({ code: 'unsupported_value', param: 'image_url' });
    expect(await files()).to.deep.equal([]);
    expect(await ask('one', 1)).to.have.property('job');
  });

  it("returns the model's seed, and fails an image with an invalid one", async () => {
    const image = await inventedImage({ ...REQUEST, signal: new AbortController().signal });
    const seeded = await submit();
    await darkroom.develop({ ...image, seed: 7 });
    expect((await ended(seeded)).image).to.include({ seed: 7 });
    const wrong = await submit();
    await darkroom.develop({ ...image, seed: 'seven' as never });
    expect((await ended(wrong)).error).to.include({ code: 'upstream_changed' });
  });

  it('shows partial images on every node, and keeps none after the job', async () => {
    const { bytes, contentType } = await inventedImage({ ...REQUEST, signal: new AbortController().signal });
    const seen: string[] = [];
    const listener = (where: string) => (image: Media, index: number) =>
      void seen.push(`${where} ${index} ${Buffer.from(bytes).equals(image.bytes)} ${image.contentType}`);
    const other = await startOtherNode({ workers: 0 });
    try {
      const id = await submit({ partialImages: 2 });
      const stops = [other.images.onPartial(id, listener('there'))];
      await darkroom.asked(1);
      const { partials } = darkroom.calls[0] ?? {};
      partials?.show({ bytes, contentType });
      await until(() => seen.length === 1);
      // It follows the job late, and both hear of the next one; no client waits for a third.
      stops.push(gateway.images.onPartial(id, listener('here')));
      partials?.show({ bytes, contentType });
      partials?.show({ bytes, contentType });
      expect(seen).to.deep.equal([
        `there 0 true ${contentType}`,
        `here 0 true ${contentType}`,
        `here 1 true ${contentType}`,
      ]);
      expect((await files()).filter((name) => name.startsWith('partial_'))).to.have.length(1);
      await darkroom.develop();
      expect(await ended(id)).to.include({ state: 'completed' });
      await until(async () => !(await files()).some((name) => name.startsWith('partial_')));
      for (const stop of stops) stop();
    } finally {
      await other.close();
    }
  });

  it('sends the model a mask and image of one size, and keeps neither after the job', async () => {
    const { bytes } = await inventMask({ width: 60, height: 40 }, 0);
    const image = await sampleImage({ width: 60, height: 40, format: 'png', seed: 1 });
    const id = await submit({
      references: [{ value: image, param: 'image' }],
      mask: { value: bytes, param: 'mask' },
    });
    await darkroom.asked(1);
    expect((await files()).filter((name) => name.startsWith('ref_'))).to.have.length(2);
    const [call] = darkroom.calls;
    expect(call?.references).to.have.length(1);
    const { data, info } = await sharp(call?.mask?.bytes).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
    expect([info.width, info.height, data[3], data[(60 * 40 - 1) * 4 + 3]]).to.deep.equal([60, 40, 0, 255]);
    await darkroom.develop();
    expect(await ended(id)).to.include({ state: 'completed' });
    await until(async () => !(await files()).some((name) => name.startsWith('ref_')));
  });

  it('refuses a mask of another size, before the job exists if its header shows it', async () => {
    const sample = (width: number, format: 'png' | 'jpeg') => sampleImage({ width, height: 40, format, seed: 1 });
    const references = [{ value: await sample(60, 'png'), param: 'image' }];
    const mask = async (value: Promise<Uint8Array>) => ({ value: await value, param: 'mask' });
    const masked = async (width: number) => (await inventMask({ width, height: 40 }, 0)).bytes;
    for (const [more, code] of [
      [{ mask: await mask(masked(60)) }, 'invalid_value'],
      [{ references, mask: await mask(sample(60, 'jpeg')) }, 'invalid_image'],
      [{ references, mask: { value: Buffer.from('<svg/>'), param: 'mask' } }, 'unsupported_image_media_type'],
    ] as const) {
      expect(await rejection(submit(more)), code).to.include({ code, param: 'mask' });
    }
    for (const [wrong, words] of [
      [sample(60, 'png'), 'alpha channel'],
      [masked(64), '64 x 40 pixels'],
    ] as const) {
      const { error } = await ended(await submit({ references, mask: await mask(wrong) }));
      expect(error).to.include({ code: 'invalid_image', param: 'mask' });
      expect(error?.message).to.include(words);
    }
    expect(darkroom.calls).to.deep.equal([]);
    const models = [imageModel('plain', { takesMask: false })];
    await using plain = await createGateway({
      plugins: [{ use: inventedModel(darkroom.generate, models) }],
      jobs: { store: state.jobs },
      services: { storage: { ...state.files }, clock, logger: createLogger({ level: 'silent' }) },
    });
    const asked = plain.images.submit({ ...REQUEST, model: 'plain', references, mask: await mask(masked(60)) });
    expect(await rejection(asked)).to.include({ code: 'unsupported_value', param: 'mask' });
  });

  it('fails an image with invalid warnings', async () => {
    for (const warnings of [['size: made as 32x32'], [{ setting: 'size' }], [null], 'size']) {
      const id = await submit();
      const image = await inventedImage({ ...REQUEST, references: [], signal: new AbortController().signal });
      await darkroom.develop(Object.assign(image, { warnings }) as unknown as GeneratedImage);
      expect((await ended(id)).error, JSON.stringify(warnings)).to.include({ code: 'upstream_changed' });
    }
    const id = await submit();
    const warnings = [{ setting: 'size', details: 'made as 32x32' }];
    const image = await inventedImage({ ...REQUEST, references: [], signal: new AbortController().signal });
    await darkroom.develop({ ...image, warnings });
    expect((await ended(id)).image?.warnings).to.deep.equal(warnings);
  });

  it('counts images of a day for each account, and refunds failed ones', async () => {
    const quota = { limit: 2 };
    await submit({ quota });
    const failing = await submit({ quota });
    expect(await rejection(submit({ quota }))).to.include({ code: 'daily_image_limit_reached' });
    await darkroom.develop();
    await darkroom.develop(new GatewayError('upstream_error', 'It failed.'));
    expect((await ended(failing)).state).to.equal('failed');
    await submit({ quota });
    expect(await rejection(submit({ quota }))).to.include({ code: 'daily_image_limit_reached' });
  });

  it('fails if the model returns something other than an image', async () => {
    for (const answer of [undefined, { contentType: 'image/png' }, { bytes: 'hello', contentType: 'image/png' }]) {
      const id = await submit();
      await darkroom.develop((answer ?? null) as never);
      const job = await ended(id);
      expect([job.state, job.error?.code], JSON.stringify(answer)).to.deep.equal(['failed', 'upstream_changed']);
    }
  });

  it('drops impossible usage counts, and keeps the paid image', async () => {
    const { bytes, contentType } = await inventedImage({ size: { width: 64, height: 64 }, options: {} } as ImageCall);
    for (const [reported, expected] of [
      [{ inputTokens: Number.NaN, outputTokens: -1, totalTokens: 12, inputTextTokens: 1.5 }, { totalTokens: 12 }],
      [{ inputTokens: Number.NaN, outputTokens: Number.POSITIVE_INFINITY, estimated: 'yes' }, undefined],
      ['many', undefined],
      [null, undefined],
    ] as const) {
      const id = await submit();
      await darkroom.develop({ bytes, contentType, usage: reported as unknown as Usage });
      const { state: ending, image } = await ended(id);
      expect([ending, image?.usage], JSON.stringify(reported)).to.deep.equal(['completed', expected]);
    }
  });

  it('stores no input image of a refused or repeated request', async () => {
    let written = 0;
    write = (file) => {
      written += 1;
      return state.files.write(file);
    };
    const references = [await inlineReference()];
    const rateLimit = { keyId: 'one', family: 'image', count: 1, limit: 1 } as const;
    const idempotency = { scope: 'one', key: 'k', fingerprint: 'tug' };
    const id = await submit({ references, rateLimit, idempotency });
    expect(written).to.equal(1);

    expect(await submit({ references, rateLimit, idempotency })).to.equal(id);
    const other = { ...idempotency, fingerprint: 'ferry' };
    expect(await rejection(submit({ references, idempotency: other }))).to.include({ code: 'idempotency_key_reused' });
    const refused = await gateway.images.submit({ ...REQUEST, references, terms: toJobTerms({ rateLimit }) });
    expect(refused).to.have.all.keys('rateLimited', 'answer');
    expect(refused.answer).to.include({ accepted: false, remaining: 0 });
    const quota = { limit: 0 };
    expect(await rejection(submit({ references, quota }))).to.include({ code: 'daily_image_limit_reached' });
    expect(written).to.equal(1);
    await darkroom.develop();
    expect((await ended(id)).state).to.equal('completed');
  });

  it('keeps the input image of a job that was committed without a confirmation', async () => {
    accept = async (acceptance) => {
      await state.jobs.accept(acceptance);
      throw new GatewayError('upstream_unavailable', 'The database did not answer.');
    };
    const wish = { references: [await inlineReference()], idempotency: { scope: 'one', key: 'k', fingerprint: 'tug' } };
    expect(await rejection(submit(wish))).to.include({ code: 'upstream_unavailable' });
    accept = (acceptance) => state.jobs.accept(acceptance);
    const id = await submit(wish);
    await darkroom.develop();
    expect((await ended(id)).state).to.equal('completed');
    expect(darkroom.calls[0]?.references).to.have.length(1);
  });

  it('keeps the promised image if a presumed dead process writes another', async () => {
    const arrived = Promise.withResolvers<void>();
    const going = Promise.withResolvers<void>();
    const written = Promise.withResolvers<void>();
    write = async (file) => {
      arrived.resolve();
      await going.promise;
      return state.files.write(file).finally(written.resolve);
    };
    const id = await submit();
    const early = await sampleImage({ width: 64, height: 64, format: 'png', seed: 7 });
    await darkroom.develop({ bytes: early, contentType: 'image/png' });
    await arrived.promise;
    await takeForDead(id);
    const other = await startOtherNode();
    try {
      const name = (await ended(id)).image?.name ?? '';
      const promised = await bytesOf(name);
      going.resolve();
      await written.promise;
      await until(async () => (await files()).length === 1);
      expect(await bytesOf(name)).to.deep.equal(promised);
    } finally {
      await other.close();
    }
  });

  /** As another node does it that saw no sign of life for a whole lease. */
  async function takeForDead(id: string): Promise<void> {
    const database = await openDatabase({ dataDir: folder });
    const { queries } = database;
    await queries
      .updateTable('jobs')
      .set({ state: 'queued', processId: null, crashCount: 1 })
      .where('id', '=', id)
      .execute();
    await database.close();
  }

  async function startOtherNode({ processLeaseMs, workers, generate }: OtherNode = {}) {
    const logger = createLogger({ level: 'silent' });
    const otherState = await openState({ dataDir: folder, clock: systemClock, logger, processLeaseMs });
    const node = await createGateway({
      plugins: [{ use: inventedModel(generate) }],
      jobs: { store: otherState.jobs },
      images: { workers },
      services: { storage: otherState.files, clock, logger },
    });
    return {
      images: node.images,
      async close() {
        await node.close();
        await otherState.close();
      },
    };
  }

  async function bytesOf(name: string): Promise<Buffer> {
    const stored = await state.files.read(name);
    if (!stored) throw new Error('there is no such file');
    return buffer(stored.body);
  }

  async function inlineReference() {
    const png = await sampleImage({ width: 64, height: 64, format: 'png', seed: 5 });
    return { value: `data:image/png;base64,${png.toString('base64')}`, param: 'image_url' };
  }

  it('retries to store a paid image', async () => {
    let failures = 3;
    write = async (file) => {
      failures -= 1;
      if (failures >= 0) throw new GatewayError('upstream_unavailable', 'The disk is full.');
      return state.files.write(file);
    };
    const id = await submit();
    await darkroom.develop();
    const { state: end, image } = await ended(id);
    expect(end).to.equal('completed');
    expect((await state.files.stat(image?.name ?? ''))?.size).to.equal(image?.bytes);
  });

  it("retries to store a redrawn image and the model's original", async () => {
    const failed = new Set<string>();
    write = async (file) => {
      if (failed.has(file.name)) return state.files.write(file);
      failed.add(file.name);
      throw new GatewayError('upstream_unavailable', 'The disk is full.');
    };
    const id = await submit();
    await darkroom.develop(await pictureOf(96));
    const { image } = await ended(id);
    expect(image).to.include({ width: 64, height: 64 });
    expect(failed.size).to.equal(2);
    expect(await files())
      .to.have.members([image?.name, image?.rawName])
      .and.to.have.length(2);
    expect((await state.files.stat(image?.name ?? ''))?.size).to.equal(image?.bytes);
  });

  it('fails a job whose image cannot be stored', async () => {
    write = () => Promise.reject(new GatewayError('upstream_unavailable', 'The disk is full.'));
    const id = await submit();
    await darkroom.develop();
    expect((await ended(id)).error).to.include({ code: 'storage_error', retryable: true });
    expect(await files()).to.deep.equal([]);
  });

  it('waits for an input image that another node is still uploading', async () => {
    const failures = [
      async () => undefined,
      () => Promise.reject(new GatewayError('upstream_unavailable', 'The store is away.')),
      () => Promise.reject(new GatewayError('internal_error', 'A stored file is damaged.')),
    ];
    const asked: string[] = [];
    read = async (name, range) => {
      asked.push(name);
      return (failures.shift() ?? (() => state.files.read(name, range)))();
    };
    const id = await submit({ references: [await inlineReference()] });
    await darkroom.develop();
    expect((await ended(id)).state).to.equal('completed');
    expect(asked).to.have.length(4);
    expect(new Set(asked).size).to.equal(1);
  });

  it('reports a missing input image, and calls no model', async () => {
    read = async () => undefined;
    const id = await submit({ references: [await inlineReference()] });
    expect((await ended(id)).error).to.include({ code: 'storage_error', retryable: true });
    expect(darkroom.calls).to.have.length(0);
  });

  it('deletes input images of jobs that end without a run', async () => {
    await gateway.close();
    const node = await startOtherNode({ processLeaseMs: 60, workers: 1, generate: darkroom.generate });
    try {
      const begin = async (references: ImageSubmitRequest['references']) => {
        const submission = await node.images.submit({ ...REQUEST, references });
        return 'job' in submission ? submission.job.id : '';
      };
      await begin([]);
      await until(async () => darkroom.calls.length === 1);
      const [late, dead] = [await begin([await inlineReference()]), await begin([await inlineReference()])];
      expect(await files()).to.have.length(2);
      const database = await openDatabase({ dataDir: folder });
      const change = database.queries.updateTable('jobs');
      await change.set({ createdAt: 0 }).where('id', '=', late).execute();
      const processId = JSON.stringify(['elsewhere', 1, 'boot', 'workers']);
      const running = { state: 'running', processId, attempts: 9, crashCount: 9, startedAt: Date.now() } as const;
      await change.set(running).where('id', '=', dead).execute();
      await database.close();
      for (const [id, code] of [
        [late, 'queue_expired'],
        [dead, 'interrupted'],
      ] as const) {
        expect((await node.images.wait(id, ACCOUNT, { timeoutMs: 20_000 })).error).to.include({ code });
      }
      await until(async () => (await files()).length === 0);
    } finally {
      await node.close();
    }
  });

  it('deletes the file of a job that is cancelled while its image is stored', async () => {
    const arrived = Promise.withResolvers<void>();
    const going = Promise.withResolvers<void>();
    write = async (file) => {
      arrived.resolve();
      await going.promise;
      const source = await state.files.write(file);
      written.resolve();
      return source;
    };
    const written = Promise.withResolvers<void>();
    const id = await submit();
    await darkroom.develop();
    await arrived.promise;
    expect((await gateway.images.cancel(id, ACCOUNT)).state).to.equal('cancelled');
    going.resolve();
    await written.promise;
    while ((await files()).length > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    expect((await gateway.images.find(id, ACCOUNT)).state).to.equal('cancelled');
  });

  it('ends no job of another kind', async () => {
    const job = { kind: 'extraction', owner: ACCOUNT, summary: {}, input: null, maxActive: 10 } as const;
    const id = (await state.jobs.accept({ job })).job?.id ?? '';
    expect(await rejection(gateway.images.cancel(id, ACCOUNT))).to.include({ code: 'job_not_found' });
    expect(await state.jobs.find(id, ACCOUNT)).to.include({ state: 'queued' });
  });

  it("reports an undecodable image as the model's failure", async () => {
    const id = await submit();
    await darkroom.develop({ bytes: Buffer.from('<html>One moment</html>'), contentType: 'image/png' });
    expect((await ended(id)).error).to.include({ code: 'upstream_error', retryable: true });
  });

  it('stores no file of an incomplete image that needs redrawing', async () => {
    let written = 0;
    write = (file) => {
      written += 1;
      return state.files.write(file);
    };
    const id = await submit();
    const whole = await pictureOf(96);
    await darkroom.develop({ ...whole, bytes: whole.bytes.subarray(0, -40) });
    expect((await ended(id)).error).to.include({ code: 'upstream_error', retryable: true });
    expect(written).to.equal(1);
    expect(await files()).to.deep.equal([]);
  });

  it('is absent without a store of jobs or files', async () => {
    const bare = await createGateway({ plugins: [{ use: inventedModel() }] });
    try {
      expect(await rejection(bare.images.submit(REQUEST))).to.include({ code: 'plugin_unavailable' });
      expect(await rejection(bare.images.find('imgjob_1', ACCOUNT))).to.include({ code: 'plugin_unavailable' });
    } finally {
      await bare.close();
    }
  });
});

/** A square one, of so many pixels a side. */
async function pictureOf(side: number): Promise<GeneratedImage> {
  const bytes = await sampleImage({ width: side, height: side, format: 'png', seed: 2, noise: true });
  return { bytes, contentType: 'image/png' };
}
