import type { ServerResponse } from 'node:http';
import { type ApiKeyRecord, GatewayError, type SlotAnswer, type WindowFamily, type Windows } from 'mediagate';

export interface SlotWish {
  key: ApiKeyRecord;
  family: WindowFamily;
  /** Default 1. */
  slots?: number;
}

/**
 * Takes a slot of the key's rolling minute and says in header fields how the window stands. Keys without a limit have no
 * window and no such fields.
 * @throws GatewayError `rate_limit_exceeded` with the seconds to wait.
 */
export async function takeSlot(windows: Windows, response: ServerResponse, wish: SlotWish): Promise<void> {
  const { key, family, slots = 1 } = wish;
  if (key.rpm === null) return;
  const answer = await windows.take({ keyId: key.id, family, slots, limit: key.rpm });
  setWindowHeaders(response, answer);
  if (answer.accepted) return;
  response.setHeader('retry-after-ms', String(Math.max(1, Math.ceil(answer.retryAfterMs))));
  throw new GatewayError('rate_limit_exceeded', `This API key may make ${key.rpm} requests in 60 seconds.`, {
    retryAfterSeconds: answer.retryAfterMs / 1000,
  });
}

/** As `draft-ietf-httpapi-ratelimit-headers` has it, and as clients of model vendors know it. */
function setWindowHeaders(response: ServerResponse, answer: SlotAnswer): void {
  const { accepted, limit, remaining, retryAfterMs, resetMs } = answer;
  const seconds = accepted ? Math.ceil(resetMs / 1000) : Math.max(1, Math.ceil(retryAfterMs / 1000));
  response.setHeader('RateLimit-Policy', `"rpm";q=${limit};w=60`);
  response.setHeader('RateLimit', `"rpm";r=${remaining};t=${seconds}`);
  response.setHeader('x-ratelimit-limit-requests', String(limit));
  response.setHeader('x-ratelimit-remaining-requests', String(remaining));
  response.setHeader('x-ratelimit-reset-requests', `${seconds}s`);
}
