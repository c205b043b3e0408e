/*
 * Due rows: work that is to be done at a time, kept in a row with that time, and done by one process at a time.
 * Webhooks are delivered this way, and responses that a model makes in the background are polled.
 *
 * A process looks for due rows every `intervalMs`. It takes a row by moving its time into the future, in the statement
 * that finds it (`dueRows`): until then no other process is given the row, and afterwards another one takes it over
 * where this process has died. So a row is never lost, and its work may be done twice. The process that took the row
 * finishes it, puts it off, or makes it due at once again, unless another one has taken it since. A row needs no id of
 * a process and no `onProcessDead`: one time limit covers hanging work and dead processes. An idle process costs one
 * read of an index for each look.
 */

import { leaveScope } from '../observability/index.js';
import { endsWithin, type PollLoop, startPollLoop } from '../runtime/index.js';
import type { Database, Engine } from './database.js';
import { type Kysely, type RawBuilder, sql } from './kysely.js';
import type { DatabaseClock } from './statements.js';
import type { Tables } from './tables.js';

export interface DueColumns {
  table: keyof Tables & string;
  /** The columns that identify a row. */
  key: readonly string[];
  /** Milliseconds since 1970; null if nothing is due. */
  dueAt: string;
}

export interface DueRows {
  /** Whether any row is due: usually none is, and then nothing is written. */
  isAny(queries: Kysely<Tables>, now: number): Promise<boolean>;
  /**
   * The condition of an UPDATE that takes due rows, the longest due first.
   * @param among A condition on the rows that may be taken.
   */
  first(options: { now: number; max: number; among?: RawBuilder<unknown> }): RawBuilder<boolean>;
}

export function dueRows(engine: Engine, { table, key, dueAt }: DueColumns): DueRows {
  const names = sql.join(key.map((name) => sql.ref(name)));
  const from = sql.table(table);
  const due = sql.ref(dueAt);
  // Skips rows that another process is taking now.
  const lock = engine === 'postgres' ? sql`for no key update skip locked` : sql``;
  return {
    async isAny(queries, now) {
      const { rows } = await sql`select 1 from ${from} where ${due} <= ${now} limit 1`.execute(queries);
      return rows.length > 0;
    },
    first: ({ now, max, among = sql`true` }) =>
      sql<boolean>`(${names}) in (select ${names} from ${from} where ${due} <= ${now} and ${among}
        order by ${due} limit ${max} ${lock})`,
  };
}

/**
 * Messages that wait for their delivery, in a table with the column `tries`. Who takes one alone may postpone it, unless
 * its lease was over and another attempt has begun.
 */
export class DueMessages<Row extends { tries: number }> {
  readonly #database: Database;
  readonly #times: DatabaseClock;
  readonly #columns: DueColumns;
  readonly #due: DueRows;

  constructor(database: Database, times: DatabaseClock, columns: DueColumns) {
    this.#database = database;
    this.#times = times;
    this.#columns = columns;
    this.#due = dueRows(database.engine, columns);
  }

  /** Takes due messages for a lease, each for one more try. */
  take({ max, leaseMs }: { max: number; leaseMs: number }): Promise<readonly Row[]> {
    const { table, dueAt } = this.#columns;
    return this.#database.run(async (queries) => {
      const now = await this.#times.read(queries);
      if (!(await this.#due.isAny(queries, now))) return [];
      const taken = sql<Row>`update ${sql.table(table)} set ${sql.ref(dueAt)} = ${now + leaseMs}, tries = tries + 1
        where ${this.#due.first({ now, max })} returning *`;
      return (await taken.execute(queries)).rows;
    });
  }

  /** @param waitMs Milliseconds until it is due again. Null: it is not. */
  async postpone(row: Pick<Row, 'tries'>, waitMs: number | null): Promise<void> {
    const { table, key, dueAt } = this.#columns;
    const known = row as Readonly<Record<string, unknown>>;
    const same = [...key, 'tries'].map((name) => sql`${sql.ref(name)} = ${known[name]}`);
    await this.#database.run(async (queries) => {
      const at = waitMs === null ? null : (await this.#times.read(queries)) + waitMs;
      await sql`update ${sql.table(table)} set ${sql.ref(dueAt)} = ${at} where ${sql.join(same, sql` and `)}`.execute(
        queries,
      );
    });
  }
}

export interface TakeRequest {
  /** Maximum rows. */
  max: number;
  /** Groups of which no row is to be taken. */
  except: readonly string[];
}

/**
 * Groups share the concurrent rows, so that hanging work of some does not block others. Groups with the fewest running
 * rows go first. A group that has a running row gets another one only while fewer than half of `atOnce` rows run. Slow
 * groups run half of `atOnce` rows together: those with a row that takes longer than `slowMs`, now or within the last
 * ten minutes.
 */
export interface DueGroups<Row> {
  of(row: Row): string;
  /** Maximum concurrent rows of one group. */
  atOnce: number;
  slowMs: number;
}

/** How long a group counts as slow. */
const SLOW_FOR_MS = 10 * 60_000;
/** Slow groups that are remembered: the latest. */
const MAX_SLOW_GROUPS = 1_000;

