/*
 * One heartbeat per process. A process that holds something in the database (a running job, a reservation, an
 * idempotency key) has one row in `instances`, and what it holds names the id of that row. One timer increments `beat`
 * three times per lease.
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

import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Logger } from '../contracts/index.js';
import {
  createThrottledWarning,
  GatewayError,
  isProcessRunning,
  type PollLoop,
  startPollLoop,
} from '../runtime/index.js';
import type { Database } from './database.js';
import type { DatabaseClock } from './database-clock.js';
import type { Kysely } from './kysely.js';
import { type Migrations, sqlMigration } from './schema-migration.js';
import { rowsOf, runScript, type Script } from './statements.js';
import type { Tables } from './tables.js';

/** Whether the state of this id has been the same for a whole lease. */
export type SilenceCheck = (id: string, state: string) => boolean;

export interface SilenceWatch {
  /** Called once for each id, before the next check. An id that was not checked is dropped. */
  check(): SilenceCheck;
}

/**
 * Measures how long other processes have not changed, by this process's own monotonic clock and while it could read.
 */
export function createSilenceWatch(leaseMs: number): SilenceWatch {
  /** Since when they have been the same. */
  let seen = new Map<string, { state: string; since: number }>();
  let checkedAt = Number.NEGATIVE_INFINITY;

  return {
    check() {
      const now = performance.now();
      // If this process could not read for so long (it was stopped, or the database was unavailable), others may not
      // have been able to write either.
      if (now - checkedAt >= leaseMs) seen.clear();
      checkedAt = now;
      const before = seen;
      seen = new Map();
      return (id, state) => {
        const known = before.get(id);
        const since = known?.state === state ? known.since : now;
        seen.set(id, { state, since });
        return now - since >= leaseMs;
      };
    },
  };
}

/*
 * The id of a process is a text: the machine, the process on it, its start, and a random part. A process that is
 * certainly dead is declared dead at once; in any doubt its lease decides.
 */

/** One for each start of a process: the system reuses process ids, but not this. */
const BOOT = randomUUID();
const MACHINE = describeMachine();

function createProcessId(): string {
  return JSON.stringify([MACHINE, process.pid, BOOT, randomUUID()]);
}

/** Whether the process is known to be dead. False if that cannot be determined here. */
export function isProcessDead(id: string): boolean {
  const [machine, pid, boot] = JSON.parse(id) as [string, number, string];
  if (machine !== MACHINE) return false;
  if (pid === process.pid) return boot !== BOOT;
  return !isProcessRunning(pid);
}

/** For people: the machine, which may be a container, and the process on it. */
export function describeProcess(id: string): { host: string; pid: number } {
  const [machine, pid] = JSON.parse(id) as [string, number];
  return { host: machine.split(' ', 1)[0] ?? '', pid };
}

/**
 * Two containers may have the same host name and the same process ids; if the system distinguishes them, so does this.
 */
