import { LRUCache } from 'lru-cache';
import type { Cache, Clock, Extraction } from '../contracts/index.js';
import { type ErrorCode, GatewayError, isDefinitiveCode, unlessAborted } from '../runtime/index.js';

/** An extraction and when it was fetched. */
export interface Kept {
  extraction: Extraction;
  /** Milliseconds since 1970. */
  fetchedAt: number;
}

/** Results by link, in memory first and in the shared cache behind it. */
export interface ResultCache {
  /** Young enough to be answered as it is. @throws GatewayError where a definitive "no" was kept. */
  fresh(key: string): Promise<Kept | undefined>;
  /** At most a day old, for when the source cannot be reached. */
  stale(key: string): Promise<Kept | undefined>;
  /** @throws GatewayError `upstream_changed` where it is larger than any item can be. */
  keep(key: string, extraction: Extraction): Kept;
  /** Remembers what another process kept, where that is the youngest there is. The one to use is returned. */
  adopt(key: string, kept: Kept): Kept;
  keepRefusal(key: string, error: GatewayError): void;
}

const MEMORY_BYTES = 32 * 1024 * 1024;
/** Of a document as JSON; the largest of real pages has a twentieth of that. */
const MAX_CHARACTERS = 8 * 1024 * 1024;
const STALE_MS = 86_400_000;
/** Partial results and refusals: long enough to stop a storm, short enough not to hold an error against a link. */
const BRIEF_MS = 30_000;
/** What its owner took away is not shown from an older answer either. */
const WITHDRAWN: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['removed', 'private']);

export interface ResultCacheOptions {
  cache: Cache;
  clock: Clock;
  /** Milliseconds that a whole result counts as fresh. */
  ttlMs: number;
}

export function createResultCache({ cache, clock, ttlMs }: ResultCacheOptions): ResultCache {
  const memory = new LRUCache<string, Kept>({ maxSize: MEMORY_BYTES, sizeCalculation: estimateBytes });
  const refusals = new LRUCache<string, { error: GatewayError; until: number }>({ max: 10_000 });
  /** When items were withdrawn, in milliseconds since 1970: what was fetched before is not shown again, wherever it comes from. */
  const withdrawn = new LRUCache<string, number>({ max: 10_000 });

  const age = (kept: Kept) => clock.now() - kept.fetchedAt;
  const isWithdrawn = (key: string, { fetchedAt }: Kept) =>
    fetchedAt <= (withdrawn.get(key) ?? Number.NEGATIVE_INFINITY);
  const isFresh = (kept: Kept) => age(kept) < (kept.extraction.partial ? Math.min(BRIEF_MS, ttlMs) : ttlMs);

  /** The shared cache is asked only where memory has nothing fresh: another process may have fetched since. */
  async function load(key: string): Promise<Kept | undefined> {
    const remembered = memory.get(key);
    if (remembered && isFresh(remembered)) return remembered;
    const stored = await cache.get<Kept>(key);
    if (!stored || isWithdrawn(key, stored)) return remembered;
    if (remembered && remembered.fetchedAt >= stored.fetchedAt) return remembered;
    memory.set(key, stored);
    return stored;
  }

  return {
    async fresh(key) {
      const refusal = refusals.get(key);
      if (refusal) {
        if (clock.now() < refusal.until) throw refusal.error;
        refusals.delete(key);
      }
      const kept = await load(key);
      return kept && isFresh(kept) ? kept : undefined;
    },
    async stale(key) {
      const kept = await load(key);
      return kept && age(kept) < STALE_MS ? kept : undefined;
    },
    keep(key, extraction) {
      const kept = { extraction, fetchedAt: clock.now() };
      const size = estimateBytes(kept);
      if (size > MAX_CHARACTERS * BYTES_PER_CHARACTER) {
        throw new GatewayError('upstream_changed', 'The source gave more than an item can have.');
      }
      memory.set(key, kept, { size });
      refusals.delete(key);
      // The answer does not wait for the shared cache: a result that is not kept there is fetched again, nothing more.
      void cache.set(key, kept, STALE_MS);
      return kept;
    },
    adopt(key, kept) {
      const remembered = memory.get(key);
      if (remembered?.fetchedAt === kept.fetchedAt) return remembered;
      if (isWithdrawn(key, kept)) return kept;
      // Another process has found it since it was refused here.
      const refusal = refusals.get(key);
      if (refusal && kept.fetchedAt > refusal.until - BRIEF_MS) refusals.delete(key);
      if (isFresh(kept) && (!remembered || remembered.fetchedAt < kept.fetchedAt)) memory.set(key, kept);
      return kept;
    },
    keepRefusal(key, error) {
      if (isDefinitiveCode(error.code)) refusals.set(key, { error, until: clock.now() + BRIEF_MS });
      if (!WITHDRAWN.has(error.code)) return;
      withdrawn.set(key, clock.now());
      memory.delete(key);
      void cache.delete(key);
    },
  };
}

const BYTES_PER_CHARACTER = 2;

/** Close enough for a bound: documents are mostly text. */
function estimateBytes(kept: Kept): number {
  return JSON.stringify(kept).length * BYTES_PER_CHARACTER;
}

/** One piece of work for everybody who asks for the same thing at the same time. */
export interface SingleFlight<Result> {
  /**
   * Joins the running work of this key, or starts it. The work's signal aborts when nobody waits any more.
   * @throws what the work throws, or the reason of this caller's own signal.
   */
  join(key: string, signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<Result>): Promise<Result>;
  readonly size: number;
}

interface Flight<Result> {
  result: Promise<Result>;
  waiting: number;
  readonly controller: AbortController;
}

export function createSingleFlight<Result>(): SingleFlight<Result> {
  const flights = new Map<string, Flight<Result>>();

  function start(key: string, work: (signal: AbortSignal) => Promise<Result>): Flight<Result> {
    const controller = new AbortController();
    const flight: Flight<Result> = { result: work(controller.signal), waiting: 0, controller };
    const land = () => {
      if (flights.get(key) === flight) flights.delete(key);
    };
    flight.result.then(land, land);
    flights.set(key, flight);
    return flight;
  }

  return {
    get size() {
      return flights.size;
    },
    async join(key, signal, work) {
      signal?.throwIfAborted();
      const flight = flights.get(key) ?? start(key, work);
      flight.waiting += 1;
      try {
        return await unlessAborted(signal, flight.result);
      } finally {
        flight.waiting -= 1;
        if (flight.waiting === 0 && flights.get(key) === flight) {
          // Whoever asks from now on starts anew instead of joining work that is being thrown away.
          flights.delete(key);
          flight.controller.abort(signal?.reason);
        }
      }
    },
  };
}
