/*
 * Wakes workers when a job is queued and waiters when work ends. A notification is only a hint and the tables are the
 * truth: a lost one costs a delay, because workers and waiters poll as well, and a duplicate costs nothing. With
 * PostgreSQL it travels by `NOTIFY` within the transaction, so it arrives only if that commits; workers then poll every
 * 5 seconds. With SQLite the siblings of this machine (processes behind the same port) get the hint over their channel,
 * and workers poll every second, for jobs of other processes, such as commands. The polls of waiters are their own. A
 * process that only accepts jobs opens no listening connection.
 */

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { CompiledQuery, type Listening, listenPostgres, type Script } from '../database/index.js';
import { noSiblings, type Siblings } from '../runtime/index.js';
import { type JobKind, jobKinds } from './kinds.js';

/** The workers of one kind, which the dispatcher wakes. */
interface JobStarter {
  kind: JobKind;
  /** Starts queued jobs in fair-queue order until no worker is free. Throws GatewayError. */
  start(): Promise<void>;
  /** Receives errors of `start` and of the database connection. The dispatcher continues by itself. */
  report(error: unknown): void;
}

export interface Serving {
  /** Resolves when no further call will be made. Does not wait for runs. */
  stop(): Promise<void>;
}

export interface Served extends Serving {
  /** There may be a queued job or a free worker. */
  wake(): void;
}

/** Is notified when work completes: jobs, and responses to requests with an idempotency key. */
interface CompletionWatcher {
  ended(id: string): void;
  /** Notifications of completed work may have been lost. */
  missed(): void;
  /** Receives errors. The dispatcher continues by itself. */
  report(error: unknown): void;
}

/**
 * Notifies workers of queued jobs, and waiters of completed work. Every notification is only a hint: the tables are the
 * truth. A lost hint costs a delay, and a duplicate costs nothing.
 */
export interface Dispatcher {
  /** Runs in the transaction that queues the job. All processes receive the hint when it commits. */
  announce(kind: JobKind): Script<void>;
  /** Called after that transaction, so that workers of this process need not wait for the notification. */
  wake(kind: JobKind): void;
  serve(service: JobStarter): Served;
  /** Runs in the transaction that ends the work. */
  announceEnds(ids: readonly string[]): Script<void>;
  /** Called after that transaction, for the watchers in this process. */
  ended(id: string): void;
  watchEnds(watcher: CompletionWatcher): Serving;
  close(): Promise<void>;
}

interface DispatcherOptions {
  /** Default: SQLite, where other processes send no notifications. */
  databaseUrl?: string;
  /** Milliseconds between two polls of the workers. */
  pollMs?: number;
  /** Receive queued jobs and ended work on SQLite, which sends no notifications. */
  siblings?: Siblings;
}

/** Creates the dispatcher for the database in use. */
export function openDispatcher({ databaseUrl, pollMs, siblings }: DispatcherOptions): Dispatcher {
  return databaseUrl === undefined
    ? createEmbeddedDispatcher(pollMs, siblings)
    : createPostgresDispatcher(databaseUrl, pollMs);
}

/** Other processes that use the same file also queue jobs: the command line, or a second server during an upgrade. */
const EMBEDDED_POLL_MS = 1_000;
/** Topics of siblings: a kind of which there is a job, and the id of work that has ended. */
const QUEUED = 'job_queued';
const ENDED = 'job_ended';

/** Wakes workers of this process and its siblings at once. Work of other processes is found by polling every second. */
export function createEmbeddedDispatcher(pollMs = EMBEDDED_POLL_MS, siblings: Siblings = noSiblings): Dispatcher {
  const watchers = new CompletionWatchers();
  const pumps = new Pumps(pollMs);
  siblings.on(QUEUED, (kind) => pumps.wake(kind as JobKind));
  siblings.on(ENDED, (id) => watchers.ended(id as string));
  return {
    *announce() {},
    *announceEnds() {},
    serve: (service) => pumps.serve(service),
    close: () => pumps.close(),
    wake(kind) {
      pumps.wake(kind);
      siblings.post(QUEUED, kind);
    },
    ended(id) {
      watchers.ended(id);
      siblings.post(ENDED, id);
    },
    watchEnds: (watcher) => watchers.add(watcher),
  };
}

const CHANNEL = 'mediagate_jobs';
/** The polling interval, which covers lost notifications. */
const POLL_MS = 5_000;

/**
 * Notifies all nodes with LISTEN and NOTIFY; any node with a free worker claims the job. There is no queue beside the
 * jobs table, since its rows would have to be kept consistent with the jobs over every crash.
 * @param url `postgres://…`; never logged.
 */
