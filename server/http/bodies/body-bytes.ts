/*
 * Reads the bytes of a body within its limits: of size, of memory, of the number and size of its chunks, and, for JSON,
 * of depth and values while they arrive. Chunks are copied into one buffer beyond 1 MiB or 16 chunks, and large buffers
 * are freed at once, not by the garbage collector. After 512 KiB of one body, other requests get a turn.
 *
 * Bodies with a `Content-Encoding` are decoded as they arrive, and the limits apply to what comes out: a small body
 * that expands to a large one is refused at the limit and not decoded further. With several codings, no stage may
 * produce more than that limit either. The reader sets the pace: what it does not read is not decoded. Each coding is
 * one stream of Node's zlib, which decodes on the thread pool in pieces of 64 KiB. A body without a coding costs only
 * the reading of the header.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex, Readable } from 'node:stream';
import zlib from 'node:zlib';
import { GatewayError, isGatewayError } from '../../../core/runtime/index.js';
import { BIG_BYTES, type BodyBudget, type BodyReservation } from './body-budget.js';
import { JsonScan, MAX_DEPTH } from './json-body.js';

/** Maximum chunks of one body that are kept as they came: a chunk of one byte takes hundreds of bytes of memory. */
const MAX_CHUNKS = 16;

/** Bytes of one body read per turn of the event loop, so that other requests continue in between. */
const TURN_BYTES = 512 * 1024;

/** Smaller chunks are left to the garbage collector. */
const FREED_BYTES = 16 * 1024;

/**
 * Frees the memory of bytes at once, if they own it. They must not be read afterwards. Left to the garbage collector,
 * the chunks of large bodies take hundreds of megabytes and a full collection every few bodies.
 */
export function freeMemory(bytes: Buffer<ArrayBuffer>): void {
  const { buffer, length } = bytes;
  if (length < FREED_BYTES || (length !== buffer.byteLength && length <= BIG_BYTES)) return;
  buffer.transfer(0);
}

export function tooLarge(maxBytes: number, setting?: string): GatewayError {
  const remedy = setting === undefined ? '' : ` The operator sets this limit with ${setting}.`;
  return new GatewayError('request_too_large', `The body is larger than ${maxBytes} bytes.${remedy}`);
}

function tooManyValues(maxValues: number): GatewayError {
  return new GatewayError('request_too_large', `The body has more than ${maxValues} JSON values.`);
}

function tooDeep(): GatewayError {
  return new GatewayError('invalid_json', `The body is nested deeper than ${MAX_DEPTH} levels.`);
}

export function brokenOff(cause: Error | undefined): GatewayError {
  return new GatewayError('bad_request', 'The connection ended before the body did.', { cause });
}

export interface ReadLimits {
  maxBytes: number;
  setting: string | undefined;
  maxValues: number;
  /** The announced length. */
  expected: number | undefined;
  budget: BodyBudget;
  owner: string;
  /** Scans JSON while it arrives. */
  scan: JsonScan | undefined;
  /** Called with the number of bytes so far. What it throws ends the reading. */
  onBytes(bytes: number): void;
}

/** Chunks that a body may have before a minimum size applies: each costs the HTTP parser about 10 µs. */
const MAX_SMALL_CHUNKS = 4_096;

const SMALL_CHUNK_BYTES = 64;

/** Whether a body comes in so many small chunks that parsing them would block other requests. */
export function areTooSmall(chunks: number, bytes: number): boolean {
  return chunks > MAX_SMALL_CHUNKS && bytes < chunks * SMALL_CHUNK_BYTES;
}

/** Limits what a coded body is decoded from. */
export function checkStage(maxBytes: number, setting?: string): CheckStage {
  return (bytes, chunks) => {
    if (bytes > maxBytes) throw tooLarge(maxBytes, setting);
    if (areTooSmall(chunks, bytes)) throw tooSmallChunks();
  };
}

function tooSmallChunks(): GatewayError {
  const message = `The body comes in too many small chunks; send chunks of ${SMALL_CHUNK_BYTES} bytes or more.`;
  return new GatewayError('bad_request', message);
}

/** A body, and what released its reservation. */
export interface ReadBytes extends Pick<ReadLimits, 'onBytes'> {
  bytes: Buffer<ArrayBuffer>;
  release(): void;
}