function describeMachine(): string {
  const parts = [hostname()];
  try {
    parts.push(readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(), readlinkSync('/proc/self/ns/pid'));
  } catch {
    // Not Linux, so without this kind of containers.
  }
  return parts.join(' ');
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

/** The processes that use this state. */
export interface Instances {
  /** Id of this process in everything that it holds. A new one is made after it was declared dead. */
  readonly id: string;
  /** Milliseconds without a heartbeat after which a process counts as dead. */
  readonly leaseMs: number;
  /**
   * Whether the last heartbeat is recent enough that no other process can have declared this one dead. False before the
   * first one: then nothing may be held, see {@link enter}.
   */
  isFresh(): boolean;
  /**
   * Await it before this process holds something: resolves when the heartbeat is recent.
   * @throws GatewayError `upstream_unavailable`.
   */
  enter(): Promise<void>;
  /** @returns A function that removes the handler. */
  onProcessDead(holds: ProcessHolds): () => void;
  /**
   * This process was declared dead, or may be soon, since it could not write its heartbeat: what it held belongs to
   * other processes. May be called again while the database is unavailable.
   * @returns A function that removes the listener.
   */
  onLost(listener: () => void): () => void;
  /** Starts to check for dead processes, at once and three times per lease. */
  watch(): void;
  /** Checks at once. Throws GatewayError. */
  check(): Promise<void>;
  /**
   * Registers this process with its settings.
   * @throws GatewayError `invalid_value` if a living process differs in a required setting; `upstream_unavailable`.
   */
  join(fingerprints: readonly Fingerprint[]): Promise<void>;
  /**
   * Writes the heartbeat of this process. Before {@link join} and {@link enter} it writes nothing.
   * @throws GatewayError `upstream_unavailable` if the database accepts no writes.
   */
  beat(): Promise<void>;
  /** Settings in which a living process differs from this one. */
  differing(): Promise<string[]>;
  /** Removes this process. What it still holds is released after a lease, or once it has ended. Idempotent. */
  close(): Promise<void>;
}

interface Living {
  id: string;
  startedAt: number;
  fingerprints: string;
}

export function createInstances({
  database,
  times,
  leaseMs = LEASE_MS,
  logger,
}: {
  database: Database;
  times: DatabaseClock;
  /** Default 15,000. */
  leaseMs?: number;
  logger: Logger;
}): Instances {
  const intervalMs = leaseMs / 3;
  const timeout = { timeoutMs: TIMEOUT_MS };
  const report = createThrottledWarning(logger, 'heartbeats of processes wait for the database');
  const handlers = new Set<ProcessHolds>();
  const lostListeners = new Set<() => void>();
  const silence = createSilenceWatch(leaseMs);
  let id = createProcessId();
  let own: readonly Fingerprint[] | undefined;
  let count = 0;
  let isEntered = false;
  let isClosed = false;
  let hasRow = false;
  /** Start of the last successful heartbeat, by the monotonic clock. */
  let writtenAt = Number.NEGATIVE_INFINITY;
  let writing: Promise<void> | undefined;
  let beating: PollLoop | undefined;
  let polling: PollLoop | undefined;
  let forgotAt = performance.now();
  let warned = '';

  function isFresh(): boolean {
    // The next heartbeat may come too late.
    return performance.now() + intervalMs - writtenAt < leaseMs;
  }

  /** The id of this process from then on. */
  function* writeRow(): Script<string> {
    const row = { beat: count, beatAt: times.now, fingerprints: JSON.stringify(own ?? []) };
    if (hasRow) {
      const update = database.queries.updateTable('instances').set(row).where('id', '=', id).where('beat', '>', DEAD);
      const updated = yield* rowsOf(update.returning('id').compile());
      if (updated.length > 0) return id;
    }
    const next = createProcessId();
    const insert = database.queries.insertInto('instances').values({ id: next, startedAt: times.now, ...row });
    yield insert.compile();
    return next;
  }

  async function write(timeoutMs: number): Promise<void> {
    const begunAt = performance.now();
    let isLost = false;
    count += 1;
    try {
      // A power cut may lose a heartbeat.
      const written = await database.script(writeRow, { timeoutMs, durability: 'relaxed' });
      isLost = hasRow && written !== id;
      id = written;
      hasRow = true;
      writtenAt = begunAt;
    } finally {
      if (isLost) logger.warn('other processes took this one for dead; it continues under a new id');
      if (isLost || (hasRow && !isFresh())) for (const listener of lostListeners) listener();
    }
  }

  /** Concurrent callers share one write. */
  function beat(timeoutMs = TIMEOUT_MS): Promise<void> {
    if (!isEntered) return database.ping();
    writing ??= write(timeoutMs).finally(() => {
      writing = undefined;
    });
    return writing;
  }

  async function enter(): Promise<void> {
    if (isClosed || isFresh()) return;
    isEntered = true;
    try {
      await beat();
    } finally {
      // A shorter timeout than the time between two heartbeats, so that another one follows within the lease.
      const work = () => beat(Math.min(TIMEOUT_MS, intervalMs));
      if (!isClosed) beating ??= startPollLoop({ intervalMs, work, report });
    }
  }

  async function check(): Promise<void> {
    const rows = await database.run((queries) => queries.selectFrom('instances').select(['id', 'beat']).execute());
    const held: { holds: ProcessHolds; ids: readonly string[] }[] = [];
    for (const holds of handlers) {
      held.push({ holds, ids: await database.run((queries) => runScript(queries, holds.holders())) });
    }
    const polls = new Map(rows.map((row) => [row.id, row.beat]));
    const others = new Set([...polls.keys(), ...held.flatMap(({ ids }) => ids)]);
    others.delete(id);
    const isSilent = silence.check();
    const dead = new Set([...others].filter((other) => polls.get(other) === DEAD));
    const candidates = [...others].filter(
      (other) => !dead.has(other) && (isSilent(other, `${polls.get(other)}`) || isProcessDead(other)),
    );
    for (const candidate of candidates) if (await declareDead(candidate, polls.get(candidate))) dead.add(candidate);
    for (const { holds, ids } of held) {
      // What cannot be released now is found by the next check, and does not delay other kinds.
      for (const each of ids) if (dead.has(each)) await holds.release(each).catch(report);
    }
  }

  /** False if it has written a heartbeat meanwhile. A process without a row holds what it must not hold. */
  async function declareDead(candidate: string, seen: number | undefined): Promise<boolean> {
    if (seen === undefined) return true;
    const { numUpdatedRows } = await database.run((queries) =>
      queries
        .updateTable('instances')
        .set({ beat: DEAD })
        .where('id', '=', candidate)
        .where('beat', 'in', [seen, DEAD])
        .executeTakeFirstOrThrow(),
    );
    return numUpdatedRows > 0n;
  }

  async function poll(): Promise<void> {
    await check();
    await forget();
    if (own) await warn();
  }

  /** Removes the rows of processes that died long ago. */
  async function forget(): Promise<void> {
    if (performance.now() - forgotAt < FORGET_INTERVAL_MS) return;
    await database.run(async (queries) => {
      const before = (await times.read(queries)) - FORGET_MS;
      await queries.deleteFrom('instances').where('beat', '=', DEAD).where('beatAt', '<', before).execute();
    }, timeout);
    forgotAt = performance.now();
  }

  function living(): Promise<Living[]> {
    return database.run(async (queries) => {
      const since = (await times.read(queries)) - LIVE_MS;
      return queries
        .selectFrom('instances')
        .select(['id', 'startedAt', 'fingerprints'])
        .where('beat', '>', DEAD)
        .where('beatAt', '>', since)
        .execute();
    }, timeout);
  }

  async function differing(): Promise<string[]> {
    const others = (await living()).filter((one) => one.id !== id);
    return [...new Set(others.flatMap((other) => differences(own ?? [], other).map(({ setting }) => setting)))];
  }

  async function warn(): Promise<void> {
    const settings = await differing();
    const text = settings.join(', ');
    if (text !== warned && text !== '') logger.warn(`another gateway process on this database has another ${text}`);
    if (text !== warned && text === '') logger.info('all gateway processes have the same settings again');
    warned = text;
  }

  async function leave(): Promise<void> {
    isClosed = true;
    await Promise.all([polling?.stop(), beating?.stop()]);
    isEntered = false;
    await writing?.catch(() => undefined);
    if (!hasRow) return;
    hasRow = false;
    writtenAt = Number.NEGATIVE_INFINITY;
    // If the database is unavailable, the row expires with its lease.
    await database
      .run((queries) => queries.deleteFrom('instances').where('id', '=', id).execute(), timeout)
      .catch(() => undefined);
  }

  return {
    get id() {
      return id;
    },
    leaseMs,
    isFresh,
    enter,
    onProcessDead(holds) {
      handlers.add(holds);
      return () => handlers.delete(holds);
    },
    onLost(listener) {
      lostListeners.add(listener);
      return () => lostListeners.delete(listener);
    },
    watch() {
      polling ??= startPollLoop({ intervalMs, work: poll, report });
    },
    check,
    async join(fingerprints) {
      own = fingerprints;
      // A write that is running does not include the settings.
      await writing?.catch(() => undefined);
      if (isEntered) await beat();
      else await enter();
      const all = await living();
      const started = all.find((one) => one.id === id)?.startedAt ?? Number.POSITIVE_INFINITY;
      // Of two that start at the same time, one continues.
      const earlier = all.filter(
        (one) => one.id !== id && (one.startedAt < started || (one.startedAt === started && one.id < id)),
      );
      const refused = earlier.flatMap((other) => differences(fingerprints, other)).find(({ required }) => required);
      if (refused) {
        await leave();
        const { setting } = refused;
        const message = `${setting} differs from that of another gateway process on this database. Give all of them the same ${setting}; to change it, give each the new and the old one, separated by a comma, the new one first. A process that was killed counts for ${LIVE_MS / 1000} s.`;
        throw new GatewayError('invalid_value', message, { param: setting });
      }
      await warn();
    },
    beat: () => beat(),
    differing,
    close: leave,
  };
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
