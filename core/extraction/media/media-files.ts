/*
 * Passes media files of platforms on to clients. A link names a file of an item; the file is fetched with the headers
 * and cookies of the visit that found it, from the platform's media hosts alone. If the platform refuses its
 * address, the item is resolved again. Nothing is stored. The type of a file comes from its first bytes, so a file that
 * was not read before costs one more request if its middle is asked for. Subtitles are read whole, and converted on
 * request. The files of a carousel are also one archive, which is made while it is sent: it is cut off if a file fails.
 * Each link has limits: see link-limits.ts.
 */

import { hash } from 'node:crypto';
import type {
  Clock,
  Extraction,
  FileStat,
  MediaArchive,
  MediaEntry,
  MediaFile,
  MediaFileRequest,
  MediaLink,
  SubtitleFormat,
} from '../../contracts/index.js';
import {
  encodeSubtitles,
  MAX_ZIP_BYTES,
  type MediaType,
  mediaTypeOf,
  parseSubtitles,
  SUBTITLE_TYPES,
  type ZipFile,
  zip,
} from '../../media/index.js';
import { GatewayError } from '../../runtime/index.js';
import { boundedTable } from '../../storage/index.js';
import type { Item } from '../extraction.js';
import { type LimitedTransfer, type LinkLimits, MAX_TIMES } from '../link-limits.js';
import { ARCHIVE, archivedFiles, fileOf, type MediaLinks, type MediaTarget, plainNameOf } from './media-links.js';
import type { MediaReader } from './media-reader.js';
import { type MediaSources, type SourceFile, TRANSFER_MS } from './media-sources.js';

const MAX_NAME_LENGTH = 120;
/** UTF-8. File systems take 255 bytes; wget escapes letters before it cuts a name, and would cut its ending off. */
const MAX_NAME_BYTES = 140;
/** Several times what a carousel has. */
const MAX_FILES = 200;

export interface MediaFilesOptions {
  links: MediaLinks;
  sources: MediaSources;
  limits: LinkLimits;
  clock: Clock;
}

/** What is known of a file that was asked for before. */
interface Known {
  size: number;
  type: MediaType;
}

/** Media files of platforms, by their links. */
export class MediaFiles {
  readonly #options: MediaFilesOptions;
  readonly #limits: LinkLimits;
  readonly #known = boundedTable<Known>(5_000);
  /** Bytes of archives that were sent whole, by the name of their link. */
  readonly #archives = boundedTable<number>(5_000);

  constructor(options: MediaFilesOptions) {
    this.#options = options;
    this.#limits = options.limits;
  }

  /** What a link was made for, without any request. @throws GatewayError `file_not_found`, `link_expired`. */
  link(name: string): MediaLink {
    const { target, expiresAt } = this.#opened(name);
    const { extractor } = this.#options.sources.itemOf(target);
    return { url: target.url, platform: extractor.contribution.platform, issuer: target.issuer, expiresAt };
  }

