/*
 * Batches of many links as background jobs: submit, find, list, cancel, and read the results. A batch counts as one open
 * job of its own kind. The results of links are complete from the first one to the first that has not ended, so a reader
 * that continues where it stopped misses none.
 */

import type { Gateway } from 'mediagate';
import type {
  ExtractRequest,
  ExtractResult,
  JobFailure,
  JobState,
  QueueShare,
  RequestOptions,
} from '../../core/contracts/index.js';
import { type Accepted, type JobFilter, type JobRecord, type Jobs, kindOfJob } from '../../core/jobs/index.js';
import { GatewayError, isGatewayError } from '../../core/runtime/index.js';
import type { TranscriptAnswer } from '../transcripts/index.js';
import type { BatchInput, BatchSummary } from './batch-jobs.js';
import type { BatchLinks, BatchProgress, EndedLink } from './batch-links.js';

/** Results that are read together. */
const ROWS = 50;

/** A batch. Times are milliseconds since 1970. */
export interface Batch
  extends BatchSummary,
    Pick<JobRecord, 'id' | 'state' | 'attempts' | 'createdAt' | 'startedAt' | 'finishedAt' | 'expiresAt' | 'error'> {
  progress: BatchProgress;
}

export interface NewBatch extends QueueShare {
  /** The account. */
  owner: string;
  keyId: string;
  urls: readonly string[];
  options?: RequestOptions | undefined;
  verifyMedia?: boolean | undefined;
  captions?: BatchInput['captions'];
  fields: BatchSummary['fields'];
  requestId?: string;
  webhookUrl?: string | undefined;
  /** Input for the admission hooks. */
  terms?: unknown;
}

export interface BatchResult extends Pick<EndedLink, 'position' | 'url' | 'platform' | 'attempts'> {
  outcome: { result: ExtractResult; words?: TranscriptAnswer } | { error: JobFailure | GatewayError };
}

export interface BatchesOptions {
  jobs: Pick<Jobs, 'accept' | 'find' | 'latest' | 'cancel'>;
  links: BatchLinks;
  gateway: Pick<Gateway, 'storedResult'>;
  /** Maximum number of queued and running batches, over all processes. */
  maxActive: number;
}

export class Batches {
  readonly #options: BatchesOptions;

  constructor(options: BatchesOptions) {
    this.#options = options;
  }

  /** @throws GatewayError `queue_full`, `too_many_open_jobs`, `idempotency_key_reused`. */
  async submit(batch: NewBatch): Promise<{ batch: Batch; replayed: boolean }> {
    const { jobs, maxActive } = this.#options;
    const { owner, keyId, urls, options, fields, requestId, webhookUrl, terms, group, groupShare, priority } = batch;
    const asked = {
      ...(options && { options }),
      ...(batch.verifyMedia && { verifyMedia: true }),
      ...(batch.captions && { captions: batch.captions }),
    };
    const summary: BatchSummary = { total: urls.length, fields };
    const input: BatchInput = { urls, ...asked, keyId, accountId: owner };
    const share = { keyId, group, groupShare, priority, maxActive };
    const job = { kind: 'batch', owner, requestId, webhookUrl, summary, input, ...share } as const;
    const accepted: Accepted = await jobs.accept({ terms, job });
    const [view] = await this.#describe(accepted.job ? [accepted.job] : []);
    if (!view) throw new Error('a batch without a rate limit was refused by one');
    return { batch: view, replayed: accepted.replayed };
  }

  /** @throws GatewayError `job_not_found`. */
  async find(id: string, owner: string): Promise<Batch> {
    return this.#existing(kindOfJob(id) === 'batch' ? await this.#options.jobs.find(id, owner) : undefined);
  }

  /** Newest first. @throws GatewayError `job_not_found` if the owner has no job `after`. */
  async list(owner: string, limit: number, filter: Pick<JobFilter, 'state' | 'after'>): Promise<Batch[]> {
    return this.#describe(await this.#options.jobs.latest(owner, limit, { ...filter, kind: 'batch' }));
  }

  /** @throws GatewayError `job_not_found`, `job_already_terminal`. */
  async cancel(id: string, owner: string): Promise<Batch> {
    return this.#existing(kindOfJob(id) === 'batch' ? await this.#options.jobs.cancel(id, owner) : undefined);
  }

  /** The number of links, from the first on, whose results can be read. */
  ended({ id }: Batch): Promise<number> {
    return this.#options.links.ended(id);
  }

  /** Results of links that have ended, from one position to before another. */
  async *results(
    { id, fields }: Batch,
    { from, to, mediaLinksFor }: { from: number; to: number; mediaLinksFor?: string | undefined },
  ): AsyncGenerator<BatchResult> {
    const includeAudioMp3 = fields.include_audio_mp3 !== false;
    for (let next = from; next < to; next += ROWS) {
      const rows = await this.#options.links.results(id, next, Math.min(ROWS, to - next));
      for (const { outcome, ...link } of rows) {
        const request = { url: link.url, includeAudioMp3, mediaLinksFor };
        yield { ...link, outcome: 'error' in outcome ? outcome : this.#answer(outcome, request) };
      }
    }
  }

  #answer(
    { result, words }: Extract<EndedLink['outcome'], { result: unknown }>,
    request: ExtractRequest,
  ): BatchResult['outcome'] {
    try {
      return { result: this.#options.gateway.storedResult(result, request), ...(words && { words }) };
    } catch (error) {
      // Such as an item that was taken down since.
      if (isGatewayError(error)) return { error };
      throw error;
    }
  }

  async #existing(record: JobRecord | undefined): Promise<Batch> {
    const [batch] = await this.#describe(record ? [record] : []);
    if (!batch) throw new GatewayError('job_not_found', 'There is no such batch.');
    return batch;
  }

  async #describe(records: readonly JobRecord[]): Promise<Batch[]> {
    const progress = await this.#options.links.progress(records.map(({ id }) => id));
    return records.map(({ summary, result: _, kind: _kind, ...record }) => ({
      ...record,
      ...(summary as BatchSummary),
      progress: progress.get(record.id) ?? { started: 0, completed: 0, failed: 0 },
    }));
  }
}

export const BATCH_STATUS: Readonly<Record<JobState, string>> = {
  queued: 'queued',
  running: 'processing',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
};

export function isOpenBatch({ state }: Pick<Batch, 'state'>): boolean {
  return state === 'queued' || state === 'running';
}
