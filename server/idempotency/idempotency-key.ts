import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { type ErrorCode, GatewayError, type StoredBody } from 'mediagate';

const MAX_LENGTH = 255;
const RETRY_SECONDS = 5;

/** The header of routes that take a key, as they declare it. */
export const IDEMPOTENCY_HEADER = {
  'Idempotency-Key': 'The same key with the same body is answered as the first request was, for 24 hours.',
} as const;

/** Errors of a key on routes whose clients wait for the answer itself. */
export const IDEMPOTENCY_ERRORS = [
  'invalid_idempotency_key',
  'idempotency_key_reused',
  'idempotency_in_progress',
] as const satisfies readonly ErrorCode[];

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

/** Three bytes are four letters. */
const GROUP = 3;
/** A text that no encoder of ours writes, to be replaced. */
const MARK = 'base64 goes here';

export interface LongBody {
  bytes: AsyncIterable<Uint8Array>;
  length: number;
}

/**
 * JSON with a file in base64 in one place of it. The file passes through a little at a time: as one text, a picture would
 * be in memory three times over, and everybody else would wait while it is put together.
 * @param encode Makes the value around the text that it is given.
 */
export function encodeAround(file: StoredBody, encode: (base64: string) => unknown): LongBody {
  const [head = '', tail = ''] = JSON.stringify(encode(MARK)).split(MARK);
  const letters = Math.ceil(file.size / GROUP) * 4;
  return {
    bytes: pieces(Buffer.from(head), file.body, Buffer.from(tail)),
    length: Buffer.byteLength(head) + letters + Buffer.byteLength(tail),
  };
}

async function* pieces(head: Uint8Array, file: AsyncIterable<Uint8Array>, tail: Uint8Array) {
  yield head;
  let rest: Uint8Array = new Uint8Array();
  for await (const chunk of file) {
    const joined = Buffer.concat([rest, chunk]);
    const whole = joined.length - (joined.length % GROUP);
    yield Buffer.from(joined.toString('base64', 0, whole), 'latin1');
    rest = joined.subarray(whole);
  }
  yield Buffer.from(Buffer.from(rest).toString('base64'), 'latin1');
  yield tail;
}
