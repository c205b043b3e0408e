const BYTES = 16;

/** By which the gateway knows a request that is sent again. Pages without TLS have no `crypto.randomUUID`. */
export function newIdempotencyKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(BYTES))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
