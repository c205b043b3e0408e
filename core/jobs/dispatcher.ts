import type { Script } from '../database/index.js';
import type { JobKind } from './jobs.js';

/** Workers that want to be told of work. */
export interface JobService {
  kind: JobKind;
  /** Begins to run the queued jobs whose turn it is, as many as there are free slots. Throws GatewayError. */
  start(): Promise<void>;
  /** Told what failed, `start` or the way to the database; the dispatcher goes on by itself. */
  report(error: unknown): void;
}

export interface Serving {
  /** Nothing is called any more once this has resolved. Does not wait for runs. */
  stop(): Promise<void>;
}

export interface Served extends Serving {
  /** There may be work, or a free slot. */
  wake(): void;
}

/** Somebody who wants to be told of work that ended: jobs, and answers to requests with an idempotency key. */
export interface EndWatcher {
  ended(id: string): void;
  /** Ends may have gone unheard. */
  missed(): void;
  /** Told what failed; the dispatcher goes on by itself. */
  report(error: unknown): void;
}

/**
 * Who hears that a job waits, or that work has ended. All of it is only a hint: the tables are the truth, so a hint that is lost costs a while
 * and a doubled one nothing.
 */
export interface Dispatcher {
  /** Within the transaction that queues the job: the hint is given to all processes where that commits. */
  announce(kind: JobKind): Script<void>;
  /** After that transaction: workers of this very process need not wait for the word to come around. */
  wake(kind: JobKind): void;
  serve(service: JobService): Served;
  /** Within the transaction that ends the work. */
  announceEnds(ids: readonly string[]): Script<void>;
  /** After that transaction, for those who watch in this process. */
  ended(id: string): void;
  watchEnds(watcher: EndWatcher): Serving;
  close(): Promise<void>;
}

export interface DispatcherPlace {
  /** Default: SQLite, where other processes say nothing. */
  databaseUrl?: string;
  /** Milliseconds after which workers look by themselves. */
  pollMs?: number;
}

/** The dispatcher that goes with a database. */
export async function openDispatcher({ databaseUrl, pollMs }: DispatcherPlace): Promise<Dispatcher> {
  if (databaseUrl === undefined) {
    const { createEmbeddedDispatcher } = await import('./dispatch-embedded.js');
    return createEmbeddedDispatcher(pollMs);
  }
  const { createPostgresDispatcher } = await import('./dispatch-postgres.js');
  return createPostgresDispatcher(databaseUrl, pollMs);
}
