import { LRUCache } from 'lru-cache';
import pLimit from 'p-limit';
import type { Extractor, LinkRef } from '../contracts/extractor.js';
import type { Clock, Logger, Storage } from '../contracts/services.js';
import type { HttpFaces } from '../entry-services.js';
import { GatewayError, isDefinitiveCode, isGatewayError, isTransientCode } from '../errors.js';
import type { AudioFile, AudioFileRequest } from '../gateway.js';
import type { Ffmpeg } from '../media/ffmpeg.js';
import type { GrowingFile } from '../media/growing-file.js';
import type { ScratchFolders } from '../media/scratch-folders.js';
import type { PluginHost } from '../plugin-host.js';
import type { Registered, Registry } from '../registry.js';
import type { AudioLinks } from './audio-link.js';
import { makeAudio } from './audio-making.js';

/** From the question where the sound is to the stored file. */
const TIME_MS = 120_000;
/** Each may hold a source of 200 MiB on disk; two of them are converted while others are fetched. */
const AT_A_TIME = 4;
const MAX_WAITING = 32;
/** A source that refuses is left alone for a while, whoever asks: the links are public. */
const REFUSAL_MS = 30_000;

export interface AudioFilesOptions {
  links: AudioLinks;
  registry: Registry;
  host: PluginHost;
  storage: Storage;
  http: HttpFaces;
  /** Default: none, and only what has been made before can be had. */
  ffmpeg?: Ffmpeg;
  scratch: ScratchFolders;
  clock: Clock;
  logger: Logger;
}

/** Hosted MP3 files: each made once, at the first request, for everybody who asks. */
export interface AudioFiles {
  open(request: AudioFileRequest): Promise<AudioFile>;
  /** Ends what is being made. */
  close(): Promise<void>;
}

/** A file that is being made. It goes on when those who asked have left, since players leave and come back. */
interface Making {
  /** Resolves with the first bytes. */
  readonly begun: Promise<GrowingFile>;
  readonly stored: Promise<void>;
  /** Settles when nothing of the work is left, which may be later than its time is over. */
  readonly over: Promise<unknown>;
}

interface Item {
  extractor: Registered<Extractor>;
  link: LinkRef;
  fileName: string;
}

