/*
 * Decodes request bodies that are sent with a `Content-Encoding`. The reader of the body sees decoded bytes, as they
 * arrive, and applies its limits to them: a small body that expands to a large one is refused at the limit and not
 * decoded further. With several codings, no stage may produce more than that limit either. The reader sets the pace:
 * what it does not read is not decoded. Each coding is one stream of Node's zlib, which decodes on the thread pool in
 * pieces of 64 KiB. A body without a coding costs only the reading of the header.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex, Readable } from 'node:stream';
import zlib from 'node:zlib';
import { GatewayError } from '../../core/runtime/index.js';

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
