import type { Transaction } from 'kysely';
import type { JobKind } from './jobs.js';
import type { Tables } from './schema.js';

/** A run that has begun. */
export interface StartedRun {
  /** Resolves when its slot is free again; never rejects. */
  ended: Promise<void>;
}

/** Workers that want to be told of work. */
export interface JobService {
  kind: JobKind;
  /** Runs at the same time. */
  concurrency: number;
  /** Claims the oldest queued job and begins to run it; undefined where there is none for now. Throws GatewayError. */
  startNext(): Promise<StartedRun | undefined>;
  /** Told what failed, `startNext` or the way to the database; the dispatcher goes on by itself. */
  report(error: unknown): void;
}

export interface Serving {
  /** Calls `startNext` no more once this has resolved. Does not wait for runs. */
  stop(): Promise<void>;
}

/**
 * Who hears that a job waits. All of it is only a hint: the jobs table is the truth, so a hint that is lost costs a while
 * and a doubled one nothing.
 */
export interface Dispatcher {
  /** Within the transaction that queues the job: the hint is given to all processes where that commits. */
  announce(transaction: Transaction<Tables>, kind: JobKind): Promise<void>;
  /** After that transaction: workers of this very process need not wait for the word to come around. */
  wake(kind: JobKind): void;
  serve(service: JobService): Serving;
  close(): Promise<void>;
}
