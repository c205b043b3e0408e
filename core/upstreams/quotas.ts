/*
 * The limit of an upstream that answered 429: the pace at which its other callers are let through, instead of
 * refusing all of them until a `Retry-After` that one caller caused.
 *
 * If the upstream's `x-ratelimit-*` headers say how much is left and when it is reset, a token bucket is filled at that
 * pace: (limit - remaining) requests or tokens in the reset time, or one in the reset time if they name no limit. The
 * bucket starts empty, and the limit is over when it is full. Without these headers, one request at a time is a trial:
 * the limit is over when a trial succeeds, or when the time of `Retry-After` has passed. An upstream refuses at once, so
 * a trial that has no answer after two seconds no longer holds up the next one.
 */

/** What an upstream says about one of its limits. */
export interface UpstreamQuota {
  remaining: number;
  resetMs: number;
  limit?: number;
}

export interface UpstreamQuotas {
  requests?: UpstreamQuota;
  tokens?: UpstreamQuota;
}

export interface UpstreamLimit {
  /** Other upstreams are preferred until then: monotonic milliseconds. */
  readonly until: number;
  /**
   * When a request of so many tokens may be sent: monotonic milliseconds, now or later. While a trial is under way, it
   * is the time to look again. Undefined if the limit is over.
   */
  next(now: number, tokens: number): number | undefined;
  /** A request is sent; it is a trial until `release`. */
  take(now: number, tokens: number): { release(): void };
  /** The request of a `take` succeeded. @returns Whether the limit is over. */
  succeed(): boolean;
}

export interface LimitOptions {
  now: number;
  /** Milliseconds of `Retry-After`, already bounded; 0 without one. */
  askedMs: number;
  /** Maximum milliseconds between two requests. */
  maxMs: number;
  quotas?: UpstreamQuotas;
}

const TRIAL_MS = 2_000;
const POLL_MS = 100;

export function createUpstreamLimit({ now, askedMs, maxMs, quotas }: LimitOptions): UpstreamLimit {
  const buckets = bucketsOf(quotas, now);
  return buckets.length > 0 ? pacedLimit(buckets, { now, askedMs, maxMs }) : trialLimit(now, askedMs);
}

function trialLimit(begun: number, askedMs: number): UpstreamLimit {
  const until = begun + askedMs;
  let trial: { at: number } | undefined;
  return {
    until,
    next(now) {
      if (askedMs > 0 && now >= until) return undefined;
      const freeAt = trial ? trial.at + TRIAL_MS : now;
      return freeAt > now ? Math.min(freeAt, now + POLL_MS) : now;
    },
    take(now) {
      const mine = { at: now };
      trial = mine;
      return {
        release() {
          if (trial === mine) trial = undefined;
        },
      };
    },
    succeed: () => true,
  };
}

function pacedLimit(buckets: readonly Bucket[], { now: begun, askedMs, maxMs }: LimitOptions): UpstreamLimit {
  let last = begun;
  const next = (now: number, tokens: number) => {
    if (buckets.every(({ isFull }) => isFull(now))) return undefined;
    const filledAt = Math.max(...buckets.map(({ readyAt }) => readyAt(now, tokens)));
    // A reset in days, said by mistake or not, must not become days without answers.
    return Math.max(now, Math.min(filledAt, last + maxMs));
  };
  return {
    until: Math.max(begun + askedMs, next(begun, 1) ?? begun),
    next,
    take(now, tokens) {
      last = now;
      for (const { take } of buckets) take(now, tokens);
      return { release() {} };
    },
    // The pace holds until the bucket is full.
    succeed: () => false,
  };
}

interface Bucket {
  isFull(now: number): boolean;
  readyAt(now: number, tokens: number): number;
  take(now: number, tokens: number): void;
}

/** The requests if none is left; else the tokens, of which the refused request needed more than were left. */
function bucketsOf({ requests, tokens }: UpstreamQuotas = {}, now: number): Bucket[] {
  const isOutOfRequests = requests !== undefined && requests.remaining < 1;
  const isOutOfTokens = tokens !== undefined && (tokens.remaining < 1 || !isOutOfRequests);
  return [
    ...(isOutOfRequests ? [createBucket(requests, now, () => 1)] : []),
    ...(isOutOfTokens ? [createBucket(tokens, now, (count) => count)] : []),
  ];
}

