/** A gateway with image jobs in this process, without HTTP, for the benchmark of image routes. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createGateway, createLogger, systemClock } from 'mediagate';
import { openState } from '../../server/state.js';
import { toJobTerms } from '../../server/usage/job-admission.js';
import instantImage from './instant-image.js';

const KEYS = 400;
const ACCOUNT = 'embedder';
const MANY = 1_000_000;
const TIMEOUT_MS = 60_000;

/** A gateway in this process, as an app that embeds it has one: with durable jobs and files, without HTTP. */
export interface EmbeddedGateway {
  /** Makes picture number `index` by a job, with a rolling window and a key that a retry would be known by. */
  make(index: number): Promise<void>;
  stop(): Promise<void>;
}

export interface EmbeddedGatewayOptions {
  size: { width: number; height: number };
  /** Pictures at the same time. */
  workers: number;
  /** Milliseconds that the model takes, and spends waiting. */
  modelMs: number;
  /** Pictures at first for which it takes no time. */
  quickPictures: number;
}

export async function startEmbeddedGateway(options: EmbeddedGatewayOptions): Promise<EmbeddedGateway> {
  const { size, workers, modelMs: takesMs, quickPictures } = options;
  const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-embedded-'));
  const logger = createLogger({ level: 'silent' });
  const state = await openState({ dataDir: folder, clock: systemClock, logger });
  const gateway = await createGateway({
    plugins: [{ use: instantImage, options: { takesMs, quickPictures } }],
    jobs: { store: state.jobs },
    images: { workers },
    services: { storage: state.files, clock: systemClock, logger },
  });
  return {
    async make(index) {
      const keyId = `key${index % KEYS}`;
      const submission = await gateway.images.submit({
        ...{ model: 'gen-img-2', prompt: `picture ${index}`, size, delivery: 'url', options: {}, references: [] },
        owner: ACCOUNT,
        keyId,
        terms: toJobTerms({
          rateLimit: { keyId, family: 'image', count: 1, limit: MANY },
          idempotency: { scope: keyId, key: `${index}`, fingerprint: `${index}`, replay: false },
        }),
      });
      if (!('job' in submission)) throw new Error('There is no job.');
      const { state: end } = await gateway.images.wait(submission.job.id, ACCOUNT, { timeoutMs: TIMEOUT_MS });
      if (end !== 'completed') throw new Error(`A picture ended as ${end}.`);
    },
    async stop() {
      await gateway.close();
      await state.close();
      await rm(folder, { recursive: true });
    },
  };
}
