/*
 * Reads one file from a platform's media hosts, as a client asks for it: any range, to its end. The file is requested
 * in ranges of 10 MiB, since video sites throttle a long file that is requested in one piece. A connection that breaks
 * is continued at the next byte. If the host refuses an address that has expired (403, 404, 410), the item is resolved
 * again and the file goes on from its new address, if it has the same length; this happens once for each piece of
 * progress, so a host that always refuses ends the file. Bytes are read at the client's pace, with one chunk in memory.
 */

import type { Clock, HttpStream } from '../../contracts/index.js';
import { SNIFF_BYTES } from '../../media/index.js';
import { discard, type Hop } from '../../net/index.js';
import { countShortLived, GatewayError, isGatewayError } from '../../runtime/index.js';
import { askRange, hopOf, type MediaHosts, readContentRange } from './media-hosts.js';

const PIECE_BYTES = 10 * 1024 * 1024;
/** Maximum of one file: more than any platform has. */
const MAX_BYTES = 64 * 1024 ** 3;
/** A host without ranges sends the file from its start; what the client does not want is skipped up to here. */
const MAX_SKIPPED_BYTES = 64 * 1024 * 1024;
const ANSWER_MS = 15_000;
const SILENCE_MS = 30_000;
/** Failures in a row, without a byte between them. */
const MAX_FAILURES = 5;
const FIRST_RETRY_MS = 100;
/** The address does not work any more. */
export const EXPIRED: ReadonlySet<number> = new Set([401, 403, 404, 410]);

/** Where a file can be fetched now. */
export interface MediaSource {
  url: string;
  /** Request headers that its host requires. */
  headers?: Readonly<Record<string, string>>;
}

export interface MediaReaderOptions extends Omit<MediaHosts, 'unavailable'> {
  source: MediaSource;
  /** Resolves the item again, and returns the same file at its present address. Default: an address that has expired is refused. */
  renew?(signal: AbortSignal): Promise<MediaSource>;
  /** How much of a file is skipped at a host without ranges. Default 64 MiB. */
  maxSkippedBytes?: number;
  clock: Clock;
  signal: AbortSignal;
}

/** Bytes of an answer that are wanted, from a position on. */
interface Piece {
  at: number;
  /** The last byte, included. */
  last: number;
  chunks: AsyncIterator<Uint8Array>;
  /** Bytes before `at` that must be skipped. */
  skip: number;
}

/** One file of a platform. */
export class MediaReader {
  readonly #options: MediaReaderOptions;
  readonly #hosts: MediaHosts;
  #hop: Hop;
  #size: number | undefined;
  #renewedAt = -1;
  #failures = 0;
  /** What was requested to learn the size, and its first bytes. */
  #begun: { piece: Piece; head: Buffer } | undefined;

  /** @param size Bytes of the file, if they are known; a file of another size is refused. */
  constructor(options: MediaReaderOptions, size?: number) {
    this.#options = options;
    this.#hosts = { ...options, unavailable };
    this.#hop = hopOf(options.source, this.#hosts);
    this.#size = size;
  }

  /**
   * Asks for the beginning of the file. Then read it, or {@link close} it.
   * @param bytes How much is asked for. Default 10 MiB.
   * @throws GatewayError `media_unavailable`; the signal's reason.
   */
  async begin(bytes = PIECE_BYTES): Promise<{ size: number; head: Uint8Array }> {
    const parts: Uint8Array[] = [];
    for (;;) {
      const piece = await this.#ask(0, bytes - 1);
      try {
        for (let length = 0; length < SNIFF_BYTES; ) {
          const { done, value } = await piece.chunks.next();
          if (done) break;
          parts.push(value);
          length += value.byteLength;
        }
      } catch (error) {
        await this.#fail(error);
        parts.length = 0;
        continue;
      }
      const head = Buffer.concat(parts);
      this.#begun = { piece, head };
      return { size: this.#size as number, head: head.subarray(0, SNIFF_BYTES) };
    }
  }

  /**
   * The bytes from `start` to `end`, both included. Fails with GatewayError `media_unavailable` if the source does not
   * give all of them.
   */
  async *read(start: number, end: number): AsyncGenerator<Uint8Array, void, undefined> {
    let at = start;
    while (at <= end) {
      const last = Math.min(end, at + PIECE_BYTES - 1);
      const piece = this.#takeBegun(at) ?? (await this.#ask(at, last));
      try {
        for await (const chunk of bytesOf(piece, Math.min(last, piece.last))) {
          at += chunk.byteLength;
          this.#failures = 0;
          countShortLived(chunk.byteLength);
          yield chunk;
        }
        if (at <= Math.min(last, piece.last)) throw unavailable('The source ended early.');
      } catch (error) {
        await this.#fail(error);
      } finally {
        await piece.chunks.return?.();
      }
    }
  }

  /** Releases what {@link begin} requested. */
  close(): void {
    void this.#begun?.piece.chunks.return?.();
    this.#begun = undefined;
  }

  #takeBegun(at: number): Piece | undefined {
    const begun = this.#begun;
    this.#begun = undefined;
    if (!begun) return undefined;
    const { piece, head } = begun;
    if (at === 0) return { ...piece, chunks: preceded(head, piece.chunks) };
    void piece.chunks.return?.();
    return undefined;
  }

