/*
 * Limits the memory for request bodies of all requests of a machine, of which each worker has its part. Memory is
 * reserved as bytes arrive, not as a request announces them. One owner (an account, a key without one, or a network of
 * addresses) may use three eighths of it. A body that arrives too slowly is ended. When the memory is full, the slowest
 * bodies are ended first, then those of the largest owner, before a new one is refused. A body up to 1 MiB counts its
 * bytes; a larger one takes one of a few slots instead. One timer checks each body once per interval. A body costs two
 * map operations and two set operations.
 */

import { GatewayError } from '../../../core/runtime/index.js';
import { networkOf } from '../addresses.js';
import type { FixedWindow } from '../fixed-windows.js';

/** The reservation of one body. */
export interface BodyReservation {
  /**
   * Counts bytes that have arrived.
   * @throws GatewayError `queue_full` if the memory or the owner's share is used up.
   */
  add(bytes: number): void;
  /** The body is complete: it is no longer ended for being slow. */
  arrived(): void;
  /** Releases the reservation. Idempotent. */
  release(): void;
}

const MEGABYTE = 1024 * 1024;
/** Larger bodies take one of a few places each. */
export const BIG_BYTES = MEGABYTE;
/** Maximum share of one owner. */
const OWNER_SHARE = 3 / 8;
/**
 * Minimum bytes per interval of a body beyond 1 MiB. At a constant rate, a slower one would exceed its time limit
 * anyway.
 */
export const PACE_BYTES = 128 * 1024;
/** Minimum bytes per interval of a smaller body, unless it ends. */
export const SMALL_PACE_BYTES = 4 * 1024;
const PACE_MS = 5_000;
const MAX_MS = 30_000;
/** Bodies slower than this, in bytes per second, are ended if the memory is full. */
const SLOW_BYTES_PER_SECOND = MEGABYTE;
/**
 * Milliseconds before a body may be ended because the memory is full; and the same because its owner holds more than
 * the owner of a new body.
 */
const GRACE_MS = 1_000;
const SHORT_GRACE_MS = 100;

export interface BodyBudgetOptions {
  /** Bytes of all bodies up to 1 MiB together. Default 64 MiB. */
  smallBytes?: number;
  /** Maximum number of larger bodies, which do not count in the memory of the small ones. Default 8. */
  bigBodies?: number;
  /**
   * Milliseconds of the interval in which each body must bring 4 KiB, or 128 KiB if it is beyond 1 MiB. Default 5,000.
   */
  paceMs?: number;
  /** Milliseconds in which a body of up to 1 MiB must arrive. Default 30,000. */
  maxMs?: number;
  /** Counts refused requests with a body above 64 KiB. Default: no limit. */
  refusals?: Pick<FixedWindow, 'max' | 'blockedFor' | 'add'>;
  /** Workers of this machine, which get an equal part of the memory each. Default 1. */
  workers?: number;
}

interface OpenBody {
  owner: string;
  end(error: GatewayError): void;
  pool: Pool;
  /** Taken from the pool: bytes, or one place. */
  held: number;
  bytes: number;
  openedAt: number;
  /** Bytes at the last check, and the number of checks. */
  bytesBefore: number;
  checks: number;
  /** Bytes at the last mark, and at the one before it: see {@link paceOf}. */
  bytesAtMark: number;
  bytesAtMarkBefore: number;
}

/** The least that a worker of several has. */
const LEAST_SMALL_BYTES = 4 * MEGABYTE;
const LEAST_BIG_BODIES = 3;

/** Marks per interval. */
const MARKS = 5;

