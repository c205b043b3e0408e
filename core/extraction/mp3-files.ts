/*
 * Serves hosted MP3 files of items, and signs the links to them. A link contains its expiry, a MAC and the item's
 * canonical URL, so it needs no table and works on every node with the secret; older secrets stay valid for existing
 * links. A file is made at the first request and stored for all clients. A player can listen while the file grows. The
 * storage name is derived by a keyed hash, so it is as hard to guess as a link. A damaged stored file counts as
 * missing and is made again.
 */

import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type {
  AudioFile,
  AudioFileRequest,
  AudioLink,
  AudioLinkOptions,
  ByteRange,
  Clock,
  Extractor,
  FileStat,
  LinkRef,
  Logger,
  Storage,
} from '../contracts/index.js';
import type { Ffmpeg, ScratchFolders } from '../media/index.js';
import type { HttpClients } from '../net/index.js';
import type { PluginHost, Registered } from '../plugins/index.js';
import { GatewayError, isDamagedFile, isGatewayError, unlessAborted } from '../runtime/index.js';
import { defaultRequestOptions } from './extraction.js';
import { createTranscodes, makeAudio, type RunTranscode } from './mp3-transcoding.js';

/** Deadline of media requests: the whole transcode has its own, so this one never expires first. */
const FETCH_MS = 600_000;

export interface AudioFilesOptions {
  links: AudioLinks;
  /** Matches links as the extraction service does, so that links and files agree. */
  match(url: string): { extractor: Registered<Extractor>; link: LinkRef };
  host: PluginHost;
  storage: Storage;
  http: HttpClients;
  /** Default: none, and only existing files are served. */
  ffmpeg?: Ffmpeg;
  scratch: ScratchFolders;
  clock: Clock;
  logger: Logger;
}

/** Hosted MP3 files. Each is made once, at the first request, for all clients. */
export interface AudioFiles {
  open(request: AudioFileRequest): Promise<AudioFile>;
  /** Ends running transcodes. */
  close(): Promise<void>;
}

interface Item {
  extractor: Registered<Extractor>;
  link: LinkRef;
  fileName: string;
}

