/*
 * Serves hosted MP3 files of items, and signs the links to them: a link is a signed name of the item's canonical URL
 * and of the access token of its link. A file is made at the first request and stored for all clients. A player can
 * listen while the file grows. The storage name is derived by a keyed hash, so it is as hard to guess as a link. A
 * damaged stored file counts as missing and is made again.
 */

import type {
  AudioFile,
  AudioFileRequest,
  AudioLink,
  AudioLinkOptions,
  AudioSource,
  ByteRange,
  Clock,
  Extractor,
  FileStat,
  LinkRef,
  Logger,
  Storage,
  StoredBody,
} from '../../contracts/index.js';
import type { Ffmpeg, ScratchFolders } from '../../media/index.js';
import type { HttpClients } from '../../net/index.js';
import type { PluginHost, Registered } from '../../plugins/index.js';
import { GatewayError, isDamagedFile, isGatewayError, unlessAborted } from '../../runtime/index.js';
import type { ExtractionService } from '../extraction.js';
import { defaultRequestOptions } from '../request-options.js';
import { plainNameOf } from './media-links.js';
import { makeAudio, type RunTranscode, Transcodes } from './mp3-transcoding.js';
import { SignedNames } from './signed-names.js';

/** Deadline of media requests: the whole transcode has its own, so this one never expires first. */
const FETCH_MS = 600_000;

export interface AudioFilesOptions {
  links: AudioLinks;
  /** Matches links, so that links and files agree. */
  extraction: ExtractionService;
  host: PluginHost;
  storage: Storage;
  http: HttpClients;
  /** Default: none, and only existing files are served. */
  ffmpeg?: Ffmpeg;
  scratch: ScratchFolders;
  clock: Clock;
  logger: Logger;
}

interface Item {
  extractor: Registered<Extractor>;
  link: LinkRef;
  fileName: string;
}

/** Hosted MP3 files. Each is made once, at the first request, for all clients. */
export class AudioFiles {
  readonly #options: AudioFilesOptions;
  readonly #transcodes: Transcodes;

  constructor(options: AudioFilesOptions) {
    this.#options = options;
    this.#transcodes = new Transcodes(options.clock);
    // Removes what a crash left behind; files that cannot be removed now are tried again with the next file.
    options.scratch.sweep().catch(() => undefined);
  }

  async open({ name, make, signal }: AudioFileRequest): Promise<AudioFile> {
    const { links, clock } = this.#options;
    const { target, expiresAt } = links.open(name, clock.now());
    const item = this.#itemOf(target);
    const described = {
      expiresAt,
      downloadName: `${plainNameOf(item.extractor.contribution.platform, item.link)}.mp3`,
    };
    const known = await this.#known(item);
    if (known) return { ...described, ...known };
    if (make === 'never') return { ...described, kind: 'unmade' };
    const transcode = this.#join(item);
    if (make === 'following') {
      const growing = await unlessAborted(signal, Promise.race([transcode.begun, transcode.stored]));
      // A complete file is about to be stored, and then has a length and validators; a failed one gets an error.
      const body = growing?.ended ? undefined : growing?.follow();
      if (body) return { ...described, kind: 'growing', body };
    }
    return { ...described, ...(await this.#made(item, transcode, signal)) };
  }

  /**
   * The MP3 of an item, for work of the gateway itself; it is made if it does not exist.
   * @throws GatewayError as {@link open}.
   */
  async read(link: AudioTarget, signal: AbortSignal): Promise<StoredBody> {
    const item = this.#itemOf(link);
    const { read } = (await this.#known(item)) ?? (await this.#made(item, this.#join(item), signal));
    const body = await read();
    if (!body) throw new GatewayError('upstream_unavailable', 'The file is not in the storage any more.');
    return body;
  }

  /** The stored file, unless it is being made. */
  async #known(item: Item) {
    return this.#transcodes.has(item.fileName) ? undefined : this.#find(item);
  }

  #join(item: Item) {
    return this.#transcodes.join(item.fileName, (...run) => this.#make(item, ...run));
  }

  async #made(item: Item, { stored }: { stored: Promise<unknown> }, signal: AbortSignal | undefined) {
    await unlessAborted(signal, stored);
    const made = await this.#find(item);
    if (!made) throw new GatewayError('upstream_unavailable', 'The file was created but is not in the storage.');
    return made;
  }

  /** Ends running transcodes. */
  close(): Promise<void> {
    return this.#transcodes.close();
  }

