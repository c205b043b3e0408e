/*
 * Runs batches in this process. The links of a batch start at the pace of its key, in groups, and at most 32 of one
 * batch and a set number of all run at a time. A batch ends when each of its links has ended; it fails as a whole if its
 * key or its budget ends, and keeps the results until then. When a run stops, links that it began stay begun: the next
 * run repeats them without another request of the rate limit. A link that four runs did not end, since their processes
 * died, fails as `interrupted`.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Gateway } from 'mediagate';
import type { Logger, StoredResult } from '../../core/contracts/index.js';
import { type JobRun, type Jobs, type JobWorkers, toFailure } from '../../core/jobs/index.js';
import { createThrottledWarning, GatewayError, isGatewayError } from '../../core/runtime/index.js';
import type { ApiKeyRecord, ApiKeys } from '../keys/index.js';
import { findCaptions, type TranscriptAnswer, without } from '../transcripts/index.js';
import type { BatchInput } from './batch-jobs.js';
import type { BatchLinks, BegunLink, LinkEnd } from './batch-links.js';

/** Batches that run in one process: most of them wait for the rate limit of their key. */
const MAX_RUNNING = 100;
/** Links of one batch that run or wait for others at a time. */
const LINKS_AT_ONCE = 32;
const MAX_LINK_RUNS = 4;
/** Longest wait for the rate limit: the key may have been changed. */
const MAX_WAIT_MS = 5_000;
const MIN_WAIT_MS = 20;
/** While the database is unavailable. */
const RETRY_MS = 500;

export interface BatchRunnerOptions {
  jobs: Pick<Jobs, 'work'>;
  links: BatchLinks;
  keys: Pick<ApiKeys, 'find'>;
  gateway: Pick<Gateway, 'captions' | 'extractToStore' | 'match' | 'storedResult'>;
  /** Links of all batches that run at a time in this process. */
  linksAtOnce: number;
  logger: Logger;
}

/** Starts the workers of batches in this process. */
export function startBatches(options: BatchRunnerOptions): JobWorkers {
  const permits = new Permits(options.linksAtOnce);
  const run = (job: JobRun, signal: AbortSignal) => new BatchRun(options, { job, signal, permits }).run();
  return options.jobs.work({ kind: 'batch', concurrency: MAX_RUNNING, run });
}

/** Links of all batches, in the order in which they started. */
class Permits {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  async use<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free += 1;
    }
  }
}

interface RunOptions {
  job: JobRun;
  signal: AbortSignal;
  /** Of all batches. */
  permits: Permits;
}

class BatchRun {
  readonly #options: BatchRunnerOptions;
  readonly #run: RunOptions;
  readonly #input: BatchInput;
  /** Links that run here, by position. */
  readonly #active = new Map<number, Promise<void>>();
  readonly #report: (error: unknown) => void;
  /** Whether links may have been begun that do not run here: by an earlier run, or by a commit whose answer was lost. */
  #mayHaveOpen = true;

  constructor(options: BatchRunnerOptions, run: RunOptions) {
    this.#options = options;
    this.#run = run;
    this.#input = run.job.input as BatchInput;
    this.#report = createThrottledWarning(options.logger, 'batches wait for the database');
  }

