/*
 * All API keys in the memory of this process, so that a check needs no database. While the database is unavailable,
 * known keys stay valid: requests that need nothing else of it are answered, and those with a rate limit, a budget or a
 * job are refused with 503. Changes are read every 2 s, by the database's marks of change, and at once where a worker
 * of this machine made one; an unknown key, which another node may have made a moment ago, is looked up at once, at
 * most 50 times a second. A key that was verified before costs one digest instead of an HMAC; an unknown id costs the
 * same work as a wrong secret. Streams and long polls of a key that is revoked or suspended end as soon as this node
 * reads it, and its jobs are cancelled. Times of last use are written every 10 s.
 */

import { hash } from 'node:crypto';
import {
  type Clock,
  GatewayError,
  isGatewayError,
  type Logger,
  noSiblings,
  type Siblings,
} from '../../core/runtime/index.js';
import type { ApiKeys } from './api-keys.js';
import { type ApiKeyRecord, endsJobs, keyAt } from './key-rows.js';
import { hashKey, isAgentToken, isDeviceToken, isSameHash, keyIdOf, type Pepper } from './keys.js';

const REFRESH_MS = 2_000;
/** Read again at each refresh, so that a slow commit hides no change. */
const OVERLAP_MS = 60_000;
const TOUCH_MS = 10_000;
const LOOKUPS_PER_SECOND = 50;
const MAX_REMEMBERED = 10_000;
const UNKNOWN_HASH = '0'.repeat(64);

export interface KeyTableOptions {
  keys: Pick<ApiKeys, 'list' | 'find' | 'changedSince' | 'now' | 'touch' | 'endJobs'>;
  /** Newest first. */
  peppers: readonly [Pepper, ...Pepper[]];
  clock: Clock;
  logger: Logger;
  /** The other workers of this machine. Default: none. */
  siblings?: Siblings;
}

/** Topic of siblings: keys have changed. */
const CHANGED = 'keys_changed';

type End = (error: GatewayError) => void;

/** All keys in memory, and the clock by which they end. */
export class KeyTable {
  readonly #keys: KeyTableOptions['keys'];
  readonly #peppers: ReadonlyMap<number, Pepper>;
  readonly #newestPepper: Pepper;
  readonly #monotonic: () => number;
  readonly #logger: Logger;
  readonly #siblings: Siblings;
  readonly #records = new Map<string, ApiKeyRecord>();
  /** Ids that the database does not have, and when it was asked. */
  readonly #unknown = new Map<string, number>();
  /** Digest of a key → the record it was verified against: a busy client's key costs one digest instead of an HMAC. */
  readonly #verified = new Map<string, ApiKeyRecord>();
  readonly #lookups = new Map<string, Promise<ApiKeyRecord | undefined>>();
  /** Keys that have ended since this node started, and may still have jobs that it accepted. */
  readonly #unended = new Map<string, ApiKeyRecord>();
  /** Open streams and long polls, by key. */
  readonly #followers = new Map<string, Set<End>>();
  readonly #timers: NodeJS.Timeout[] = [];
  #uses = new Map<string, number>();
  #lookupSecond = 0;
  #lookupsInSecond = 0;
  #isUnavailable = false;
  /** Time of the database minus the monotonic clock. */
  #offsetMs = 0;
  /** Time of the database at the latest refresh. */
  #refreshedAt = 0;
  /** Monotonic time at which the latest refresh began. */
  #readAt = 0;
  #refreshes = 0;
  #latestRefresh = Promise.resolve();

  /**
   * The clock of the database, by which keys, plans and sessions end on all nodes: read at each refresh, and in between
   * by the monotonic clock of this process.
   */
  readonly clock: Clock;

