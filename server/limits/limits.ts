import type { ServerResponse } from 'node:http';
import { GatewayError } from 'mediagate';
import { addField } from '../http/index.js';
import type { SlotAnswer, SlotRequest, WindowFamily, Windows } from './windows.js';

export interface RateLimitRequest {
  /** `rpm` null is unlimited, 0 refuses. */
  key: { id: string; rpm: number | null };
  family: WindowFamily;
  /** Default 1. */
  slots?: number;
}

/**
 * Takes slots of the key's rolling minute and says in header fields how the window stands. Keys without a limit have no
 * window and no such fields.
 * @throws GatewayError `rate_limit_exceeded` with the seconds to wait.
 */
export async function consumeRateLimit(
  windows: Windows,
  response: ServerResponse,
  wish: RateLimitRequest,
): Promise<void> {
  const request = slotRequest(wish);
  if (request) acceptSlot(response, request, await windows.take(request));
}

/** Undefined for keys without a limit. */
export function slotRequest({ key, family, slots = 1 }: RateLimitRequest): SlotRequest | undefined {
  return key.rpm === null ? undefined : { keyId: key.id, family, slots, limit: key.rpm };
}

/**
 * Passes an answer of the windows on to the client.
 * @throws GatewayError `rate_limit_exceeded` where it is no.
 */
export function acceptSlot(response: ServerResponse, { slots, limit }: SlotRequest, answer: SlotAnswer): void {
  setWindowHeaders(response, answer);
  if (answer.accepted) return;
  if (slots > limit) {
    // No waiting helps: without a time to come back at, and said to clients that retry by themselves.
    response.setHeader('x-should-retry', 'false');
    const message = `This needs ${slots} requests of this API key, which may make ${limit} in 60 seconds: send at most ${limit} links at once.`;
    throw new GatewayError('rate_limit_exceeded', message);
  }
  response.setHeader('retry-after-ms', String(Math.max(1, Math.ceil(answer.retryAfterMs))));
  const needed = slots > 1 ? ` It has ${answer.remaining} left, and ${slots} are needed.` : '';
  throw new GatewayError(
    'rate_limit_exceeded',
    `This API key may make ${limit === 1 ? 'one request' : `${limit} requests`} in 60 seconds.${needed}`,
    {
      retryAfterSeconds: answer.retryAfterMs / 1000,
    },
  );
}

/** As `draft-ietf-httpapi-ratelimit-headers` has it, and as clients of model vendors know it. */
function setWindowHeaders(response: ServerResponse, answer: SlotAnswer): void {
  const { accepted, limit, remaining, retryAfterMs, resetMs } = answer;
  const seconds = accepted ? Math.ceil(resetMs / 1000) : Math.max(1, Math.ceil(retryAfterMs / 1000));
  addField(response, 'RateLimit-Policy', `"rpm";q=${limit};w=60`);
  addField(response, 'RateLimit', `"rpm";r=${remaining};t=${seconds}`);
  addField(response, 'x-ratelimit-limit-requests', String(limit));
  addField(response, 'x-ratelimit-remaining-requests', String(remaining));
  addField(response, 'x-ratelimit-reset-requests', `${seconds}s`);
}
