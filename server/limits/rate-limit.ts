/*
 * Requests per minute of a key, or of an account of the site, which all its keys share. A limit is a rolling 60 s in
 * SQL, so it holds over restarts and nodes; it is as exact as the clock of its window. Requests that arrive while a
 * transaction runs share the next one, so a check costs a part of a commit, and its result survives a crash of the
 * process. An accepted request counts for 60 s, also if it fails; a refused one (429) does not count. If the database
 * does not answer, the request is refused with 503 within 2.5 s: the database has a timeout of 2.4 s, and a request
 * that waited for an earlier transaction gets at least 50 ms. Nothing is answered uncounted. If the transaction of such
 * a request commits late, the request stays counted. A key of an account may have a lower limit of its own: then a
 * request counts in both windows or in none, and other keys of the account pay nothing for it.
 *
 * A key (or a site account) has a window for each route family. Its requests are numbered in order; the live ones are
 * from `tailSeq` up to `nextSeq`, so counting them is a subtraction. Each access moves the tail over the expired
 * requests, at most as many as the limit, and then counts new ones by moving the head. A refused request only writes a
 * moved tail or a changed clock. The times of requests are in rows of their own, deleted behind the tail; on SQLite the
 * latest are in the window's row until they are many. The window's row is deleted with its key or account.
 * A window has its own time, which never goes backwards: each access adds the time since the row was written. On SQLite
 * that is by the monotonic clock if this process wrote it, else by the wall clock; on PostgreSQL always by the
 * database's wall clock, one for all nodes. A clock that was set back adds nothing once, so no key is blocked for
 * longer than the minute. A wall clock that jumps forward frees requests early by the jump: on SQLite only after a
 * restart or a write of another worker, on PostgreSQL also after a failover to a server whose clock is ahead.
 */

import { randomUUID } from 'node:crypto';
import type { Clock } from '../../core/contracts/index.js';
import {
  type Database,
  type Engine,
  type Kysely,
  type Script,
  Shards,
  type Tables,
} from '../../core/database/index.js';
import {
  addRun,
  type ClockReading,
  liveRuns,
  RateLimitStatements,
  type RequestRun,
  readRuns,
  type WindowChange,
  type WindowRow,
  writeRuns,
} from './rate-limit-statements.js';

const WINDOW_MS = 60_000;
/** Maximum length of `recent` in the window's row. PostgreSQL keeps every request in a row of its own. */
const RECENT_CHARACTERS: Readonly<Record<Engine, number>> = { sqlite: 180, postgres: 0 };
const NO_RUNS: readonly RequestRun[] = [];
/** Maximum number of windows that are cached as existing. */
const MAX_KNOWN = 100_000;

interface RateLimitsOptions {
  database: Database;
  rateLimitTable: RateLimitTable;
}

interface ConsumeOrPeek extends ConsumeRequest {
  /** False for a peek. */
  consumes: boolean;
}

/** Both methods throw GatewayError `upstream_unavailable` within 2.5 s if the database does not answer. */
export class RateLimits {
  readonly #shards: Shards<ConsumeOrPeek, RateLimitResult>;

  constructor({ database, rateLimitTable }: RateLimitsOptions) {
    const script = (requests: readonly ConsumeOrPeek[]) => answerAll(requests, rateLimitTable);
    // A power cut also ends the requests themselves, so losing the last moment is acceptable.
    this.#shards = new Shards({ database, durability: 'relaxed', script });
  }

  consume(request: ConsumeRequest): Promise<RateLimitResult> {
    return this.#shards.submit(shardOfWindow(request), { ...request, consumes: true });
  }

  /** As {@link consume}, without consuming. */
  peek(request: ConsumeRequest): Promise<RateLimitResult> {
    return this.#shards.submit(shardOfWindow(request), { ...request, consumes: false });
  }
}

function* answerAll(requests: readonly ConsumeOrPeek[], table: RateLimitTable): Script<RateLimitResult[]> {
  const rateLimits = yield* openWindows(table, requests);
  const answers: RateLimitResult[] = [];
  for (const request of requests) {
    const window = rateLimits.of(request);
    answers.push(request.consumes && window.has(request) ? window.consume(request) : yield* window.peek(request));
  }
  yield* rateLimits.save();
  return answers;
}

/** Routes that share one window of a key: each accepted request counts for 60 s after its acceptance. */
export type RateLimitFamily = 'image' | 'link_data' | 'model';

