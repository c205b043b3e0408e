import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { GatewayError } from 'mediagate';

const MAX_LENGTH = 255;
const RETRY_SECONDS = 5;

/**
 * The caller's Idempotency-Key: 1 to 255 visible ASCII characters, bare or in quotes; undefined where none was sent.
 * @throws GatewayError `invalid_idempotency_key`.
 */
export function readIdempotencyKey(headers: IncomingHttpHeaders): string | undefined {
  const sent = headers['idempotency-key'];
  if (sent === undefined) return undefined;
  const text = String(sent).trim();
  const key = /^"(.*)"$/.exec(text)?.[1]?.replace(/\\(["\\])/g, '$1') ?? text;
  if (/^[\x21-\x7e]+$/.test(key) && key.length <= MAX_LENGTH) return key;
  const message = `The Idempotency-Key must be 1 to ${MAX_LENGTH} visible ASCII characters.`;
  throw new GatewayError('invalid_idempotency_key', message, { param: 'Idempotency-Key' });
}

/** Says that the answer is that of an earlier request, by both names that clients know. */
export function markReplayed(response: ServerResponse): void {
  response.setHeader('Idempotency-Replayed', 'true');
  response.setHeader('Idempotent-Replayed', 'true');
}

/** The first request with the key takes longer than others wait for it. */
export function inProgress(): GatewayError {
  const message = 'The first request with this Idempotency-Key is still being worked on.';
  return new GatewayError('idempotency_in_progress', message, { retryAfterSeconds: RETRY_SECONDS });
}

/** How often an SDK has sent the same request before, as OpenAI's clients tell; 0 where nothing is said. */
export function readRetryCount(headers: IncomingHttpHeaders): number {
  const sent = headers['x-stainless-retry-count'];
  return typeof sent === 'string' && /^\d{1,3}$/.test(sent) ? Number(sent) : 0;
}
