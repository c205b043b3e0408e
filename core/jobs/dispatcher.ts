import { randomUUID } from 'node:crypto';
import { CompiledQuery, type Listening, listenPostgres, type Script } from '../database/index.js';
import { createPumps } from './job-workers.js';
import { JOB_KINDS, type JobKind } from './jobs.js';

/** Workers that want to be told of work. */
export interface JobStarter {
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
export interface CompletionWatcher {
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
  serve(service: JobStarter): Served;
  /** Within the transaction that ends the work. */
  announceEnds(ids: readonly string[]): Script<void>;
  /** After that transaction, for those who watch in this process. */
  ended(id: string): void;
  watchEnds(watcher: CompletionWatcher): Serving;
  close(): Promise<void>;
}

export interface DispatcherPlace {
  /** Default: SQLite, where other processes say nothing. */
  databaseUrl?: string;
  /** Milliseconds after which workers look by themselves. */
  pollMs?: number;
}

/** The dispatcher that goes with a database. */
export function openDispatcher({ databaseUrl, pollMs }: DispatcherPlace): Dispatcher {
  return databaseUrl === undefined ? createEmbeddedDispatcher(pollMs) : createPostgresDispatcher(databaseUrl, pollMs);
}

/** Other processes on the same file queue jobs, too: the command line, a second server during an upgrade. */
const EMBEDDED_POLL_MS = 1_000;

/** Work is heard of in this process at once, and of other processes by looking every second. */
export function createEmbeddedDispatcher(pollMs = EMBEDDED_POLL_MS): Dispatcher {
  const { add, ended } = createCompletionWatchers();
  return {
    *announce() {},
    *announceEnds() {},
    ...createPumps(pollMs),
    ended,
    watchEnds: add,
  };
}

const CHANNEL = 'mediagate_jobs';
/** For hints that were lost. */
const POLL_MS = 5_000;

/**
 * All nodes hear of work through LISTEN and NOTIFY, and whoever has a free slot claims it. No queue beside the jobs table:
 * its rows would have to be kept in step with the jobs over every crash.
 * @param url `postgres://…`; never logged.
 */
export function createPostgresDispatcher(url: string, pollMs = POLL_MS): Dispatcher {
  const self = randomUUID();
  const pumps = createPumps(pollMs);
  const watchers = createCompletionWatchers();
  let listening: Listening | undefined;

  /** Not before: a process that only accepts jobs needs no connection for this. */
  function listen(): void {
    listening ??= listenPostgres({
      url,
      channel: CHANNEL,
      heard(payload) {
        const [topic = '', speaker] = payload.split(' ');
        if (speaker === self) return;
        const kind = JOB_KINDS.find((each) => each === topic);
        if (kind) pumps.wake(kind);
        else watchers.ended(topic);
      },
      connected() {
        pumps.wake();
        watchers.missed();
      },
      failed: watchers.report,
    });
  }

  return {
    *announce(kind) {
      yield CompiledQuery.raw('select pg_notify($1, $2)', [CHANNEL, `${kind} ${self}`]);
    },
    wake: pumps.wake,
    serve(service) {
      listen();
      return pumps.serve(service);
    },
    *announceEnds(ids) {
      if (ids.length === 0) return;
      const payloads = ids.map((id) => `${id} ${self}`);
      yield CompiledQuery.raw('select pg_notify($1, payload) from unnest($2::text[]) as payload', [CHANNEL, payloads]);
    },
    ended: watchers.ended,
    watchEnds(watcher) {
      listen();
      return watchers.add(watcher);
    },
    async close() {
      await pumps.close();
      await listening?.stop();
    },
  };
}

/** Those in this process who want to be told of jobs that ended. */
export function createCompletionWatchers() {
  const watchers = new Set<CompletionWatcher>();
  return {
    add(watcher: CompletionWatcher): Serving {
      watchers.add(watcher);
      return {
        async stop() {
          watchers.delete(watcher);
        },
      };
    },
    ended(id: string): void {
      for (const watcher of watchers) watcher.ended(id);
    },
    missed(): void {
      for (const watcher of watchers) watcher.missed();
    },
    report(error: unknown): void {
      for (const watcher of watchers) watcher.report(error);
    },
  };
}
