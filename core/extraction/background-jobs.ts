/*
 * Answers extraction requests with a result or a background job. A cached result is answered at once. Otherwise the
 * request or the platform's extractor decides whether the item needs a job; equal items join the job that is already queued or
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
  ExtractResult,
  JobAnswerTerms,
  Logger,
  Submission,
  SubmitRequest,
} from '../contracts/index.js';
import {
  type JobFilter,
  type JobRecord,
  type JobRun,
  type Jobs,
  type JobWorkers,
  kindOfJob,
  queueFull,
} from '../jobs/index.js';
import type { Registry } from '../plugins/index.js';
import { GatewayError, isGatewayError } from '../runtime/index.js';
import type { Extracted, ExtractionJobSummary, ExtractionService, Item, Target } from './extraction.js';
import { type CachedResult, withoutVisit } from './result-cache.js';

const DEFAULT_WORKERS = 4;
const DEFAULT_MAX_ACTIVE = 1_000;

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

interface JobResult extends Pick<Extracted, 'checks'> {
  cached: CachedResult;
  stale: boolean;
}

/** Background extraction. */
export class ExtractionJobs {
  readonly maxActive: number;
  readonly #options: ExtractionJobsOptions;
  #running: JobWorkers | undefined;

  constructor(options: ExtractionJobsOptions) {
    this.#options = options;
    this.maxActive = options.maxActive ?? DEFAULT_MAX_ACTIVE;
  }

  /** Starts the workers of this process. */
  start(): void {
    const { registry, store, workers = DEFAULT_WORKERS } = this.#options;
    if (registry.extractors.length === 0 || workers <= 0) return;
    const run = (record: JobRun, signal: AbortSignal) => this.#run(record, signal);
    this.#running ??= store.work({ kind: 'extraction', concurrency: workers, run });
  }

  /** Queues running jobs again. Idempotent. */
  async stop(): Promise<void> {
    await this.#running?.stop();
  }

  /** Number of queued and running jobs. */
  active(): Promise<number> {
    return this.#options.store.active('extraction');
  }

  /**
   * Returns the job of an item, joining one that is already queued or running. There is no job if the rate limit is
   * exhausted.
   * @throws GatewayError `queue_full`, and what the admission hooks refuse with; then nothing is consumed.
   */
  async accept(item: Item, request: Omit<SubmitRequest, 'url'>): Promise<AcceptedJob> {
    const { owner, requestId, refresh = false, terms, webhookUrl, keyId, group, groupShare, priority } = request;
    const { extractor, link, options, key } = item;
    const { verifyMedia = false, fields } = request;
    const parts = { ...(verifyMedia && { verifyMedia }), ...(fields && { fields }) };
    const summary: ExtractionJobSummary = { platform: extractor.contribution.platform, link, options, ...parts };
    const isPlain = Object.keys(parts).length === 0;
    const input: JobInput = { refresh };
    const origin = requestId === undefined ? {} : { requestId };
    const share = { keyId, group, groupShare, priority, maxActive: this.maxActive };
    // The address is stored with the job, and belongs to one owner.
    const sharing =
      webhookUrl === undefined ? { dedupeKey: isPlain ? key : `${key} ${JSON.stringify(parts)}` } : { webhookUrl };
    const job = { kind: 'extraction', owner, ...origin, ...sharing, summary, input, ...share } as const;
    const { job: record, active, rateLimited, answer } = await this.#options.store.accept({ terms, job });
    const answered = answer === undefined ? {} : { answer };
    if (record) return { job: this.#view(record, active), ...answered };
    if (!rateLimited) throw new Error('a job was neither accepted nor refused');
    return { rateLimited, ...answered };
  }

  /** @throws GatewayError `job_not_found`. */
  async find(id: string, owner: string, terms?: JobAnswerTerms): Promise<ExtractionJob> {
    const record = kindOfJob(id) === 'extraction' ? await this.#options.store.find(id, owner) : undefined;
    return this.#viewOf(record, terms);
  }

  /** The jobs that the owner submitted first, newest first, without their results. */
  async list(owner: string, limit: number, filter: Pick<JobFilter, 'state' | 'after'> = {}): Promise<ExtractionJob[]> {
    const { store } = this.#options;
    const [records, active] = await Promise.all([
      store.latest(owner, limit, { ...filter, kind: 'extraction' }),
      this.active(),
    ]);
    return records.map((record) => this.#describe(record, active));
  }

  /** Ends a queued or running job. If other owners joined it, only this owner is removed. */
  async cancel(id: string, owner: string): Promise<ExtractionJob> {
    return this.#viewOf(kindOfJob(id) === 'extraction' ? await this.#options.store.cancel(id, owner) : undefined);
  }

  async #run(record: JobRun, signal: AbortSignal): Promise<JobResult> {
    const { extraction, clock, logger } = this.#options;
    const summary = record.summary as ExtractionJobSummary;
    const { platform, link, verifyMedia = false } = summary;
    const { refresh } = record.input as JobInput;
    const startedAt = clock.monotonic();
    const fields = { platform, id: link.id, attempt: record.attempts };
    try {
      const item = this.#itemOf(summary);
      const found = await this.#extract(item, { refresh, verifyMedia }, signal);
      const { cached, cache, checks } = await extraction.verifyIfWanted({ verifyMedia, signal }, item, found);
      logger.info('an extraction job completed', { ...fields, ms: Math.round(clock.monotonic() - startedAt) });
      return { cached: withoutVisit(cached), stale: cache === 'stale', ...(checks && { checks }) };
    } catch (error) {
      if (!signal.aborted && isGatewayError(error)) {
        const ms = Math.round(clock.monotonic() - startedAt);
        logger.warn('an extraction job failed', { ...fields, ms, code: error.code, error: error.cause });
      }
      throw error;
    }
  }

  /** A job whose only work is to verify a cached document does not read the item again. */
  async #extract(
    item: Item,
    { refresh, verifyMedia }: { refresh: boolean; verifyMedia: boolean },
    signal: AbortSignal,
  ): Promise<Extracted> {
    const { extraction } = this.#options;
    if (refresh) return extraction.refresh(item, signal);
    return (verifyMedia ? await extraction.readCached(item) : undefined) ?? extraction.fetch(item, signal);
  }