export interface ConsumeRequest {
  /** Id of the key, or of the site account that all its keys share the window of. */
  keyId: string;
  /** Whether the keys of an account share the window. Default false. */
  isShared?: boolean;
  family: RateLimitFamily;
  /** Number of requests to consume at once, all or nothing. At least 1. */
  count: number;
  /** Requests per minute. */
  limit: number;
  /** The window of the site account, if the key has a lower limit of its own: each request counts in both, or in none. */
  within?: { keyId: string; limit: number };
}

/** Requests that share a window belong in one shard, or they would wait for each other's locks. */
export function shardOfWindow({ keyId, within }: ConsumeRequest): string {
  return within?.keyId ?? keyId;
}

export interface RateLimitResult {
  accepted: boolean;
  /** Of two windows, the limit that refused, or else the one with fewer free requests. */
  limit: number;
  /** Free requests after this result. */
  remaining: number;
  /**
   * Milliseconds until the requests would be accepted (0 if accepted). Waiting exactly this long is enough, unless
   * other requests come first; 60,000 if more is requested than the limit.
   */
  retryAfterMs: number;
  /** Milliseconds until the next request is free again (0 if none is in use). */
  resetMs: number;
}

/** The windows of one transaction: locked, read and written together for all requests. */
export interface OpenWindows {
  /** Returns one of the opened windows, or two as one. */
  of(key: WantedWindow): RateWindow;
  /** Writes what was consumed; it counts when the transaction commits. */
  save(): Script<void>;
}

/** A window, or two, locked until the transaction ends. */
export interface RateWindow {
  /** Whether there is room for the requests, including what this transaction has consumed before. */
  has(request: RequestCount): boolean;
  /** The result if there is room, without consuming. */
  foresee(request: RequestCount): RateLimitResult;
  /** Consumes requests for which there is room. */
  consume(request: RequestCount): RateLimitResult;
  /** The current result, without consuming. */
  peek(request: RequestCount): Script<RateLimitResult>;
}

/** @param wanted Keys that may be used later; undefined entries are skipped. */
export function* openWindows(
  table: RateLimitTable,
  wanted: readonly (WantedWindow | undefined)[],
): Script<OpenWindows> {
  const keys: RateLimitKey[] = [];
  for (const key of wanted) {
    if (key) keys.push(key);
    if (key?.within) keys.push({ keyId: key.within.keyId, family: key.family });
  }
  const rateLimits = yield* table.open(keys);
  const find = (key: RateLimitKey) => {
    const window = rateLimits.get(windowName(key));
    if (!window) throw new Error('A window is asked that was not opened.');
    return window;
  };
  return {
    of(key) {
      const own = find(key);
      return key.within ? joinWindows(own, find({ ...key, ...key.within }), key.within.limit) : own;
    },
    save: () => table.save(rateLimits.values()),
  };
}

/** The window of a key within that of its account. A request has room if both have. */
function joinWindows(own: RateWindow, shared: RateWindow, limit: number): RateWindow {
  const inShared = ({ count }: RequestCount) => ({ count, limit });
  return {
    has: (request) => own.has(request) && shared.has(inShared(request)),
    foresee: (request) => tighterOf(own.foresee(request), shared.foresee(inShared(request))),
    consume: (request) => tighterOf(own.consume(request), shared.consume(inShared(request))),
    *peek(request) {
      return tighterOf(yield* own.peek(request), yield* shared.peek(inShared(request)));
    },
  };
}

/** The result to wait for: of the later window, or else of the one with fewer free requests. */
function tighterOf(own: RateLimitResult, shared: RateLimitResult): RateLimitResult {
  if (own.retryAfterMs !== shared.retryAfterMs) return own.retryAfterMs > shared.retryAfterMs ? own : shared;
  return shared.remaining < own.remaining ? shared : own;
}

/** Number of requests and limit of one check. */
type RequestCount = Pick<ConsumeRequest, 'count' | 'limit'>;

type WantedWindow = RateLimitKey & Pick<ConsumeRequest, 'within'>;

/** Key and family of a window. */
export type RateLimitKey = Pick<ConsumeRequest, 'keyId' | 'family'>;

function windowName({ keyId, family }: RateLimitKey): string {
  return `${keyId}\n${family}`;
}

interface RateLimitTableOptions {
  engine: Engine;
  /** Only compiles queries. */
  queries: Kysely<Tables>;
  /** Default: the database's own clock. */
  clock?: Clock;
}

