import type { ServerResponse } from 'node:http';
import { GatewayError } from 'mediagate';
import { createShards, type Database, type Script } from '../../core/database/index.js';
import { addField } from '../http/index.js';
import { type OpenWindow, type RateLimitKey, type RateLimitTable, windowName } from './rate-limit-table.js';

declare module '../http/server-context.js' {
  interface AppDependencies {
    rateLimits: RateLimits;
  }
}

/** The rate limit of a key and route family: each accepted request counts for 60 s after its acceptance. */
export type RateLimitFamily = 'image' | 'link_data' | 'model';

export interface ConsumeRequest {
  keyId: string;
  family: RateLimitFamily;
  /** Number of requests to consume at once, all or nothing. At least 1. */
  count: number;
  /** The key's requests per minute. */
  limit: number;
}

export interface RateLimitResult {
  accepted: boolean;
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

/**
 * Rolling 60 s rate limits in SQL: exact over restarts and several nodes. Both methods throw GatewayError
 * `upstream_unavailable` within 2.5 s if the database does not answer or is overloaded.
 */
export interface RateLimits {
  consume(request: ConsumeRequest): Promise<RateLimitResult>;
  /** As `consume`, without consuming. */
  peek(request: ConsumeRequest): Promise<RateLimitResult>;
}

export interface RateLimitsOptions {
  database: Database;
  rateLimitTable: RateLimitTable;
}

interface ConsumeOrPeek extends ConsumeRequest {
  /** False for a peek. */
  consumes: boolean;
}

/**
 * Rate limits with group commit: requests that arrive while a transaction runs share the next one. A result is returned
 * after its commit, so it survives a crash of the process.
 */
export function createRateLimits({ database, rateLimitTable }: RateLimitsOptions): RateLimits {
  function* answer(requests: readonly ConsumeOrPeek[]): Script<RateLimitResult[]> {
    const rateLimits = yield* openWindows(rateLimitTable, requests);
    const answers: RateLimitResult[] = [];
    for (const request of requests) {
      const window = rateLimits.of(request);
      answers.push(request.consumes && window.has(request) ? window.consume(request) : yield* window.peek(request));
    }
    yield* rateLimits.save();
    return answers;
  }

  // A power cut also ends the requests themselves, so losing the last moment is acceptable.
  const shards = createShards<ConsumeOrPeek, RateLimitResult>({ database, durability: 'relaxed', script: answer });

  return {
    consume: (request) => shards.submit(request.keyId, { ...request, consumes: true }),
    peek: (request) => shards.submit(request.keyId, { ...request, consumes: false }),
  };
}

/** The windows of one transaction: locked, read and written together for all requests. */
export interface OpenWindows {
  /** Returns one of the opened windows. */
  of(key: RateLimitKey): OpenWindow;
  /** Writes what was consumed; it counts when the transaction commits. */
  save(): Script<void>;
}

/** @param wanted Keys that may be used later; undefined entries are skipped. */
export function* openWindows(
  table: RateLimitTable,
  wanted: readonly (RateLimitKey | undefined)[],
): Script<OpenWindows> {
  const rateLimits = yield* table.open(wanted.filter((key) => key !== undefined));
  return {
    of(key) {
      const window = rateLimits.get(windowName(key));
      if (!window) throw new Error('A window is asked that was not opened.');
      return window;
    },
    save: () => table.save(rateLimits.values()),
  };
}

export interface RateLimitRequest {
  /** `rpm` null is unlimited, 0 refuses. */
  key: { id: string; rpm: number | null };
  family: RateLimitFamily;
  /** Default 1. */
  count?: number;
}

/**
 * Consumes requests from the key's rate limit and sets the rate-limit headers. Keys without a limit get no headers.
 * @throws GatewayError `rate_limit_exceeded` with the seconds to wait.
 */
export async function consumeRateLimit(
  rateLimits: RateLimits,
  response: ServerResponse,
  input: RateLimitRequest,
): Promise<void> {
  const request = consumeRequest(input);
  if (request) sendRateLimit(response, request, await rateLimits.consume(request));
}

/** Undefined for keys without a limit. */
export function consumeRequest({ key, family, count = 1 }: RateLimitRequest): ConsumeRequest | undefined {
  return key.rpm === null ? undefined : { keyId: key.id, family, count, limit: key.rpm };
}

/**
 * Sends a rate-limit result to the client.
 * @throws GatewayError `rate_limit_exceeded` if it was refused.
 */
export function sendRateLimit(
  response: ServerResponse,
  { count, limit }: ConsumeRequest,
  answer: RateLimitResult,
): void {
  setRateLimitHeaders(response, answer);
  if (answer.accepted) return;
  if (count > limit) {
    // Waiting does not help: no retry time is sent, and SDKs must not retry.
    response.setHeader('x-should-retry', 'false');
    const message = `This needs ${count} requests of this API key, which may make ${limit} in 60 seconds: send at most ${limit} links at once.`;
    throw new GatewayError('rate_limit_exceeded', message);
  }
  response.setHeader('retry-after-ms', String(Math.max(1, Math.ceil(answer.retryAfterMs))));
  const needed = count > 1 ? ` It has ${answer.remaining} left, and ${count} are needed.` : '';
  throw new GatewayError(
    'rate_limit_exceeded',
    `This API key may make ${limit === 1 ? 'one request' : `${limit} requests`} in 60 seconds.${needed}`,
    {
      retryAfterSeconds: answer.retryAfterMs / 1000,
    },
  );
}

/** The headers of `draft-ietf-httpapi-ratelimit-headers`, and those that clients of model vendors know. */
function setRateLimitHeaders(response: ServerResponse, answer: RateLimitResult): void {
  const { accepted, limit, remaining, retryAfterMs, resetMs } = answer;
  const seconds = accepted ? Math.ceil(resetMs / 1000) : Math.max(1, Math.ceil(retryAfterMs / 1000));
  addField(response, 'RateLimit-Policy', `"rpm";q=${limit};w=60`);
  addField(response, 'RateLimit', `"rpm";r=${remaining};t=${seconds}`);
  addField(response, 'x-ratelimit-limit-requests', String(limit));
  addField(response, 'x-ratelimit-remaining-requests', String(remaining));
  addField(response, 'x-ratelimit-reset-requests', `${seconds}s`);
}
