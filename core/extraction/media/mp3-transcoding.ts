/*
 * Makes one MP3: downloads the source, checks that it is audio, converts it with ffmpeg, and stores it while it grows.
 * Limits are 200 MiB, 3 hours, 120 seconds including the queue, four files at a time, and 32 in the queue. The source
 * is fetched in ranges of 10 MiB, from the media hosts of the platform only and over TLS, and every redirect is
 * checked. A file that is no audio container is refused at its first bytes. A result that is much shorter than
 * promised is refused. Work continues when its clients leave, and a source that refused is not asked again for 30
 * seconds.
 */

import { open } from 'node:fs/promises';
import path from 'node:path';
import pLimit from 'p-limit';
import type { AudioSource, Clock, HttpClient, HttpStream, Storage } from '../../contracts/index.js';
import {
  type Container,
  type ConversionReport,
  type Ffmpeg,
  GrowingFile,
  MP3_BYTES_PER_SECOND,
  type ScratchFolders,
  SNIFF_BYTES,
  sniffContainer,
} from '../../media/index.js';
import { discard } from '../../net/index.js';
import {
  diskFailure,
  GatewayError,
  isDefinitiveCode,
  isGatewayError,
  isTransientCode,
  withDeadline,
} from '../../runtime/index.js';
import { boundedTable } from '../../storage/index.js';
import { askRange, hopOf, type MediaHosts, type RangeReply, readContentRange } from './media-hosts.js';

/** Maximum duration of audio. */
const MAX_SECONDS = 3 * 3600;

export interface AudioWork {
  http: HttpClient;
  source: AudioSource;
  mediaHosts: readonly string[];
  trustedOrigins: readonly string[];
  ffmpeg: Ffmpeg;
  scratch: ScratchFolders;
  storage: Storage;
  clock: Clock;
  /** Storage name and retention. */
  fileName: string;
  lifetimeMs: number;
  signal: AbortSignal;
  /** Called with the first bytes of the MP3; from then on the file can be streamed. */
  onFirstBytes(growing: GrowingFile): void;
}

/**
 * Makes one MP3 from a source: downloads it to a local file (some containers have their index at the end and cannot be
 * read from a pipe), checks that it is audio, converts, checks and stores it. Resolves with its size in bytes.
 * @throws GatewayError `audio_unavailable`, `audio_timeout`, `queue_full`, `upstream_unavailable` if the disk is full;
 *   the signal's reason.
 */
export async function makeAudio(work: AudioWork): Promise<number> {
  refuseTooLong(work.source.durationSeconds);
  const folder = await work.scratch.take();
  try {
    const input = path.join(folder.path, 'source');
    const container = await spool(input, work);
    const growing = await GrowingFile.create(path.join(folder.path, 'sound.mp3'));
    try {
      // It is streamed to the storage while it grows, and appears there when it is complete.
      const stored = store(growing, work);
      // A storage failure is reported after the conversion, so that streaming clients get the whole file.
      stored.catch(() => undefined);
      try {
        await convert(input, container, growing, work);
        growing.finish();
      } catch (error) {
        growing.fail(error);
        await stored.catch(() => undefined);
        throw error;
      }
      await stored;
      return growing.size;
    } finally {
      await growing.release();
    }
  } catch (error) {
    throw diskFailure(error);
  } finally {
    await folder.remove();
  }
}

/** A file that is no audio container is refused at its first bytes, before the rest is downloaded. */
async function spool(target: string, work: AudioWork): Promise<Container> {
  const handle = await open(target, 'wx', 0o600);
  let head = Buffer.alloc(0);
  let container: Container | undefined;
  const judge = () => {
    container = sniffContainer(head);
    if (!container) {
      const message = 'The source did not send an audio or video file.';
      throw new GatewayError('audio_unavailable', message, { retryable: false });
    }
  };
  try {
    await fetchSource({
      ...work,
      async write(chunk) {
        if (!container) {
          head = Buffer.concat([head, chunk.subarray(0, SNIFF_BYTES - head.length)]);
          if (head.length === SNIFF_BYTES) judge();
        }
        await handle.writeFile(chunk);
      },
    });
  } finally {
    await handle.close();
  }
  if (!container) judge();
  return container as Container;
}