  /**
   * The file behind a link. Read it or release it.
   * @throws GatewayError `file_not_found`, `link_expired`, `rate_limit_exceeded` above the limits of the link,
   *   `media_unavailable`, what the platform answers about the item; the signal's reason.
   */
  async open({ name, subtitles, signal: left }: MediaFileRequest): Promise<MediaFile> {
    return this.#opening(name, left, async ({ target, expiresAt, signal, release }) => {
      const { sources } = this.#options;
      const known = subtitles ? undefined : this.#known.get(name);
      if (known) this.#limits.check(name, known.size, expiresAt);
      const item = sources.itemOf(target);
      const extraction = await sources.extractionOf(item, target.file, signal);
      const { kind } = fileOf(extraction.data, target.file);
      const source = { item, extraction, file: target.file };
      if (subtitles && kind !== 'subtitle') throw new GatewayError('file_not_found', 'This file is no subtitles.');
      const { size, type, reader } =
        kind === 'subtitle'
          ? await this.#subtitlesOf(source, subtitles, signal)
          : await this.#contentOf(source, { name, kind, known, signal });
      this.#limits.check(name, size, expiresAt);
      const file = statOf(name, { size, type, expiresAt });
      const transfer = { name, size, issuer: target.issuer, signal, release };
      return {
        file,
        ...namesOf(item, extraction, `.${type.extension}`),
        expiresAt,
        read: async ({ start, end } = { start: 0, end: size - 1 }) => {
          return { ...file, body: this.#transfer(transfer, reader.read(start, end)) };
        },
        release() {
          reader.close();
          release();
        },
      };
    });
  }

  /**
   * The archive behind a link: read it, or release it. The first file has answered.
   * @throws GatewayError as {@link open}.
   */
  async openArchive({ name, signal: left }: MediaFileRequest): Promise<MediaArchive> {
    return this.#opening(name, left, async ({ target, expiresAt, signal, release }) => {
      const { sources, clock } = this.#options;
      if (target.file !== ARCHIVE) throw new GatewayError('file_not_found', 'This link leads to no archive.');
      const size = this.#archives.get(name) ?? MAX_ZIP_BYTES / MAX_TIMES;
      this.#limits.check(name, size, expiresAt);
      const item = sources.itemOf(target);
      const extraction = await sources.extractionOf(item, ARCHIVE, signal);
      const files = archivedFiles(extraction.data);
      if (files.length === 0 || files.length > MAX_FILES) {
        throw new GatewayError(
          'file_not_found',
          `The item has ${files.length} files; an archive has 1 to ${MAX_FILES}.`,
        );
      }
      const archived = this.#filesOf({ name, item, extraction, files, signal });
      const chunks = zip(archived, new Date(clock.now()));
      // A platform that refuses is an error of the answer, as long as nothing was sent.
      const first = await chunks.next();
      const transfer = { name, size, issuer: target.issuer, signal, release };
      const whole = (bytes: number) => void this.#archives.set(name, bytes);
      return {
        ...namesOf(item, extraction, '.zip'),
        expiresAt,
        body: this.#transfer(transfer, preceded(first, chunks), whole),
        release() {
          void chunks.return(undefined);
          release();
        },
      };
    });
  }

  /** Takes a connection of a link for what is opened; it is given back with `release`, or if opening fails. */
  async #opening<Opened>(
    name: string,
    left: AbortSignal,
    open: (opening: Opening) => Promise<Opened>,
  ): Promise<Opened> {
    const opened = this.#opened(name);
    const release = this.#limits.take(name);
    const signal = AbortSignal.any([left, AbortSignal.timeout(TRANSFER_MS)]);
    try {
      return await open({ ...opened, signal, release });
    } catch (error) {
      release();
      throw error;
    }
  }

  #opened(name: string) {
    const { links, clock } = this.#options;
    return links.open(name, clock.now());
  }

  async #contentOf(
    source: SourceFile,
    { name, kind, known, signal }: { name: string; kind: MediaEntry['kind']; known?: Known; signal: AbortSignal },
  ): Promise<Content> {
    const reader = this.#options.sources.readerOf(source, signal, known?.size);
    if (known) return { ...known, reader };
    const { size, head } = await reader.begin();
    const type = mediaTypeOf(head, kind);
    if (!type) {
      reader.close();
      throw notMedia();
    }
    this.#known.set(name, { size, type });
    return { size, type, reader };
  }

  async #subtitlesOf(source: SourceFile, format: SubtitleFormat | undefined, signal: AbortSignal): Promise<Content> {
    const sent = await this.#options.sources.subtitles(source, signal);
    if (format === undefined) {
      const type = mediaTypeOf(sent, 'subtitle');
      if (!type) throw notMedia();
      return { size: sent.length, type, reader: readerOf(sent) };
    }
    const cues = parseSubtitles(sent);
    if (!cues) throw notMedia();
    const bytes = Buffer.from(encodeSubtitles(cues, format));
    const { language } = fileOf(source.extraction.data, source.file);
    const extension = /^[a-z0-9-]{1,35}$/i.test(language ?? '') ? `${language}.${format}` : format;
    const type = { contentType: SUBTITLE_TYPES[format], extension };
    return { size: bytes.length, type, reader: readerOf(bytes) };
  }

  /** The files of an archive, each opened when those before it are read. */
  async *#filesOf({ name, item, extraction, files, signal }: Archived): AsyncGenerator<ZipFile> {
    for (const [index, file] of files.entries()) {
      const { kind } = fileOf(extraction.data, file);
      const source = { item, extraction, file };
      const known = this.#known.get(`${name} ${file}`);
      const { size, type, reader } = await this.#contentOf(source, { name: `${name} ${file}`, kind, known, signal });
      const number = String(index + 1).padStart(2, '0');
      const { fileName } = namesOf(item, extraction, ` ${number}.${type.extension}`);
      try {
        yield { name: fileName, bytes: reader.read(0, size - 1) };
      } finally {
        reader.close();
      }
    }
  }

  /** The bytes as a client gets them. @param whole Called with their number once all are sent. */
  async *#transfer(
    { name, size, issuer, signal, release }: Transfer,
    chunks: AsyncIterable<Uint8Array>,
    whole?: (bytes: number) => void,
  ): AsyncGenerator<Uint8Array> {
    let bytes = 0;
    try {
      for await (const chunk of chunks) {
        await this.#limits.pass({ name, size, issuer, signal }, chunk.byteLength);
        bytes += chunk.byteLength;
        yield chunk;
      }
      whole?.(bytes);
    } finally {
      release();
    }
  }
}

