import { open } from 'node:fs/promises';
import path from 'node:path';
import { LRUCache } from 'lru-cache';
import pLimit from 'p-limit';
import type { AudioSource, Clock, HttpClient, HttpStream, Storage } from '../contracts/index.js';
import {
  type Container,
  type ConversionReport,
  createGrowingFile,
  type Ffmpeg,
  type GrowingFile,
  MP3_BYTES_PER_SECOND,
  type ScratchFolders,
  SNIFF_BYTES,
  sniffContainer,
} from '../media/index.js';
import { discard, type Hop, nextHop } from '../net/index.js';
import {
  diskFailure,
  GatewayError,
  isDefinitiveCode,
  isGatewayError,
  isTransientCode,
  withDeadline,
} from '../runtime/index.js';

/** Sound of this length at most. */
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
  /** What it is stored as, and for how long. */
  fileName: string;
  lifetimeMs: number;
  signal: AbortSignal;
  /** Called with the first bytes of the MP3; from then on it can be followed. */
  onFirstBytes(growing: GrowingFile): void;
}

/**
 * One MP3, from the source to the storage: fetched into a file of ours (some containers keep their index at the end, and
 * cannot be read from a pipe), found to be sound, converted, checked, stored. Resolves with its size in bytes.
 * @throws GatewayError `audio_unavailable`, `audio_timeout`, `queue_full`, `upstream_unavailable` where the disk is full;
 *   the signal's reason.
 */
