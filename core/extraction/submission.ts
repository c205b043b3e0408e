import pLimit from 'p-limit';
import type { Clock, Logger } from '../contracts/index.js';
import { queueFull } from '../jobs/index.js';
import { GatewayError, isGatewayError, startLifetime } from '../runtime/index.js';
import type { ExtractionService, Item, Obtained } from './extraction.js';
import type { ExtractionJobs } from './extraction-jobs.js';
import type { AcceptedJob, BatchItem, BatchRequest, Submission, SubmitRequest } from './requests.js';

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
  clock: Clock;
  logger: Logger;
}

type Settled = { obtained: Obtained } | { refusal: GatewayError } | AcceptedJob;

export function createSubmissions({ extraction, jobs, clock, logger }: SubmissionsOptions): Submissions {
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
    const late = () => new GatewayError('upstream_timeout', `No answer within the ${BATCH_MS / 1000} s of a batch.`);
    const lifetime = startLifetime({ clock, timeoutMs: BATCH_MS, signals: [signal], late });
    // Links to the same item share one piece of work, and one job even where that is done before the second is looked at.
    const settled = new Map<string, Promise<Settled>>();

    async function one(url: string): Promise<BatchItem> {
      try {
        signal?.throwIfAborted();
        const single = { ...wishes, url, signal: lifetime.signal };
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
      lifetime.end();
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