interface Opening {
  target: MediaTarget;
  expiresAt: number;
  signal: AbortSignal;
  release(): void;
}

/** A file whose type is known, from any byte on. */
interface Content extends Known {
  reader: Pick<MediaReader, 'read' | 'close'>;
}

interface Archived extends Pick<SourceFile, 'item' | 'extraction'> {
  name: string;
  files: readonly string[];
  signal: AbortSignal;
}

interface Transfer extends LimitedTransfer {
  release(): void;
}

/** Reads bytes that are in memory. */
function readerOf(bytes: Buffer): Content['reader'] {
  return {
    async *read(start, end) {
      yield bytes.subarray(start, end + 1);
    },
    close: () => undefined,
  };
}

async function* preceded(first: IteratorResult<Uint8Array>, rest: AsyncGenerator<Uint8Array>) {
  if (!first.done) yield first.value;
  yield* rest;
}

function notMedia(): GatewayError {
  return new GatewayError('media_unavailable', 'The source did not send a media file.', { retryable: false });
}

/** The bytes of a platform's file are not known: a tag says that the link and the length are the same. */
function statOf(name: string, { size, type, expiresAt }: Known & { expiresAt: number }): FileStat {
  const etag = `"${hash('sha256', `${name} ${size}`, 'base64url').slice(0, 22)}"`;
  const modifiedAt = new Date(expiresAt - 6 * 3_600_000);
  return { name, contentType: type.contentType, size, etag, modifiedAt, source: 'local_cache' };
}

/** @param ending Of the names, with its dot. */
export function namesOf({ extractor, link }: Item, { data }: Extraction, ending: string) {
  const title = 'product' in data ? data.product.name : (data.common.title ?? data.common.caption);
  const plain = plainNameOf(extractor.contribution.platform, link);
  const readable = readableName(title ?? '');
  return { fileName: `${readable === '' ? plain : readable}${ending}`, plainName: `${plain}${ending}` };
}

/** Without what file systems and headers do not take, and without characters that turn the direction of a text. */
function readableName(title: string): string {
  const plain = title
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}"*/:<>?\\|]+/gu, ' ')
    .replace(/\s+/g, ' ')
    .replace(/^[\s.]+|[\s.]+$/g, '');
  const letters = [...plain].slice(0, MAX_NAME_LENGTH);
  while (Buffer.byteLength(letters.join('')) > MAX_NAME_BYTES) letters.pop();
  return letters.join('').trim();
}