export interface DueWorkOptions<Row> {
  /** Milliseconds between two polls. */
  intervalMs: number;
  /** Maximum concurrent rows. */
  atOnce: number;
  /** Default: no groups. */
  groups?: DueGroups<Row>;
  /** Takes due rows; an empty list if there are none. */
  take(request: TakeRequest): Promise<readonly Row[]>;
  /** Finishes or postpones the row. The signal aborts when this process closes. */
  work(row: Row, signal: AbortSignal): Promise<void>;
  /** Receives errors of `take` and `work`: the row is taken again when it is next due. */
  report(error: unknown): void;
  /** Grace period in milliseconds for running work when this process closes, before its signal aborts. Default 0. */
  stopMs?: number;
}

/** Takes due rows and does their work until it is closed. */
export class DueWork<Row> {
  readonly #options: DueWorkOptions<Row>;
  readonly #running = new Map<Promise<void>, { group: string; startedAt: number }>();
  /** Slow groups, with the time at which each last was slow, the latest last. */
  readonly #slow = new Map<string, number>();
  readonly #closing = new AbortController();
  readonly #aborting = new AbortController();
  readonly #polls: PollLoop;
  #taking: Promise<void> | undefined;
  /** Whether the last poll left due rows, since there was no room for them. */
  #mayBeMore = false;
  #closed: Promise<void> | undefined;

  constructor(options: DueWorkOptions<Row>) {
    this.#options = options;
    const { intervalMs, report } = options;
    // Belongs to no request, even if a request starts it.
    this.#polls = leaveScope(() => startPollLoop({ intervalMs, work: () => this.#poll(), report }));
  }

  /** Takes no more rows, and waits for running work. Idempotent. */
  close(): Promise<void> {
    this.#closed ??= this.#stop();
    return this.#closed;
  }

  async #stop(): Promise<void> {
    const { stopMs = 0 } = this.#options;
    this.#closing.abort();
    await this.#polls.stop();
    await this.#taking;
    const isDone = stopMs > 0 && (await endsWithin(stopMs, () => Promise.all(this.#running.keys())));
    if (!isDone) this.#aborting.abort();
    await Promise.all(this.#running.keys());
  }

  #poll(): Promise<void> {
    this.#taking ??= this.#takeAll()
      .catch(this.#options.report)
      .finally(() => {
        this.#taking = undefined;
      });
    return this.#taking;
  }

  /** First the groups without a running row, then those with one, and so on; slow groups after the others. */
  async #takeAll(): Promise<void> {
    const { groups } = this.#options;
    for (let level = 1; level <= (groups?.atOnce ?? 1); level += 1) {
      for (const takesSlow of [false, true]) if (!(await this.#takeLevel(level, takesSlow))) return;
    }
  }

  /** False if nothing else is due. */
  async #takeLevel(level: number, takesSlow: boolean): Promise<boolean> {
    for (;;) {
      const { max, except } = this.#shareOf(level, takesSlow);
      this.#mayBeMore = max <= 0 || except.length > 0;
      if (this.#closing.signal.aborted || max <= 0) return true;
      const rows = await this.#options.take({ max, except });
      for (const row of rows) this.#begin(row);
      if (rows.length === 0) return except.length > 0;
    }
  }

  #shareOf(level: number, takesSlow: boolean): TakeRequest {
    const { atOnce, groups } = this.#options;
    const half = Math.ceil(atOnce / 2);
    const room = (level === 1 ? atOnce : half) - this.#running.size;
    if (!groups) return { max: room, except: [] };
    this.#noteSlow(groups.slowMs);
    const counts = new Map<string, number>();
    for (const { group } of this.#running.values()) counts.set(group, (counts.get(group) ?? 0) + 1);
    const busy = [...counts].filter(([, count]) => count >= level).map(([group]) => group);
    if (!takesSlow) return { max: room, except: [...new Set([...busy, ...this.#slow.keys()])] };
    const ofSlow = [...counts].reduce((sum, [group, count]) => sum + (this.#slow.has(group) ? count : 0), 0);
    return { max: Math.min(room, half - ofSlow), except: busy };
  }

  #noteSlow(slowMs: number): void {
    const now = performance.now();
    for (const { group, startedAt } of this.#running.values())
      if (now - startedAt >= slowMs) this.#markSlow(group, now);
    for (const [group, at] of this.#slow) {
      if (now - at < SLOW_FOR_MS && this.#slow.size <= MAX_SLOW_GROUPS) break;
      this.#slow.delete(group);
    }
  }

  #markSlow(group: string, at: number): void {
    this.#slow.delete(group);
    this.#slow.set(group, at);
  }

  #begin(row: Row): void {
    const { groups, work, report } = this.#options;
    const group = groups?.of(row) ?? '';
    const startedAt = performance.now();
    const ended = work(row, this.#aborting.signal)
      .catch(report)
      .finally(() => {
        const now = performance.now();
        if (groups && now - startedAt >= groups.slowMs) this.#markSlow(group, now);
        this.#running.delete(ended);
        if (this.#mayBeMore) void this.#poll();
      });
    this.#running.set(ended, { group, startedAt });
  }
}
