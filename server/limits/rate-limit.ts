/*
 * Requests per minute of a key, or of an account of the site, which all its keys share. A limit is a rolling 60 s in
 * SQL, so it holds over restarts and nodes; it is as exact as the clock of its window. Requests that arrive while a
 * transaction runs share the next one, so a check costs a part of a commit, and its result survives a crash of the
 * process. An accepted request counts for 60 s, also if it fails; a refused one (429) does not count. If the database
 * does not answer, the request is refused with 503 within 2.5 s: the database has a timeout of 2.4 s, and a request
 * that waited for an earlier transaction gets at least 50 ms. Nothing is answered uncounted. If the transaction of such
 * a request commits late, the request stays counted. The result is sent in the headers of the IETF draft and in those
 * of model vendors.
 */

import type { ServerResponse } from 'node:http';
import { type Database, type Script, Shards, type Tables, type Transaction } from '../../core/database/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import { isSiteAccount } from '../format/index.js';
import { addField } from '../http/index.js';
import {
  type ConsumeRequest,
  openWindows,
  type RateLimitFamily,
  type RateLimitResult,
  type RateLimitTable,
} from './windows.js';

export interface RateLimitsOptions {
  database: Database;
  rateLimitTable: RateLimitTable;
}

interface ConsumeOrPeek extends ConsumeRequest {
  /** False for a peek. */
  consumes: boolean;
}

/**
 * Rolling 60 s rate limits in SQL, for all processes and nodes. A result is returned after its commit. Both methods
 * throw GatewayError `upstream_unavailable` within 2.5 s if the database does not answer or is overloaded.
 */
export class RateLimits {
  readonly #shards: Shards<ConsumeOrPeek, RateLimitResult>;

  constructor({ database, rateLimitTable }: RateLimitsOptions) {
    const script = (requests: readonly ConsumeOrPeek[]) => answerAll(requests, rateLimitTable);
    // A power cut also ends the requests themselves, so losing the last moment is acceptable.
    this.#shards = new Shards({ database, durability: 'relaxed', script });
  }

  consume(request: ConsumeRequest): Promise<RateLimitResult> {
    return this.#shards.submit(request.keyId, { ...request, consumes: true });
  }

  /** As {@link consume}, without consuming. */
  peek(request: ConsumeRequest): Promise<RateLimitResult> {
    return this.#shards.submit(request.keyId, { ...request, consumes: false });
  }
}

function* answerAll(requests: readonly ConsumeOrPeek[], table: RateLimitTable): Script<RateLimitResult[]> {
  const rateLimits = yield* openWindows(table, requests);
  const answers: RateLimitResult[] = [];
  for (const request of requests) {
    const window = rateLimits.of(request);
    answers.push(request.consumes && window.has(request) ? window.consume(request) : yield* window.peek(request));
  }
  yield* rateLimits.save();
  return answers;
}

export interface RateLimitRequest {
  /** `rpm` null is unlimited, 0 refuses. */
  key: { id: string; accountId: string; rpm: number | null };
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

/**
 * Undefined for keys without a limit. All keys of a site account have the limit of its plan, so one window for all of
 * them holds both limits: that of the account, and that of each key.
 */
export function consumeRequest({ key, family, count = 1 }: RateLimitRequest): ConsumeRequest | undefined {
  if (key.rpm === null) return undefined;
  return { keyId: isSiteAccount(key.accountId) ? key.accountId : key.id, family, count, limit: key.rpm };
}

/**
 * Sends a rate-limit result to the client.
 * @throws GatewayError `rate_limit_exceeded` if it was refused.
 */
export function sendRateLimit(
  response: ServerResponse,
  { keyId, count, limit }: ConsumeRequest,
  answer: RateLimitResult,
): void {
  setRateLimitHeaders(response, answer);
  if (answer.accepted) return;
  const subject = isSiteAccount(keyId) ? 'account' : 'API key';
  if (count > limit) {
    // Waiting does not help: no retry time is sent, and SDKs must not retry.
    response.setHeader('x-should-retry', 'false');
    const message = `This needs ${count} requests, but this ${subject} may make ${limit} in 60 seconds. Send at most ${limit} links at once.`;
    throw new GatewayError('rate_limit_exceeded', message);
  }
  response.setHeader('retry-after-ms', String(Math.max(1, Math.ceil(answer.retryAfterMs))));
  const needed = count > 1 ? ` It has ${answer.remaining} left; ${count} are needed.` : '';
  throw new GatewayError(
    'rate_limit_exceeded',
    `This ${subject} may make ${limit === 1 ? 'one request' : `${limit} requests`} in 60 seconds.${needed}`,
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

/** Deletes what keys have used of their rate limits. Those of a site account are under the account's id. */
export async function forgetRateLimits(transaction: Transaction<Tables>, keyIds: readonly string[]): Promise<void> {
  await transaction.deleteFrom('rate_slots').where('keyId', 'in', keyIds).execute();
  await transaction.deleteFrom('rate_windows').where('keyId', 'in', keyIds).execute();
}
