import type { ByteRange, Clock, FileStat, Logger, Storage } from '../contracts/index.js';
import { EXTRACT_DEFAULTS, type Extractor, type LinkRef } from '../contracts/index.js';
import type { Ffmpeg, ScratchFolders } from '../media/index.js';
import type { HttpFaces, PluginHost, Registered, Registry } from '../plugins/index.js';
import { GatewayError, isDamagedFile, isGatewayError, unlessAborted } from '../runtime/index.js';
import type { AudioLinks } from './audio-link.js';
import { makeAudio } from './audio-making.js';
import { createMakings, type Make } from './audio-makings.js';
import type { AudioFile, AudioFileRequest } from './requests.js';

/** For media: the whole making has a time of its own, so this one never comes first. */
const FETCH_MS = 600_000;

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

interface Item {
  extractor: Registered<Extractor>;
  link: LinkRef;
  fileName: string;
}

export function createAudioFiles(options: AudioFilesOptions): AudioFiles {
  const { links, registry, host, storage, scratch, clock, logger } = options;
  const makings = createMakings(clock);
  // What a crash has left; whatever cannot be removed now is met again with the next file.
  scratch.sweep().catch(() => undefined);

  function itemOf(canonicalUrl: string): Item {
    try {
      const { extractor, link } = registry.matchLink(new URL(canonicalUrl));
      return { extractor, link, fileName: links.fileName(link.url) };
    } catch (cause) {
      // The link is genuine, so its platform was served when it was made.
      throw new GatewayError('plugin_unavailable', 'The platform of this link is not served now.', { cause });
    }
  }

  /** One that is damaged is as good as none: it can be made again, and then takes the place of this one. */
  async function statOf({ fileName, extractor, link }: Item): Promise<FileStat | undefined> {
    try {
      return await storage.stat(fileName);
    } catch (error) {
      if (!isDamagedFile(error)) throw error;
      const { platform } = extractor.contribution;
      logger.warn('a stored MP3 is damaged; its next download makes it again', { platform, id: link.id, error });
      return undefined;
    }
  }

  async function find(item: Item) {
    const { fileName } = item;
    const file = await statOf(item);
    return file && { kind: 'stored' as const, file, read: (range?: ByteRange) => storage.read(fileName, range) };
  }

  async function produce(item: Item, ...[signal, onFirstBytes]: Parameters<Make>) {
    const { extractor, link, fileName } = item;
    const { contribution, entry } = extractor;
    const { ffmpeg } = options;
    // Somebody else may have stored it between the question and now.
    if (await statOf(item)) return undefined;
    if (!ffmpeg) throw new GatewayError('plugin_unavailable', 'This gateway has no ffmpeg to make MP3 files with.');
    const source = await host.call('extractor', entry, signal, async (callSignal) => {
      if (!contribution.resolveAudio) {
        throw new GatewayError('audio_unavailable', 'The platform gives no sound.', { retryable: false });
      }
      const found = await contribution.resolveAudio({ link, options: EXTRACT_DEFAULTS, signal: callSignal });
      if (typeof found?.url !== 'string') throw new Error('resolveAudio() answered no url');
      return found;
    });
    const trustedOrigins = host.trustedOriginsOf(entry);
    return makeAudio({
      http: options.http.face({ trustedOrigins, timeoutMs: FETCH_MS, signal }),
      source,
      mediaHosts: contribution.mediaHosts ?? [],
      trustedOrigins,
      ffmpeg,
      scratch,
      storage,
      clock,
      fileName,
      lifetimeMs: links.lifetimeMs,
      signal,
      onFirstBytes,
    });
  }

  /** As {@link produce}, with a log line and errors that name the platform. */
  function makeFor(item: Item): Make {
    const { platform } = item.extractor.contribution;
    const { id } = item.link;
    return async (signal, begin) => {
      const startedAt = clock.monotonic();
      const ms = () => Math.round(clock.monotonic() - startedAt);
      try {
        const bytes = await produce(item, signal, begin);
        if (bytes !== undefined) logger.info('an MP3 was made', { platform, id, bytes, ms: ms() });
      } catch (error) {
        logger.warn('an MP3 could not be made', { platform, id, ms: ms(), error });
        throw explain(error, platform);
      }
    };
  }

  return {
    async open({ name, make, signal }) {
      const { canonicalUrl, expiresAt } = links.open(name, clock.now());
      const item = itemOf(canonicalUrl);
      const described = { expiresAt, downloadName: downloadNameOf(item) };
      const known = makings.has(item.fileName) ? undefined : await find(item);
      if (known) return { ...described, ...known };
      if (make === 'never') return { ...described, kind: 'unmade' };
      const making = makings.join(item.fileName, makeFor(item));
      if (make === 'following') {
        const growing = await unlessAborted(signal, Promise.race([making.begun, making.stored]));
        // What is whole is about to be stored, and then has a length and validators; what has failed gets an error.
        const body = growing?.ended ? undefined : growing?.follow();
        if (body) return { ...described, kind: 'growing', body };
      }
      await unlessAborted(signal, making.stored);
      const made = await find(item);
      if (!made) throw new GatewayError('upstream_unavailable', 'The file was made, and is not in the storage.');
      return { ...described, ...made };
    },
    close: () => makings.close(),
  };
}

/** How an item's file is called where it is saved: ASCII without anything that a header or a file system would mind. */
function downloadNameOf({ extractor, link }: Item): string {
  const name = `${extractor.contribution.platform}-${link.id}`.replace(/[^A-Za-z0-9_-]+/g, '_');
  return `${name.slice(0, 100)}.mp3`;
}

/** Too slow is too slow, whichever part of the way it was. */
function explain(error: unknown, platform: string): unknown {
  if (!isGatewayError(error)) return error;
  if (error.code !== 'upstream_timeout') return error.with({ platform });
  return new GatewayError('audio_timeout', 'The source is too slow.', { platform, cause: error });
}
