/*
 * One heartbeat per process. A process that holds something in the database (a running job, a reservation, an
 * idempotency key) has one row in `instances`, and what it holds names the id of that row. One timer increments `beat`
 * three times per lease of 15 s.
 *
 * Every process polls all rows at the same pace. It declares a process dead (`beat` becomes -1) if that process ended,
 * which its own machine knows at once, or if `beat` has not changed for a whole lease. The update names the value that
 * was read, so a heartbeat that comes first wins. Then the handlers of `onProcessDead` release what the dead process
 * held. Each process runs its handlers; for each row, the first one releases.
 *
 * The polling process measures silence by its own monotonic clock, and only while it can read. It never compares two
 * clocks. So a clock that jumps neither releases a job early nor holds one for a dead process.
 *
 * An id that was declared dead stays dead. A process that was suspended and finds itself declared dead continues under
 * a new id and abandons what it held (`onLost`). So does a process that could not write its heartbeat for a whole
 * lease. Its late writes change nothing: each row is released once, by its own name.
 */

import type { Logger } from '../contracts/index.js';
import { createThrottledWarning, GatewayError, type PollLoop, startPollLoop } from '../runtime/index.js';
import type { Database } from './database.js';
import type { Kysely } from './kysely.js';
import { createProcessId, isProcessDead } from './process-ids.js';
import { type Migrations, sqlMigration } from './schema-migration.js';
import { type DatabaseClock, rowsOf, runScript, type Script } from './statements.js';
import type { Tables } from './tables.js';

/** Whether the state of this id has been the same for a whole lease. */
export type SilenceCheck = (id: string, state: string) => boolean;

/**
 * Measures how long other processes have not changed, by this process's own monotonic clock and while it could read.
 */
export class SilenceWatch {
  readonly #leaseMs: number;
  /** Since when they have been the same. */
  #seen = new Map<string, { state: string; since: number }>();
  #checkedAt = Number.NEGATIVE_INFINITY;

  constructor(leaseMs: number) {
    this.#leaseMs = leaseMs;
  }

  /** The result is called once for each id, before the next check. An id that was not checked is dropped. */
  check(): SilenceCheck {
    const now = performance.now();
    // If this process could not read for so long (it was stopped, or the database was unavailable), others may not
    // have been able to write either.
    if (now - this.#checkedAt >= this.#leaseMs) this.#seen.clear();
    this.#checkedAt = now;
    const before = this.#seen;
    const seen: typeof before = new Map();
    this.#seen = seen;
    return (id, state) => {
      const known = before.get(id);
      const since = known?.state === state ? known.since : now;
      seen.set(id, { state, since });
      return now - since >= this.#leaseMs;
    };
  }
}

declare module './tables.js' {
  interface Tables {
    instances: InstancesTable;
  }
}

export interface InstancesTable {
  id: string;
  startedAt: number;
  /** For people, and for {@link Instances.differing}; `beat` decides whether a process is dead. */
  beatAt: number;
  /** Incremented while the process lives; -1 once it was declared dead. */
  beat: number;
  /** JSON array of Fingerprint. */
  fingerprints: string;
}

/** Milliseconds of a lease. A heartbeat is written every third of it. */
const LEASE_MS = 15_000;
const DEAD = -1;
/** A process that wrote nothing for this long is ignored when settings are compared. */
const LIVE_MS = 20_000;
const FORGET_MS = 60 * 60 * 1000;
const FORGET_INTERVAL_MS = 10 * 60 * 1000;
const TIMEOUT_MS = 2_000;
const TIMEOUT = { timeoutMs: TIMEOUT_MS };

/** Keyed hashes, never the values themselves, of one setting; several while a secret is rotated. */
export interface Fingerprint {
  /** Name of the setting. */
  setting: string;
  /** The newest first. Two processes agree if one hash is in both lists. */
  hashes: readonly string[];
  /** Whether a process with a different value must not start. */
  required: boolean;
}

/** What processes hold of one kind: jobs, reservations or keys. */
export interface ProcessHolds {
  /** Ids of the processes that hold something, each once. */
  holders(): Script<readonly string[]>;
  /**
   * Releases everything that this process holds. The process is dead for good. Other processes may do the same at the
   * same time.
   */
  release(processId: string): Promise<void>;
}

interface Living {
  id: string;
  startedAt: number;
  fingerprints: string;
}

export interface InstancesOptions {
  database: Database;
  times: DatabaseClock;
  /** Default 15,000. */
  leaseMs?: number;
  logger: Logger;
}

/** The processes that use this state. */
export class Instances {
  /** Milliseconds without a heartbeat after which a process counts as dead. */
  readonly leaseMs: number;
  readonly #intervalMs: number;
  readonly #database: Database;
  readonly #times: DatabaseClock;
  readonly #logger: Logger;
  readonly #report: (error: unknown) => void;
  readonly #handlers = new Set<ProcessHolds>();
  readonly #lostListeners = new Set<() => void>();
  readonly #silence: SilenceWatch;
  #id = createProcessId();
  #own: readonly Fingerprint[] | undefined;
  #count = 0;
  #isEntered = false;
  #isClosed = false;
  #hasRow = false;
  /** Start of the last successful heartbeat, by the monotonic clock. */
  #writtenAt = Number.NEGATIVE_INFINITY;
  #writing: Promise<void> | undefined;
  #beating: PollLoop | undefined;
  #polling: PollLoop | undefined;
  #forgotAt = performance.now();
  #warned = '';

