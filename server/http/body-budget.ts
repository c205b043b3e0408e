import { GatewayError } from 'mediagate';
import { type FixedWindow, networkOf } from './addresses.js';

/**
 * Memory for request bodies, shared by all requests of a process.
 *
 * Promise: nobody holds room that they do not use. Room is taken as bytes arrive, whatever a request announces. One owner
 * (an account, a key without one, or a network of addresses) has three eighths of it. A body that arrives too slowly is
 * ended, and a full room ends its slowest bodies before it refuses a newcomer, then those of the owner who holds the most.
 * How: a body up to 1 MiB counts its bytes; a larger one takes one of a few places instead. One timer for all bodies looks
 * at each once per interval.
 * Cost: two map operations and two set operations for each body.
 */
export interface BodyBudget {
  /** Opens the place of a body. `end` is called at most once, where the room ends the body before all of it has arrived. */
  open(owner: string, end: (error: GatewayError) => void): BodyPlace;
  /** What is taken of each kind, 0 to 1. */
  taken(): { small: number; big: number };
  /** Counts refused requests with a body above 64 KiB. Default: nobody does. */
  readonly refusals?: FixedWindow;
}

/** What one body takes of the room. */
export interface BodyPlace {
  /**
   * Counts bytes that have arrived.
   * @throws GatewayError `queue_full` where there is no room, or the owner has their share.
   */
  add(bytes: number): void;
  /** All of the body has arrived: from now on it is not ended for being slow. */
  arrived(): void;
  /** Gives its room back. Idempotent. */
  release(): void;
}

const MEGABYTE = 1024 * 1024;
/** Bodies of more bytes take one of a few places each. */
export const BIG_BYTES = MEGABYTE;
/** What one owner may have of the room. */
const OWNER_SHARE = 3 / 8;
/** What a body beyond 1 MiB brings at least in an interval. Evenly sent, a slower one would come too late anyway. */
export const PACE_BYTES = 128 * 1024;
/** What a smaller one brings at least in an interval, unless it ends. */
export const SMALL_PACE_BYTES = 4 * 1024;
const PACE_MS = 5_000;
const MAX_MS = 30_000;
/** A full room ends bodies that arrive slower than this, in bytes per second. */
const SLOW_BYTES_PER_SECOND = MEGABYTE;
/** Milliseconds that a body has before a full room may end it, and if its owner holds more than the newcomer's. */
const GRACE_MS = 1_000;
const SHORT_GRACE_MS = 100;

export interface BodyBudgetOptions {
  /** Bytes of all bodies up to 1 MiB together. Default 64 MiB. */
  smallBytes?: number;
  /** Bodies beyond that. They leave the room of the small ones alone. Default 8. */
  bigBodies?: number;
  /** Milliseconds of the interval in which each body brings 4 KiB, or 128 KiB if it is beyond 1 MiB. Default 5,000. */
  paceMs?: number;
  /** Milliseconds in which a body of up to 1 MiB arrives whole. Default 30,000. */
  maxMs?: number;
  /** Counts refused requests with a body above 64 KiB. Default: nobody does. */
  refusals?: FixedWindow;
}

interface OpenBody {
  owner: string;
  end(error: GatewayError): void;
  pool: Pool;
  /** Taken of the pool: bytes, or one place. */
  held: number;
  bytes: number;
  openedAt: number;
  /** Bytes at the last look, and how many looks there were. */
  bytesBefore: number;
  looks: number;
  /** Bytes at the last mark, and at the one before it: see {@link paceOf}. */
  bytesAtMark: number;
  bytesAtMarkBefore: number;
}

/** Marks of one interval. */
const MARKS = 5;