export function createAudioFiles(options: AudioFilesOptions): AudioFiles {
  const { links, match, host, storage, scratch, clock, logger } = options;
  const transcodes = createTranscodes(clock);
  // Removes what a crash left behind; files that cannot be removed now are tried again with the next file.
  scratch.sweep().catch(() => undefined);

  function itemOf({ url, access }: AudioTarget): Item {
    try {
      const { extractor, link: matched } = match(url);
      const link = access === undefined ? matched : { ...matched, access };
      return { extractor, link, fileName: links.fileName(link) };
    } catch (cause) {
      // The link is genuine, so its platform was supported when it was made.
      throw new GatewayError('plugin_unavailable', 'The platform of this link is not available now.', { cause });
    }
  }

  /** A damaged file counts as missing: it can be made again and is then replaced. */
  async function statOf({ fileName, extractor, link }: Item): Promise<FileStat | undefined> {
    try {
      return await storage.stat(fileName);
    } catch (error) {
      if (!isDamagedFile(error)) throw error;
      const { platform } = extractor.contribution;
      logger.warn('a stored MP3 is damaged; its next download creates it again', { platform, id: link.id, error });
      return undefined;
    }
  }

  async function find(item: Item) {
    const { fileName } = item;
    const file = await statOf(item);
    return file && { kind: 'stored' as const, file, read: (range?: ByteRange) => storage.read(fileName, range) };
  }

  async function produce(item: Item, ...[signal, onFirstBytes]: Parameters<RunTranscode>) {
    const { extractor, link, fileName } = item;
    const { contribution, entry } = extractor;
    const { ffmpeg } = options;
    // Another process may have stored it in the meantime.
    if (await statOf(item)) return undefined;
    if (!ffmpeg)
      throw new GatewayError('plugin_unavailable', 'This gateway has no ffmpeg, which is needed for MP3 files.');
    const source = await host.call('extractor', entry, signal, async (callSignal) => {
      if (!contribution.resolveAudio) {
        throw new GatewayError('audio_unavailable', 'The platform has no audio for this item.', { retryable: false });
      }
      const options = defaultRequestOptions(contribution);
      const found = await contribution.resolveAudio({ link, options, signal: callSignal });
      if (typeof found?.url !== 'string') throw new Error('resolveAudio() answered no url');
      return found;
    });
    const trustedOrigins = host.trustedOriginsOf(entry);
    return makeAudio({
      http: options.http.scoped({ trustedOrigins, timeoutMs: FETCH_MS, signal }),
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

  /** Makes the file of an item, with a log line and errors that name the platform. */
  function makeFor(item: Item): RunTranscode {
    const { platform } = item.extractor.contribution;
    const { id } = item.link;
    return async (signal, begin) => {
      const startedAt = clock.monotonic();
      const ms = () => Math.round(clock.monotonic() - startedAt);
      try {
        const bytes = await produce(item, signal, begin);
        if (bytes !== undefined) logger.info('an MP3 was created', { platform, id, bytes, ms: ms() });
      } catch (error) {
        logger.warn('an MP3 could not be created', { platform, id, ms: ms(), error });
        throw explain(error, platform);
      }
    };
  }

  return {
    async open({ name, make, signal }) {
      const { target, expiresAt } = links.open(name, clock.now());
      const item = itemOf(target);
      const described = { expiresAt, downloadName: downloadNameOf(item) };
      const known = transcodes.has(item.fileName) ? undefined : await find(item);
      if (known) return { ...described, ...known };
      if (make === 'never') return { ...described, kind: 'unmade' };
      const transcode = transcodes.join(item.fileName, makeFor(item));
      if (make === 'following') {
        const growing = await unlessAborted(signal, Promise.race([transcode.begun, transcode.stored]));
        // A complete file is about to be stored, and then has a length and validators; a failed one gets an error.
        const body = growing?.ended ? undefined : growing?.follow();
        if (body) return { ...described, kind: 'growing', body };
      }
      await unlessAborted(signal, transcode.stored);
      const made = await find(item);
      if (!made) throw new GatewayError('upstream_unavailable', 'The file was created but is not in the storage.');
      return { ...described, ...made };
    },
    close: () => transcodes.close(),
  };
}

/** The download name of an item: ASCII without characters that a header or a file system rejects. */
function downloadNameOf({ extractor, link }: Item): string {
  const name = `${extractor.contribution.platform}-${link.id}`.replace(/[^A-Za-z0-9_-]+/g, '_');
  return `${name.slice(0, 100)}.mp3`;
}

/** One timeout error, for every step that is too slow. */
function explain(error: unknown, platform: string): unknown {
  if (!isGatewayError(error)) return error;
  if (error.code !== 'upstream_timeout') return error.with({ platform });
  return new GatewayError('audio_timeout', 'The source is too slow.', { platform, cause: error });
}

const DAY_MS = 86_400_000;
/** Links made within the same ten minutes are equal, so that a cached answer can be sent unchanged. */
const STEP_MS = 600_000;
const MAC_BYTES = 16;
const EXPIRY_BYTES = 4;
/** Length in base64: the longest accepted link, with some reserve. */
const MAX_NAME = 4_096;
const NAME = new RegExp(`^[A-Za-z0-9_-]{32,${MAX_NAME}}$`);

/** What an MP3 link leads to: the canonical URL of an item, and the access token of the link. */
export type AudioTarget = Pick<LinkRef, 'url' | 'access'>;

/** Creates and reads the names of hosted MP3 files. */
export interface AudioLinks {
  /** Returns a link for an item. Sends no request and stores nothing. */
  sign(target: AudioTarget, now: number): AudioLink;
  /**
   * What a name was signed for.
   * @throws GatewayError `file_not_found` if it was not signed here, `link_expired` if it has expired.
   */
  open(name: string, now: number): { target: AudioTarget; expiresAt: number };
  /** The storage name of an item's MP3: the same for all its links, and as hard to guess as they are. */
  fileName(target: AudioTarget): string;
  /** Maximum milliseconds that a link made now stays valid. */
  readonly lifetimeMs: number;
}

/**
 * A name contains its expiry, a MAC over everything, the item's canonical URL, and the access token of the link, if it
 * has one. It cannot be guessed or altered, needs no table, and works on every node that has the secret.
 */
export function createAudioLinks(options: AudioLinkOptions): AudioLinks {
  const ttlMs = options.ttlMs ?? DAY_MS;
  // Raw bytes would be converted to a key object for every link, which costs six times as much as the hash.
  const [newest, ...older] = options.secrets.map((secret) => createSecretKey(secret));
  if (!newest) throw new Error('audioLinks.secrets is empty');

  /** A cached answer has the same link each time; a MAC is a twentieth of its cost. */
  const signed = new LRUCache<string, { link: AudioLink; expiresAt: number }>({ max: 2_000 });

  const mac = (secret: KeyObject, expiry: Uint8Array, target: Uint8Array) =>
    createHmac('sha256', secret).update('audio\n').update(expiry).update(target).digest().subarray(0, MAC_BYTES);

  return {
    lifetimeMs: ttlMs + STEP_MS,
    fileName(target) {
      const digest = createHmac('sha256', newest)
        .update('audio file\n')
        .update(encodeTarget(target))
        .digest('base64url');
      return `audio_${digest}.mp3`;
    },
    sign(wanted, now) {
      const text = encodeTarget(wanted);
      const expiresAt = Math.ceil((now + ttlMs) / STEP_MS) * STEP_MS;
      const known = signed.get(text);
      if (known?.expiresAt === expiresAt) return known.link;
      const expiry = Buffer.alloc(EXPIRY_BYTES);
      expiry.writeUInt32BE(expiresAt / 1000);
      const target = Buffer.from(text);
      const name = Buffer.concat([expiry, mac(newest, expiry, target), target]).toString('base64url');
      const url = `${options.baseUrl}/v1/extract/audio/${name}.mp3`;
      const link = { url, expiresAt: new Date(expiresAt).toISOString() };
      signed.set(text, { link, expiresAt });
      return link;
    },

    open(name, now) {
      const unknown = () => new GatewayError('file_not_found', 'There is no such audio link.');
      if (!NAME.test(name)) throw unknown();
      const bytes = Buffer.from(name, 'base64url');
      // Base64 has several spellings of one value; only the one we made is valid.
      if (bytes.toString('base64url') !== name) throw unknown();
      const expiry = bytes.subarray(0, EXPIRY_BYTES);
      const given = bytes.subarray(EXPIRY_BYTES, EXPIRY_BYTES + MAC_BYTES);
      const target = bytes.subarray(EXPIRY_BYTES + MAC_BYTES);
      const genuine = [newest, ...older].some(
        (secret) => given.length === MAC_BYTES && timingSafeEqual(given, mac(secret, expiry, target)),
      );
      if (!genuine) throw unknown();
      const expiresAt = expiry.readUInt32BE() * 1000;
      if (expiresAt <= now)
        throw new GatewayError('link_expired', 'This audio link has expired; extract the link again.');
      return { target: decodeTarget(target.toString()), expiresAt };
    },
  };
}

/** A URL has no space. */
function encodeTarget({ url, access }: AudioTarget): string {
  return access === undefined ? url : `${url} ${access}`;
}

function decodeTarget(text: string): AudioTarget {
  const space = text.indexOf(' ');
  return space < 0 ? { url: text } : { url: text.slice(0, space), access: text.slice(space + 1) };
}
