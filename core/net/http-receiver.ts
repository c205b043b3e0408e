/*
 * Receives the answer of one request directly from undici's parser, because its streams cost more than the rest of a
 * request. At most 64 KiB wait for a slow reader; then the origin is paused. Content codings are decoded while the
 * body streams, and the size is counted after every stage, so a decompression bomb ends at the limit. Failures become
 * messages without address, URL or content of the origin. `neverSent` says whether a request certainly did not reach
 * the origin, which makes a retry safe.
 */

import type { IncomingHttpHeaders } from 'node:http';
import { pipeline, type Transform } from 'node:stream';
// By its default export, which exists in versions of Node without Zstandard: the kit then says that they are too old.
import zlib from 'node:zlib';
import type { Dispatcher } from 'undici';
import { type ErrorCode, GatewayError, isGatewayError } from '../runtime/index.js';
import type { RequestLifetime } from './request-lifetime.js';

/** An answer with a body that is arriving. */
export interface Received {
  status: number;
  headers: IncomingHttpHeaders;
  body: ReceivedBody;
}

/** The raw bytes, to be read once. Leaving the loop closes the connection. It throws GatewayErrors. */
export interface ReceivedBody extends AsyncIterableIterator<Uint8Array> {
  /** The request is not sent again: it ends with the last byte of this body. */
  conclude(): void;
  /** Takes all bytes if the body is complete, unread and not longer than this; undefined otherwise. */
  takeArrived(maxBytes: number): Buffer | undefined;
  /** Closes the connection, unless the body is complete. */
  close(): void;
}

export interface ReceiveOptions {
  life: RequestLifetime;
  /** Beyond it, reading fails. */
  maxBytes: number;
}

/** Bytes that may wait for the reader before the origin is paused. */
const MAX_WAITING = 64 * 1024;

/**
 * Sends a request. Bytes go directly from the parser to the reader: undici's streams cost more than everything else
 * that is done for a request.
 * @throws GatewayError `upstream_*`, or the reason by which the life was stopped.
 */
export function receive(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  { life, maxBytes }: ReceiveOptions,
): Promise<Received> {
  return new Promise((resolve, reject) => {
    const receiver = new Receiver(life, maxBytes, { resolve, reject });
    if (!life.stopped) dispatcher.dispatch(request, receiver);
  });
}

interface Waiting<Value> {
  resolve(value: Value): void;
  reject(error: unknown): void;
}

class Receiver implements Dispatcher.DispatchHandler, ReceivedBody {
  readonly #life: RequestLifetime;
  readonly #maxBytes: number;
  #head: Waiting<Received> | undefined;
  #reader: Waiting<IteratorResult<Uint8Array>> | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #chunks: Uint8Array[] = [];
  #waiting = 0;
  #received = 0;
  #isPaused = false;
  #isClosed = false;
  #isConclusive = false;
  #failure: { error: unknown } | undefined;

