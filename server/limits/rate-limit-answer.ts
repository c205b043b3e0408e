/*
 * How the result of a rate limit is sent: in the headers of the IETF draft and in those of model vendors. A refused
 * request gets 429 with the time to wait, unless it needs more requests at once than the limit has.
 */

import type { ServerResponse } from 'node:http';
import { GatewayError } from '../../core/runtime/index.js';
import { addField } from '../http/index.js';
import type { ConsumeRequest, RateLimitResult, RateLimits } from './rate-limit.js';

/**
 * Consumes requests from a rate limit and sets the rate-limit headers. Without a limit there are no headers.
 * @throws GatewayError `rate_limit_exceeded` with the seconds to wait.
 */
export async function consumeRateLimit(
  rateLimits: RateLimits,
  response: ServerResponse,
  request: ConsumeRequest | undefined,
): Promise<void> {
  if (request) sendRateLimit(response, request, await rateLimits.consume(request));
}

/**
 * Sends a rate-limit result to the client.
 * @throws GatewayError `rate_limit_exceeded` if it was refused.
 */
export function sendRateLimit(
  response: ServerResponse,
  { isShared, count, within }: ConsumeRequest,
  answer: RateLimitResult,
): void {
  setRateLimitHeaders(response, answer);
  if (answer.accepted) return;
  const { limit } = answer;
  // A key's own limit is lower than that of its account.
  const subject = isShared || limit === within?.limit ? 'account' : 'API key';
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