  async #viewOf(record: JobRecord | undefined, terms?: JobAnswerTerms): Promise<ExtractionJob> {
    if (!record) throw new GatewayError('job_not_found', 'There is no such job.');
    return this.#view(record, await this.active(), terms);
  }

  #view(record: JobRecord, active: number, terms?: JobAnswerTerms): ExtractionJob {
    const job = this.#describe(record, active);
    return record.state === 'completed' ? { ...job, result: this.#resultOf(record, terms) } : job;
  }

  #describe(record: JobRecord, active: number): ExtractionJob {
    const { id, state, attempts, createdAt, startedAt, finishedAt, error } = record;
    const { platform, link, fields } = record.summary as ExtractionJobSummary;
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
      ...(fields && { fields }),
      queue: { active, maxActive: this.maxActive },
    };
  }

  #resultOf({ summary, result }: JobRecord, terms: JobAnswerTerms = () => ({})): ExtractResult {
    const { extraction } = this.#options;
    const { fields = {} } = summary as ExtractionJobSummary;
    const item = this.#itemOf(summary as ExtractionJobSummary);
    const { cached, stale, checks } = result as JobResult;
    const extracted: Extracted = { cached, cache: stale ? 'stale' : 'hit', checks };
    // Several owners may have submitted different links to it; all of them see the canonical link.
    return extraction.answer({ url: item.link.url, ...terms(fields) }, item, extraction.adopt(item, extracted));
  }

  #itemOf({ platform, link, options }: ExtractionJobSummary): Item {
    const extractor = this.#options.registry.extractor(platform);
    if (!extractor)
      throw new GatewayError('plugin_unavailable', 'The platform of this job is not ready.', { platform });
    return this.#options.extraction.itemOf({ extractor, link }, options);
  }
}

/** Links of one batch that are processed concurrently. */
const CONCURRENCY = 8;
/** Deadline of everything in a batch that is not a job. */
const BATCH_MS = 30_000;

export interface SubmissionsOptions {
  extraction: ExtractionService;
  /** Undefined without background work: everything is extracted at once. */
  jobs: ExtractionJobs | undefined;
  clock: Clock;
  logger: Logger;
}

type Settled = { extracted: Extracted } | { refusal: GatewayError } | AcceptedJob;

/** Requests that may be answered with a job. */
export class Submissions {
  readonly #extraction: ExtractionService;
  readonly #jobs: ExtractionJobs | undefined;
  readonly #clock: Clock;
  readonly #logger: Logger;