  private constructor({ keys, peppers, clock, logger, siblings = noSiblings }: KeyTableOptions) {
    this.#keys = keys;
    this.#peppers = new Map(peppers.map((pepper) => [pepper.version, pepper]));
    this.#newestPepper = peppers[0];
    this.#logger = logger;
    this.#siblings = siblings;
    this.#monotonic = () => clock.monotonic();
    this.clock = {
      now: () => Math.floor(this.#offsetMs + clock.monotonic()),
      monotonic: () => clock.monotonic(),
      sleep: (ms, signal) => clock.sleep(ms, signal),
    };
  }

  /** Loads all keys, then follows changes within 2 s. */
  static async open(options: KeyTableOptions): Promise<KeyTable> {
    const table = new KeyTable(options);
    await table.#load();
    return table;
  }

  async #load(): Promise<void> {
    this.#refreshedAt = await this.#readDatabaseTime();
    this.#readAt = this.#monotonic();
    this.#siblings.on(CHANGED, () => void this.#refresh());
    for (const record of await this.#keys.list()) this.#records.set(record.id, record);
    this.#timers.push(
      setInterval(() => {
        if (this.#refreshes === 0) void this.#refresh();
      }, REFRESH_MS),
      setInterval(() => this.#touch(), TOUCH_MS),
    );
    for (const timer of this.#timers) timer.unref();
  }

  /**
   * The record of a valid key; synchronous if it was used before.
   * @throws GatewayError `invalid_api_key`, `expired_api_key`, `revoked_api_key`, `account_suspended`;
   *   `upstream_unavailable` for a key that is not in memory while the database is unavailable.
   */
  verify(key: string): ApiKeyRecord | Promise<ApiKeyRecord> {
    const digest = hash('sha256', key);
    const known = this.#verified.get(digest);
    if (known && this.#records.get(known.id) === known) return this.admit(known);
    return this.#verifyAnew(key).then((record) => {
      remember(this.#verified, digest, record);
      return this.admit(record);
    });
  }

  /**
   * Admits a stored key without its secret, for a caller that is authenticated otherwise.
   * @throws GatewayError `expired_api_key`, `revoked_api_key`, `account_suspended`.
   */
  admit(stored: ApiKeyRecord): ApiKeyRecord {
    const now = this.clock.now();
    // A plan may have ended since it was read, and another one resumed.
    const record = keyAt(stored, now);
    if (record.revokedAt !== null) throw endOf(record);
    if (record.expiresAt !== null && record.expiresAt <= now) {
      throw new GatewayError('expired_api_key', 'This API key has expired.');
    }
    if (record.suspendedAt !== null) throw endOf(record);
    this.#uses.set(record.id, now);
    return record;
  }

  /**
   * Admits a key by its id, for a caller that has something signed for it; synchronous if the key is in memory.
   * @throws GatewayError `invalid_api_key` if there is no such key; as {@link admit}.
   */
  admitId(id: string): ApiKeyRecord | Promise<ApiKeyRecord> {
    const known = this.#records.get(id);
    return known ? this.admit(known) : this.#admitUnknown(id);
  }

  async #admitUnknown(id: string): Promise<ApiKeyRecord> {
    const record = await this.#find(id);
    if (!record) throw new GatewayError('invalid_api_key', 'There is no such API key any more.');
    return this.admit(record);
  }

  /** Reads changes, so that a change made here is effective at once, in all workers of this machine. Never rejects. */
  refresh(): Promise<void> {
    this.#siblings.post(CHANGED);
    return this.#refresh();
  }

  /** Refreshes run one after the other: an older read must not overwrite a newer one. */
  #refresh(): Promise<void> {
    this.#refreshes += 1;
    this.#latestRefresh = this.#latestRefresh
      .then(() => this.#readChanges())
      .finally(() => {
        this.#refreshes -= 1;
      });
    return this.#latestRefresh;
  }

  /**
   * Calls `end` once, as soon as this node reads that the key was revoked or its account suspended; at once if it knows
   * that already. Call the result when there is nothing to end any more.
   * @param end Receives `revoked_api_key` or `account_suspended`; must not throw.
   */
  follow(id: string, end: End): () => void {
    const record = this.#records.get(id);
    const error = record && endOf(record);
    if (error) {
      end(error);
      return () => undefined;
    }
    const ends = this.#followers.get(id) ?? new Set();
    this.#followers.set(id, ends.add(end));
    return () => {
      ends.delete(end);
      if (ends.size === 0 && this.#followers.get(id) === ends) this.#followers.delete(id);
    };
  }

  /** Age of the data in memory, in milliseconds. */
  ageMs(): number {
    return this.#monotonic() - this.#readAt;
  }

  /** Writes pending changes and stops refreshing. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await this.#touch();
  }

  /** The database has read its clock between question and answer. */
  async #readDatabaseTime(): Promise<number> {
    const askedAt = this.#monotonic();
    const time = await this.#keys.now();
    this.#offsetMs = time - (askedAt + this.#monotonic()) / 2;
    return time;
  }

  async #readChanges(): Promise<void> {
    const beganAt = this.#monotonic();
    try {
      const startedAt = await this.#readDatabaseTime();
      // The earlier one: a clock may have been set back meanwhile.
      for (const record of await this.#keys.changedSince(Math.min(this.#refreshedAt, startedAt) - OVERLAP_MS)) {
        const known = this.#records.get(record.id);
        this.#records.set(record.id, record);
        this.#unknown.delete(record.id);
        this.#endFollowers(record);
        if (endsJobs(record) && !(known && endsJobs(known))) this.#unended.set(record.id, record);
      }
      this.#refreshedAt = startedAt;
      this.#readAt = beganAt;
      // From here on this node accepts nothing of these keys, so nothing is left afterwards.
      for (const [id, record] of this.#unended) {
        await this.#keys.endJobs(record);
        this.#unended.delete(id);
      }
      if (this.#isUnavailable) this.#logger.info('API keys are refreshed again');
      this.#isUnavailable = false;
    } catch (error) {
      if (!this.#isUnavailable) {
        this.#logger.warn('API keys cannot be refreshed; those in memory keep working', { error });
      }
      this.#isUnavailable = true;
    }
  }

  #endFollowers(record: ApiKeyRecord): void {
    const error = endOf(record);
    const ends = error && this.#followers.get(record.id);
    if (!ends) return;
    this.#followers.delete(record.id);
    for (const end of ends) end(error);
  }

  async #touch(): Promise<void> {
    if (this.#uses.size === 0) return;
    const batch = this.#uses;
    this.#uses = new Map();
    try {
      await this.#keys.touch(batch);
    } catch (error) {
      this.#logger.warn('when keys were last used could not be written', { error, count: batch.size });
    }
  }

  async #verifyAnew(key: string): Promise<ApiKeyRecord> {
    const id = keyIdOf(key);
    if (id === undefined) throw invalid(key);
    const record = this.#records.get(id) ?? (await this.#find(id));
    // An unknown id costs the same work as a wrong secret, so that timing reveals no ids.
    const pepper = this.#peppers.get(record?.pepperVersion ?? -1);
    const same = isSameHash(hashKey(key, pepper ?? this.#newestPepper), record?.hash ?? UNKNOWN_HASH);
    if (record && pepper && same) return record;
    if (record && !pepper) {
      this.#logger.warn('a key was created under a pepper that is not configured', { keyId: record.id });
    }
    throw invalid(key);
  }

  #find(id: string): Promise<ApiKeyRecord | undefined> | undefined {
    const running = this.#lookups.get(id);
    if (running) return running;
    if (!this.#mayRead(id)) return undefined;
    const started = this.#readKey(id);
    this.#lookups.set(id, started);
    return started;
  }

  #mayRead(id: string): boolean {
    const now = this.#monotonic();
    const askedAt = this.#unknown.get(id);
    if (askedAt !== undefined && now - askedAt < REFRESH_MS) return false;
    const second = Math.floor(now / 1000);
    if (second !== this.#lookupSecond) {
      this.#lookupSecond = second;
      this.#lookupsInSecond = 0;
    }
    this.#lookupsInSecond += 1;
    return this.#lookupsInSecond <= LOOKUPS_PER_SECOND;
  }

  async #readKey(id: string): Promise<ApiKeyRecord | undefined> {
    try {
      const record = await this.#keys.find(id);
      if (record) this.#records.set(id, record);
      else remember(this.#unknown, id, this.#monotonic());
      return record;
    } catch (error) {
      this.#logger.warn('a key could not be looked up', { error });
      // It may be a new and valid key of another node.
      throw error;
    } finally {
      this.#lookups.delete(id);
    }
  }
}

/** Adds to a bounded map: beyond its limit, the oldest entry is evicted. */
function remember<Value>(memory: Map<string, Value>, name: string, value: Value): void {
  if (memory.size >= MAX_REMEMBERED) {
    const [oldest] = memory.keys();
    if (oldest !== undefined) memory.delete(oldest);
  }
  memory.set(name, value);
}

/** Why the key ends what it has begun; undefined if it does not. An expired key only begins nothing more. */
function endOf({ revokedAt, suspendedAt }: ApiKeyRecord): GatewayError | undefined {
  if (revokedAt !== null) return new GatewayError('revoked_api_key', 'This API key was revoked.');
  if (suspendedAt !== null) return new GatewayError('account_suspended', 'This account is suspended.');
  return undefined;
}

/** A signal that aborts as soon as this node reads that the key was revoked or its account suspended. */
export function followKey(keys: Pick<KeyTable, 'follow'>, id: string): { ended: AbortSignal; leave: () => void } {
  const ending = new AbortController();
  return { ended: ending.signal, leave: keys.follow(id, (error) => ending.abort(error)) };
}

const ENDS: ReadonlySet<string> = new Set([
  'invalid_api_key',
  'expired_api_key',
  'revoked_api_key',
  'account_suspended',
]);

/** Whether an error says that a key may not be used any more. */
export function isKeyEnd(error: unknown): boolean {
  return isGatewayError(error) && ENDS.has(error.code);
}

function invalid(key: string): GatewayError {
  if (isAgentToken(key))
    return new GatewayError('invalid_api_key', 'A token of an agent is valid for /mcp. This route needs an API key.');
  const message = isDeviceToken(key)
    ? 'This token of a sign-in is valid for routes under /api. This route needs an API key.'
    : 'This API key is not valid.';
  return new GatewayError('invalid_api_key', message);
}