  /** Resolves when each link has ended. */
  async run(): Promise<null> {
    const { signal } = this.#run;
    try {
      for (;;) {
        signal.throwIfAborted();
        const { isLast, waitMs } = await this.#begin();
        if (isLast && !this.#mayHaveOpen && this.#active.size === 0) return null;
        if (waitMs !== undefined) await this.#wait(Math.min(Math.max(waitMs, MIN_WAIT_MS), MAX_WAIT_MS));
        // In groups, so that they share a transaction.
        while (this.#active.size > (isLast ? 0 : LINKS_AT_ONCE / 2)) await Promise.race(this.#active.values());
      }
    } finally {
      await Promise.all(this.#active.values());
    }
  }

  /** Begins the next links. While the database is unavailable, none begin. */
  async #begin(): Promise<{ isLast: boolean; waitMs?: number | undefined }> {
    const { links, gateway } = this.#options;
    const { job } = this.#run;
    const running = this.#mayHaveOpen ? { running: [...this.#active.keys()] } : {};
    const max = LINKS_AT_ONCE - this.#active.size;
    try {
      const key = await this.#findKey();
      const platformOf = (url: string) => platformOfLink(gateway, url);
      const begun = await links.begin({ run: job, input: this.#input, key, max, ...running, platformOf });
      // A full group may not have been all of them.
      this.#mayHaveOpen &&= begun.links.length === max && begun.links.some(({ attempts }) => attempts > 1);
      for (const link of begun.links) this.#start(link);
      return begun;
    } catch (error) {
      if (!isGatewayError(error) || error.code !== 'upstream_unavailable') throw error;
      this.#report(error);
      this.#mayHaveOpen = true;
      return { isLast: false, waitMs: RETRY_MS };
    }
  }

  /** @throws GatewayError if the key cannot send links any more. */
  async #findKey(): Promise<ApiKeyRecord> {
    const key = await this.#options.keys.find(this.#input.keyId);
    if (!key) throw new GatewayError('invalid_api_key', 'The key of the batch no longer exists.');
    if (key.expiresAt !== null && key.expiresAt <= Date.now()) {
      throw new GatewayError('expired_api_key', 'The key of the batch has expired.');
    }
    if (key.rpm === 0 || !key.grants.includes('extract')) {
      throw new GatewayError('route_not_allowed', 'The key of the batch is no longer granted link data.');
    }
    return key;
  }

  #start(link: BegunLink): void {
    const { signal, permits } = this.#run;
    const work = permits
      .use(() => this.#extract(link))
      .then((end) => end && this.#end(end))
      .catch((error) => {
        if (!signal.aborted)
          this.#options.logger.error('a link of a batch was not ended', { jobId: link.jobId, error });
      })
      .finally(() => this.#active.delete(link.position));
    this.#active.set(link.position, work);
  }

  /** Undefined if the run stops. */
  async #extract(link: BegunLink): Promise<LinkEnd | undefined> {
    const { gateway, logger } = this.#options;
    const { signal } = this.#run;
    const { options, verifyMedia } = this.#input;
    if (signal.aborted) return undefined;
    try {
      if (link.attempts > MAX_LINK_RUNS) throw new GatewayError('interrupted', 'The link was interrupted too often.');
      const result = await gateway.extractToStore({
        url: link.url,
        ...(options && { options }),
        verifyMedia,
        signal,
      });
      const words = await this.#wordsOf(result, link);
      const stored = { result, ...(words && { words }), method: result.extraction.method };
      return { link, input: this.#input, outcome: stored };
    } catch (error) {
      if (signal.aborted) return undefined;
      if (!isGatewayError(error)) logger.error('a link of a batch failed unexpectedly', { jobId: link.jobId, error });
      return { link, input: this.#input, outcome: { error: toFailure(error) } };
    }
  }

  /** From subtitles alone: speech recognition is charged, and has a pace of its own. */
  async #wordsOf(result: StoredResult, { url }: BegunLink): Promise<TranscriptAnswer | undefined> {
    const { gateway } = this.#options;
    const { captions } = this.#input;
    if (!captions) return undefined;
    const terms = { languages: captions.languages, signal: this.#run.signal };
    const found = await findCaptions(gateway, gateway.storedResult(result, { url }), terms);
    return found ?? without('no subtitles, and batches have no speech recognition');
  }

  /** Retries as long as the database is unavailable. */
  async #end(end: LinkEnd): Promise<void> {
    for (;;) {
      try {
        await this.#options.links.end(end);
        return;
      } catch (error) {
        if (!isGatewayError(error) || this.#run.signal.aborted) throw error;
        this.#report(error);
        await this.#wait(RETRY_MS);
      }
    }
  }

  async #wait(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#run.signal }).catch(() => undefined);
  }
}

/** Empty for a link of no platform. */
function platformOfLink(gateway: Pick<Gateway, 'match'>, url: string): string {
  try {
    return gateway.match(url).platform;
  } catch {
    return '';
  }
}