  constructor(life: RequestLifetime, maxBytes: number, head: Waiting<Received>) {
    this.#life = life;
    this.#maxBytes = maxBytes;
    this.#head = head;
    life.onStop = (reason) => this.#stop(reason);
    if (life.stopped) this.#stop(life.reason);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // It may have been stopped before it had a connection.
    if (this.#isClosed) controller.abort(closed());
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.#head?.resolve({ status, headers, body: this });
    this.#head = undefined;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    if (this.#isClosed) return;
    this.#life.bytesReceived();
    this.#received += chunk.length;
    if (this.#received > this.#maxBytes) {
      this.#fail(overCap());
      controller.abort(closed());
    } else if (this.#reader) {
      this.#reader.resolve({ done: false, value: chunk });
      this.#reader = undefined;
    } else {
      this.#chunks.push(chunk);
      this.#waiting += chunk.length;
      if (this.#waiting <= MAX_WAITING || this.#isPaused) return;
      this.#isPaused = true;
      this.#life.suspendSilence();
      controller.pause();
    }
  }

  onResponseEnd(): void {
    if (this.#isClosed) return;
    this.#finish();
    this.#reader?.resolve({ done: true, value: undefined });
    this.#reader = undefined;
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: unknown): void {
    if (!this.#isClosed) this.#fail(error);
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    const chunk = this.#chunks.shift();
    if (chunk !== undefined) {
      this.#waiting -= chunk.length;
      if (this.#isPaused && this.#waiting <= MAX_WAITING / 2) this.#resume();
      return Promise.resolve({ done: false, value: chunk });
    }
    if (this.#failure) return Promise.reject(this.#failure.error);
    if (this.#isClosed) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject };
    });
  }

  return(): Promise<IteratorResult<Uint8Array>> {
    this.close();
    return Promise.resolve({ done: true, value: undefined });
  }

  conclude(): void {
    this.#isConclusive = true;
    if (this.#isClosed) this.#life.finish();
  }

  takeArrived(maxBytes: number): Buffer | undefined {
    const chunks = this.#chunks;
    if (!this.#isClosed || this.#failure || chunks.length === 0 || this.#received > maxBytes) return undefined;
    this.#chunks = [];
    this.#waiting = 0;
    const [only] = chunks;
    return chunks.length === 1 && Buffer.isBuffer(only) ? only : Buffer.concat(chunks);
  }

  close(): void {
    this.#chunks = [];
    if (this.#isClosed) return;
    this.#finish();
    this.#controller?.abort(closed());
    this.#reader?.resolve({ done: true, value: undefined });
    this.#reader = undefined;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #resume(): void {
    this.#isPaused = false;
    if (this.#isClosed) return;
    this.#life.awaitBytes();
    this.#controller?.resume();
  }

  /** Stopped from outside: received data is ignored. */
  #stop(reason: unknown): void {
    if (this.#isClosed) return;
    this.#chunks = [];
    this.#fail(reason);
    this.#controller?.abort(closed());
  }

  #fail(thrown: unknown): void {
    const error = httpFailure(thrown, this.#life);
    this.#finish();
    this.#failure = { error };
    this.#head?.reject(error);
    this.#head = undefined;
    this.#reader?.reject(error);
    this.#reader = undefined;
  }

  #finish(): void {
    this.#isClosed = true;
    if (this.#isConclusive) this.#life.finish();
  }
}

/** Only for undici: the reader has received the error already. */
function closed(): Error {
  return new Error('closed');
}

export interface DecodingOptions {
  /** The `content-encoding` field as received; undefined if there is none. */
  contentEncoding: string | undefined;
  /** Limit of the bytes between and after the decoders. */
  maxBytes: number;
}

type Bytes = AsyncIterable<Uint8Array>;

const MAX_CODINGS = 2;
/** A page arrives in few large chunks rather than in many small ones, each of which is a trip to the thread pool. */
const CHUNK = { chunkSize: 128 * 1024 };

const DECODERS: Readonly<Record<string, (start: Uint8Array) => Transform>> = {
  gzip: () => zlib.createGunzip(CHUNK),
  'x-gzip': () => zlib.createGunzip(CHUNK),
  deflate: (start) => (hasZlibHeader(start) ? zlib.createInflate(CHUNK) : zlib.createInflateRaw(CHUNK)),
  br: () => zlib.createBrotliDecompress(CHUNK),
  zstd: () => zlib.createZstdDecompress(CHUNK),
};

/**
 * Decodes content codings while the body streams, last coding first; without any, it is the body itself, which is
 * limited already. Counting on every stage stops a decompression bomb after `maxBytes` of output.
 * @throws GatewayError `upstream_error` at once for an unknown coding and for more than two; while reading, for a body
 *   over the limit. The decoder's own error if the body is corrupt or truncated.
 */
export function decodeBody(body: Bytes, { contentEncoding, maxBytes }: DecodingOptions): Bytes {
  const decoders = codingsOf(contentEncoding).map((coding) => {
    const decoder = Object.hasOwn(DECODERS, coding) ? DECODERS[coding] : undefined;
    if (!decoder)
      throw new GatewayError('upstream_error', 'The origin sent a content encoding that was not requested.');
    return decoder;
  });
  return decoders.reduceRight((source, decoder) => capped(decoded(source, decoder), maxBytes), body);
}

/** The body exceeds the reader's limit, by its bytes or its stated length. */
export function overCap(): GatewayError {
  return new GatewayError('upstream_error', 'The origin sent more than the limit.', { retryable: false });
}

function codingsOf(contentEncoding: string | undefined): string[] {
  if (contentEncoding === undefined) return [];
  const codings = contentEncoding
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity');
  if (codings.length > MAX_CODINGS)
    throw new GatewayError('upstream_error', 'The origin sent too many content encodings.');
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
  // Answers without a body often have the field anyway, and no decoder accepts an empty body.
  if (first.done) return;
  const whole = async function* () {
    yield first.value;
    yield* { [Symbol.asyncIterator]: () => chunks };
  };
  const decoder = createDecoder(first.value);
  // Errors reach the reader of the decoder; the callback would report them twice.
  pipeline(whole, decoder, () => {});
  yield* decoder;
}

/** RFC 1950, 2.2. Some servers mean the bare RFC 1951 stream by `deflate`; its first bytes cannot look like this. */
function hasZlibHeader([method = 0, flags = 0]: Uint8Array): boolean {
  return (method & 0x0f) === 8 && ((method << 8) | flags) % 31 === 0;
}

const TIMEOUT_CODES = new Set([
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
]);

/** First match wins. Codes of Node (network, TLS, zlib), of undici and of its parser. */
const MESSAGES: readonly (readonly [RegExp, string])[] = [
  [/^(?:ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|EACCES)$/, 'The server could not be reached.'],
  [/^(?:ENOTFOUND|EAI_)/, 'The host name could not be resolved.'],
  [
    /^(?:ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_MISMATCH|EPROTO$)/,
    'The TLS connection to the origin failed.',
  ],
  [/^(?:UND_ERR_SOCKET|ECONNRESET|EPIPE)$/, 'The origin closed the connection.'],
  [/^(?:HPE_|UND_ERR_HEADERS_OVERFLOW|UND_ERR_RES_)/, 'The origin sent something that is not HTTP.'],
  [
    /^(?:Z_|ZSTD_|ERR__ERROR_|ERR_BROTLI_|ERR_ZLIB_)/,
    'The origin sent a body that is incomplete or cannot be decoded.',
  ],
  [/^(?:UND_ERR_PRX_|UND_ERR_ABORTED$)/, 'The egress proxy refused the request.'],
];

/** Codes of requests that cannot have reached the origin: no connection, or no trusted one. */
const NEVER_SENT =
  /^(?:ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|EACCES|ENOTFOUND|EAI_\w+|UND_ERR_CONNECT_TIMEOUT|ERR_TLS_CERT_\w+|CERT_\w+|UNABLE_TO_\w+|SELF_SIGNED_\w+|DEPTH_ZERO_\w+|HOSTNAME_MISMATCH)$/;

/**
 * Whether a failed request certainly never reached the origin, so that a retry does nothing twice. False if it is
 * unknown, as after a reset or at a deadline.
 * @param error What an {@link HttpClient} threw.
 */
export function neverSent(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (NEVER_SENT.test(codeOf(cause)) || ('syscall' in cause && cause.syscall === 'connect')) return true;
  }
  return false;
}

/**
 * Describes a failed request with a message that is safe to show: without address, URL or content of the origin. The
 * original is kept as `cause`.
 * @param life Of the request; if it was stopped, that reason has precedence.
 */
export function httpFailure(error: unknown, life: Pick<RequestLifetime, 'stopped' | 'reason'>): unknown {
  if (life.stopped) return life.reason;
  if (isGatewayError(error)) return error;
  const code = codeOf(error);
  if (TIMEOUT_CODES.has(code)) return failure('upstream_timeout', 'The origin did not answer in time.', error);
  const known = MESSAGES.find(([codes]) => codes.test(code));
  return failure('upstream_error', known?.[1] ?? 'The request to the origin failed.', error);
}

function failure(code: ErrorCode, message: string, cause: unknown): GatewayError {
  return new GatewayError(code, message, { cause });
}

function codeOf(error: unknown): string {
  const found = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof found === 'string' ? found : '';
}
