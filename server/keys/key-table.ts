import { hash } from 'node:crypto';
import { type Clock, GatewayError, type Logger } from 'mediagate';
import { consumeRequest, type RateLimitFamily, type RateLimitResult, type RateLimits } from '../limits/index.js';
import { type ApiKeyRecord, type ApiKeys, type Grant } from './api-keys.js';
import { hashKey, isSameHash, keyAt, keyIdOf, type Pepper } from './keys.js';

declare module '../http/server-context.js' {
  interface AppDependencies {
    keys: KeyTable;
  }
}

const REFRESH_MS = 2_000;
/** Read again at each refresh, so that a slow commit hides no change. */
const OVERLAP_MS = 60_000;
const TOUCH_MS = 10_000;
const LOOKUPS_PER_SECOND = 50;
const MAX_REMEMBERED = 10_000;
const UNKNOWN_HASH = '0'.repeat(64);

export interface KeyTableOptions {
  keys: Pick<ApiKeys, 'list' | 'find' | 'changedSince' | 'now' | 'touch'>;
  /** Newest first. */
  peppers: readonly [Pepper, ...Pepper[]];
  clock: Clock;
  logger: Logger;
}

/** All keys in memory: a check needs no database, so keys keep working while it is unavailable. */
export interface KeyTable {
  /**
   * The record of a valid key; synchronous if it was used before.
   * @throws GatewayError `invalid_api_key`, `expired_api_key`, `revoked_api_key`, `account_suspended`.
   */
  verify(key: string): ApiKeyRecord | Promise<ApiKeyRecord>;
  /** Reads changes, so that a change made here is effective here at once. Never rejects. */
  refresh(): Promise<void>;
  /**
   * The same without the secret, for a caller that is authenticated otherwise.
   * @throws GatewayError `expired_api_key`, `revoked_api_key`, `account_suspended`.
   */
  admit(record: ApiKeyRecord): ApiKeyRecord;
  /** Age of the data in memory, in milliseconds. */
  ageMs(): number;
  /** Writes pending changes and stops refreshing. */
  close(): Promise<void>;
}

