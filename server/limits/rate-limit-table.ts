import { randomUUID } from 'node:crypto';
import type { Clock } from '../../core/contracts/index.js';
import type { Engine, Kysely, Script, Tables } from '../../core/database/index.js';
import type { SlotAnswer, SlotRequest } from './rate-limit.js';
import { compileSlotStatements, type Reading, type WindowChange, type WindowRow } from './rate-limit-statements.js';

/*
 * How a window works. Its slots are numbered in the order they were taken; the live ones are `tailSeq` up to
 * `nextSeq`, so counting them is a subtraction. Each look at a window first moves the tail over the slots that have
 * passed (every slot is passed once, whatever the limit) and then takes wanted slots by moving the head.
 *
 * When slots were taken is in rows of their own; on SQLite, where each key's rows would be one more page to write for each
 * request, the youngest are in the window's row until they are many.
 *
 * A window has a time of its own, which never goes backwards: each look adds the time gone by since the row was last
 * written, measured on the steady clock of the process that wrote it where that is this process, else on the wall clock,
 * and nothing where that was set back meanwhile. So a wall clock that jumps neither frees a slot early within a process
 * nor blocks anybody for longer than the minute. On PostgreSQL the wall clock is the database's, one for all nodes.
 */

const WINDOW_MS = 60_000;
/** Of the youngest slots in the row of a window. PostgreSQL keeps every slot in a row of its own. */
const RECENT_CHARACTERS: Readonly<Record<Engine, number>> = { sqlite: 180, postgres: 0 };
const NO_RUNS: readonly SlotRun[] = [];
/** Windows that are remembered to be there. */
const MAX_KNOWN = 100_000;

/** What is wanted of an open window. */
export type SlotCount = Pick<SlotRequest, 'slots' | 'limit'>;

/** One key's window of one family, locked until the transaction ends. */
export interface OpenWindow {
  /** Whether as many slots are free, with what was taken before. */
  has(wish: SlotCount): boolean;
  /** How it stands where it has the slots; nothing is taken. */
  foresee(wish: SlotCount): SlotAnswer;
  /** Takes slots that it has. */
  take(wish: SlotCount): SlotAnswer;
  /** How it stands; nothing is taken. */
  look(wish: SlotCount): Script<SlotAnswer>;
  /** What is to be written down; undefined where nothing has changed. */
  change(): WindowChange | undefined;
}

/** Whose window of which family. */
export type WindowKey = Pick<SlotRequest, 'keyId' | 'family'>;

export interface SlotTable {
  /** Locks and reads windows, all of them together; by their names. Each may be named several times. */
  open(wanted: readonly WindowKey[]): Script<Map<string, OpenWindow>>;
  /** Writes down what was taken of open windows; it counts when the transaction commits. */
  save(windows: Iterable<OpenWindow>): Script<void>;
}

export function windowName({ keyId, family }: WindowKey): string {
  return `${keyId}\n${family}`;
}

export interface SlotTableOptions {
  engine: Engine;
  /** Only compiles queries. */
  queries: Kysely<Tables>;
  /** Default: the database's own clock. */
  clock?: Clock;
}

