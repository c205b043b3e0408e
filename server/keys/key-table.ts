import { hash } from 'node:crypto';
import { type Clock, GatewayError, type Logger } from 'mediagate';
import { type SlotAnswer, slotRequest, type WindowFamily, type Windows } from '../limits/index.js';
import { type ApiKeyRecord, type ApiKeys, type Grant } from './api-keys.js';
import { hashKey, isSameHash, keyAt, keyIdOf, type Pepper } from './keys.js';

declare module '../http/server-context.js' {
  interface AppDependencies {
    keys: KeyTable;
  }
}

const REFRESH_MS = 2_000;
/** Asked for again at each refresh, so that a slow commit hides no change. */
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

/** All keys in memory: checking one needs no database, so keys go on working while it is away. */
export interface KeyTable {
  /**
   * The record of a good key; at once where it was shown before.
   * @throws GatewayError `invalid_api_key`, `expired_api_key`, `revoked_api_key`, `account_suspended`.
   */
  verify(key: string): ApiKeyRecord | Promise<ApiKeyRecord>;
  /** Reads what has changed, so that what was changed here a moment ago holds here at once. Never rejects. */
  refresh(): Promise<void>;
  /**
   * The same for a key that nobody showed, since who asks is known otherwise.
   * @throws GatewayError `expired_api_key`, `revoked_api_key`, `account_suspended`.
   */
  admit(record: ApiKeyRecord): ApiKeyRecord;
  /** Milliseconds since what is in memory was what the database has. */
  ageMs(): number;
  /** Writes down what is still to be written and stops refreshing. */
  close(): Promise<void>;
}

/** Loads all keys, then follows changes within 2 s; a key made a moment ago elsewhere is looked up at once. */
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
  let away = false;

  let refreshedAt = await keys.now();
  let readAt = clock.monotonic();
  for (const record of await keys.list()) table.set(record.id, record);

  let refreshes = 0;
  let latest = Promise.resolve();

  /** One after the other: what was read before a change must not take the place of what was read after it. */
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
      // Whichever is earlier: a clock may have been set back meanwhile.
      for (const record of await keys.changedSince(Math.min(refreshedAt, startedAt) - OVERLAP_MS)) {
        table.set(record.id, record);
        unknown.delete(record.id);
      }
      refreshedAt = startedAt;
      readAt = beganAt;
      if (away) logger.info('keys are being refreshed again');
      away = false;
    } catch (error) {
      if (!away) logger.warn('keys cannot be refreshed; those in memory go on working', { error });
      away = true;
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

  function mayLookUp(id: string): boolean {
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

  async function lookUp(id: string): Promise<ApiKeyRecord | undefined> {
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
    if (!mayLookUp(id)) return undefined;
    const started = lookUp(id);
    lookups.set(id, started);
    return started;
  }

  async function verifyAnew(key: string): Promise<ApiKeyRecord> {
    const id = keyIdOf(key);
    if (id === undefined) throw invalid();
    const record = table.get(id) ?? (await find(id));
    // An unknown id costs the same work as a wrong secret, so that time tells nothing about ids.
    const pepper = peppers.get(record?.pepperVersion ?? -1);
    const same = isSameHash(hashKey(key, pepper ?? options.peppers[0]), record?.hash ?? UNKNOWN_HASH);
    if (record && pepper && same) return record;
    if (record && !pepper) logger.warn('a key was made under a pepper that is not configured', { keyId: record.id });
    throw invalid();
  }

  function admit(stored: ApiKeyRecord): ApiKeyRecord {
    const now = clock.now();
    // A plan may have ended since it was read, and another one come back.
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

/** Adds to a bounded memory: where there is no more room, the oldest goes. */
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

const FAMILIES: Readonly<Record<Grant, WindowFamily>> = {
  images: 'image',
  extract: 'link_data',
  text: 'model',
  audio: 'model',
};

/** How the windows of a key stand, by family. Undefined where it has none. Takes no slot. */
export type KeyWindows = Readonly<Record<string, SlotAnswer>>;

export async function readWindows(windows: Windows, key: ApiKeyRecord): Promise<KeyWindows | undefined> {
  if (key.rpm === null) return undefined;
  const families = [...new Set(key.grants.map((grant) => FAMILIES[grant]))];
  const looked: Record<string, SlotAnswer> = {};
  for (const family of families) {
    const request = slotRequest({ key, family });
    if (request) looked[family] = await windows.peek(request);
  }
  return looked;
}
