import { pipeline, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw, createZstdDecompress } from 'node:zlib';
import { GatewayError } from '../runtime/index.js';

export interface DecodingOptions {
  /** The `content-encoding` field as received; undefined where there is none. */
  contentEncoding: string | undefined;
  /** Cap on the bytes between and after the decoders. */
  maxBytes: number;
}

type Bytes = AsyncIterable<Uint8Array>;

const MAX_CODINGS = 2;
/** A page arrives in few large pieces rather than in many small ones, each of which is a trip to the thread pool. */
const CHUNK = { chunkSize: 128 * 1024 };

const DECODERS: Readonly<Record<string, (start: Uint8Array) => Transform>> = {
  gzip: () => createGunzip(CHUNK),
  'x-gzip': () => createGunzip(CHUNK),
  deflate: (start) => (hasZlibHeader(start) ? createInflate(CHUNK) : createInflateRaw(CHUNK)),
  br: () => createBrotliDecompress(CHUNK),
  zstd: () => createZstdDecompress(CHUNK),
};

/**
 * Undoes content codings while the body flows, last coding first; without any, it is the body itself, whose own bytes are
 * capped already. Counting on every stage stops a bomb after `maxBytes` of output.
 * @throws GatewayError `upstream_error` at once for a coding that is not known and for more than two; while reading, for
 *   a body over the cap. The decoder's own error where the body is corrupt or cut.
 */
export function decodeBody(body: Bytes, { contentEncoding, maxBytes }: DecodingOptions): Bytes {
  const decoders = codingsOf(contentEncoding).map((coding) => {
    const decoder = Object.hasOwn(DECODERS, coding) ? DECODERS[coding] : undefined;
    if (!decoder) throw new GatewayError('upstream_error', 'The origin sent a content coding that was not asked for.');
    return decoder;
  });
  return decoders.reduceRight((source, decoder) => capped(decoded(source, decoder), maxBytes), body);
}

/** The body was longer than the reader wants; read or announced. */
export function overCap(): GatewayError {
  return new GatewayError('upstream_error', 'The origin sent more than is read.', { retryable: false });
}

function codingsOf(contentEncoding: string | undefined): string[] {
  if (contentEncoding === undefined) return [];
  const codings = contentEncoding
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity');
  if (codings.length > MAX_CODINGS)
    throw new GatewayError('upstream_error', 'The origin encoded its answer too often.');
  return codings;
}

async function* capped(source: Bytes, maxBytes: number): AsyncGenerator<Uint8Array> {
  let total = 0;
  for await (const chunk of source) {
    total += chunk.length;
    if (total > maxBytes) throw overCap();
    yield chunk;
  }
}

async function* decoded(source: Bytes, createDecoder: (start: Uint8Array) => Transform): AsyncGenerator<Uint8Array> {
  const chunks = source[Symbol.asyncIterator]();
  const first = await chunks.next();
  // Answers without a body often carry the field all the same, and no decoder takes nothing for an empty body.
  if (first.done) return;
  const whole = async function* () {
    yield first.value;
    yield* { [Symbol.asyncIterator]: () => chunks };
  };
  const decoder = createDecoder(first.value);
  // Errors reach the reader of the decoder; the callback would be a second way to hear of them.
  pipeline(whole, decoder, () => {});
  yield* decoder;
}

/** RFC 1950, 2.2. Some servers mean the bare RFC 1951 stream by `deflate`; its first bytes cannot look like this. */
function hasZlibHeader([method = 0, flags = 0]: Uint8Array): boolean {
  return (method & 0x0f) === 8 && ((method << 8) | flags) % 31 === 0;
}