export function createSlotTable({ engine, queries, clock }: SlotTableOptions): SlotTable {
  const statements = compileSlotStatements(engine, queries);
  const recentCharacters = RECENT_CHARACTERS[engine];
  const clockSource = randomUUID();
  const known = new Set<string>();

  function readTime(row: WindowRow): Reading {
    if (!clock) return { clockSource: 'database', wallTime: row.databaseNow, monotonicTime: row.databaseNow };
    return { clockSource, wallTime: Math.floor(clock.now()), monotonicTime: Math.floor(clock.monotonic()) };
  }

  function timeOf(row: WindowRow): WindowTime {
    const reading = readTime(row);
    const elapsed =
      reading.clockSource === row.clockSource
        ? reading.monotonicTime - row.monotonicTime
        : reading.wallTime - row.wallTime;
    return { reading, elapsed, now: row.time + Math.max(0, elapsed) };
  }

  /**
   * Those that are not there yet are made before any is locked: whoever holds a lock waits for nobody who makes one, so no
   * two transactions wait for each other in a ring.
   */
  function* lockWindows(wanted: readonly WindowKey[]): Script<readonly WindowRow[]> {
    const unknown = wanted.filter((key) => !known.has(windowName(key)));
    yield* statements.createWindows(unknown);
    const rows = yield* statements.lockWindows(wanted);
    if (known.size + rows.length > MAX_KNOWN) known.clear();
    const found = new Set(rows.map(nameOf));
    for (const name of found) known.add(name);
    if (found.size === wanted.length) return rows;
    // The transaction that made them was rolled back after all, or their key has been removed since.
    const missing = wanted.filter((key) => !found.has(windowName(key)));
    yield* statements.createWindows(missing);
    return [...rows, ...(yield* statements.lockWindows(missing))];
  }

  function readWindow(row: WindowRow, { reading, elapsed, now }: WindowTime, ofRows: SlotRun | undefined): OpenWindow {
    const { keyId, family } = row;
    const head = row.nextSeq;
    let runs: SlotRun[] | undefined;
    const recentRuns = () => {
      runs ??= readRuns(row.recent);
      return runs;
    };
    let next = head;
    let tail = row.tailSeq;
    let tailAt = row.tailAt;
    if (hasPassed(row, now)) {
      // Slots with rows are older than those without.
      const live = ofRows ?? recentRuns().find(({ at }) => at > now - WINDOW_MS);
      tail = live?.seq ?? next;
      tailAt = live?.at ?? now;
    }
    const tailMoved = tail !== row.tailSeq;

    /** Where a run goes that was taken just now, and those before it that it leaves no room for. */
    function keep(run: SlotRun): Pick<WindowChange, 'recent' | 'written'> {
      const recent = addRun(row.recent, run);
      if (recent.length <= recentCharacters) return { recent, written: NO_RUNS };
      const all = readRuns(recent);
      const live = liveRuns(all, tail);
      // A row that is soon full again would be looked through at most requests.
      if (live.length > all.length / 2) return { recent: '', written: live };
      return { recent: writeRuns(live), written: NO_RUNS };
    }

    const takenAt = new Map<number, number>();
    function* whenTaken(seq: number): Script<number> {
      if (seq >= head) return now;
      const run = recentRuns().findLast((recentRun) => recentRun.seq <= seq);
      const known = run?.at ?? takenAt.get(seq) ?? (yield* statements.takenAt(keyId, family, seq));
      takenAt.set(seq, known);
      return known;
    }

    function answer(limit: number, retryAfterMs: number): SlotAnswer {
      return {
        accepted: retryAfterMs === 0,
        limit,
        remaining: Math.max(0, limit - (next - tail)),
        retryAfterMs,
        resetMs: next === tail ? 0 : tailAt + WINDOW_MS - now,
      };
    }

    /** Slots that are wanted and not free. */
    const missing = ({ slots, limit }: SlotCount) => next - tail + slots - limit;

    return {
      has: (wish) => missing(wish) <= 0,
      foresee: ({ limit }) => answer(limit, 0),
      take({ slots, limit }) {
        if (next === tail) tailAt = now;
        next += slots;
        return answer(limit, 0);
      },
      *look(wish) {
        const { slots, limit } = wish;
        const excess = missing(wish);
        if (excess <= 0) return answer(limit, 0);
        // More than the window ever holds: there is no such time, and the longest wait says so best.
        if (slots > limit) return answer(limit, WINDOW_MS);
        return answer(limit, (yield* whenTaken(tail + excess - 1)) + WINDOW_MS - now);
      },
      change() {
        // A clock that was set back is written down too, or the next look would again see no time gone by; and so is
        // another process, whose steady clock counts from then on, however its other one is set.
        if (next === head && !tailMoved && elapsed >= 0 && reading.clockSource === row.clockSource) return undefined;
        const lastAt = next === head ? row.lastAt : now;
        const isNewRun = next !== head && now !== row.lastAt;
        const { recent, written } = isNewRun ? keep({ seq: head, at: now }) : { recent: row.recent, written: NO_RUNS };
        const cleared = recentCharacters === 0 ? tailMoved : written.length > 0;
        return { ...reading, keyId, family, time: now, next, tail, tailAt, lastAt, recent, written, cleared };
      },
    };
  }

  return {
    *open(requests) {
      const byName = new Map(requests.map((request) => [windowName(request), request]));
      // Nodes lock windows in one order, so that two that commit at once do not wait for each other in a ring.
      const wanted = [...byName.keys()].sort().map((name) => byName.get(name) as WindowKey);
      const rows = (yield* lockWindows(wanted)).map((row) => ({ row, time: timeOf(row) }));
      const passed = rows.filter(({ row, time: { now } }) => hasPassed(row, now) && !hasTail(row));
      const firstLive = yield* statements.firstLive(
        passed.map(({ row, time }) => ({ row, passedAt: time.now - WINDOW_MS })),
      );
      return new Map(rows.map(({ row, time }) => [nameOf(row), readWindow(row, time, firstLive.get(row))]));
    },
    *save(windows) {
      const changes = Array.from(windows, (window) => window.change()).filter((change) => change !== undefined);
      yield* statements.saveWindows(changes);
    },
  };
}

/** When a window was read. */
interface WindowTime {
  reading: Reading;
  /** Milliseconds since its row was written. */
  elapsed: number;
  /** By its own time. */
  now: number;
}

/** Whether the oldest of its slots was live when the row was written, and is so no longer. */
function hasPassed({ tailSeq, nextSeq, tailAt }: WindowRow, now: number): boolean {
  return tailSeq < nextSeq && now - tailAt >= WINDOW_MS;
}

/** Whether the row itself has the oldest of its slots, so that no other row does. */
function hasTail({ recent, tailSeq }: WindowRow): boolean {
  return recent !== '' && Number.parseInt(recent, 10) <= tailSeq;
}

function nameOf({ keyId, family }: WindowRow): string {
  return windowName({ keyId, family: family as WindowKey['family'] });
}

/** Slots that were taken at the same time: from number `seq` up to where the next run begins. */
export interface SlotRun {
  seq: number;
  at: number;
}

/** @param text Runs, oldest first: `12,1700000000000,13,1700000000250`. */
export function readRuns(text: string): SlotRun[] {
  const numbers: number[] = JSON.parse(`[${text}]`);
  return Array.from({ length: numbers.length / 2 }, (_, index) => ({
    seq: numbers[2 * index] as number,
    at: numbers[2 * index + 1] as number,
  }));
}

export function writeRuns(runs: readonly SlotRun[]): string {
  return runs.map(({ seq, at }) => `${seq},${at}`).join();
}

export function addRun(text: string, { seq, at }: SlotRun): string {
  return text === '' ? `${seq},${at}` : `${text},${seq},${at}`;
}

/** Those that still have a slot at or after number `tail`. */
export function liveRuns(runs: readonly SlotRun[], tail: number): SlotRun[] {
  return runs.filter((_, index) => (runs[index + 1]?.seq ?? Number.POSITIVE_INFINITY) > tail);
}
