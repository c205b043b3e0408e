/*
 * Answers extraction requests with a result or a background job. A cached result is answered at once. Otherwise the
 * platform's extractor decides whether the item needs a job; equal items join the job that is already queued or
 * running. A batch processes eight links at a time within 30 seconds, shares one extraction between links to the same
 * item, and answers with the results it has when the time is over. A link that fails does not fail the batch. Job
 * records contain only what changes the result, and nothing about the caller.
 */

import pLimit from 'p-limit';
import type {
  AcceptedJob,
  BatchItem,
  BatchRequest,
  Clock,
  ExtractionJob,
  Logger,
  Submission,
  SubmitRequest,
} from '../contracts/index.js';
import { type JobRecord, type JobRun, type Jobs, type JobWorkers, kindOfJob, queueFull } from '../jobs/index.js';
import type { Registry } from '../plugins/index.js';
import { GatewayError, isGatewayError } from '../runtime/index.js';
import type { Extracted, ExtractionJobSummary, ExtractionService, Item } from './extraction.js';
import type { CachedResult } from './result-cache.js';

const DEFAULT_WORKERS = 4;
const DEFAULT_MAX_ACTIVE = 1_000;

/** Background extraction, if the platform's extractor allows it. */
export interface ExtractionJobs {
  readonly maxActive: number;
  /** Number of queued and running jobs. */
  active(): Promise<number>;
  /**
   * Returns the job of an item, joining one that is already queued or running. There is no job if the rate limit is
   * exhausted.
   * @throws GatewayError `queue_full`, and what the admission hooks refuse with; then nothing is consumed.
   */
  accept(item: Item, request: Omit<SubmitRequest, 'url'>): Promise<AcceptedJob>;
  /** @throws GatewayError `job_not_found`. */
  find(id: string, owner: string): Promise<ExtractionJob>;
  /** Ends a queued or running job. If other owners joined it, only this owner is removed. */
  cancel(id: string, owner: string): Promise<ExtractionJob>;
  /** Starts the workers of this process. */
  start(): void;
  /** Queues running jobs again. Idempotent. */
  stop(): Promise<void>;
}

/** The job store, and its limits. */
export interface JobsOptions {
  store: Jobs;
  /** Maximum concurrent jobs in this process; 0 leaves the work to other processes. Default 4. */
  workers?: number;
  /** Maximum number of queued and running jobs, over all processes. Default 1,000. */
  maxActive?: number;
}

export interface ExtractionJobsOptions extends JobsOptions {
  extraction: ExtractionService;
  registry: Registry;
  clock: Clock;
  logger: Logger;
}

interface JobInput {
  refresh: boolean;
}

interface JobResult {
  cached: CachedResult;
  stale: boolean;
}

export function createExtractionJobs(options: ExtractionJobsOptions): ExtractionJobs {
  const { store, extraction, registry, clock, logger } = options;
  const { maxActive = DEFAULT_MAX_ACTIVE, workers = DEFAULT_WORKERS } = options;
  let running: JobWorkers | undefined;

  function itemOf({ platform, link, options: extractOptions }: ExtractionJobSummary): Item {
    const extractor = registry.extractor(platform);
    if (!extractor)
      throw new GatewayError('plugin_unavailable', 'The platform of this job is not ready.', { platform });
    return extraction.itemOf({ extractor, link }, extractOptions);
  }

  async function run(record: JobRun, signal: AbortSignal): Promise<JobResult> {
    const summary = record.summary as ExtractionJobSummary;
    const { platform, link } = summary;
    const { refresh } = record.input as JobInput;
    const startedAt = clock.monotonic();
    const fields = { platform, id: link.id, attempt: record.attempts };
    try {
      const item = itemOf(summary);
      const { cached, cache } = refresh ? await extraction.refresh(item, signal) : await extraction.fetch(item, signal);
      logger.info('an extraction job completed', { ...fields, ms: Math.round(clock.monotonic() - startedAt) });
      return { cached, stale: cache === 'stale' };
    } catch (error) {
      if (!signal.aborted && isGatewayError(error)) {
        const ms = Math.round(clock.monotonic() - startedAt);
        logger.warn('an extraction job failed', { ...fields, ms, code: error.code, error: error.cause });
      }
      throw error;
    }
  }

  function view(record: JobRecord, active: number): ExtractionJob {
    const { id, state, attempts, createdAt, startedAt, finishedAt, error } = record;
    const { platform, link } = record.summary as ExtractionJobSummary;
    return {
      id,
      platform,
      link,
      state,
      attempts,
      createdAt,
      startedAt,
      finishedAt,
      error,
      queue: { active, maxActive },
      ...(state === 'completed' && { result: resultOf(record) }),
    };
  }

  async function viewOf(record: JobRecord | undefined): Promise<ExtractionJob> {
    if (!record) throw new GatewayError('job_not_found', 'There is no such job.');
    return view(record, await store.active('extraction'));
  }

  function resultOf({ summary, result }: JobRecord) {
    const item = itemOf(summary as ExtractionJobSummary);
    const { cached, stale } = result as JobResult;
    const extracted: Extracted = { cached, cache: stale ? 'stale' : 'hit' };
    // Several owners may have submitted different links to it; all of them see the canonical link.
    return extraction.answer({ url: item.link.url }, item, extraction.adopt(item, extracted));
  }

  return {
    maxActive,
    active: () => store.active('extraction'),
    async accept(item, { owner, requestId, refresh = false, terms, ...submitter }) {
      const { extractor, link, options: extractOptions, key } = item;
      const summary: ExtractionJobSummary = {
        platform: extractor.contribution.platform,
        link,
        options: extractOptions,
      };
      const input: JobInput = { refresh };
      const origin = requestId === undefined ? {} : { requestId };
      const { keyId, group, groupShare, priority } = submitter;
      const share = { keyId, group, groupShare, priority, maxActive };
      const job = { kind: 'extraction', owner, ...origin, dedupeKey: key, summary, input, ...share } as const;
      const { job: record, active, rateLimited, answer } = await store.accept({ terms, job });
      const answered = answer === undefined ? {} : { answer };
      if (record) return { job: view(record, active), ...answered };
      if (!rateLimited) throw new Error('a job was neither accepted nor refused');
      return { rateLimited, ...answered };
    },
    async find(id, owner) {
      return viewOf(kindOfJob(id) === 'extraction' ? await store.find(id, owner) : undefined);
    },
    async cancel(id, owner) {
      return viewOf(kindOfJob(id) === 'extraction' ? await store.cancel(id, owner) : undefined);
    },
    start() {
      const needed = registry.extractors.some(({ contribution }) => contribution.background);
      if (needed && workers > 0) running ??= store.work({ kind: 'extraction', concurrency: workers, run });
    },
    async stop() {
      await running?.stop();
    },
  };
}