/** Memory for request bodies, shared by all requests of a process. */
export class BodyBudget {
  /** Counts refused requests with a body above 64 KiB. Default: no limit. */
  readonly refusals: BodyBudgetOptions['refusals'];
  readonly #small: Pool;
  readonly #big: Pool;
  readonly #paceMs: number;
  readonly #maxMs: number;
  /** Incomplete bodies. */
  readonly #arriving = new Set<OpenBody>();
  readonly #marks: Marks = { at: 0, before: 0 };
  #marksSinceCheck = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: BodyBudgetOptions = {}) {
    const { smallBytes = 64 * MEGABYTE, bigBodies = 8, paceMs = PACE_MS, maxMs = MAX_MS, refusals } = options;
    const { workers = 1 } = options;
    this.#small = new Pool(partOf(smallBytes, workers, LEAST_SMALL_BYTES));
    this.#big = new Pool(partOf(bigBodies, workers, LEAST_BIG_BODIES));
    this.#paceMs = paceMs;
    this.#maxMs = maxMs;
    this.refusals = refusals;
  }

  /**
   * Opens a reservation for a body. `end` is called at most once, if the body is ended before all of it has arrived.
   */
  open(owner: string, end: (error: GatewayError) => void): BodyReservation {
    const body: OpenBody = {
      owner,
      end,
      pool: this.#small,
      held: 0,
      bytes: 0,
      openedAt: performance.now(),
      bytesBefore: 0,
      checks: 0,
      bytesAtMark: 0,
      bytesAtMarkBefore: 0,
    };
    this.#arriving.add(body);
    if (!this.#timer) this.#marksSinceCheck = 0;
    this.#timer ??= setInterval(() => this.#mark(), this.#paceMs / MARKS).unref?.();
    return {
      add: (bytes) => this.#add(body, bytes),
      arrived: () => void this.#arriving.delete(body),
      release: () => this.#close(body),
    };
  }

  /** Used share of each kind, 0 to 1. */
  taken(): { small: number; big: number } {
    return { small: this.#small.taken(), big: this.#big.taken() };
  }

  #mark(): void {
    this.#marks.before = this.#marks.at;
    this.#marks.at = performance.now();
    for (const body of this.#arriving) {
      body.bytesAtMarkBefore = body.bytesAtMark;
      body.bytesAtMark = body.bytes;
    }
    this.#marksSinceCheck += 1;
    if (this.#marksSinceCheck < MARKS) return;
    this.#marksSinceCheck = 0;
    this.#check();
  }

  #check(): void {
    for (const body of [...this.#arriving]) {
      const isBig = body.pool === this.#big;
      const wanted = isBig ? PACE_BYTES : SMALL_PACE_BYTES;
      const isSlow = body.checks > 0 && body.bytes - body.bytesBefore < wanted;
      body.bytesBefore = body.bytes;
      body.checks += 1;
      if (isSlow || (!isBig && body.checks * this.#paceMs > this.#maxMs)) this.#stop(body, tooSlow());
    }
    if (this.#arriving.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #add(body: OpenBody, bytes: number): void {
    body.bytes += bytes;
    if (body.pool === this.#big) return;
    if (body.bytes <= BIG_BYTES) {
      this.#take(body, bytes);
      return;
    }
    this.#small.give(body.owner, body.held);
    body.held = 0;
    body.pool = this.#big;
    this.#take(body, 1);
  }

  /** Reserves memory for a body, and ends the slowest bodies if there is none. */
  #take(body: OpenBody, amount: number): void {
    const { owner, pool } = body;
    for (;;) {
      const missing = pool.missing(owner, amount);
      if (missing === undefined) break;
      const slowest =
        missing === 'share'
          ? slowestOf(this.#arriving, body, this.#marks, owner)
          : (slowestOf(this.#arriving, body, this.#marks) ??
            slowestOfLargest(this.#arriving, body, this.#marks, amount));
      if (!slowest) {
        // Does not blame this owner for what others hold.
        if (missing === 'share' && pool === this.#big) this.refusals?.add(owner);
        throw queueFull(missing);
      }
      this.#stop(slowest, tooSlow());
    }
    pool.take(owner, amount);
    body.held += amount;
  }

  #stop(body: OpenBody, error: GatewayError): void {
    this.#close(body);
    body.end(error);
  }

  #close(body: OpenBody): void {
    this.#arriving.delete(body);
    body.pool.give(body.owner, body.held);
    body.held = 0;
  }
}

/** The part of one worker. @param least Below it, an owner's share would be too small for any body. */
function partOf(total: number, workers: number, least: number): number {
  return workers === 1 ? total : Math.max(least, Math.ceil(total / workers));
}

/** Milliseconds of the last two marks. */
interface Marks {
  at: number;
  before: number;
}

/**
 * Bytes per second since the mark before the last, one to two seconds ago: earlier bytes say nothing about a body that
 * stalls now.
 */
function paceOf({ openedAt, bytes, bytesAtMarkBefore }: OpenBody, { before }: Marks, now: number): number {
  return ((bytes - bytesAtMarkBefore) / (now - Math.max(openedAt, before))) * 1_000;
}

/** The slowest of the bodies that are slow enough to be ended, if there is one. */
function slowestOf(bodies: Iterable<OpenBody>, self: OpenBody, marks: Marks, owner?: string): OpenBody | undefined {
  const { pool } = self;
  const now = performance.now();
  let slowest: OpenBody | undefined;
  let slowestPace = SLOW_BYTES_PER_SECOND;
  for (const body of bodies) {
    if (body === self || body.pool !== pool || body.held === 0 || now - body.openedAt < GRACE_MS) continue;
    if (owner !== undefined && body.owner !== owner) continue;
    const pace = paceOf(body, marks, now);
    if (pace >= slowestPace) continue;
    slowest = body;
    slowestPace = pace;
  }
  return slowest;
}

/**
 * The slowest body of the owner that holds the most, if that is more than the owner of this body would hold. It must be
 * a tenth of a second old: otherwise owners could fill the memory with bodies that they replace before they count as
 * slow.
 */
function slowestOfLargest(
  bodies: Iterable<OpenBody>,
  { owner, pool }: OpenBody,
  marks: Marks,
  amount: number,
): OpenBody | undefined {
  const now = performance.now();
  let max = pool.holds(owner) + amount;
  let slowest: OpenBody | undefined;
  let slowestPace = Number.POSITIVE_INFINITY;
  for (const body of bodies) {
    const age = now - body.openedAt;
    if (body.pool !== pool || body.owner === owner || body.held === 0 || age < SHORT_GRACE_MS) continue;
    const pace = paceOf(body, marks, now);
    const holds = pool.holds(body.owner);
    if (pace >= SLOW_BYTES_PER_SECOND || holds < max || (holds === max && pace >= slowestPace)) continue;
    if (!slowest && holds === max) continue;
    slowest = body;
    slowestPace = pace;
    max = holds;
  }
  return slowest;
}

/** What owners may hold together: bytes, or places. */
class Pool {
  readonly #size: number;
  readonly #held = new Map<string, number>();
  #free: number;

  constructor(size: number) {
    this.#size = size;
    this.#free = size;
  }

  holds(owner: string): number {
    return this.#held.get(owner) ?? 0;
  }

  /** The reason why so much cannot be reserved: the owner's share, or the whole memory. */
  missing(owner: string, amount: number): 'share' | 'room' | undefined {
    if (this.holds(owner) + amount > Math.ceil(this.#size * OWNER_SHARE)) return 'share';
    return this.#free < amount ? 'room' : undefined;
  }

  take(owner: string, amount: number): void {
    this.#free -= amount;
    this.#held.set(owner, this.holds(owner) + amount);
  }

  give(owner: string, amount: number): void {
    if (amount === 0) return;
    this.#free += amount;
    const left = this.holds(owner) - amount;
    if (left > 0) this.#held.set(owner, left);
    else this.#held.delete(owner);
  }

  taken(): number {
    return 1 - this.#free / this.#size;
  }
}

/**
 * The owner of bodies of callers without a key: one network, since one machine may have many addresses.
 * @returns The /64 of an IPv6 address, the /24 of an IPv4 address.
 */
export function networkOwner(address: string): string {
  const network = networkOf(address);
  return `from ${network.includes(':') ? network : network.split('.').slice(0, 3).join('.')}`;
}

export function tooSlow(): GatewayError {
  return new GatewayError('request_timeout', 'The body arrives too slowly.');
}

function queueFull(missing: 'share' | 'room'): GatewayError {
  const scope = missing === 'share' ? ' of this account or address' : '';
  return new GatewayError('queue_full', `Too many request bodies${scope} are being read at once.`, {
    retryAfterSeconds: 1,
  });
}
