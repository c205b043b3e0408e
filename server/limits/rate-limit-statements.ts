/*
 * The SQL of rate-limit windows, compiled once for each engine and number of windows. All statements take several
 * windows at once, so that a group of requests costs one round trip for each step; the usual case of one window has a
 * cheaper form. A window's primary key is the id of its API key or site account and the route family. PostgreSQL locks
 * the rows in the byte order of this primary key, against deadlocks, and reads its clock after the locks were acquired.
 * SQLite has the latest requests of a window as a text in its row, and stores the tables without row ids, since each
 * step would otherwise cost a second lookup.
 */

import {
  createListScript,
  createRowInsertScript,
  createStatement,
  DATABASE_NOW,
  type Engine,
  type Kysely,
  type Migrations,
  type RawBuilder,
  type Script,
  type Selectable,
  SqliteAdapter,
  sql,
  type Tables,
} from '../../core/database/index.js';
import type { JobKind } from '../../core/jobs/index.js';
import type { RateLimitKey } from './rate-limit.js';

/** Readings of the two clocks. */
export interface ClockReading {
  /** The clock that `wallTime` and `monotonicTime` were read from. */
  clockSource: string;
  wallTime: number;
  monotonicTime: number;
}

/** Requests counted at the same time: from number `seq` up to the start of the next run. */
export interface RequestRun {
  seq: number;
  at: number;
}

/** @param text Runs, oldest first: `12,1700000000000,13,1700000000250`. */
export function readRuns(text: string): RequestRun[] {
  const numbers: number[] = JSON.parse(`[${text}]`);
  return Array.from({ length: numbers.length / 2 }, (_, index) => ({
    seq: numbers[2 * index] as number,
    at: numbers[2 * index + 1] as number,
  }));
}

export function writeRuns(runs: readonly RequestRun[]): string {
  return runs.map(({ seq, at }) => `${seq},${at}`).join();
}

export function addRun(text: string, { seq, at }: RequestRun): string {
  return text === '' ? `${seq},${at}` : `${text},${seq},${at}`;
}

/** Runs that contain a request with number `tail` or later. */
export function liveRuns(runs: readonly RequestRun[], tail: number): RequestRun[] {
  return runs.filter((_, index) => (runs[index + 1]?.seq ?? Number.POSITIVE_INFINITY) > tail);
}

export type WindowRow = Selectable<RateWindowsTable> & { databaseNow: number };

export interface WindowChange extends RateWindowsTable {
  /** Requests that get rows of their own. */
  written: readonly RequestRun[];
  /** Whether the rows of expired requests are deleted. */
  cleared: boolean;
}

/** A window whose oldest request may have expired. */
interface PassedWindow extends RateLimitKey {
  number: number;
  tail: number;
  passedAt: number;
}

/** By index of the window; null if all requests with rows have expired. */
interface LiveRun {
  number: number;
  seq: number | null;
  at: number | null;
}

/** No parameter: SQLite would plan the statement again at each run. */
const ONE_ROW = sql.lit(1);

/** A new row has not seen any time pass: its own time starts with the wall clock. */
const EMPTY_WINDOW = {
  time: 0,
  clockSource: '',
  wallTime: 0,
  monotonicTime: 0,
  nextSeq: 0,
  tailSeq: 0,
  tailAt: 0,
  lastAt: -1,
  recent: '',
};

/** A parameter of a type that PostgreSQL cannot infer. */
const whole = (value: number) => sql`cast(${value} as bigint)`;
const WINDOW_COLUMNS = ['keyId', 'family', ...Object.keys(EMPTY_WINDOW)];
const TEXTS = ['clockSource', 'recent'] as const;
const COUNTED = ['time', 'wallTime', 'monotonicTime', 'nextSeq', 'tailSeq', 'tailAt', 'lastAt'] as const;

/** The statements of windows, each compiled once. */
export class RateLimitStatements {
  readonly #create;
  readonly #lock;
  readonly #firstLive;
  readonly #takenAt;
  readonly #save;
  readonly #insertRequests;
  readonly #deletePassed;