/** Links of one batch that are processed concurrently. */
const CONCURRENCY = 8;
/** Deadline of everything in a batch that is not a job. */
const BATCH_MS = 30_000;

/** Requests that may be answered with a job. */
export interface Submissions {
  submit(request: SubmitRequest): Promise<Submission>;
  submitBatch(request: BatchRequest): Promise<readonly BatchItem[]>;
  /** @throws GatewayError `queue_full` if every link would need a job and the queue is full. */
  checkQueue(request: BatchRequest): Promise<void>;
}

export interface SubmissionsOptions {
  extraction: ExtractionService;
  /** Undefined without background work: everything is extracted at once. */
  jobs: ExtractionJobs | undefined;
  logger: Logger;
}

type Settled = { extracted: Extracted } | { refusal: GatewayError } | AcceptedJob;

export function createSubmissions({ extraction, jobs, logger }: SubmissionsOptions): Submissions {
  async function settle(item: Item, request: Omit<SubmitRequest, 'url'>): Promise<Settled> {
    if (!jobs || !item.extractor.contribution.background) {
      return { extracted: (await extraction.readCached(item)) ?? (await extraction.fetch(item, request.signal)) };
    }
    if (!request.refresh) {
      try {
        const extracted = await extraction.readCached(item);
        if (extracted) return { extracted };
      } catch (error) {
        if (isGatewayError(error)) return { refusal: error };
        throw error;
      }
    }
    return jobs.accept(item, request);
  }

  /** The target of a short link is not known yet, so it counts as one that needs a job. */
  async function needsJob(request: SubmitRequest): Promise<boolean> {
    try {
      const target = extraction.match(request.url);
      if (target.link.kind === 'short_link') return true;
      if (!target.extractor.contribution.background) return false;
      return request.refresh || !(await extraction.readCached(await extraction.identify(request)));
    } catch (error) {
      // An invalid link needs no job.
      if (isGatewayError(error)) return false;
      throw error;
    }
  }

  async function submitBatch(request: BatchRequest): Promise<readonly BatchItem[]> {
    const { urls, signal, ...extractOptions } = request;
    // Not `withDeadline`: a batch that is late still answers, with the results it has.
    const late = new AbortController();
    const timer = setTimeout(() => {
      const message = `No answer within the ${BATCH_MS / 1000} s of a batch.`;
      late.abort(new GatewayError('upstream_timeout', message));
    }, BATCH_MS);
    const ending = signal ? AbortSignal.any([signal, late.signal]) : late.signal;
    // Links to the same item share one extraction, and one job even if it completes before the second link is
    // processed.
    const settled = new Map<string, Promise<Settled>>();

    async function one(url: string): Promise<BatchItem> {
      try {
        signal?.throwIfAborted();
        const single = { ...extractOptions, url, signal: ending };
        const item = await extraction.identify(single);
        const shared = settled.get(item.key) ?? settle(item, single);
        settled.set(item.key, shared);
        const outcome = await shared;
        if ('job' in outcome) return { url, job: outcome.job };
        if ('extracted' in outcome) return { url, result: extraction.answer(single, item, outcome.extracted) };
        throw 'refusal' in outcome ? outcome.refusal : new Error('a batch brought terms');
      } catch (error) {
        signal?.throwIfAborted();
        if (isGatewayError(error)) return { url, error };
        logger.error('a link of a batch failed unexpectedly', { error });
        return { url, error: new GatewayError('internal_error', 'The gateway failed.') };
      }
    }

    try {
      const limit = pLimit(CONCURRENCY);
      return await Promise.all(urls.map((url) => limit(one, url)));
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    submitBatch,
    async checkQueue({ urls, ...extractOptions }) {
      if (!jobs || (await jobs.active()) < jobs.maxActive) return;
      for (const url of urls) if (!(await needsJob({ ...extractOptions, url }))) return;
      throw queueFull();
    },
    async submit(request) {
      const item = await extraction.identify(request);
      const outcome = await settle(item, request);
      return 'extracted' in outcome ? { result: extraction.answer(request, item, outcome.extracted) } : outcome;
    },
  };
}
