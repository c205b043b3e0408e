/*
 * Passes media files of platforms on to clients. A link names a file of an item; the file is fetched with the headers
 * and cookies of the visit that found it, from the platform's media hosts alone. If the platform refuses its
 * address, the item is resolved again. Nothing is stored. The type of a
 * file comes from its first bytes, so a file that was not read before costs one more request if its middle is asked
 * for. Each link has limits: see link-limits.ts.
 */

import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type {
  ByteRange,
  Clock,
  Extraction,
  FileStat,
  MediaEntry,
  MediaFile,
  MediaFileRequest,
  MediaLink,
  MediaLinkOptions,
  StoredBody,
} from '../contracts/index.js';
import { type MediaType, mediaTypeOf } from '../media/index.js';
import { GatewayError } from '../runtime/index.js';
import type { Item } from './extraction.js';
import { LinkLimits } from './link-limits.js';
import { fileOf, type MediaLinks, plainNameOf } from './media-links.js';
import type { MediaReader } from './media-reader.js';
import { type MediaSources, TRANSFER_MS } from './media-sources.js';

const MAX_NAME_LENGTH = 120;

export interface MediaFilesOptions extends Pick<MediaLinkOptions, 'bytesPerSecond' | 'keyBytesPerSecond'> {
  links: MediaLinks;
  sources: MediaSources;
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
  readonly #known = new LRUCache<string, Known>({ max: 5_000 });

  constructor(options: MediaFilesOptions) {
    this.#options = options;
    this.#limits = new LinkLimits(options);
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
  async open({ name, signal: left, sent }: MediaFileRequest): Promise<MediaFile> {
    const { target, expiresAt } = this.#opened(name);
    const release = this.#limits.take(name);
    try {
      const known = this.#known.get(name);
      if (known) this.#limits.check(name, known.size, expiresAt);
      const signal = AbortSignal.any([left, AbortSignal.timeout(TRANSFER_MS)]);
      const { sources } = this.#options;
      const item = sources.itemOf(target);
      const extraction = await sources.extractionOf(item, target.file, signal);
      const entry = fileOf(extraction.data, target.file);
      const reader = sources.readerOf({ item, extraction, file: target.file }, signal, known?.size);
      const { size, type } = known ?? (await this.#learn(name, reader, entry));
      this.#limits.check(name, size, expiresAt);
      const file = statOf(name, { size, type, expiresAt });
      return {
        file,
        ...namesOf(item, extraction, type),
        expiresAt,
        read: async (range) => this.#body({ name, file, reader, issuer: target.issuer, signal, sent, release }, range),
        release() {
          reader.close();
          release();
        },
      };
    } catch (error) {
      release();
      throw error;
    }
  }

  #opened(name: string) {
    const { links, clock } = this.#options;
    return links.open(name, clock.now());
  }

  async #learn(name: string, reader: MediaReader, { kind }: MediaEntry): Promise<Known> {
    const { size, head } = await reader.begin();
    const type = mediaTypeOf(head, kind);
    if (!type) {
      reader.close();
      throw new GatewayError('media_unavailable', 'The source did not send a media file.', { retryable: false });
    }
    const known = { size, type };
    this.#known.set(name, known);
    return known;
  }

  #body(transfer: Transfer, range: ByteRange | undefined): StoredBody {
    const { start, end } = range ?? { start: 0, end: transfer.file.size - 1 };
    return { ...transfer.file, body: this.#transfer(transfer, start, end) };
  }

  async *#transfer({ name, file, reader, issuer, signal, sent, release }: Transfer, start: number, end: number) {
    let bytes = 0;
    try {
      for await (const chunk of reader.read(start, end)) {
        await this.#limits.pass({ name, size: file.size, issuer, signal }, chunk.byteLength);
        bytes += chunk.byteLength;
        yield chunk;
      }
    } finally {
      release();
      sent?.(bytes);
    }
  }
}

interface Transfer {
  name: string;
  file: FileStat;
  reader: MediaReader;
  issuer: string;
  signal: AbortSignal;
  sent: MediaFileRequest['sent'];
  release(): void;
}

/** The bytes of a platform's file are not known: a tag says that the link and the length are the same. */
function statOf(name: string, { size, type, expiresAt }: Known & { expiresAt: number }): FileStat {
  const etag = `"${hash('sha256', `${name} ${size}`, 'base64url').slice(0, 22)}"`;
  const modifiedAt = new Date(expiresAt - 6 * 3_600_000);
  return { name, contentType: type.contentType, size, etag, modifiedAt, source: 'local_cache' };
}

function namesOf({ extractor, link }: Item, { data }: Extraction, { extension }: MediaType) {
  const title = 'product' in data ? data.product.name : (data.common.title ?? data.common.caption);
  const plain = plainNameOf(extractor.contribution.platform, link);
  const readable = readableName(title ?? '');
  return { fileName: `${readable === '' ? plain : readable}.${extension}`, plainName: `${plain}.${extension}` };
}

/** Without what file systems and headers do not take, and without characters that turn the direction of a text. */
function readableName(title: string): string {
  const plain = title
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}"*/:<>?\\|]+/gu, ' ')
    .replace(/\s+/g, ' ')
    .replace(/^[\s.]+|[\s.]+$/g, '');
  return [...plain].slice(0, MAX_NAME_LENGTH).join('').trim();
}
