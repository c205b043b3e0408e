/*
 * Caches extraction results by link: 32 MiB in memory, backed by the shared cache. Complete results are fresh for the
 * configured time, partial ones and definitive refusals for 30 seconds; other failures are not cached. Results of up to
 * a day are available for outages. A new result replaces the older one, also a partial one a complete one. A result is
 * not served in the last minute before its first media URL expires. Once an item is removed or private, this process
 * serves no older result of it, and deletes that of the shared cache; another node has its own in memory until it
 * fetches the item itself. Reads wait for the shared cache, up to its timeout; no answer waits for a write to it.
 */

import { LRUCache } from 'lru-cache';
import type { Cache, Clock, Extraction } from '../contracts/index.js';
import { type ErrorCode, GatewayError, isDefinitiveCode } from '../runtime/index.js';
import { boundedTable } from '../storage/index.js';
import { entriesOf } from './media/media-links.js';

/** An extraction and when it was fetched. */
export interface CachedResult {
  extraction: Extraction;
  /** Milliseconds since 1970. */
  fetchedAt: number;
}

const MEMORY_BYTES = 32 * 1024 * 1024;
/** Maximum size of a document as JSON; the largest of real pages has a twentieth of that. */
const MAX_CHARACTERS = 8 * 1024 * 1024;
const STALE_MS = 86_400_000;
/**
 * Retention of partial results, of results whose media had expired when they were fetched, and of refusals: long enough
 * to stop a burst of requests, short enough not to keep a temporary error.
 */
const BRIEF_MS = 30_000;
/** A cached result is not served in the last minute of a media URL: its client still has to download the file. */
const MEDIA_MARGIN_MS = 60_000;
/** An item that its owner removed is not served from an older result either. */
const WITHDRAWN: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['removed', 'private']);

export interface ResultCacheOptions {
  cache: Cache;
  clock: Clock;
  /** Milliseconds that a complete result counts as fresh. */
  ttlMs: number;
}

/**
 * Results by link: in memory, backed by the shared cache. No result is served from the minute before the first of its
 * media URLs expires, neither as fresh nor as stale. One that arrived with an expired URL is served for 30 seconds.
 */
export class ResultCache {
  readonly #cache: Cache;
  readonly #clock: Clock;
  readonly #ttlMs: number;
  readonly #memory = new LRUCache<string, CachedResult>({ maxSize: MEMORY_BYTES, sizeCalculation: estimateBytes });
  readonly #refusals = boundedTable<{ error: GatewayError; until: number }>(10_000);
  /**
   * When items were withdrawn, in milliseconds since 1970. Results fetched before that are not served again, from any
   * cache.
   */
  readonly #withdrawn = boundedTable<number>(10_000);

  constructor({ cache, clock, ttlMs }: ResultCacheOptions) {
    this.#cache = cache;
    this.#clock = clock;
    this.#ttlMs = ttlMs;
  }

  /** A fresh result. @throws GatewayError if a definitive refusal is cached. */
  async fresh(key: string): Promise<CachedResult | undefined> {
    this.#throwRefusal(key);
    const cached = await this.#load(key);
    this.#throwRefusal(key);
    return cached && this.#isFresh(cached) ? cached : undefined;
  }

  /** At most a day old, for outages of the source. */
  async stale(key: string): Promise<CachedResult | undefined> {
    const cached = await this.#load(key);
    return cached && this.#isWithin(STALE_MS, cached) ? cached : undefined;
  }

