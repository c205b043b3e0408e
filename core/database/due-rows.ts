/*
 * Due rows: work that is to be done at a time, kept in a row with that time, and done by one process at a time.
 * Webhooks are delivered this way, and responses that a model makes in the background are polled.
 *
 * A process looks for due rows every `intervalMs`. It takes a row by moving its time into the future, in the statement
 * that finds it (`dueRows`): until then no other process is given the row, and afterwards another one takes it over
 * where this process has died. So a row is never lost, and its work may be done twice. A row needs no id of a process
 * and no `onProcessDead` (heartbeat.ts): one time limit covers hanging work and dead processes. The process that took the row finishes it or puts it off, unless another one has taken it since. An idle
 * process costs one read of an index for each look.
 */

import { leaveScope } from '../observability/index.js';
import { endsWithin, startPollLoop } from '../runtime/index.js';
import type { Engine } from './database.js';
import { type Kysely, type RawBuilder, sql } from './kysely.js';
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

export interface TakeRequest {
  /** Maximum rows. */
  max: number;
  /** Groups of which no row is to be taken. */
  except: readonly string[];
}

/**
 * Groups share the concurrent rows, so that hanging work of some does not block others. Groups with the fewest running rows go first. A
 * group that has a running row gets another one only while fewer than half of `atOnce` rows run. Slow groups run half of `atOnce` rows
 * together: those with a row that takes longer than `slowMs`, now or within the last ten minutes.
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

export interface DueWork {
  /** Takes no more rows, and waits for running work. Idempotent. */
  close(): Promise<void>;
}

export function startDueWork<Row>(options: DueWorkOptions<Row>): DueWork {
  const { intervalMs, atOnce, groups, take, work, report, stopMs = 0 } = options;
  const running = new Map<Promise<void>, { group: string; startedAt: number }>();
  const half = Math.ceil(atOnce / 2);
  /** Slow groups, with the time at which each last was slow, the latest last. */
  const slow = new Map<string, number>();
  const closing = new AbortController();
  const aborting = new AbortController();
  /** Whether the last poll left due rows, since there was no room for them. */
  let mayBeMore = false;

  /** First the groups without a running row, then those with one, and so on; slow groups after the others. */
  async function takeAll(): Promise<void> {
    for (let level = 1; level <= (groups?.atOnce ?? 1); level += 1) {
      for (const takesSlow of [false, true]) {
        for (;;) {
          const { max, except } = shareOf(level, takesSlow);
          mayBeMore = max <= 0 || except.length > 0;
          if (closing.signal.aborted || max <= 0) break;
          const rows = await take({ max, except });
          for (const row of rows) begin(row);
          if (rows.length > 0) continue;
          // Nothing is due.
          if (except.length === 0) return;
          break;
        }
      }
    }
  }

  function shareOf(level: number, takesSlow: boolean): TakeRequest {
    const room = (level === 1 ? atOnce : half) - running.size;
    if (!groups) return { max: room, except: [] };
    noteSlow(groups.slowMs);
    const counts = new Map<string, number>();
    for (const { group } of running.values()) counts.set(group, (counts.get(group) ?? 0) + 1);
    const busy = [...counts].filter(([, count]) => count >= level).map(([group]) => group);
    if (!takesSlow) return { max: room, except: [...new Set([...busy, ...slow.keys()])] };
    const ofSlow = [...counts].reduce((sum, [group, count]) => sum + (slow.has(group) ? count : 0), 0);
    return { max: Math.min(room, half - ofSlow), except: busy };
  }

  function noteSlow(slowMs: number): void {
    const now = performance.now();
    for (const { group, startedAt } of running.values()) if (now - startedAt >= slowMs) markSlow(group, now);
    for (const [group, at] of slow) {
      if (now - at < SLOW_FOR_MS && slow.size <= MAX_SLOW_GROUPS) break;
      slow.delete(group);
    }
  }

  function markSlow(group: string, at: number): void {
    slow.delete(group);
    slow.set(group, at);
  }

  let taking: Promise<void> | undefined;
  function poll(): Promise<void> {
    taking ??= takeAll()
      .catch(report)
      .finally(() => {
        taking = undefined;
      });
    return taking;
  }

  function begin(row: Row): void {
    const group = groups?.of(row) ?? '';
    const startedAt = performance.now();
    const ended = work(row, aborting.signal)
      .catch(report)
      .finally(() => {
        const now = performance.now();
        if (groups && now - startedAt >= groups.slowMs) markSlow(group, now);
        running.delete(ended);
        if (mayBeMore) void poll();
      });
    running.set(ended, { group, startedAt });
  }

  // Belongs to no request, even if a request starts it.
  const polls = leaveScope(() => startPollLoop({ intervalMs, work: poll, report }));

  async function stop(): Promise<void> {
    closing.abort();
    await polls.stop();
    await taking;
    const isDone = stopMs > 0 && (await endsWithin(stopMs, () => Promise.all(running.keys())));
    if (!isDone) aborting.abort();
    await Promise.all(running.keys());
  }

  let stopped: Promise<void> | undefined;
  return {
    close() {
      stopped ??= stop();
      return stopped;
    },
  };
}