export function createAudioFiles(options: AudioFilesOptions): AudioFiles {
  const { links, registry, host, storage, clock, logger } = options;
  const makings = new Map<string, Making>();
  const refusals = new LRUCache<string, GatewayError>({ max: 1_000, ttl: REFUSAL_MS });
  const limit = pLimit(AT_A_TIME);
  const closing = new AbortController();
  // What a crash has left; whatever cannot be removed now is met again with the next file.
  options.scratch.sweep().catch(() => undefined);

  function itemOf(canonicalUrl: string): Item {
    try {
      const { extractor, link } = registry.matchLink(new URL(canonicalUrl));
      return { extractor, link, fileName: links.fileName(link.url) };
    } catch (cause) {
      // The link is genuine, so its platform was served when it was made.
      throw new GatewayError('plugin_unavailable', 'The platform of this link is not served now.', { cause });
    }
  }

  async function produce(
    { extractor, link, fileName }: Item,
    signal: AbortSignal,
    begin: (growing: GrowingFile) => void,
  ) {
    const { contribution, entry } = extractor;
    const { platform, mediaHosts = [] } = contribution;
    const { ffmpeg, scratch } = options;
    // Somebody else may have stored it between the question and now.
    if (await storage.stat(fileName)) return;
    if (!ffmpeg) throw new GatewayError('plugin_unavailable', 'This gateway has no ffmpeg to make MP3 files with.');
    const startedAt = clock.monotonic();
    const source = await host.call(entry, signal, async (callSignal) => {
      if (!contribution.resolveAudio)
        throw new GatewayError('audio_unavailable', 'The platform gives no sound.', { retryable: false });
      return contribution.resolveAudio({ link, options: EXTRACT_DEFAULTS, signal: callSignal });
    });
    const trustedOrigins = host.trustedOriginsOf(entry);
    const bytes = await makeAudio({
      http: options.http.face({ trustedOrigins, timeoutMs: TIME_MS, signal }),
      source,
      mediaHosts,
      trustedOrigins,
      ffmpeg,
      scratch,
      storage,
      clock,
      fileName,
      lifetimeMs: links.lifetimeMs,
      signal,
      onFirstBytes: begin,
    });
    logger.info('an MP3 was made', { platform, id: link.id, bytes, ms: Math.round(clock.monotonic() - startedAt) });
  }

  function start(item: Item): Making {
    if (limit.pendingCount >= MAX_WAITING) throw new GatewayError('queue_full', 'Too many MP3 files are being made.');
    const { fileName, extractor, link } = item;
    const ending = new AbortController();
    const stop = () => ending.abort(closing.signal.reason);
    closing.signal.addEventListener('abort', stop, { once: true });
    const timer = new AbortController();
    clock.sleep(TIME_MS, timer.signal).then(
      () => ending.abort(new GatewayError('audio_timeout', `The MP3 could not be made within ${TIME_MS / 1000} s.`)),
      () => undefined,
    );
    const begun = Promise.withResolvers<GrowingFile>();
    const stored = Promise.withResolvers<void>();
    const fail = (failure: unknown) => {
      begun.reject(failure);
      stored.reject(failure);
    };
    // Nobody may be waiting for either of them.
    begun.promise.catch(() => undefined);
    stored.promise.catch(() => undefined);
    ending.signal.addEventListener('abort', () => fail(ending.signal.reason), { once: true });

    const over = limit(() => {
      ending.signal.throwIfAborted();
      return produce(item, ending.signal, begun.resolve);
    })
      .then(stored.resolve, (error: unknown) => {
        const failure = explain(error, extractor.contribution.platform);
        fail(failure);
        if (isGatewayError(failure) && isRefusal(failure)) refusals.set(fileName, failure);
        const code = isGatewayError(failure) ? failure.code : 'internal_error';
        logger.warn('an MP3 could not be made', {
          platform: extractor.contribution.platform,
          id: link.id,
          code,
          error,
        });
      })
      .finally(() => {
        timer.abort();
        closing.signal.removeEventListener('abort', stop);
        makings.delete(fileName);
      });
    const making = { begun: begun.promise, stored: stored.promise, over };
    makings.set(fileName, making);
    return making;
  }

  async function find({
    fileName,
  }: Item): Promise<Pick<AudioFile & { kind: 'stored' }, 'kind' | 'file' | 'read'> | undefined> {
    const file = await storage.stat(fileName);
    return file && { kind: 'stored', file, read: (range) => storage.read(fileName, range) };
  }

  return {
    async open({ name, make, signal }) {
      const { canonicalUrl, expiresAt } = links.open(name, clock.now());
      const item = itemOf(canonicalUrl);
      const described = { expiresAt, downloadName: downloadNameOf(item) };
      const known = makings.has(item.fileName) ? undefined : await find(item);
      if (known) return { ...described, ...known };
      if (make === 'never') return { ...described, kind: 'unmade' };
      const refusal = refusals.get(item.fileName);
      if (refusal) throw refusal;
      const making = makings.get(item.fileName) ?? start(item);
      if (make === 'following') {
        const growing = await unlessAborted(Promise.race([making.begun, making.stored]), signal);
        // What is whole is about to be stored, and then has a length and validators.
        const body = growing?.whole ? undefined : growing?.follow();
        if (body) return { ...described, kind: 'growing', body };
      }
      await unlessAborted(making.stored, signal);
      const made = await find(item);
      if (!made) throw new GatewayError('upstream_unavailable', 'The file was made, and is not in the storage.');
      return { ...described, ...made };
    },
    async close() {
      closing.abort(new GatewayError('shutting_down', 'The gateway is closing.'));
      await Promise.all([...makings.values()].map(({ over }) => over));
    },
  };
}

const EXTRACT_DEFAULTS = { clipReviewLimit: 10, clipSort: 'latest', includeEmptyReviews: false } as const;

/** How an item's file is called where it is saved: ASCII without anything that a header or a file system would mind. */
function downloadNameOf({ extractor, link }: Item): string {
  return `${extractor.contribution.platform}-${link.id}`
    .replace(/[^A-Za-z0-9_-]+/g, '_')
    .slice(0, 100)
    .concat('.mp3');
}

/** Too slow is too slow, whichever part of the way it was. */
function explain(error: unknown, platform: string): unknown {
  if (!isGatewayError(error)) return error;
  if (error.code !== 'upstream_timeout') return error.with({ platform });
  return new GatewayError('audio_timeout', 'The source is too slow.', { platform, cause: error });
}

/** What the source did, as opposed to a condition of ours that may have passed by the next request. */
function isRefusal({ code }: GatewayError): boolean {
  return isDefinitiveCode(code) || isTransientCode(code) || code === 'audio_unavailable' || code === 'audio_timeout';
}

async function unlessAborted<Result>(work: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (!signal) return work;
  signal.throwIfAborted();
  const left = Promise.withResolvers<never>();
  const leave = () => left.reject(signal.reason);
  signal.addEventListener('abort', leave, { once: true });
  try {
    return await Promise.race([work, left.promise]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
