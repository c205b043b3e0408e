import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const SANE = /^[A-Za-z0-9._-]{1,64}$/;
const BATCH = 4096;
const BYTES = 12;

let pool = randomBytes(0);
let used = 0;

/** The caller's own `x-request-id` where it is 1 to 64 characters of `A-Za-z0-9._-`; a new one otherwise. */
export function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && SANE.test(given) ? given : newRequestId();
}

/** `req_` and 96 random bits. Random bytes are drawn in batches: one call per request would be the dearest part of it. */
export function newRequestId(): string {
  if (used + BYTES > pool.length) {
    pool = randomBytes(BATCH);
    used = 0;
  }
  used += BYTES;
  return `req_${pool.toString('base64url', used - BYTES, used)}`;
}