/** Loads all keys, then follows changes within 2 s; an unknown key, made elsewhere a moment ago, is read at once. */
export async function openKeyTable(options: KeyTableOptions): Promise<KeyTable> {
  const { keys, clock, logger } = options;
  const peppers = new Map(options.peppers.map((pepper) => [pepper.version, pepper]));
  const table = new Map<string, ApiKeyRecord>();
  const unknown = new Map<string, number>();
  // Digest of a key → the record it was verified against: a busy client's key costs one digest instead of an HMAC.
  const verified = new Map<string, ApiKeyRecord>();
  const lookups = new Map<string, Promise<ApiKeyRecord | undefined>>();
  let uses = new Map<string, number>();
  let second = 0;
  let lookupsInSecond = 0;
  let isUnavailable = false;

  let refreshedAt = await keys.now();
  let readAt = clock.monotonic();
  for (const record of await keys.list()) table.set(record.id, record);

  let refreshes = 0;
  let latest = Promise.resolve();

  /** One after the other: an older read must not overwrite a newer one. */
  function refresh(): Promise<void> {
    refreshes += 1;
    latest = latest.then(readChanges).finally(() => {
      refreshes -= 1;
    });
    return latest;
  }

  function refreshUnlessRunning(): void {
    if (refreshes === 0) void refresh();
  }

  async function readChanges(): Promise<void> {
    const beganAt = clock.monotonic();
    try {
      const startedAt = await keys.now();
      // The earlier one: a clock may have been set back meanwhile.
      for (const record of await keys.changedSince(Math.min(refreshedAt, startedAt) - OVERLAP_MS)) {
        table.set(record.id, record);
        unknown.delete(record.id);
      }
      refreshedAt = startedAt;
      readAt = beganAt;
      if (isUnavailable) logger.info('keys are being refreshed again');
      isUnavailable = false;
    } catch (error) {
      if (!isUnavailable) logger.warn('keys cannot be refreshed; those in memory go on working', { error });
      isUnavailable = true;
    }
  }

  async function touch(): Promise<void> {
    if (uses.size === 0) return;
    const batch = uses;
    uses = new Map();
    try {
      await keys.touch(batch);
    } catch (error) {
      logger.warn('when keys were last used could not be written', { error, count: batch.size });
    }
  }

  function mayRead(id: string): boolean {
    const now = clock.monotonic();
    const askedAt = unknown.get(id);
    if (askedAt !== undefined && now - askedAt < REFRESH_MS) return false;
    if (Math.floor(now / 1000) !== second) {
      second = Math.floor(now / 1000);
      lookupsInSecond = 0;
    }
    lookupsInSecond += 1;
    return lookupsInSecond <= LOOKUPS_PER_SECOND;
  }

  async function readKey(id: string): Promise<ApiKeyRecord | undefined> {
    try {
      const record = await keys.find(id);
      if (record) table.set(id, record);
      else remember(unknown, id, clock.monotonic());
      return record;
    } catch (error) {
      logger.warn('a key could not be looked up', { error });
      return undefined;
    } finally {
      lookups.delete(id);
    }
  }

  function find(id: string): Promise<ApiKeyRecord | undefined> | undefined {
    const running = lookups.get(id);
    if (running) return running;
    if (!mayRead(id)) return undefined;
    const started = readKey(id);
    lookups.set(id, started);
    return started;
  }

  async function verifyAnew(key: string): Promise<ApiKeyRecord> {
    const id = keyIdOf(key);
    if (id === undefined) throw invalid();
    const record = table.get(id) ?? (await find(id));
    // An unknown id costs the same work as a wrong secret, so that timing reveals no ids.
    const pepper = peppers.get(record?.pepperVersion ?? -1);
    const same = isSameHash(hashKey(key, pepper ?? options.peppers[0]), record?.hash ?? UNKNOWN_HASH);
    if (record && pepper && same) return record;
    if (record && !pepper) logger.warn('a key was made under a pepper that is not configured', { keyId: record.id });
    throw invalid();
  }

  function admit(stored: ApiKeyRecord): ApiKeyRecord {
    const now = clock.now();
    // A plan may have ended since it was read, and another one resumed.
    const record = keyAt(stored, now);
    if (record.revokedAt !== null) throw new GatewayError('revoked_api_key', 'This API key was revoked.');
    if (record.expiresAt !== null && record.expiresAt <= now) {
      throw new GatewayError('expired_api_key', 'This API key has expired.');
    }
    if (record.suspendedAt !== null) throw new GatewayError('account_suspended', 'This account is suspended.');
    uses.set(record.id, now);
    return record;
  }

  const timers = [setInterval(refreshUnlessRunning, REFRESH_MS), setInterval(touch, TOUCH_MS)];
  for (const timer of timers) timer.unref();

  return {
    verify(key) {
      const digest = hash('sha256', key);
      const known = verified.get(digest);
      if (known && table.get(known.id) === known) return admit(known);
      return verifyAnew(key).then((record) => {
        remember(verified, digest, record);
        return admit(record);
      });
    },
    refresh,
    admit,
    ageMs: () => clock.monotonic() - readAt,
    async close() {
      for (const timer of timers) clearInterval(timer);
      await touch();
    },
  };
}

/** Adds to a bounded map: beyond its limit, the oldest entry is evicted. */
function remember<Value>(memory: Map<string, Value>, name: string, value: Value): void {
  if (memory.size >= MAX_REMEMBERED) {
    const [oldest] = memory.keys();
    if (oldest !== undefined) memory.delete(oldest);
  }
  memory.set(name, value);
}

function invalid(): GatewayError {
  return new GatewayError('invalid_api_key', 'This API key is not valid.');
}

const FAMILIES: Readonly<Record<Grant, RateLimitFamily>> = {
  images: 'image',
  extract: 'link_data',
  text: 'model',
  audio: 'model',
};

/** The rate limits of a key, by family. Undefined if it has none. Consumes nothing. */
export type KeyRateLimits = Readonly<Record<string, RateLimitResult>>;

export async function readRateLimits(rateLimits: RateLimits, key: ApiKeyRecord): Promise<KeyRateLimits | undefined> {
  if (key.rpm === null) return undefined;
  const families = [...new Set(key.grants.map((grant) => FAMILIES[grant]))];
  const results: Record<string, RateLimitResult> = {};
  for (const family of families) {
    const request = consumeRequest({ key, family });
    if (request) results[family] = await rateLimits.peek(request);
  }
  return results;
}