  /** @param queries Only compiles queries. */
  constructor(engine: Engine, queries: Kysely<Tables>) {
    this.#create = createRowInsertScript({
      queries,
      table: 'rate_windows',
      finish: (insert) => insert.onConflict((conflict) => conflict.doNothing()),
    });
    this.#lock = createLock(engine, queries);
    this.#firstLive = createFirstLive(queries);
    this.#takenAt = createTakenAt(queries);
    this.#save = createSave(queries);
    this.#insertRequests = createRowInsertScript({ queries, table: 'rate_slots' });
    this.#deletePassed = createDeletePassed(queries);
  }

  *createWindows(keys: readonly RateLimitKey[]): Script<void> {
    if (keys.length === 0) return;
    yield* this.#create(keys.map(({ keyId, family }) => ({ keyId, family, ...EMPTY_WINDOW })));
  }

  /** Locks existing windows in the given order. */
  lockWindows(keys: readonly RateLimitKey[]): Script<readonly WindowRow[]> {
    return this.#lock(keys);
  }

  /** The oldest live requests that have rows, by window. */
  *firstLive(rateLimits: readonly { row: WindowRow; passedAt: number }[]): Script<Map<WindowRow, RequestRun>> {
    if (rateLimits.length === 0) return new Map();
    const found = yield* this.#firstLive(
      rateLimits.map(({ row: { keyId, family, tailSeq: tail }, passedAt }, number) => {
        return { number, keyId, family, tail, passedAt };
      }),
    );
    return new Map(
      found.flatMap(({ number, seq, at }) =>
        seq === null || at === null ? [] : [[(rateLimits[number] as { row: WindowRow }).row, { seq, at }]],
      ),
    );
  }

  *takenAt(request: RateLimitKey & { seq: number }): Script<number> {
    const [row] = yield* this.#takenAt(request);
    if (!row) throw new Error('A live slot has no row.');
    return row.at;
  }

  *saveWindows(changes: readonly WindowChange[]): Script<void> {
    if (changes.length === 0) return;
    yield* this.#save(changes);
    yield* this.#insertRequests(
      changes.flatMap(({ keyId, family, written }) => written.map((run) => ({ keyId, family, ...run }))),
    );
    yield* this.#deletePassed(changes.filter(({ cleared }) => cleared));
  }
}

function createLock(engine: Engine, queries: Kysely<Tables>) {
  const postgres = engine === 'postgres';
  const databaseNow = postgres ? DATABASE_NOW : sql<number>`0`;
  // Reads the clock outside of the locking part: after the row lock was acquired, not before the wait for it.
  return createListScript((keys: readonly RateLimitKey[]) => {
    const order = postgres ? sql`order by "keyId" collate "C", family collate "C" for update` : sql``;
    const columns = sql.join(WINDOW_COLUMNS.map((name) => sql.ref(name)));
    // Usually there is one window, for which a list takes twice as long.
    const [{ keyId, family }] = keys as [RateLimitKey];
    const wanted =
      keys.length === 1
        ? sql`"keyId" = ${keyId} and family = ${family}`
        : sql`("keyId", family) in (values ${listOf(keys, (key) => sql`(${key.keyId}, ${key.family})`)})`;
    return sql<WindowRow>`with locked as (
        select ${columns} from rate_windows where ${wanted} ${order})
      select ${columns}, ${databaseNow} as "databaseNow" from locked`.compile(queries);
  });
}

/** For each window, the oldest request from its tail on that has not expired. */
function createFirstLive(queries: Kysely<Tables>) {
  return createListScript((windows: readonly PassedWindow[]) => {
    const of = (column: keyof RequestRun) => sql`(
      select ${sql.ref(column)} from rate_slots
      where rate_slots."keyId" = passed."keyId" and rate_slots.family = passed.family
        and rate_slots.seq >= passed.tail and rate_slots.at > passed."passedAt"
      order by rate_slots.seq limit 1)`;
    return sql<LiveRun>`with passed (number, "keyId", family, tail, "passedAt") as (
        values ${listOf(windows, (window) => {
          const { number, keyId, family, tail, passedAt } = window;
          return sql`(${whole(number)}, ${keyId}, ${family}, ${whole(tail)}, ${whole(passedAt)})`;
        })})
      select number, ${of('seq')} as seq, ${of('at')} as at from passed`.compile(queries);
  });
}

function createTakenAt(queries: Kysely<Tables>) {
  return createStatement(({ keyId, family, seq }: RateLimitKey & { seq: number }) =>
    queries
      .selectFrom('rate_slots')
      .select('at')
      .where('keyId', '=', keyId)
      .where('family', '=', family)
      .where('seq', '<=', seq)
      .orderBy('seq', 'desc')
      .limit(ONE_ROW)
      .compile(),
  );
}

