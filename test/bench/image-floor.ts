/*
 * What is under every route of images, each in a server of its own: the same server without any storage of jobs; Koa, a
 * router and a handler that does nothing; a plain server of files. `node image-floor.js DATA_FOLDER`.
 */

import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import Router from '@koa/router';
import Koa from 'koa';
import {
  type Acceptance,
  type Accepted,
  createGateway,
  createLogger,
  type JobRecord,
  type Jobs,
  systemClock,
} from 'mediagate';
import { createHttpServer } from 'mediagate/server';
import { createApp } from '../../server/app.js';
import { Batches } from '../../server/batches/index.js';
import { IdempotencyService } from '../../server/idempotency/index.js';
import { createPepper, KeyTable } from '../../server/keys/index.js';
import type { RateLimitResult } from '../../server/limits/rate-limit.js';
import { Health } from '../../server/observability/index.js';
import { openState } from '../../server/state.js';
import { UsageService } from '../../server/usage/index.js';
import type { JobTerms } from '../../server/usage/job-admission.js';
import { PEPPER } from '../chaos/image-site.js';

const [folder = ''] = process.argv.slice(2);
const listen = async (server: Server) => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

/** Jobs are accepted and forgotten; nothing else is asked of them here. */
function jobsWithoutStorage(): Jobs {
  const accept = async ({ terms, job: { kind, summary } }: Acceptance): Promise<Accepted> => {
    const record: JobRecord = {
      ...{ id: `imgjob_${'0'.repeat(32)}`, kind, state: 'queued', summary, attempts: 0 },
      ...{ createdAt: Date.now(), startedAt: null, finishedAt: null, expiresAt: null, result: null, error: null },
    };
    const limit = (terms as JobTerms | undefined)?.rateLimit?.limit ?? 0;
    const answer: RateLimitResult = { accepted: true, limit, remaining: limit - 1, retryAfterMs: 0, resetMs: 60_000 };
    return { job: record, replayed: false, active: 1, answer };
  };
  return { ...state.jobs, accept };
}

const logger = createLogger({ level: 'error' });
const state = await openState({ dataDir: folder, clock: systemClock, logger });
const keys = await KeyTable.open({
  keys: state.keys,
  peppers: [createPepper(Buffer.from(PEPPER))],
  clock: systemClock,
  logger,
});
const gateway = await createGateway({
  plugins: [{ id: 'instant_image', use: path.join(import.meta.dirname, 'instant-image.js') }],
  services: { logger, clock: systemClock, storage: state.files },
  jobs: { store: jobsWithoutStorage(), workers: 0 },
  images: { workers: 0 },
});
const health = new Health({ gateway, wants: [], clock: systemClock, checks: {} });
const links = { baseUrl: () => 'http://127.0.0.1:8787', anyImageSize: true };
const { rateLimits, budgets, admissions, usage: usageLog, requestLog } = state;
const usage = new UsageService({ admissions, clock: systemClock });
const answers = new IdempotencyService({
  answers: state.idempotentResponses,
  files: state.files,
  clock: systemClock,
  logger,
  drain: health.drain,
});
const responses = state.storedResponses;
const counting = { rateLimits, budgets, usage, answers, usageLog, requestLog, responses };
const batches = new Batches({ jobs: state.jobs, links: state.batchLinks, gateway, maxActive: 1 });
const services = { gateway, batches, jobs: state.jobs, ...counting, keys, health, logger, clock: systemClock };
const app = createApp({ ...services, ...links });

const router = new Router();
router.get('/v1/images/jobs/:id', (context) => {
  context.body = { ok: true };
});
const koa = new Koa().use(router.routes());

const files = createServer(async (request, response) => {
  const file = path.join(folder, 'files', path.basename(request.url ?? ''));
  const { size } = await stat(file);
  response.writeHead(200, { 'content-type': 'image/png', 'content-length': size });
  createReadStream(file).pipe(response);
});

process.send?.({
  submits: await listen(createHttpServer({ handler: app.callback(), maxConnections: 1_000 })),
  koa: await listen(createServer(koa.callback())),
  files: await listen(files),
});

// Ends with the parent, also if that was killed.
process.once('disconnect', () => process.exit());