function createPostgresDispatcher(url: string, pollMs = POLL_MS): Dispatcher {
  const self = randomUUID();
  const pumps = new Pumps(pollMs);
  const watchers = new CompletionWatchers();
  let listening: Listening | undefined;

  /** Starts on first use: a process that only accepts jobs needs no connection for this. */
  function listen(): void {
    listening ??= listenPostgres({
      url,
      channel: CHANNEL,
      notified(payload) {
        const [topic = '', sender] = payload.split(' ');
        if (sender === self) return;
        const kind = jobKinds().find((each) => each === topic);
        if (kind) pumps.wake(kind);
        else watchers.ended(topic);
      },
      connected() {
        pumps.wake();
        watchers.missed();
      },
      failed: (error) => watchers.report(error),
    });
  }

  return {
    *announce(kind) {
      yield CompiledQuery.raw('select pg_notify($1, $2)', [CHANNEL, `${kind} ${self}`]);
    },
    wake: (kind) => pumps.wake(kind),
    serve(service) {
      listen();
      return pumps.serve(service);
    },
    *announceEnds(ids) {
      if (ids.length === 0) return;
      const payloads = ids.map((id) => `${id} ${self}`);
      yield CompiledQuery.raw('select pg_notify($1, payload) from unnest($2::text[]) as payload', [CHANNEL, payloads]);
    },
    ended: (id) => watchers.ended(id),
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

/** The watchers of completed jobs in this process. */
class CompletionWatchers {
  readonly #watchers = new Set<CompletionWatcher>();

  add(watcher: CompletionWatcher): Serving {
    this.#watchers.add(watcher);
    return {
      stop: async () => {
        this.#watchers.delete(watcher);
      },
    };
  }

  ended(id: string): void {
    for (const watcher of this.#watchers) watcher.ended(id);
  }

  missed(): void {
    for (const watcher of this.#watchers) watcher.missed();
  }

  report(error: unknown): void {
    for (const watcher of this.#watchers) watcher.report(error);
  }
}

/** The pumps of one process: one loop per kind that starts queued jobs. */
class Pumps {
  readonly #pollMs: number;
  readonly #pumps = new Set<Pump>();

  /** @param pollMs Maximum time between two polls of a pump. */
  constructor(pollMs: number) {
    this.#pollMs = pollMs;
  }

  /** Default: the pumps of every kind. */
  wake(kind?: JobKind): void {
    for (const pump of this.#pumps) if (kind === undefined || kind === pump.kind) pump.wake();
  }

  serve(service: JobStarter): Served {
    const pump = new Pump(service, this.#pollMs);
    this.#pumps.add(pump);
    return {
      wake: () => pump.wake(),
      stop: () => {
        this.#pumps.delete(pump);
        return pump.stop();
      },
    };
  }

  /** Stops all. */
  async close(): Promise<void> {
    await Promise.all(Array.from(this.#pumps, (pump) => pump.stop()));
  }
}

/** Starts jobs at once, at each wake-up, and every `pollMs`. */
class Pump {
  readonly #service: JobStarter;
  readonly #pollMs: number;
  readonly #stopping = new AbortController();
  readonly #ended: Promise<void>;
  #woken = false;
  #rouse: () => void = () => undefined;

  constructor(service: JobStarter, pollMs: number) {
    this.#service = service;
    this.#pollMs = pollMs;
    this.#ended = this.#run();
  }

  get kind(): JobKind {
    return this.#service.kind;
  }

  wake(): void {
    this.#woken = true;
    this.#rouse();
  }

  stop(): Promise<void> {
    this.#stopping.abort();
    this.#rouse();
    return this.#ended;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    let retryMs = FIRST_RETRY_MS;
    while (!signal.aborted) {
      this.#woken = false;
      try {
        await this.#service.start();
        retryMs = FIRST_RETRY_MS;
        if (!this.#woken && !signal.aborted) await this.#idle();
      } catch (error) {
        this.#service.report(error);
        // Nothing shortens this wait: an unavailable database is not polled once per job.
        await sleep(retryMs, undefined, { signal }).catch(() => undefined);
        retryMs = Math.min(retryMs * 2, LAST_RETRY_MS);
      }
    }
  }

  /** Waits for a wake-up, at most `pollMs`. */
  #idle(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.#pollMs);
      this.#rouse = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

export const FIRST_RETRY_MS = 100;

export const LAST_RETRY_MS = 5_000;
