import type { IncomingMessage } from 'node:http';
import { drawRandomBytes } from 'mediagate';

const SANE = /^[A-Za-z0-9._-]{1,64}$/;
const BYTES = 12;

/** The caller's own `x-request-id` where it is 1 to 64 characters of `A-Za-z0-9._-`; a new one otherwise. */
export function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && SANE.test(given) ? given : newRequestId();
}

/** `req_` and 96 random bits. */
export function newRequestId(): string {
  return `req_${drawRandomBytes(BYTES).toString('base64url')}`;
}