async function convert(input: string, container: Container, growing: GrowingFile, work: AudioWork): Promise<void> {
  const { ffmpeg, signal, source, onFirstBytes } = work;
  const report = await ffmpeg.toMp3({
    input,
    container,
    maxSeconds: MAX_SECONDS + 1,
    signal,
    async write(chunk) {
      await growing.append(chunk);
      if (growing.size === chunk.byteLength) onFirstBytes(growing);
    },
  });
  const seconds = growing.size / MP3_BYTES_PER_SECOND;
  refuseTooLong(seconds);
  if (isCutShort(seconds, source.durationSeconds, report)) {
    throw new GatewayError('audio_unavailable', 'The source ended early.');
  }
}

async function store(growing: GrowingFile, { storage, clock, fileName, lifetimeMs }: AudioWork): Promise<void> {
  const body = growing.follow();
  if (!body) throw new Error('a file was closed before it was stored');
  const expiresAt = new Date(clock.now() + lifetimeMs);
  try {
    await storage.write({ name: fileName, contentType: 'audio/mpeg', body, expiresAt });
  } finally {
    // A storage that fails at once has not started to read.
    await body[Symbol.asyncIterator]().return?.();
  }
}

/**
 * Platforms round durations, and a video may be longer than its audio track: a tenth less is accepted for audio, half
 * for a video.
 */
function isCutShort(seconds: number, promised: number | undefined, report: ConversionReport): boolean {
  const { declaredSeconds, hasPictures, cutShort } = report;
  const expected = Math.max(promised ?? 0, declaredSeconds ?? 0);
  return cutShort || seconds === 0 || seconds + 3 < expected * (hasPictures ? 0.5 : 0.9);
}

function refuseTooLong(seconds = 0): void {
  if (seconds > MAX_SECONDS) {
    const message = `The item is longer than ${MAX_SECONDS / 3600} hours.`;
    throw new GatewayError('audio_unavailable', message, { retryable: false });
  }
}

/** Deadline from resolving the source to the stored file, including the time in the queue. */
const TIME_MS = 120_000;
/** Each may use 200 MiB of disk; two of them are converted while others are downloaded. */
const AT_A_TIME = 4;
const MAX_WAITING = 32;
/** A source that refused is not asked again for a while, by any client: the links are public. */
const REFUSAL_MS = 30_000;

/** A file that is being made. It continues when its clients disconnect, since players disconnect and return. */
export interface Transcode {
  /** Resolves with the first bytes. */
  readonly begun: Promise<GrowingFile>;
  readonly stored: Promise<void>;
}

/** Makes one file; it throws GatewayErrors where it can name the cause. */
export type RunTranscode = (signal: AbortSignal, begin: (growing: GrowingFile) => void) => Promise<void>;

