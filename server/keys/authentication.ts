/*
 * Verifies the API key of a request and its grant before the body is read. All keys are in memory, so a check needs no
 * database and keys keep working while it is unavailable. Changes are read every 2 s; an unknown key is looked up at
 * once, at most 50 times a second. A key that was verified before costs one digest instead of an HMAC. An unknown id
 * costs the same work as a wrong secret. Too many refused keys block an address. Streams of a key that is revoked or
 * suspended end as soon as the node reads it.
 */

import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type Clock, GatewayError, isGatewayError, type Logger } from '../../core/runtime/index.js';
import type { AddressOf, FixedWindowLimiter, Middleware, Next, PollGuard, RequestContext } from '../http/index.js';
import { consumeRequest, type RateLimitFamily, type RateLimitResult, type RateLimits } from '../limits/index.js';
import { type ApiKeyRecord, type ApiKeys, endsJobs, type Grant } from './api-keys.js';
import { GRANTS, hashKey, isDeviceToken, isPlanKey, isSameHash, keyAt, keyIdOf, type Pepper } from './keys.js';

declare module '../http/koa-app.js' {
  interface RequestState {
    /** The API key of the request, once it is verified. */
    key?: ApiKeyRecord;
    /** The key of a signed-in user, for requests from the playground; set once the session is verified. */
    playedKey?: ApiKeyRecord;
  }
}

export interface AuthOptions {
  keys: KeyTable;
  failures: FixedWindowLimiter;
  addressOf: AddressOf;
  /** URL of the page where keys are made, named in errors. */
  siteUrl?: string;
}

export interface RouteAuth {
  /** One of several is enough. */
  grant: Grant | readonly Grant[] | 'any';
  /**
   * Whether `X-API-Key` is accepted besides `Authorization: Bearer`; in Anthropic's format it always is. Default false.
   */
  apiKeyHeader?: boolean;
  /** What a key without the grant may do instead. Default: nothing. */
  advice?(grants: readonly string[]): string | undefined;
}

/** Checks the key and its grant, before the body is read. */
export function createAuth({ keys, failures, addressOf, siteUrl }: AuthOptions) {
  const whereToGet = siteUrl ? ` Create a key at ${siteUrl}.` : '';

  function refuse({ req: request }: RequestContext, error: unknown): never {
    const address = addressOf(request);
    const blockedFor = failures.blockedFor(address);
    if (blockedFor !== undefined) {
      throw new GatewayError('rate_limit_exceeded', 'Too many refused API keys from this address.', {
        retryAfterSeconds: blockedFor,
        cause: error,
      });
    }
    // A missing key is no guess, and an unavailable database is not the caller's fault.
    if (isGatewayError(error) && error.code === 'invalid_api_key') failures.add(address);
    throw error;
  }

  return ({ grant, apiKeyHeader = false, advice }: RouteAuth): Middleware => {
    const wanted = grant === 'any' ? undefined : typeof grant === 'string' ? [grant] : grant;
    return (context: RequestContext, next: Next): Promise<unknown> => {
      const { playedKey } = context.state;
      const verified = playedKey ?? verify(context);
      return verified instanceof Promise
        ? verified.then((key) => letIn(context, key, next))
        : letIn(context, verified, next);
    };

    function letIn(context: RequestContext, key: ApiKeyRecord, next: Next): Promise<unknown> {
      context.state.key = key;
      if (!isPlanKey(key)) context.state.vendorLimits = key.rpm === null ? 'all' : 'named';
      const { grants, rpm } = key;
      if (wanted && !wanted.some((one) => grants.includes(one))) {
        const more = advice?.(grants);
        const message = `This API key is not granted this route (${wanted.join(' or ')}).`;
        throw new GatewayError('route_not_allowed', more === undefined ? message : `${message} ${more}`);
      }
      if (wanted && rpm === 0)
        throw new GatewayError('route_not_allowed', 'This API key may make 0 requests a minute.');
      return next();
    }

    function verify(context: RequestContext): ApiKeyRecord | Promise<ApiKeyRecord> {
      try {
        const isHeaderAllowed = apiKeyHeader || context.state.anthropic === true;
        const token = sentKey(context.req, isHeaderAllowed);
        if (token === undefined) {
          const accepted = isHeaderAllowed
            ? 'Authorization: Bearer <key> or X-API-Key: <key>'
            : 'Authorization: Bearer <key>';
          throw new GatewayError('missing_api_key', `No API key was sent. Send ${accepted}.${whereToGet}`);
        }
        if (isDeviceToken(token)) {
          const message = 'This token of a sign-in is valid for routes under /api. This route needs an API key.';
          throw new GatewayError('invalid_api_key', message);
        }
        const verified = keys.verify(token);
        return verified instanceof Promise ? verified.catch((error) => refuse(context, error)) : verified;
      } catch (error) {
        return refuse(context, error);
      }
    }
  };
}

/** The key that {@link createAuth} verified. */
export function keyOf({ state: { key } }: RequestContext): ApiKeyRecord {
  if (!key) throw new Error('a route asked for the key before it was checked');
  return key;
}

/** The key of a request that polls. @throws GatewayError `rate_limit_exceeded` if it polls without a pause. */
export function pollingKeyOf(context: RequestContext, polls: PollGuard): ApiKeyRecord {
  const key = keyOf(context);
  polls.admit(key.id);
  return key;
}