export class RateLimitTable {
  readonly #clock: Clock | undefined;
  readonly #clockSource = randomUUID();
  readonly #recentCharacters: number;
  readonly #statements: RateLimitStatements;
  /** Names of windows that exist. */
  readonly #known = new Set<string>();

  constructor({ engine, queries, clock }: RateLimitTableOptions) {
    this.#clock = clock;
    this.#recentCharacters = RECENT_CHARACTERS[engine];
    this.#statements = new RateLimitStatements(engine, queries);
  }

  /** Locks and reads windows together; returns them by name. Names may repeat. */
  *open(requests: readonly RateLimitKey[]): Script<Map<string, OpenWindow>> {
    const byName = new Map(requests.map((request) => [windowName(request), request]));
    // All nodes lock windows in one order, so that two commits do not deadlock.
    const wanted = [...byName.keys()].sort().map((name) => byName.get(name) as RateLimitKey);
    const rows = (yield* this.#lock(wanted)).map((row) => ({ row, time: this.#timeOf(row) }));
    const passed = rows.filter(({ row, time: { now } }) => hasPassed(row, now) && !hasTail(row));
    const firstLive = yield* this.#statements.firstLive(
      passed.map(({ row, time }) => ({ row, passedAt: time.now - WINDOW_MS })),
    );
    const options = { statements: this.#statements, recentCharacters: this.#recentCharacters };
    return new Map(
      rows.map(({ row, time }) => {
        return [windowName(row), new OpenWindow({ ...options, row, time, ofRows: firstLive.get(row) })];
      }),
    );
  }

  /** Writes what was consumed; it counts when the transaction commits. */
  *save(rateLimits: Iterable<OpenWindow>): Script<void> {
    const changes = Array.from(rateLimits, (window) => window.change()).filter((change) => change !== undefined);
    yield* this.#statements.saveWindows(changes);
  }

  /**
   * Creates missing windows before locking any: a transaction that holds a lock never waits for one that creates a
   * window, so no two transactions deadlock.
   */
  *#lock(wanted: readonly RateLimitKey[]): Script<readonly WindowRow[]> {
    const known = this.#known;
    yield* this.#statements.createWindows(wanted.filter((key) => !known.has(windowName(key))));
    const rows = yield* this.#statements.lockWindows(wanted);
    if (known.size + rows.length > MAX_KNOWN) known.clear();
    const found = new Set(rows.map(windowName));
    for (const name of found) known.add(name);
    if (found.size === wanted.length) return rows;
    // The transaction that created them was rolled back, or their key has been deleted since.
    const missing = wanted.filter((key) => !found.has(windowName(key)));
    yield* this.#statements.createWindows(missing);
    return [...rows, ...(yield* this.#statements.lockWindows(missing))];
  }

  #timeOf(row: WindowRow): WindowTime {
    const reading = this.#readTime(row);
    const elapsed =
      reading.clockSource === row.clockSource
        ? reading.monotonicTime - row.monotonicTime
        : reading.wallTime - row.wallTime;
    return { reading, elapsed, now: row.time + Math.max(0, elapsed) };
  }

  #readTime(row: WindowRow): ClockReading {
    const clock = this.#clock;
    if (!clock) return { clockSource: 'database', wallTime: row.databaseNow, monotonicTime: row.databaseNow };
    const [wallTime, monotonicTime] = [Math.floor(clock.now()), Math.floor(clock.monotonic())];
    return { clockSource: this.#clockSource, wallTime, monotonicTime };
  }
}

interface OpenWindowOptions {
  statements: RateLimitStatements;
  recentCharacters: number;
  row: WindowRow;
  time: WindowTime;
  /** The oldest live request that has a row. */
  ofRows: RequestRun | undefined;
}

/** One key's window of one family, locked until the transaction ends. */
class OpenWindow implements RateWindow {
  readonly #options: OpenWindowOptions;
  readonly #head: number;
  #runs: RequestRun[] | undefined;
  readonly #takenAt = new Map<number, number>();
  #next: number;
  readonly #tail: number;
  #tailAt: number;

  constructor(options: OpenWindowOptions) {
    this.#options = options;
    const { row, time, ofRows } = options;
    this.#head = row.nextSeq;
    this.#next = row.nextSeq;
    this.#tail = row.tailSeq;
    this.#tailAt = row.tailAt;
    if (!hasPassed(row, time.now)) return;
    // Requests with rows are older than those without.
    const live = ofRows ?? this.#recentRuns().find(({ at }) => at > time.now - WINDOW_MS);
    this.#tail = live?.seq ?? row.nextSeq;
    this.#tailAt = live?.at ?? time.now;
  }