  constructor({ database, times, leaseMs = LEASE_MS, logger }: InstancesOptions) {
    this.leaseMs = leaseMs;
    this.#intervalMs = leaseMs / 3;
    this.#database = database;
    this.#times = times;
    this.#logger = logger;
    this.#report = createThrottledWarning(logger, 'heartbeats of processes wait for the database');
    this.#silence = new SilenceWatch(leaseMs);
  }

  /** Id of this process in everything that it holds. A new one is made after it was declared dead. */
  get id(): string {
    return this.#id;
  }

  /**
   * Whether the last heartbeat is recent enough that no other process can have declared this one dead. False before the
   * first one: then nothing may be held, see {@link enter}.
   */
  isFresh(): boolean {
    // The next heartbeat may come too late.
    return performance.now() + this.#intervalMs - this.#writtenAt < this.leaseMs;
  }

  /**
   * Await it before this process holds something: resolves when the heartbeat is recent.
   * @throws GatewayError `upstream_unavailable`.
   */
  async enter(): Promise<void> {
    if (this.#isClosed || this.isFresh()) return;
    this.#isEntered = true;
    try {
      await this.beat();
    } finally {
      // A shorter timeout than the time between two heartbeats, so that another one follows within the lease.
      const work = () => this.beat(Math.min(TIMEOUT_MS, this.#intervalMs));
      if (!this.#isClosed) {
        this.#beating ??= startPollLoop({ intervalMs: this.#intervalMs, work, report: this.#report });
      }
    }
  }

  /** @returns A function that removes the handler. */
  onProcessDead(holds: ProcessHolds): () => void {
    this.#handlers.add(holds);
    return () => this.#handlers.delete(holds);
  }

  /**
   * This process was declared dead, or may be soon, since it could not write its heartbeat: what it held belongs to
   * other processes. May be called again while the database is unavailable.
   * @returns A function that removes the listener.
   */
  onLost(listener: () => void): () => void {
    this.#lostListeners.add(listener);
    return () => this.#lostListeners.delete(listener);
  }

  /** Starts to check for dead processes, at once and three times per lease. */
  watch(): void {
    const work = () => this.#poll();
    this.#polling ??= startPollLoop({ intervalMs: this.#intervalMs, work, report: this.#report });
  }

  /** Checks at once. Throws GatewayError. */
  async check(): Promise<void> {
    const rows = await this.#database.run((queries) =>
      queries.selectFrom('instances').select(['id', 'beat']).execute(),
    );
    const held: { holds: ProcessHolds; ids: readonly string[] }[] = [];
    for (const holds of this.#handlers) {
      held.push({ holds, ids: await this.#database.run((queries) => runScript(queries, holds.holders())) });
    }
    const polls = new Map(rows.map((row) => [row.id, row.beat]));
    const others = new Set([...polls.keys(), ...held.flatMap(({ ids }) => ids)]);
    others.delete(this.#id);
    const isSilent = this.#silence.check();
    const dead = new Set([...others].filter((other) => polls.get(other) === DEAD));
    const candidates = [...others].filter(
      (other) => !dead.has(other) && (isSilent(other, `${polls.get(other)}`) || isProcessDead(other)),
    );
    for (const candidate of candidates) {
      if (await this.#declareDead(candidate, polls.get(candidate))) dead.add(candidate);
    }
    for (const { holds, ids } of held) {
      // What cannot be released now is found by the next check, and does not delay other kinds.
      for (const each of ids) if (dead.has(each)) await holds.release(each).catch(this.#report);
    }
  }

  /**
   * Registers this process with its settings.
   * @throws GatewayError `invalid_value` if a living process differs in a required setting; `upstream_unavailable`.
   */
  async join(fingerprints: readonly Fingerprint[]): Promise<void> {
    this.#own = fingerprints;
    // A write that is running does not include the settings.
    await this.#writing?.catch(() => undefined);
    if (this.#isEntered) await this.beat();
    else await this.enter();
    const all = await this.#living();
    const id = this.#id;
    const started = all.find((one) => one.id === id)?.startedAt ?? Number.POSITIVE_INFINITY;
    // Of two that start at the same time, one continues.
    const earlier = all.filter(
      (one) => one.id !== id && (one.startedAt < started || (one.startedAt === started && one.id < id)),
    );
    const refused = earlier.flatMap((other) => differences(fingerprints, other)).find(({ required }) => required);
    if (refused) {
      await this.close();
      throw differs(refused.setting);
    }
    await this.#warn();
  }

  /**
   * Writes the heartbeat of this process. Before {@link join} and {@link enter} it writes nothing. Concurrent callers
   * share one write.
   * @throws GatewayError `upstream_unavailable` if the database accepts no writes.
   */
  beat(timeoutMs = TIMEOUT_MS): Promise<void> {
    if (!this.#isEntered) return this.#database.ping();
    this.#writing ??= this.#write(timeoutMs).finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  /** Settings in which a living process differs from this one. */
  async differing(): Promise<string[]> {
    const others = (await this.#living()).filter((one) => one.id !== this.#id);
    return [...new Set(others.flatMap((other) => differences(this.#own ?? [], other).map(({ setting }) => setting)))];
  }

  /** Removes this process. What it still holds is released after a lease, or once it has ended. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([this.#polling?.stop(), this.#beating?.stop()]);
    this.#isEntered = false;
    await this.#writing?.catch(() => undefined);
    if (!this.#hasRow) return;
    this.#hasRow = false;
    this.#writtenAt = Number.NEGATIVE_INFINITY;
    // If the database is unavailable, the row expires with its lease.
    await this.#database
      .run((queries) => queries.deleteFrom('instances').where('id', '=', this.#id).execute(), TIMEOUT)
      .catch(() => undefined);
  }

  async #write(timeoutMs: number): Promise<void> {
    const begunAt = performance.now();
    let isLost = false;
    this.#count += 1;
    try {
      // A power cut may lose a heartbeat.
      const written = await this.#database.script(() => this.#writeRow(), { timeoutMs, durability: 'relaxed' });
      isLost = this.#hasRow && written !== this.#id;
      this.#id = written;
      this.#hasRow = true;
      this.#writtenAt = begunAt;
    } finally {
      if (isLost) this.#logger.warn('other processes took this one for dead; it continues under a new id');
      if (isLost || (this.#hasRow && !this.isFresh())) for (const listener of this.#lostListeners) listener();
    }
  }

  /** The id of this process from then on. */
  *#writeRow(): Script<string> {
    const { queries } = this.#database;
    const { now } = this.#times;
    const row = { beat: this.#count, beatAt: now, fingerprints: JSON.stringify(this.#own ?? []) };
    if (this.#hasRow) {
      const update = queries.updateTable('instances').set(row).where('id', '=', this.#id).where('beat', '>', DEAD);
      const updated = yield* rowsOf(update.returning('id').compile());
      if (updated.length > 0) return this.#id;
    }
    const next = createProcessId();
    yield queries
      .insertInto('instances')
      .values({ id: next, startedAt: now, ...row })
      .compile();
    return next;
  }

  /** False if it has written a heartbeat meanwhile. A process without a row holds what it must not hold. */
  async #declareDead(candidate: string, seen: number | undefined): Promise<boolean> {
    if (seen === undefined) return true;
    const { numUpdatedRows } = await this.#database.run((queries) =>
      queries
        .updateTable('instances')
        .set({ beat: DEAD })
        .where('id', '=', candidate)
        .where('beat', 'in', [seen, DEAD])
        .executeTakeFirstOrThrow(),
    );
    return numUpdatedRows > 0n;
  }

  async #poll(): Promise<void> {
    await this.check();
    await this.#forget();
    if (this.#own) await this.#warn();
  }

  /** Removes the rows of processes that died long ago. */
  async #forget(): Promise<void> {
    if (performance.now() - this.#forgotAt < FORGET_INTERVAL_MS) return;
    await this.#database.run(async (queries) => {
      const before = (await this.#times.read(queries)) - FORGET_MS;
      await queries.deleteFrom('instances').where('beat', '=', DEAD).where('beatAt', '<', before).execute();
    }, TIMEOUT);
    this.#forgotAt = performance.now();
  }

  #living(): Promise<Living[]> {
    return this.#database.run(async (queries) => {
      const since = (await this.#times.read(queries)) - LIVE_MS;
      return queries
        .selectFrom('instances')
        .select(['id', 'startedAt', 'fingerprints'])
        .where('beat', '>', DEAD)
        .where('beatAt', '>', since)
        .execute();
    }, TIMEOUT);
  }

  async #warn(): Promise<void> {
    const settings = await this.differing();
    const text = settings.join(', ');
    if (text !== this.#warned && text !== '') {
      this.#logger.warn(`another gateway process on this database has another ${text}`);
    }
    if (text !== this.#warned && text === '') {
      this.#logger.info('all gateway processes have the same settings again');
    }
    this.#warned = text;
  }
}

function differs(setting: string): GatewayError {
  const message = `${setting} differs from that of another gateway process on this database. Give all of them the same ${setting}; to change it, give each the new and the old one, separated by a comma, the new one first. A process that was killed counts for ${LIVE_MS / 1000} s.`;
  return new GatewayError('invalid_value', message, { param: setting });
}

/**
 * Settings in which the living processes on a database differ. Read only. A process is living if it wrote within 20 s
 * of the newest heartbeat, so that no clock is needed.
 */
export async function differencesAmong(queries: Kysely<Tables>): Promise<string[]> {
  const rows = await queries
    .selectFrom('instances')
    .select(['id', 'startedAt', 'fingerprints', 'beatAt'])
    .where('beat', '>', DEAD)
    .execute();
  const newest = Math.max(...rows.map(({ beatAt }) => beatAt));
  const living = rows.filter(({ beatAt }) => beatAt > newest - LIVE_MS);
  const different = living.flatMap((one) =>
    living.flatMap((other) => differences(JSON.parse(one.fingerprints) as Fingerprint[], other)),
  );
  return [...new Set(different.map(({ setting }) => setting))];
}

function differences(own: readonly Fingerprint[], other: Living): Fingerprint[] {
  const theirs = JSON.parse(other.fingerprints) as readonly Fingerprint[];
  return own.filter(({ setting, hashes }) => {
    const found = theirs.find((one) => one.setting === setting);
    return found !== undefined && !found.hashes.some((hash) => hashes.includes(hash));
  });
}

/** The table of the running processes. */
export const processMigrations: Migrations = {
  '0001-processes': sqlMigration(
    `create table instances (
      id text primary key, "startedAt" bigint not null, "beatAt" bigint not null, beat bigint not null, fingerprints text not null)`,
  ),
};