function sentKey(request: IncomingMessage, allowApiKeyHeader: boolean): string | undefined {
  const { authorization } = request.headers;
  const header = request.headers['x-api-key'];
  const apiKey = typeof header === 'string' && header !== '' ? header : undefined;
  if (authorization === undefined) return allowApiKeyHeader ? apiKey : undefined;
  const bearer = authorization.slice(0, 7).toLowerCase() === 'bearer ' ? authorization.slice(7).trim() : undefined;
  if (!bearer) throw new GatewayError('invalid_api_key', 'The Authorization header must read "Bearer <key>".');
  // Even if the second header has no effect: with two keys the caller is ambiguous.
  if (apiKey !== undefined && apiKey !== bearer) {
    throw new GatewayError('invalid_api_key', 'Authorization and X-API-Key name two different keys.');
  }
  return bearer;
}

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
  /**
   * Calls `end` once, as soon as this node reads that the key was revoked or its account suspended; at once if it knows
   * that already. Call the result when there is nothing to end any more.
   * @param end Receives `revoked_api_key` or `account_suspended`; must not throw.
   */
  follow(id: string, end: (error: GatewayError) => void): () => void;
  /**
   * The clock of the database, by which keys, plans and sessions end on all nodes: read at each refresh, and in between
   * by the monotonic clock of this process.
   */
  readonly clock: Clock;
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
  // Keys that have ended since this node started, and may still have jobs that it accepted.
  const unended = new Map<string, ApiKeyRecord>();
  // Open streams and long polls, by key.
  const followers = new Map<string, Set<(error: GatewayError) => void>>();
  let uses = new Map<string, number>();
  let second = 0;
  let lookupsInSecond = 0;
  let isUnavailable = false;

  /** Time of the database minus the monotonic clock. */
  let offsetMs = 0;
  const sharedNow = () => Math.floor(offsetMs + clock.monotonic());

  /** The database has read its clock between question and answer. */
  async function readDatabaseTime(): Promise<number> {
    const askedAt = clock.monotonic();
    const time = await keys.now();
    offsetMs = time - (askedAt + clock.monotonic()) / 2;
    return time;
  }

  let refreshedAt = await readDatabaseTime();
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
      const startedAt = await readDatabaseTime();
      // The earlier one: a clock may have been set back meanwhile.
      for (const record of await keys.changedSince(Math.min(refreshedAt, startedAt) - OVERLAP_MS)) {
        const known = table.get(record.id);
        table.set(record.id, record);
        unknown.delete(record.id);
        endFollowers(record);
        if (endsJobs(record) && !(known && endsJobs(known))) unended.set(record.id, record);
      }
      refreshedAt = startedAt;
      readAt = beganAt;
      // From here on this node accepts nothing of these keys, so nothing is left afterwards.
      for (const [id, record] of unended) {
        await keys.endJobs(record);
        unended.delete(id);
      }
      if (isUnavailable) logger.info('API keys are refreshed again');
      isUnavailable = false;
    } catch (error) {
      if (!isUnavailable) logger.warn('API keys cannot be refreshed; those in memory keep working', { error });
      isUnavailable = true;
    }
  }

  function endFollowers(record: ApiKeyRecord): void {
    const error = endOf(record);
    const ends = error && followers.get(record.id);
    if (!ends) return;
    followers.delete(record.id);
    for (const end of ends) end(error);
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
    if (record && !pepper) logger.warn('a key was created under a pepper that is not configured', { keyId: record.id });
    throw invalid();
  }

  function admit(stored: ApiKeyRecord): ApiKeyRecord {
    const now = sharedNow();
    // A plan may have ended since it was read, and another one resumed.
    const record = keyAt(stored, now);
    if (record.revokedAt !== null) throw endOf(record);
    if (record.expiresAt !== null && record.expiresAt <= now) {
      throw new GatewayError('expired_api_key', 'This API key has expired.');
    }
    if (record.suspendedAt !== null) throw endOf(record);
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
    follow(id, end) {
      const record = table.get(id);
      const error = record && endOf(record);
      if (error) {
        end(error);
        return () => undefined;
      }
      const ends = followers.get(id) ?? new Set();
      followers.set(id, ends.add(end));
      return () => {
        ends.delete(end);
        if (ends.size === 0 && followers.get(id) === ends) followers.delete(id);
      };
    },
    clock: { now: sharedNow, monotonic: () => clock.monotonic(), sleep: (ms, signal) => clock.sleep(ms, signal) },
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

/** Why the key ends what it has begun; undefined if it does not. An expired key only begins nothing more. */
function endOf({ revokedAt, suspendedAt }: ApiKeyRecord): GatewayError | undefined {
  if (revokedAt !== null) return new GatewayError('revoked_api_key', 'This API key was revoked.');
  if (suspendedAt !== null) return new GatewayError('account_suspended', 'This account is suspended.');
  return undefined;
}

/** As {@link KeyTable.follow}, for waits that end by a signal. */
export function followKey(keys: Pick<KeyTable, 'follow'>, id: string): { ended: AbortSignal; leave: () => void } {
  const ending = new AbortController();
  return { ended: ending.signal, leave: keys.follow(id, (error) => ending.abort(error)) };
}

function invalid(): GatewayError {
  return new GatewayError('invalid_api_key', 'This API key is not valid.');
}

/** Grants are named after what the operator allows, families after the routes that share a window. */
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
  const families = [...new Set(GRANTS.filter((grant) => key.grants.includes(grant)).map((grant) => FAMILIES[grant]))];
  const results: Record<string, RateLimitResult> = {};
  for (const family of families) {
    const request = consumeRequest({ key, family });
    if (request) results[family] = await rateLimits.peek(request);
  }
  return results;
}