  /** The answer to a request of a range, after as many tries as it takes. */
  async #ask(at: number, last: number): Promise<Piece> {
    const { signal, renew } = this.#options;
    for (;;) {
      const terms = { signal, maxBytes: MAX_BYTES, timeoutMs: ANSWER_MS, idleMs: SILENCE_MS };
      try {
        const { hop, reply } = await askRange(this.#hosts, this.#hop, `bytes=${at}-${last}`, terms);
        // The other ranges are requested from the final URL of the first.
        this.#hop = hop;
        const piece = this.#pieceOf(reply, at, last);
        if (piece) return piece;
        discard(reply);
        if (renew && EXPIRED.has(reply.status) && this.#renewedAt < at) {
          this.#renewedAt = at;
          this.#hop = hopOf(await renew(signal), this.#hosts);
          continue;
        }
        throw unavailable(`The source refused the file with status ${reply.status}.`, reply.status >= 429);
      } catch (error) {
        await this.#fail(error);
      }
    }
  }

  /** Undefined for a refusal. @throws GatewayError if it is another file. */
  #pieceOf({ status, headers, body }: HttpStream, at: number, last: number): Piece | undefined {
    const chunks = body[Symbol.asyncIterator]();
    if (status === 206) {
      const range = readContentRange(headers['content-range']);
      if (range?.start !== at) throw unavailable('The source sent another byte range than requested.', false);
      this.#checkSize(range.total);
      return { at, last: Math.min(last, range.total - 1), chunks, skip: 0 };
    }
    if (status !== 200) return undefined;
    const size = Number(headers['content-length'] ?? Number.NaN);
    if (!Number.isSafeInteger(size)) throw unavailable('The source does not state the length of the file.', false);
    this.#checkSize(size);
    if (at > (this.#options.maxSkippedBytes ?? MAX_SKIPPED_BYTES))
      throw unavailable('The source cannot send a part of the file.', false);
    return { at, last: size - 1, chunks, skip: at };
  }

  #checkSize(size: number): void {
    this.#size ??= size;
    if (size !== this.#size || size === 0) throw unavailable('The source has another file at this address now.', false);
  }

  /** Waits before the next try. @throws The error if there is none. */
  async #fail(error: unknown): Promise<void> {
    const { signal, clock } = this.#options;
    signal.throwIfAborted();
    if (!isGatewayError(error)) throw error;
    this.#failures += 1;
    if (!error.retryable || this.#failures > MAX_FAILURES) throw explain(error);
    await clock.sleep(FIRST_RETRY_MS * 2 ** (this.#failures - 1), signal);
  }
}

async function* bytesOf({ at, chunks, skip }: Piece, last: number): AsyncGenerator<Uint8Array, void, undefined> {
  let left = last - at + 1;
  let skipped = 0;
  while (left > 0) {
    const { done, value } = await chunks.next();
    if (done) return;
    const start = Math.min(value.byteLength, skip - skipped);
    skipped += start;
    const chunk = value.subarray(start, start + left);
    left -= chunk.byteLength;
    if (chunk.byteLength > 0) yield chunk;
  }
}

async function* preceded(head: Buffer, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield head;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}

function explain(error: GatewayError): GatewayError {
  if (error.code === 'media_unavailable') return error;
  return new GatewayError('media_unavailable', `The file could not be fetched. ${error.message}`, {
    cause: error,
    retryable: error.retryable,
  });
}

export function unavailable(message: string, retryable = true): GatewayError {
  return new GatewayError('media_unavailable', message, { retryable });
}