function createSave(queries: Kysely<Tables>) {
  return createListScript((changes: readonly WindowChange[]) => {
    const names = [...TEXTS, ...COUNTED];
    if (changes.length === 1) {
      const [change] = changes as [WindowChange];
      const values = sql.join(names.map((name) => sql`${sql.ref(name)} = ${change[name]}`));
      return sql`update rate_windows set ${values}
        where "keyId" = ${change.keyId} and family = ${change.family}`.compile(queries);
    }
    const rows = listOf(changes, (change) => {
      const values = [...TEXTS.map((name) => sql`${change[name]}`), ...COUNTED.map((name) => whole(change[name]))];
      return sql`(${sql.join(values)}, ${change.keyId}, ${change.family})`;
    });
    const columns = sql.join(names.map((name) => sql.ref(name)));
    const set = sql.join(names.map((name) => sql`${sql.ref(name)} = ${sql.ref(`changed.${name}`)}`));
    return sql`with changed (${columns}, "keyId", family) as (values ${rows})
      update rate_windows set ${set} from changed
      where rate_windows."keyId" = changed."keyId" and rate_windows.family = changed.family`.compile(queries);
  });
}

function createDeletePassed(queries: Kysely<Tables>) {
  return createListScript((windows: readonly Pick<WindowChange, 'keyId' | 'family' | 'tailSeq'>[]) =>
    sql`with passed ("keyId", family, tail) as (
        values ${listOf(windows, ({ keyId, family, tailSeq }) => sql`(${keyId}, ${family}, ${whole(tailSeq)})`)})
      delete from rate_slots where ("keyId", family, seq) in (
        select slot."keyId", slot.family, slot.seq from passed join rate_slots as slot
          on slot."keyId" = passed."keyId" and slot.family = passed.family and slot.seq < passed.tail)`.compile(
      queries,
    ),
  );
}

function listOf<Item>(items: readonly Item[], row: (item: Item) => RawBuilder<unknown>): RawBuilder<unknown> {
  return sql.join(items.map(row));
}

declare module '../../core/database/tables.js' {
  interface Tables {
    rate_windows: RateWindowsTable;
    rate_slots: RateSlotsTable;
    daily_quotas: DailyQuotasTable;
  }
}

/** One row per key, or site account, and route family that ever had a limit. */
interface RateWindowsTable extends ClockReading {
  /** Id of the key or site account. */
  keyId: string;
  family: RateLimitKey['family'];
  /** The window's own time when this row was written. */
  time: number;
  /** Number of the next request; the live ones are from `tailSeq` up to here. */
  nextSeq: number;
  tailSeq: number;
  /** When the oldest live request was counted. */
  tailAt: number;
  /** When the latest request was counted; -1 before the first. */
  lastAt: number;
  /** The latest requests, which have no rows of their own. Empty on PostgreSQL. */
  recent: string;
}

/**
 * Requests counted at the same time share a row: it begins with number `seq` and ends where the next row, or `recent`,
 * begins.
 */
interface RateSlotsTable {
  keyId: string;
  family: RateLimitKey['family'];
  seq: number;
  at: number;
}

/** Quota that an account has used on a day and that was not refunded. */
export interface DailyQuotasTable {
  accountId: string;
  kind: JobKind;
  /** UTC day: `2026-06-15`. */
  day: string;
  used: number;
}

/**
 * Each request reads the window of its key, changes it and adds a request. A SQLite table without row ids is one tree,
 * ordered by its key; otherwise each of these steps costs a second lookup. PostgreSQL has no such tables.
 */
export const limitMigrations: Migrations = {
  '0001-limits': {
    async up(db) {
      const keyed = db.getExecutor().adapter instanceof SqliteAdapter ? sql`without rowid` : sql``;
      await sql`create table rate_windows (
        "keyId" text not null, family text not null, time bigint not null, "clockSource" text not null,
        "wallTime" bigint not null, "monotonicTime" bigint not null, "nextSeq" bigint not null, "tailSeq" bigint not null,
        "tailAt" bigint not null, "lastAt" bigint not null, recent text not null,
        primary key ("keyId", family)) ${keyed}`.execute(db);
      await sql`create table rate_slots (
        "keyId" text not null, family text not null, seq bigint not null, at bigint not null,
        primary key ("keyId", family, seq)) ${keyed}`.execute(db);
      await sql`create table daily_quotas (
        "accountId" text not null, kind text not null, day text not null, used integer not null,
        primary key ("accountId", kind, day))`.execute(db);
      await sql`create index daily_quotas_day on daily_quotas (day)`.execute(db);
    },
  },
};