export function readBytes(request: Readable, limits: ReadLimits): Promise<ReadBytes> {
  const { maxBytes, setting, maxValues, expected, budget, owner, scan, onBytes } = limits;
  return new Promise((resolve, reject) => {
    const collected = new CollectedBytes(expected, maxBytes);
    let isOver = false;
    let bytesOfTurn = 0;
    let chunks = 0;
    const endTurn = () => {
      bytesOfTurn = 0;
      if (!isOver) request.resume();
    };
    // Its listeners end with the request: removing each of them takes longer than checking whether it is over.
    const fail = (error: unknown) => {
      if (isOver) return;
      isOver = true;
      reservation.release();
      collected.drop();
      request.pause();
      reject(error);
    };
    const reservation: BodyReservation = budget.open(owner, fail);
    const take = (chunk: Buffer<ArrayBuffer>) => {
      if (isOver) return;
      try {
        if (collected.size + chunk.length > maxBytes) throw tooLarge(maxBytes, setting);
        reservation.add(chunk.length);
        const isCopied = collected.add(chunk);
        onBytes(collected.size);
        chunks += 1;
        if (areTooSmall(chunks, collected.size)) throw tooSmallChunks();
        const exceeded = scan?.push(chunk);
        bytesOfTurn += chunk.length;
        if (isCopied) freeMemory(chunk);
        if (exceeded) throw exceeded === 'depth' ? tooDeep() : tooManyValues(maxValues);
        if (bytesOfTurn < TURN_BYTES) return;
        request.pause();
        setImmediate(endTurn);
      } catch (error) {
        fail(error);
      }
    };
    const finish = () => {
      if (isOver) return;
      isOver = true;
      reservation.arrived();
      resolve({ bytes: collected.take(), release: reservation.release, onBytes });
    };
    // Every request closes; an error takes longer to make than the check.
    const breakOff = (cause?: Error) => {
      if (!isOver) fail(isGatewayError(cause) ? cause : brokenOff(cause));
    };
    // Of a request inside of the process the whole body is there: events would take longer than reading it.
    const whole = (request as { takeWhole?(): Buffer<ArrayBuffer> | undefined }).takeWhole?.();
    if (whole) {
      take(whole);
      finish();
    } else request.on('data', take).on('end', finish).on('close', breakOff).on('error', breakOff);
  });
}

/**
 * Collects chunks. Beyond 1 MiB, or 16 chunks, they are copied into one buffer as they arrive, so that neither a large
 * body nor one of tiny chunks takes more memory than twice its size. Beyond 1 MiB the buffer has the announced length
 * at once: its pages take memory only once they are written.
 */
class CollectedBytes {
  readonly #expected: number;
  readonly #maxBytes: number;
  #chunks: Buffer<ArrayBuffer>[] = [];
  #whole: Buffer<ArrayBuffer> | undefined;
  size = 0;

  constructor(expected: number | undefined, maxBytes: number) {
    this.#expected = expected ?? 0;
    this.#maxBytes = maxBytes;
  }