  has(request: RequestCount): boolean {
    return this.#missing(request) <= 0;
  }

  foresee({ limit }: RequestCount): RateLimitResult {
    return this.#answer(limit, 0);
  }

  consume({ count, limit }: RequestCount): RateLimitResult {
    if (this.#next === this.#tail) this.#tailAt = this.#options.time.now;
    this.#next += count;
    return this.#answer(limit, 0);
  }

  *peek(request: RequestCount): Script<RateLimitResult> {
    const { count, limit } = request;
    const excess = this.#missing(request);
    if (excess <= 0) return this.#answer(limit, 0);
    // More than the limit never fits; the longest wait is the closest answer.
    if (count > limit) return this.#answer(limit, WINDOW_MS);
    const takenAt = yield* this.#whenTaken(this.#tail + excess - 1);
    return this.#answer(limit, takenAt + WINDOW_MS - this.#options.time.now);
  }

  /** The changes to be written; undefined if there are none. */
  change(): WindowChange | undefined {
    const { row, recentCharacters } = this.#options;
    const { reading, elapsed, now } = this.#options.time;
    const [head, nextSeq, tailSeq] = [this.#head, this.#next, this.#tail];
    const tailMoved = tailSeq !== row.tailSeq;
    // Also written after the clock stepped back, or the next access would again see no time pass, and after a change
    // of process, whose monotonic clock counts from then on.
    if (nextSeq === head && !tailMoved && elapsed >= 0 && reading.clockSource === row.clockSource) return undefined;
    const lastAt = nextSeq === head ? row.lastAt : now;
    const isNewRun = nextSeq !== head && now !== row.lastAt;
    const { recent, written } = isNewRun
      ? this.#keep({ seq: head, at: now })
      : { recent: row.recent, written: NO_RUNS };
    const cleared = recentCharacters === 0 ? tailMoved : written.length > 0;
    const { keyId, family } = row;
    const counted = { time: now, nextSeq, tailSeq, tailAt: this.#tailAt, lastAt };
    return { ...reading, keyId, family, ...counted, recent, written, cleared };
  }

  /** Decides where a new run is stored, and which older runs must move out of the row. */
  #keep(run: RequestRun): Pick<WindowChange, 'recent' | 'written'> {
    const { row, recentCharacters } = this.#options;
    const recent = addRun(row.recent, run);
    if (recent.length <= recentCharacters) return { recent, written: NO_RUNS };
    const all = readRuns(recent);
    const live = liveRuns(all, this.#tail);
    // A row that is soon full again would be cleaned up at almost every request.
    if (live.length > all.length / 2) return { recent: '', written: live };
    return { recent: writeRuns(live), written: NO_RUNS };
  }

  *#whenTaken(seq: number): Script<number> {
    const { statements, row, time } = this.#options;
    if (seq >= this.#head) return time.now;
    const { keyId, family } = row;
    const run = this.#recentRuns().findLast((recentRun) => recentRun.seq <= seq);
    const known = run?.at ?? this.#takenAt.get(seq) ?? (yield* statements.takenAt({ keyId, family, seq }));
    this.#takenAt.set(seq, known);
    return known;
  }

  #recentRuns(): RequestRun[] {
    this.#runs ??= readRuns(this.#options.row.recent);
    return this.#runs;
  }

  #answer(limit: number, retryAfterMs: number): RateLimitResult {
    const resetMs = this.#next === this.#tail ? 0 : this.#tailAt + WINDOW_MS - this.#options.time.now;
    const remaining = Math.max(0, limit - (this.#next - this.#tail));
    return { accepted: retryAfterMs === 0, limit, remaining, retryAfterMs, resetMs };
  }

  /** Number of requests beyond the free ones. */
  #missing({ count, limit }: RequestCount): number {
    return this.#next - this.#tail + count - limit;
  }
}

/** When a window was read. */
interface WindowTime {
  reading: ClockReading;
  /** Milliseconds since its row was written. */
  elapsed: number;
  /** By the window's own time. */
  now: number;
}

/** Whether the oldest request was live when the row was written and has expired since. */
function hasPassed({ tailSeq, nextSeq, tailAt }: WindowRow, now: number): boolean {
  return tailSeq < nextSeq && now - tailAt >= WINDOW_MS;
}

/** Whether the row itself contains the oldest request, so that no other row does. */
function hasTail({ recent, tailSeq }: WindowRow): boolean {
  return recent !== '' && Number.parseInt(recent, 10) <= tailSeq;
}