export async function makeAudio(work: AudioWork): Promise<number> {
  refuseTooLong(work.source.durationSeconds);
  const folder = await work.scratch.take();
  try {
    const input = path.join(folder.path, 'source');
    const container = await spool(input, work);
    const growing = await createGrowingFile(path.join(folder.path, 'sound.mp3'));
    try {
      // It is written to the storage while it grows, and comes into being there when it is whole.
      const stored = store(growing, work);
      // A failure to store counts when the conversion is done: those who follow that get their file all the same.
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

/** A file that is no container of sound is refused at its first bytes, before the rest is fetched. */
async function spool(target: string, work: AudioWork): Promise<Container> {
  const handle = await open(target, 'wx', 0o600);
  let head = Buffer.alloc(0);
  let container: Container | undefined;
  const judge = () => {
    container = sniffContainer(head);
    if (!container) {
      const message = 'What the source sent is no sound or video file.';
      throw new GatewayError('audio_unavailable', message, { retryable: false });
    }
  };
  try {
    await fetchSound({
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
    throw new GatewayError('audio_unavailable', 'The source ends before it should.');
  }
}

async function store(growing: GrowingFile, { storage, clock, fileName, lifetimeMs }: AudioWork): Promise<void> {
  const body = growing.follow();
  if (!body) throw new Error('a file was closed before it was stored');
  const expiresAt = new Date(clock.now() + lifetimeMs);
  try {
    await storage.write({ name: fileName, contentType: 'audio/mpeg', body, expiresAt });
  } finally {
    // A storage that fails at once has not begun to read.
    await body[Symbol.asyncIterator]().return?.();
  }
}

/**
 * Platforms round lengths, and pictures may go on after the sound: a tenth less is nothing for sound alone, half for a
 * video.
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

/** From the question where the sound is to the stored file, waiting for a place included. */
const TIME_MS = 120_000;
/** Each may hold a source of 200 MiB on disk; two of them are converted while others are fetched. */
const AT_A_TIME = 4;
const MAX_WAITING = 32;
/** A source that refuses is left alone for a while, whoever asks: the links are public. */
const REFUSAL_MS = 30_000;

/** A file that is being made. It goes on when those who asked have left, since players leave and come back. */
export interface Making {
  /** Resolves with the first bytes. */
  readonly begun: Promise<GrowingFile>;
  readonly stored: Promise<void>;
}

/** Makes one file; what it throws is a GatewayError wherever it can say why. */
export type Make = (signal: AbortSignal, begin: (growing: GrowingFile) => void) => Promise<void>;

/** Files in the making: each once, a few at a time, in bounded time. */
export interface Transcodes {
  has(key: string): boolean;
  /**
   * The making of this key, begun where there is none.
   * @throws GatewayError `queue_full`, or what the last one failed with a moment ago.
   */
  join(key: string, make: Make): Making;
  /** Ends all of them, and resolves when nothing is left. */
  close(): Promise<void>;
}

export function createTranscodes(clock: Clock): Transcodes {
  const makings = new Map<string, Making & { over: Promise<void> }>();
  const refusals = new LRUCache<string, GatewayError>({ max: 1_000, ttl: REFUSAL_MS });
  const limit = pLimit(AT_A_TIME);
  const closing = new AbortController();

  function start(key: string, make: Make): Making {
    if (limit.pendingCount >= MAX_WAITING) throw new GatewayError('queue_full', 'Too many MP3 files are being made.');
    const begun = Promise.withResolvers<GrowingFile>();
    let over = Promise.resolve();
    const run = (signal: AbortSignal) => {
      const running = limit(async () => {
        // It may have waited for a place until its time was over, which is not the source's doing.
        signal.throwIfAborted();
        try {
          await make(signal, begun.resolve);
        } catch (failure) {
          if (isGatewayError(failure) && isRefusal(failure)) refusals.set(key, failure);
          throw failure;
        }
      });
      const forget = () => void makings.delete(key);
      over = running.then(forget, forget);
      return running;
    };
    const stored = withDeadline(TIME_MS, run, { clock, signals: [closing.signal], error: tooSlow });
    // Nobody may be waiting for either of them.
    begun.promise.catch(() => undefined);
    stored.catch(begun.reject);
    const making = { begun: begun.promise, stored, over };
    makings.set(key, making);
    return making;
  }

  return {
    has: (key) => makings.has(key),
    join(key, make) {
      const known = makings.get(key);
      if (known) return known;
      const refusal = refusals.get(key);
      if (refusal) throw refusal;
      return start(key, make);
    },
    async close() {
      closing.abort(new GatewayError('shutting_down', 'The gateway is closing.'));
      await Promise.all([...makings.values()].map(({ over }) => over));
    },
  };
}

function tooSlow(): GatewayError {
  return new GatewayError('audio_timeout', `The MP3 could not be made within ${TIME_MS / 1000} s.`);
}

/** What the source did, as opposed to a condition of ours that may have passed by the next request. */
function isRefusal({ code }: GatewayError): boolean {
  return isDefinitiveCode(code) || isTransientCode(code) || code === 'audio_unavailable' || code === 'audio_timeout';
}

/** Bytes of a source at most. */
const MAX_SOURCE_BYTES = 200 * 1024 * 1024;
/** Video sites slow down whoever asks for a long file in one piece. */
const PIECE_BYTES = 10 * 1024 * 1024;
const MAX_REDIRECTS = 5;

export interface SoundFetch {
  http: HttpClient;
  source: AudioSource;
  /** Hosts that may be asked, as {@link Extractor.mediaHosts} has them; asked anew for every redirect. */
  mediaHosts: readonly string[];
  /** Origins that may be reached without TLS. */
  trustedOrigins: readonly string[];
  write(chunk: Uint8Array): Promise<void>;
  signal: AbortSignal;
}

/**
 * Fetches a source from its first byte to its last, piece by piece where the host can do that.
 * @throws GatewayError `audio_unavailable` where it is refused, too large, cut, or elsewhere than it may be;
 *   `audio_timeout`; the signal's reason; what `write` throws.
 */
export async function fetchSound(fetch: SoundFetch): Promise<void> {
  let hop: Hop = { url: parseUrl(fetch.source.url), method: 'GET', headers: fetch.source.headers ?? {} };
  for (let position = 0, total = Number.POSITIVE_INFINITY; position < total; ) {
    const range = `bytes=${position}-${position + PIECE_BYTES - 1}`;
    const reached: { hop: Hop; reply: HttpStream } = await walk(hop, range, fetch);
    // The rest is asked for where the first piece was found.
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
      throw piece?.start === position
        ? tooLarge()
        : unavailable('The source answers with another part than asked for.');
    }
    total = piece.total;
    const received = await copy(reply, fetch);
    if (received === 0) throw unavailable('The source ends before it should.');
    position += received;
  }
}

async function walk(start: Hop, range: string, fetch: SoundFetch): Promise<{ hop: Hop; reply: HttpStream }> {
  let hop = start;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    checkPlace(hop.url, fetch);
    const reply = await explain(fetch, () =>
      fetch.http.stream({
        url: hop.url,
        headers: { ...hop.headers, range, 'accept-encoding': 'identity' },
        signal: fetch.signal,
        maxBytes: MAX_SOURCE_BYTES,
      }),
    );
    const next = nextHop(hop, reply.status, reply.headers.location);
    if (!next) return { hop, reply };
    discard(reply);
    hop = next;
  }
  throw unavailable('The source redirects too often.');
}

async function copy(reply: HttpStream, fetch: SoundFetch): Promise<number> {
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

/** What the transport reports, as a failure of the sound. */
async function explain<Result>({ signal }: SoundFetch, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    signal.throwIfAborted();
    if (!isGatewayError(error)) throw error;
    if (error.code === 'upstream_timeout') throw new GatewayError('audio_timeout', error.message, { cause: error });
    if (error.code !== 'upstream_error' && error.code !== 'upstream_refused') throw error;
    throw new GatewayError('audio_unavailable', `The sound could not be fetched. ${error.message}`, {
      cause: error,
      retryable: error.retryable,
    });
  }
}

function checkPlace(url: URL, { mediaHosts, trustedOrigins }: SoundFetch): void {
  const host = url.hostname.replace(/\.$/, '');
  const known = mediaHosts.some((place) =>
    place.startsWith('.') ? host === place.slice(1) || host.endsWith(place) : host === place,
  );
  const secure = url.protocol === 'https:' || trustedOrigins.includes(url.origin);
  if (!known || !secure)
    throw unavailable('The sound lies on a host that the platform does not keep its media on.', false);
}

/** `bytes 0-99/1000`; with an unknown total it is of no use, since nobody could tell the end. */
function readContentRange(text = ''): { start: number; total: number } | undefined {
  const [, start, total] = /^bytes (\d{1,15})-\d{1,15}\/(\d{1,15})$/.exec(text) ?? [];
  return total === undefined ? undefined : { start: Number(start), total: Number(total) };
}

function parseUrl(text: string): URL {
  const url = URL.parse(text);
  if (!url) throw unavailable('The platform names a source that is not a URL.');
  return url;
}

function refused(status: number): GatewayError {
  return unavailable(`The source refuses to give the sound: it answers ${status}.`);
}

function tooLarge(): GatewayError {
  return unavailable(`The source is larger than ${MAX_SOURCE_BYTES / 1024 / 1024} MiB.`, false);
}

function unavailable(message: string, retryable = true): GatewayError {
  return new GatewayError('audio_unavailable', message, { retryable });
}