/** Running transcodes: each file once, a few concurrently, each with a deadline. */
export class Transcodes {
  readonly #clock: Clock;
  readonly #transcodes = new Map<string, Transcode & { over: Promise<void> }>();
  readonly #refusals = boundedTable<GatewayError>(1_000, { ttl: REFUSAL_MS });
  readonly #limit = pLimit(AT_A_TIME);
  readonly #closing = new AbortController();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  has(key: string): boolean {
    return this.#transcodes.has(key);
  }

  /**
   * The running transcode of this key, or a new one.
   * @throws GatewayError `queue_full`, or the recent failure of this key.
   */
  join(key: string, make: RunTranscode): Transcode {
    const known = this.#transcodes.get(key);
    if (known) return known;
    const refusal = this.#refusals.get(key);
    if (refusal) throw refusal;
    return this.#start(key, make);
  }

  #start(key: string, make: RunTranscode): Transcode {
    if (this.#limit.pendingCount >= MAX_WAITING)
      throw new GatewayError('queue_full', 'Too many MP3 files are being created.');
    const begun = Promise.withResolvers<GrowingFile>();
    let over = Promise.resolve();
    const run = (signal: AbortSignal) => {
      const running = this.#limit(async () => {
        // Its deadline may have passed in the queue, which is not the source's fault.
        signal.throwIfAborted();
        try {
          await make(signal, begun.resolve);
        } catch (failure) {
          if (isGatewayError(failure) && isRefusal(failure)) this.#refusals.set(key, failure);
          throw failure;
        }
      });
      const forget = () => void this.#transcodes.delete(key);
      over = running.then(forget, forget);
      return running;
    };
    const signals = [this.#closing.signal];
    const stored = withDeadline(TIME_MS, run, { clock: this.#clock, signals, error: tooSlow });
    // Either promise may have no listener.
    begun.promise.catch(() => undefined);
    stored.catch(begun.reject);
    const transcode = { begun: begun.promise, stored, over };
    this.#transcodes.set(key, transcode);
    return transcode;
  }

  /** Ends all of them, and resolves when none is left. */
  async close(): Promise<void> {
    this.#closing.abort(new GatewayError('shutting_down', 'The gateway is closing.'));
    await Promise.all([...this.#transcodes.values()].map(({ over }) => over));
  }
}

function tooSlow(): GatewayError {
  return new GatewayError('audio_timeout', `The MP3 could not be created within ${TIME_MS / 1000} s.`);
}

/** A failure of the source, not a temporary condition of this gateway. */
function isRefusal({ code }: GatewayError): boolean {
  return isDefinitiveCode(code) || isTransientCode(code) || code === 'audio_unavailable' || code === 'audio_timeout';
}

/** Maximum bytes of a source. */
const MAX_SOURCE_BYTES = 200 * 1024 * 1024;
/** Video sites throttle a long file that is requested in one piece. */
const PIECE_BYTES = 10 * 1024 * 1024;

export interface SourceFetch extends Omit<MediaHosts, 'unavailable'> {
  source: AudioSource;
  write(chunk: Uint8Array): Promise<void>;
  signal: AbortSignal;
}

/**
 * Downloads a source completely, in ranges if the host supports them.
 * @throws GatewayError `audio_unavailable` if it is refused, too large, truncated, or on a forbidden host;
 *   `audio_timeout`; the signal's reason; what `write` throws.
 */
export async function fetchSource(fetch: SourceFetch): Promise<void> {
  const hosts = { ...fetch, unavailable };
  const terms = { signal: fetch.signal, maxBytes: MAX_SOURCE_BYTES };
  let hop = hopOf(fetch.source, hosts);
  for (let position = 0, total = Number.POSITIVE_INFINITY; position < total; ) {
    const range = `bytes=${position}-${position + PIECE_BYTES - 1}`;
    const reached: RangeReply = await explain(fetch, () => askRange(hosts, hop, range, terms));
    // The other ranges are requested from the final URL of the first.
    hop = reached.hop;
    const { reply } = reached;
    if (reply.status === 200 && position === 0) {
      await copy(reply, fetch);
      return;
    }
    if (reply.status !== 206) {
      discard(reply);
      throw refused(reply.status);
    }
    const piece = readContentRange(reply.headers['content-range']);
    if (piece?.start !== position || piece.total > MAX_SOURCE_BYTES) {
      discard(reply);
      throw piece?.start === position ? tooLarge() : unavailable('The source sent another byte range than requested.');
    }
    total = piece.total;
    const received = await copy(reply, fetch);
    if (received === 0) throw unavailable('The source ended early.');
    position += received;
  }
}

async function copy(reply: HttpStream, fetch: SourceFetch): Promise<number> {
  let received = 0;
  const chunks = reply.body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { done, value } = await explain(fetch, () => chunks.next());
      if (done) return received;
      received += value.byteLength;
      await fetch.write(value);
    }
  } finally {
    await chunks.return?.();
  }
}

/** Converts transport errors to audio errors. */
async function explain<Result>({ signal }: SourceFetch, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    signal.throwIfAborted();
    if (!isGatewayError(error)) throw error;
    if (error.code === 'upstream_timeout') throw new GatewayError('audio_timeout', error.message, { cause: error });
    if (error.code !== 'upstream_error' && error.code !== 'upstream_refused') throw error;
    throw new GatewayError('audio_unavailable', `The audio could not be fetched. ${error.message}`, {
      cause: error,
      retryable: error.retryable,
    });
  }
}

function refused(status: number): GatewayError {
  return unavailable(`The source refused the audio file with status ${status}.`);
}

function tooLarge(): GatewayError {
  return unavailable(`The source is larger than ${MAX_SOURCE_BYTES / 1024 / 1024} MiB.`, false);
}

function unavailable(message: string, retryable = true): GatewayError {
  return new GatewayError('audio_unavailable', message, { retryable });
}