function createBucket({ limit, remaining, resetMs }: UpstreamQuota, begun: number, costOf: (tokens: number) => number) {
  const size = limit === undefined ? 1 : Math.max(1, limit - remaining);
  const perMs = size / resetMs;
  let level = 0;
  let at = begun;
  const levelAt = (now: number) => Math.min(size, level + (now - at) * perMs);
  // A sum of many small parts may be a little below the whole number.
  const missing = (now: number, wanted: number) => Math.max(0, wanted - levelAt(now) - 1e-6);

  return {
    isFull: (now: number) => missing(now, size) === 0,
    readyAt: (now: number, tokens: number) => now + Math.ceil(missing(now, Math.min(size, costOf(tokens))) / perMs),
    take(now: number, tokens: number) {
      level = Math.max(0, levelAt(now) - costOf(tokens));
      at = now;
    },
  };
}

type Headers = Readonly<Record<string, string>>;

/**
 * The quotas in the headers of an answer, names in lower case; undefined if there is none with a reset time. Anthropic
 * has other names for them, and the time of the reset as a date.
 * @param now Milliseconds since 1970.
 */
export function readQuotas(headers: Headers, now: number): UpstreamQuotas | undefined {
  const requests = quotaOf(headers, 'requests', now);
  const tokens = quotaOf(headers, 'tokens', now);
  return requests || tokens ? { ...(requests && { requests }), ...(tokens && { tokens }) } : undefined;
}

function quotaOf(headers: Headers, unit: string, now: number): UpstreamQuota | undefined {
  const named = (part: string) => headers[`anthropic-ratelimit-${unit}-${part}`];
  const remaining = countOf(headers[`x-ratelimit-remaining-${unit}`] ?? named('remaining'));
  const untilReset = Math.max(0, Date.parse(named('reset') ?? '') - now);
  const resetMs = readDuration(headers[`x-ratelimit-reset-${unit}`]) ?? untilReset;
  if (remaining === undefined || !resetMs) return undefined;
  const limit = countOf(headers[`x-ratelimit-limit-${unit}`] ?? named('limit'));
  return { remaining, resetMs, ...(limit !== undefined && { limit }) };
}

/** A negative count is nothing left. */
function countOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\s*-?\d{1,15}(?:\.\d{1,9})?\s*$/.test(text) ? Math.max(0, Number(text)) : undefined;
}

const DURATION =
  /^(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m(?!s))?(?:(\d{1,9}(?:\.\d{1,9})?)s)?(?:(\d{1,9}(?:\.\d{1,9})?)ms)?$/;
const UNITS_MS = [86_400_000, 3_600_000, 60_000, 1_000, 1];

/** Milliseconds of `1s`, `6m0s`, `120ms`, `1h30m`, or a number of seconds. */
export function readDuration(text: string | undefined): number | undefined {
  const trimmed = text?.trim() ?? '';
  if (/^\d{1,9}(?:\.\d{1,9})?$/.test(trimmed)) return Number(trimmed) * 1_000;
  const parts = trimmed === '' ? undefined : DURATION.exec(trimmed)?.slice(1);
  return parts?.reduce((sum, part, index) => sum + Number(part ?? 0) * (UNITS_MS[index] ?? 0), 0);
}

const VENDOR_LIMIT = /^(?:anthropic|x)-ratelimit-[\w-]{1,80}$/;
const HEADER_VALUE = /^[ -~]{1,200}$/;

/**
 * What the headers of an answer say about the vendor's limits, names in lower case; undefined without any. They are of
 * the operator's account: other keys must not read them.
 */
export function vendorLimitsOf(headers: Headers): Headers | undefined {
  let found: Record<string, string> | undefined;
  for (const name in headers) {
    const value = headers[name];
    if (!VENDOR_LIMIT.test(name) || value === undefined || !HEADER_VALUE.test(value)) continue;
    found ??= {};
    found[name] = value;
  }
  return found;
}
