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
import { type JobRecord, type JobRun, type Jobs, type JobWorkers, queueFull } from '../jobs/index.js';
import type { Registry } from '../plugins/index.js';
import { GatewayError, isGatewayError } from '../runtime/index.js';
import type { ExtractionJobSummary, ExtractionService, Item, Obtained } from './extraction.js';
import type { Kept } from './result-cache.js';

const DEFAULT_WORKERS = 4;
const DEFAULT_MAX_ACTIVE = 1_000;
/** Whatever else a client sends never reaches the database. */
const JOB_ID = /^exjob_[A-Za-z0-9_-]{1,64}$/;

/** Extraction in the background, for platforms whose extractor allows it. */
export interface ExtractionJobs {
  readonly maxActive: number;
  /** Jobs that are queued or running. */
  active(): Promise<number>;
  /**
   * The job of an item, joined where it is on its way already. Without one where the admission hooks let no more in.
   * @throws GatewayError `queue_full`, and what the hooks refuse with; then nothing is taken.
   */
  accept(item: Item, request: Omit<SubmitRequest, 'url'>): Promise<AcceptedJob>;
  /** @throws GatewayError `job_not_found`. */
  find(id: string, owner: string): Promise<ExtractionJob>;
  /** As {@link Gateway.cancelExtractionJob}. */
  cancel(id: string, owner: string): Promise<ExtractionJob>;
  /** Starts the workers of this process. */
  start(): void;
  /** Gives back what is running. Idempotent. */
  stop(): Promise<void>;
}

/** Where background jobs are kept, and how many there may be. */
export interface JobsOptions {
  store: Jobs;
  /** Jobs that this process runs at the same time; 0 leaves them to others. Default 4. */
  workers?: number;
  /** Jobs that may be queued or running at the same time, over all processes. Default 1,000. */
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
  kept: Kept;
  stale: boolean;
}