  #itemOf(audio: AudioTarget): Item {
    const { extraction, links } = this.#options;
    const target = extraction.signedTarget(audio);
    return { ...target, fileName: links.fileName(target.link) };
  }

  async #find(item: Item) {
    const { storage } = this.#options;
    const { fileName } = item;
    const file = await this.#statOf(item);
    return file && { kind: 'stored' as const, file, read: (range?: ByteRange) => storage.read(fileName, range) };
  }

  /** A damaged file counts as missing: it can be made again and is then replaced. */
  async #statOf({ fileName, extractor, link }: Item): Promise<FileStat | undefined> {
    const { storage, logger } = this.#options;
    try {
      return await storage.stat(fileName);
    } catch (error) {
      if (!isDamagedFile(error)) throw error;
      const { platform } = extractor.contribution;
      logger.warn('a stored MP3 is damaged; its next download creates it again', { platform, id: link.id, error });
      return undefined;
    }
  }

  /** Makes the file of an item, with a log line and errors that name the platform. */
  async #make(item: Item, ...run: Parameters<RunTranscode>): Promise<void> {
    const { clock, logger } = this.#options;
    const { platform } = item.extractor.contribution;
    const { id } = item.link;
    const startedAt = clock.monotonic();
    const ms = () => Math.round(clock.monotonic() - startedAt);
    try {
      const bytes = await this.#produce(item, ...run);
      if (bytes !== undefined) logger.info('an MP3 was created', { platform, id, bytes, ms: ms() });
    } catch (error) {
      logger.warn('an MP3 could not be created', { platform, id, ms: ms(), error });
      throw explain(error, platform);
    }
  }

  /** The size of the file; undefined if another process has stored it in the meantime. */
  async #produce(item: Item, ...[signal, onFirstBytes]: Parameters<RunTranscode>): Promise<number | undefined> {
    const { host, links, http, ffmpeg, scratch, storage, clock } = this.#options;
    const { contribution, entry } = item.extractor;
    if (await this.#statOf(item)) return undefined;
    if (!ffmpeg)
      throw new GatewayError('plugin_unavailable', 'This gateway has no ffmpeg, which is needed for MP3 files.');
    const source = await host.call('extractor', entry, signal, (callSignal) => resolveAudio(item, callSignal));
    const trustedOrigins = host.trustedOriginsOf(entry);
    return makeAudio({
      http: http.scoped({ trustedOrigins, timeoutMs: FETCH_MS, signal }),
      source,
      mediaHosts: contribution.mediaHosts ?? [],
      trustedOrigins,
      ffmpeg,
      scratch,
      storage,
      clock,
      fileName: item.fileName,
      lifetimeMs: links.lifetimeMs,
      signal,
      onFirstBytes,
    });
  }
}

async function resolveAudio({ extractor, link }: Item, signal: AbortSignal): Promise<AudioSource> {
  const { contribution } = extractor;
  if (!contribution.resolveAudio) {
    throw new GatewayError('audio_unavailable', 'The platform has no audio for this item.', { retryable: false });
  }
  const options = defaultRequestOptions(contribution);
  const found = await contribution.resolveAudio({ link, options, signal });
  if (typeof found?.url !== 'string') throw new Error('resolveAudio() answered no url');
  return found;
}

/** One timeout error, for every step that is too slow. */
function explain(error: unknown, platform: string): unknown {
  if (!isGatewayError(error)) return error;
  if (error.code !== 'upstream_timeout') return error.with({ platform });
  return new GatewayError('audio_timeout', 'The source is too slow.', { platform, cause: error });
}

const DAY_MS = 86_400_000;

/** What an MP3 link leads to: the canonical URL of an item, and the access token of the link. */
export type AudioTarget = Pick<LinkRef, 'url' | 'access'>;

/** Creates and reads the links of hosted MP3 files. */
export class AudioLinks {
  readonly #options: Pick<AudioLinkOptions, 'baseUrl'>;
  readonly #names: SignedNames;

  constructor(options: AudioLinkOptions) {
    const { secrets, ttlMs = DAY_MS } = options;
    this.#options = options;
    this.#names = new SignedNames({ secrets, purpose: 'audio', ttlMs });
  }

  /** Maximum milliseconds that a link made now stays valid. */
  get lifetimeMs(): number {
    return this.#names.lifetimeMs;
  }

  /** The storage name of an item's MP3: the same for all its links, and as hard to guess as they are. */
  fileName(target: AudioTarget): string {
    return `audio_${this.#names.derive(encodeTarget(target))}.mp3`;
  }

  /** Returns a link for an item. Sends no request and stores nothing. */
  sign(wanted: AudioTarget, now: number): AudioLink {
    const { name, expiresAt } = this.#names.sign(encodeTarget(wanted), now);
    // A server knows its address only once it listens.
    const url = `${this.#options.baseUrl}/v1/extract/audio/${name}.mp3`;
    return { url, expiresAt: new Date(expiresAt).toISOString() };
  }

  /**
   * What a name was signed for.
   * @throws GatewayError `file_not_found` if it was not signed here, `link_expired` if it has expired.
   */
  open(name: string, now: number): { target: AudioTarget; expiresAt: number } {
    const { text, expiresAt } = this.#names.open(name, now);
    return { target: decodeTarget(text), expiresAt };
  }
}

/** A URL has no space. */
function encodeTarget({ url, access }: AudioTarget): string {
  return access === undefined ? url : `${url} ${access}`;
}

function decodeTarget(text: string): AudioTarget {
  const space = text.indexOf(' ');
  return space < 0 ? { url: text } : { url: text.slice(0, space), access: text.slice(space + 1) };
}