export function createBodyBudget(options: BodyBudgetOptions = {}): BodyBudget {
  const { smallBytes = 64 * MEGABYTE, bigBodies = 8, paceMs = PACE_MS, maxMs = MAX_MS } = options;
  const small = createPool(smallBytes);
  const big = createPool(bigBodies);
  /** Bodies of which more is to come. */
  const arriving = new Set<OpenBody>();
  let timer: NodeJS.Timeout | undefined;
  const marks: Marks = { at: 0, before: 0 };
  let marksSinceLook = 0;

  function mark(): void {
    marks.before = marks.at;
    marks.at = performance.now();
    for (const body of arriving) {
      body.bytesAtMarkBefore = body.bytesAtMark;
      body.bytesAtMark = body.bytes;
    }
    marksSinceLook += 1;
    if (marksSinceLook < MARKS) return;
    marksSinceLook = 0;
    look();
  }

  function look(): void {
    for (const body of [...arriving]) {
      const isBig = body.pool === big;
      const wanted = isBig ? PACE_BYTES : SMALL_PACE_BYTES;
      const isSlow = body.looks > 0 && body.bytes - body.bytesBefore < wanted;
      body.bytesBefore = body.bytes;
      body.looks += 1;
      if (isSlow || (!isBig && body.looks * paceMs > maxMs)) stop(body, tooSlow());
    }
    if (arriving.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  function stop(body: OpenBody, error: GatewayError): void {
    close(body);
    body.end(error);
  }

  function close(body: OpenBody): void {
    arriving.delete(body);
    body.pool.give(body.owner, body.held);
    body.held = 0;
  }

  /** Takes room for a body, and ends the slowest bodies where there is none. */
  function take(body: OpenBody, pool: Pool, amount: number): void {
    for (;;) {
      const missing = pool.missing(body.owner, amount);
      if (missing === undefined) break;
      const slowest =
        missing === 'share'
          ? slowestOf(arriving, body, marks, body.owner)
          : (slowestOf(arriving, body, marks) ?? slowestOfLargest(arriving, body, marks, amount));
      if (!slowest) {
        // What others hold is no fault of this owner.
        if (missing === 'share' && pool === big) options.refusals?.add(body.owner);
        throw queueFull(missing);
      }
      stop(slowest, tooSlow());
    }
    pool.take(body.owner, amount);
    body.held += amount;
  }

  return {
    open(owner, end) {
      const body: OpenBody = {
        owner,
        end,
        pool: small,
        held: 0,
        bytes: 0,
        openedAt: performance.now(),
        bytesBefore: 0,
        looks: 0,
        bytesAtMark: 0,
        bytesAtMarkBefore: 0,
      };
      arriving.add(body);
      if (!timer) marksSinceLook = 0;
      timer ??= setInterval(mark, paceMs / MARKS).unref?.();
      return {
        add(bytes) {
          body.bytes += bytes;
          if (body.pool === big) return;
          if (body.bytes <= BIG_BYTES) return take(body, small, bytes);
          small.give(owner, body.held);
          body.held = 0;
          body.pool = big;
          take(body, big, 1);
        },
        arrived: () => void arriving.delete(body),
        release: () => close(body),
      };
    },
    taken: () => ({ small: small.taken(), big: big.taken() }),
    refusals: options.refusals,
  };
}

/** Milliseconds of the last two marks. */
interface Marks {
  at: number;
  before: number;
}

/**
 * Bytes per second since the mark before the last, one to two seconds ago: what came quickly before says nothing of a body
 * that stalls now.
 */
function paceOf({ openedAt, bytes, bytesAtMarkBefore }: OpenBody, { before }: Marks, now: number): number {
  return ((bytes - bytesAtMarkBefore) / (now - Math.max(openedAt, before))) * 1_000;
}

/** The slowest of the bodies that are slow enough to be ended, where there is one. */
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
 * The slowest body of the owner who holds the most, if that is more than the owner of this body would hold. It has a tenth of
 * a second: without this, owners could fill the room with bodies that they replace before they count as slow.
 */
function slowestOfLargest(
  bodies: Iterable<OpenBody>,
  { owner, pool }: OpenBody,
  marks: Marks,
  amount: number,
): OpenBody | undefined {
  const now = performance.now();
  let most = pool.holds(owner) + amount;
  let slowest: OpenBody | undefined;
  let slowestPace = Number.POSITIVE_INFINITY;
  for (const body of bodies) {
    const age = now - body.openedAt;
    if (body.pool !== pool || body.owner === owner || body.held === 0 || age < SHORT_GRACE_MS) continue;
    const pace = paceOf(body, marks, now);
    const holds = pool.holds(body.owner);
    if (pace >= SLOW_BYTES_PER_SECOND || holds < most || (holds === most && pace >= slowestPace)) continue;
    if (!slowest && holds === most) continue;
    slowest = body;
    slowestPace = pace;
    most = holds;
  }
  return slowest;
}

type Pool = ReturnType<typeof createPool>;

function createPool(size: number) {
  const share = size * OWNER_SHARE;
  const held = new Map<string, number>();
  let free = size;

  return {
    /** What stands in the way of taking so much: the owner's share, or the whole room. */
    missing(owner: string, amount: number): 'share' | 'room' | undefined {
      if ((held.get(owner) ?? 0) + amount > share) return 'share';
      return free < amount ? 'room' : undefined;
    },
    holds: (owner: string) => held.get(owner) ?? 0,
    take(owner: string, amount: number): void {
      free -= amount;
      held.set(owner, (held.get(owner) ?? 0) + amount);
    },
    give(owner: string, amount: number): void {
      if (amount === 0) return;
      free += amount;
      const left = (held.get(owner) ?? 0) - amount;
      if (left > 0) held.set(owner, left);
      else held.delete(owner);
    },
    taken: () => 1 - free / size,
  };
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
  const whose = missing === 'share' ? ' of this account or address' : '';
  return new GatewayError('queue_full', `Too many request bodies${whose} are being read at once.`, {
    retryAfterSeconds: 1,
  });
}