  /** @returns Whether the chunk was copied, so that it is no longer read here. */
  add(chunk: Buffer<ArrayBuffer>): boolean {
    const next = this.size + chunk.length;
    const isStorable = !this.#whole && next <= BIG_BYTES && this.#chunks.length < MAX_CHUNKS;
    if (isStorable) this.#chunks.push(chunk);
    else {
      if (!this.#whole || next > this.#whole.length) this.#grow(next);
      this.#whole?.set(chunk, this.size);
    }
    this.size = next;
    return !isStorable;
  }

  take(): Buffer<ArrayBuffer> {
    const [only] = this.#chunks;
    if (this.#whole) return this.#whole.subarray(0, this.size);
    return this.#chunks.length === 1 && only ? only : Buffer.concat(this.#chunks);
  }

  drop(): void {
    if (this.#whole) freeMemory(this.#whole);
    this.#chunks = [];
    this.#whole = undefined;
  }

  #grow(wanted: number): void {
    const announced = wanted > BIG_BYTES ? this.#expected : 0;
    const larger = Buffer.allocUnsafeSlow(Math.min(this.#maxBytes, Math.max(announced, wanted * 2)));
    let at = 0;
    for (const part of this.#whole ? [this.#whole] : this.#chunks) {
      at += part.copy(larger, at);
      freeMemory(part);
    }
    this.#chunks = [];
    this.#whole = larger;
  }
}

/** Codings as `Accept-Encoding` lists them. */
const ACCEPTED = 'gzip, deflate, br, zstd, identity';
/** Codings of one body. */
const MAX_CODINGS = 3;
const PIECE_BYTES = 64 * 1024;
/** RFC 9659 allows a window of 8 MiB in this coding; the library's own limit is 128 MiB. */
const ZSTD_WINDOW_LOG = 23;

type Coding = 'gzip' | 'deflate' | 'br' | 'zstd';
const CODINGS: Readonly<Record<string, Coding | undefined>> = {
  gzip: 'gzip',
  'x-gzip': 'gzip',
  deflate: 'deflate',
  br: 'br',
  zstd: 'zstd',
};

/**
 * The codings of a body, in the order in which they were applied; undefined if there is none. Tells the client which
 * are accepted if one is not.
 * @throws GatewayError `unsupported_media_type`.
 */
export function readCodings({ headers }: IncomingMessage, response: ServerResponse): readonly Coding[] | undefined {
  const { 'content-encoding': header } = headers;
  if (header === undefined) return undefined;
  const names = header.split(',').map((name) => name.trim().toLowerCase());
  const applied = names.filter((name) => name !== '' && name !== 'identity');
  const codings = applied.map((name) => (Object.hasOwn(CODINGS, name) ? CODINGS[name] : undefined));
  const known = codings.filter((coding) => coding !== undefined);
  if (known.length === applied.length && known.length <= MAX_CODINGS) return known.length > 0 ? known : undefined;
  response.setHeader('Accept-Encoding', ACCEPTED);
  const message = `Content-Encoding ${header.slice(0, 100)} is not accepted. Accepted: ${ACCEPTED}, at most ${MAX_CODINGS} of them.`;
  throw new GatewayError('unsupported_media_type', message);
}

/** Throws the error for a stage that has produced so many bytes, in so many chunks, if that is too much. */
export type CheckStage = (bytes: number, chunks: number) => void;

/**
 * The decoded body. An error of it is a GatewayError: `bad_request` if the body is not valid, or ends before its end,
 * and what `check` throws. It must be read to its end or destroyed; then the rest of the request stays unread.
 * @param check Of the request, and of each stage but the last, which its reader limits.
 */
export async function decodeBody(
  request: IncomingMessage,
  codings: readonly Coding[],
  check: CheckStage,
): Promise<Readable> {
  const stages: Duplex[] = [];
  let source: Readable = request;
  const stop = (error?: Error) => {
    request.unpipe();
    for (const stage of stages.toReversed()) stage.destroy(error);
  };
  for (const coding of codings.toReversed()) {
    const stage = openDecoder(coding === 'deflate' && (await isRaw(source)) ? 'raw' : coding);
    watchStage(source, check, stop);
    stages.push(stage);
    stage.on('error', (cause) => {
      if (cause instanceof GatewayError) return;
      stop(new GatewayError('bad_request', `The body is not valid ${coding}.`, { cause }));
    });
    source = source.pipe(stage);
  }
  const endEarly = (cause?: Error) => {
    if (request.readableEnded) return;
    stop(new GatewayError('bad_request', 'The connection ended before the body did.', { cause }));
  };
  request.on('close', endEarly).on('error', endEarly);
  source.once('close', () => stop());
  return source;
}

function watchStage(stage: Readable, check: CheckStage, stop: (error: Error) => void): void {
  let [bytes, chunks] = [0, 0];
  stage.on('data', (chunk: Uint8Array) => {
    bytes += chunk.length;
    chunks += 1;
    try {
      check(bytes, chunks);
    } catch (error) {
      stop(error as Error);
    }
  });
}

function openDecoder(coding: Coding | 'raw'): Duplex {
  const options = { chunkSize: PIECE_BYTES };
  switch (coding) {
    case 'gzip':
      return zlib.createGunzip(options);
    case 'deflate':
      return zlib.createInflate(options);
    case 'raw':
      return zlib.createInflateRaw(options);
    case 'br':
      return zlib.createBrotliDecompress(options);
    case 'zstd':
      return zlib.createZstdDecompress({
        ...options,
        params: { [zlib.constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG },
      });
  }
}

/** Low half of the first byte of the zlib format, which `deflate` means; some clients send the bytes without it. */
const ZLIB_METHOD = 8;

async function isRaw(source: Readable): Promise<boolean> {
  const first = await firstByte(source);
  return first !== undefined && (first & 0x0f) !== ZLIB_METHOD;
}

/** Undefined if there is none. */
function firstByte(source: Readable): Promise<number | undefined> {
  return new Promise((resolve) => {
    const peek = () => {
      const chunk: Uint8Array | null = source.read();
      if (chunk === null) return;
      source.off('readable', peek);
      source.unshift(chunk);
      resolve(chunk[0]);
    };
    const end = () => resolve(undefined);
    source.on('readable', peek).once('end', end).once('close', end).once('error', end);
    peek();
  });
}