export function createExtractionJobs(options: ExtractionJobsOptions): ExtractionJobs {
  const { store, extraction, registry, clock, logger } = options;
  const { maxActive = DEFAULT_MAX_ACTIVE, workers = DEFAULT_WORKERS } = options;
  let running: JobWorkers | undefined;

  function itemOf({ platform, link, options: wishes }: ExtractionJobSummary): Item {
    const extractor = registry.extractor(platform);
    if (!extractor)
      throw new GatewayError('plugin_unavailable', 'The platform of this job is not ready.', { platform });
    return extraction.itemOf({ extractor, link }, wishes);
  }

  async function run(record: JobRun, signal: AbortSignal): Promise<JobResult> {
    const summary = record.summary as ExtractionJobSummary;
    const { platform, link } = summary;
    const { refresh } = record.input as JobInput;
    const startedAt = clock.monotonic();
    const fields = { platform, id: link.id, attempt: record.attempts };
    try {
      const item = itemOf(summary);
      const { kept, cache } = refresh ? await extraction.refresh(item, signal) : await extraction.fetch(item, signal);
      logger.info('an extraction job is done', { ...fields, ms: Math.round(clock.monotonic() - startedAt) });
      return { kept, stale: cache === 'stale' };
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
    const { kept, stale } = result as JobResult;
    const obtained: Obtained = { kept, cache: stale ? 'stale' : 'hit' };
    // Several owners may have asked for it, each with a link of its own; all of them are shown the canonical one.
    return extraction.answer({ url: item.link.url }, item, extraction.adopt(item, obtained));
  }

  return {
    maxActive,
    active: () => store.active('extraction'),
    async accept(item, { owner, requestId, refresh = false, terms }) {
      const { extractor, link, options: wishes, key } = item;
      const summary: ExtractionJobSummary = { platform: extractor.contribution.platform, link, options: wishes };
      const input: JobInput = { refresh };
      const origin = requestId === undefined ? {} : { requestId };
      const job = { kind: 'extraction', owner, ...origin, dedupeKey: key, summary, input, maxActive } as const;
      const { job: record, active, rateLimited, answer } = await store.accept({ terms, job });
      const answered = answer === undefined ? {} : { answer };
      if (record) return { job: view(record, active), ...answered };
      if (!rateLimited) throw new Error('a job was neither accepted nor refused');
      return { rateLimited, ...answered };
    },
    async find(id, owner) {
      return viewOf(JOB_ID.test(id) ? await store.find(id, owner) : undefined);
    },
    async cancel(id, owner) {
      return viewOf(JOB_ID.test(id) ? await store.cancel(id, owner) : undefined);
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

/** Links of one batch that are worked on at the same time. */
const CONCURRENCY = 8;
/** For everything in a batch that is not a job. */
const BATCH_MS = 30_000;

/** Requests that may be answered with a job. */
export interface Submissions {
  submit(request: SubmitRequest): Promise<Submission>;
  submitBatch(request: BatchRequest): Promise<readonly BatchItem[]>;
  /** @throws GatewayError `queue_full` where every link would need a place in the queue, which has none. */
  checkQueue(request: BatchRequest): Promise<void>;
}

export interface SubmissionsOptions {
  extraction: ExtractionService;
  /** Undefined where there is no background work: everything is extracted at once. */
  jobs: ExtractionJobs | undefined;
  logger: Logger;
}

type Settled = { obtained: Obtained } | { refusal: GatewayError } | AcceptedJob;

export function createSubmissions({ extraction, jobs, logger }: SubmissionsOptions): Submissions {
  async function settle(item: Item, request: Omit<SubmitRequest, 'url'>): Promise<Settled> {
    if (!jobs || !item.extractor.contribution.background) {
      return { obtained: (await extraction.atHand(item)) ?? (await extraction.fetch(item, request.signal)) };
    }
    if (!request.refresh) {
      try {
        const obtained = await extraction.atHand(item);
        if (obtained) return { obtained };
      } catch (error) {
        if (isGatewayError(error)) return { refusal: error };
        throw error;
      }
    }
    return jobs.accept(item, request);
  }

  /** Where a short link leads is not known yet, so it is taken for one that needs a place. */
  async function needsPlace(request: SubmitRequest): Promise<boolean> {
    try {
      const target = extraction.match(request.url);
      if (target.link.kind === 'short_link') return true;
      if (!target.extractor.contribution.background) return false;
      return request.refresh || !(await extraction.atHand(await extraction.identify(request)));
    } catch (error) {
      // A link that is refused needs none.
      if (isGatewayError(error)) return false;
      throw error;
    }
  }

  async function submitBatch(request: BatchRequest): Promise<readonly BatchItem[]> {
    const { urls, signal, ...wishes } = request;
    // Not `withDeadline`: a batch that is late still answers, each link of it with what it has.
    const late = new AbortController();
    const timer = setTimeout(() => {
      const message = `No answer within the ${BATCH_MS / 1000} s of a batch.`;
      late.abort(new GatewayError('upstream_timeout', message));
    }, BATCH_MS);
    const ending = signal ? AbortSignal.any([signal, late.signal]) : late.signal;
    // Links to the same item share one piece of work, and one job even where that is done before the second is looked at.
    const settled = new Map<string, Promise<Settled>>();

    async function one(url: string): Promise<BatchItem> {
      try {
        signal?.throwIfAborted();
        const single = { ...wishes, url, signal: ending };
        const item = await extraction.identify(single);
        const shared = settled.get(item.key) ?? settle(item, single);
        settled.set(item.key, shared);
        const outcome = await shared;
        if ('job' in outcome) return { url, job: outcome.job };
        if ('obtained' in outcome) return { url, result: extraction.answer(single, item, outcome.obtained) };
        throw 'refusal' in outcome ? outcome.refusal : new Error('a batch brought terms');
      } catch (error) {
        signal?.throwIfAborted();
        if (isGatewayError(error)) return { url, error };
        logger.error('a link of a batch failed in a way nobody foresaw', { error });
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
    async checkQueue({ urls, ...wishes }) {
      if (!jobs || (await jobs.active()) < jobs.maxActive) return;
      for (const url of urls) if (!(await needsPlace({ ...wishes, url }))) return;
      throw queueFull();
    },
    async submit(request) {
      const item = await extraction.identify(request);
      const outcome = await settle(item, request);
      return 'obtained' in outcome ? { result: extraction.answer(request, item, outcome.obtained) } : outcome;
    },
  };
}