  /**
   * Caches a result; `stored` resolves when the shared cache has it, or failed.
   * @throws GatewayError `upstream_changed` if it is larger than any real item.
   */
  keep(key: string, extraction: Extraction): { cached: CachedResult; stored: Promise<void> } {
    const cached = { extraction, fetchedAt: this.#clock.now() };
    const size = estimateBytes(cached);
    if (size > MAX_CHARACTERS * BYTES_PER_CHARACTER) {
      throw new GatewayError('upstream_changed', 'The source sent more than an item can have.');
    }
    this.#memory.set(key, cached, { size });
    this.#refusals.delete(key);
    // The answer does not wait for the shared cache: a result that could not be cached is fetched again.
    return { cached, stored: this.#cache.set(key, withoutVisit(cached), STALE_MS) };
  }

  /** What another process has fetched, at that time or later. */
  async fetched(key: string, at: number): Promise<CachedResult | undefined> {
    const cached = await this.#load(key);
    return cached && cached.fetchedAt >= at ? cached : undefined;
  }

  /** Caches what another process fetched, if it is the newest. Returns the newest. */
  adopt(key: string, cached: CachedResult): CachedResult {
    const remembered = this.#memory.get(key);
    if (remembered?.fetchedAt === cached.fetchedAt) return remembered;
    if (this.#isWithdrawn(key, cached)) return cached;
    // Another process has fetched it since it was refused here.
    const refusal = this.#refusals.get(key);
    if (refusal && cached.fetchedAt > refusal.until - BRIEF_MS) this.#refusals.delete(key);
    if (this.#isFresh(cached) && (!remembered || remembered.fetchedAt < cached.fetchedAt))
      this.#memory.set(key, cached);
    return cached;
  }

  keepRefusal(key: string, error: GatewayError): void {
    if (isDefinitiveCode(error.code)) this.#refusals.set(key, { error, until: this.#clock.now() + BRIEF_MS });
    if (!WITHDRAWN.has(error.code)) return;
    this.#withdrawn.set(key, this.#clock.now());
    this.#memory.delete(key);
    void this.#cache.delete(key);
  }

  /** The shared cache is read only if memory has nothing fresh: another process may have fetched since. */
  async #load(key: string): Promise<CachedResult | undefined> {
    const remembered = this.#memory.get(key);
    if (remembered && this.#isFresh(remembered)) return remembered;
    const stored = await this.#cache.get<CachedResult>(key);
    // Read again: another request may have fetched while this one waited.
    const latest = this.#memory.get(key);
    if (!stored || this.#isWithdrawn(key, stored)) return latest;
    if (latest && latest.fetchedAt >= stored.fetchedAt) return latest;
    this.#memory.set(key, stored);
    return stored;
  }

  #isFresh(cached: CachedResult): boolean {
    return this.#isWithin(cached.extraction.partial ? Math.min(BRIEF_MS, this.#ttlMs) : this.#ttlMs, cached);
  }

  /** Whether it is younger than that, and its media can still be downloaded. */
  #isWithin(ageMs: number, cached: CachedResult): boolean {
    const now = this.#clock.now();
    return now - cached.fetchedAt < ageMs && now < mediaUsableUntil(cached);
  }

  #isWithdrawn(key: string, { fetchedAt }: CachedResult): boolean {
    return fetchedAt <= (this.#withdrawn.get(key) ?? Number.NEGATIVE_INFINITY);
  }

  #throwRefusal(key: string): void {
    const refusal = this.#refusals.get(key);
    if (!refusal) return;
    if (this.#clock.now() < refusal.until) throw refusal.error;
    this.#refusals.delete(key);
  }
}

/** Cookies of a visit stay in the process that made it: a shared cache may be a database. */
export function withoutVisit({ extraction, fetchedAt }: CachedResult): CachedResult {
  const { mediaHeaders: _visit, ...rest } = extraction;
  return { extraction: rest, fetchedAt };
}

const usableUntil = new WeakMap<CachedResult, number>();

/**
 * When the first media URL is about to expire, in milliseconds since 1970; infinite without an expiry. Each hit asks,
 * so it is read once.
 */
function mediaUsableUntil(cached: CachedResult): number {
  const known = usableUntil.get(cached);
  if (known !== undefined) return known;
  const { extraction, fetchedAt } = cached;
  let until = Number.POSITIVE_INFINITY;
  for (const { expires_at } of entriesOf(extraction.data)) {
    const expiresAt = expires_at === undefined ? Number.NaN : Date.parse(expires_at);
    // The source gave a URL that had expired: another fetch would give the same, and each request would fetch.
    if (expiresAt <= fetchedAt) until = Math.min(until, fetchedAt + BRIEF_MS);
    else if (expiresAt > fetchedAt) until = Math.min(until, expiresAt - MEDIA_MARGIN_MS);
  }
  usableUntil.set(cached, until);
  return until;
}

const BYTES_PER_CHARACTER = 2;

/** Accurate enough for a limit: documents are mostly text. */
function estimateBytes(cached: CachedResult): number {
  return JSON.stringify(cached).length * BYTES_PER_CHARACTER;
}