  constructor({ extraction, jobs, clock, logger }: SubmissionsOptions) {
    this.#extraction = extraction;
    this.#jobs = jobs;
    this.#clock = clock;
    this.#logger = logger;
  }

  async submit(request: SubmitRequest): Promise<Submission> {
    const item = await this.#extraction.identify(request);
    const outcome = await this.#settle(item, request);
    if (!('extracted' in outcome)) return outcome;
    const extracted = await this.#extraction.verifyIfWanted(request, item, outcome.extracted);
    return { result: this.#extraction.answer(request, item, extracted) };
  }

  async submitBatch({ urls, signal, ...options }: BatchRequest): Promise<readonly BatchItem[]> {
    // Not `withDeadline`: a batch that is late still answers, with the results it has.
    const [late, answered] = [new AbortController(), new AbortController()];
    const endLate = () => {
      const message = `No answer within the ${BATCH_MS / 1000} s of a batch.`;
      late.abort(new GatewayError('upstream_timeout', message));
    };
    this.#clock.sleep(BATCH_MS, answered.signal).then(endLate, () => undefined);
    const ending = signal ? AbortSignal.any([signal, late.signal]) : late.signal;
    // Links to the same item share one extraction, and one job even if it completes before the second link is
    // processed.
    const settled = new Map<string, Promise<Settled>>();

    const answer = async (url: string): Promise<BatchItem> => {
      try {
        signal?.throwIfAborted();
        return await this.#answerOne({ ...options, url, signal: ending }, settled);
      } catch (error) {
        signal?.throwIfAborted();
        if (isGatewayError(error)) return { url, error };
        this.#logger.error('a link of a batch failed unexpectedly', { error });
        return { url, error: new GatewayError('internal_error', 'The gateway failed.') };
      }
    };

    try {
      const limit = pLimit(CONCURRENCY);
      return await Promise.all(urls.map((url) => limit(answer, url)));
    } finally {
      answered.abort();
    }
  }

  async #answerOne(request: SubmitRequest, settled: Map<string, Promise<Settled>>): Promise<BatchItem> {
    const { url } = request;
    const item = await this.#extraction.identify(request);
    const shared = settled.get(item.key) ?? this.#settle(item, request);
    settled.set(item.key, shared);
    const outcome = await shared;
    if ('job' in outcome) return { url, job: outcome.job };
    if ('extracted' in outcome) return { url, result: this.#extraction.answer(request, item, outcome.extracted) };
    throw 'refusal' in outcome ? outcome.refusal : new Error('a batch brought terms');
  }

  async #settle(item: Item, request: Omit<SubmitRequest, 'url'>): Promise<Settled> {
    const extraction = this.#extraction;
    if (!this.#jobs || !isDeferred(item, request)) {
      return { extracted: (await extraction.readCached(item)) ?? (await extraction.fetch(item, request.signal)) };
    }
    // A cached document is not verified.
    if (!request.refresh && !request.verifyMedia) {
      try {
        const extracted = await extraction.readCached(item);
        if (extracted) return { extracted };
      } catch (error) {
        if (isGatewayError(error)) return { refusal: error };
        throw error;
      }
    }
    return this.#jobs.accept(item, request);
  }

  /** @throws GatewayError `queue_full` if every link would need a job and the queue is full. */
  async checkQueue({ urls, ...options }: BatchRequest): Promise<void> {
    if (!this.#jobs || (await this.#jobs.active()) < this.#jobs.maxActive) return;
    for (const url of urls) if (!(await this.#needsJob({ ...options, url }))) return;
    throw queueFull();
  }

  /** The target of a short link is not known yet, so it counts as one that needs a job. */
  async #needsJob(request: SubmitRequest): Promise<boolean> {
    const extraction = this.#extraction;
    try {
      const target = extraction.match(request.url);
      if (target.link.kind === 'short_link') return true;
      if (!isDeferred(target, request)) return false;
      return request.refresh || !(await extraction.readCached(await extraction.identify(request)));
    } catch (error) {
      // An invalid link needs no job.
      if (isGatewayError(error)) return false;
      throw error;
    }
  }
}

/** Whether a link is answered with a job where its result is not cached. */
function isDeferred({ extractor }: Target, { background = false }: Pick<SubmitRequest, 'background'>): boolean {
  return background || extractor.contribution.background === true;
}
