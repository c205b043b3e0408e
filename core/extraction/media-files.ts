/*
 * Passes media files of platforms on to clients. A link names a file of an item; the file is fetched with the headers
 * and cookies of the visit that found it, from the platform's media hosts alone. A cached document is used while its
 * addresses work; otherwise, or if the platform refuses, the item is resolved again. Nothing is stored. The type of a
 * file comes from its first bytes, so a file that was not read before costs one more request if its middle is asked
 * for. Each link has limits: four connections at a time, and three times the length of its file in bytes. Bytes are
 * paced for each key and for all of them together. The limits are those of this process.
 */

import { hash } from 'node:crypto';
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
import type { HttpClients } from '../net/index.js';
import type { PluginHost } from '../plugins/index.js';
import { boundedTable, GatewayError } from '../runtime/index.js';
import type { ExtractionService, Item } from './extraction.js';
import { fileOf, findFile, type MediaLinks, type MediaTarget, plainNameOf } from './media-links.js';
import { MediaReader, type MediaSource } from './media-reader.js';
import { defaultRequestOptions } from './request-options.js';

const MAX_CONNECTIONS = 4;
/** A player seeks back and forth; a link that is passed around is not a download site. */
const MAX_TIMES = 3;
/** More than players read ahead: files that are smaller may be read this often. */
const FREE_BYTES = 1024 * 1024;
const BUSY_SECONDS = 5;
/** Deadline of one client's transfer. */
const TRANSFER_MS = 6 * 3_600_000;
const MAX_NAME_LENGTH = 120;

export interface MediaFilesOptions extends Pick<MediaLinkOptions, 'bytesPerSecond' | 'keyBytesPerSecond'> {
  links: MediaLinks;
  extraction: ExtractionService;
  host: PluginHost;
  http: HttpClients;
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
  readonly #pace: Pace;
  readonly #known = boundedTable<Known>(5_000);
  /** Name of a link → bytes sent for it. */
  readonly #sent = boundedTable<number>(100_000);
  /** Name of a link → open connections. */
  readonly #connections = new Map<string, number>();

  constructor(options: MediaFilesOptions) {
    this.#options = options;
    this.#pace = new Pace(options);
  }

  /** What a link was made for, without any request. @throws GatewayError `file_not_found`, `link_expired`. */
  link(name: string): MediaLink {
    const { target, expiresAt } = this.#opened(name);
    const { extractor } = this.#itemOf(target);
    return { url: target.url, platform: extractor.contribution.platform, issuer: target.issuer, expiresAt };
  }

  /**
   * The file behind a link. Read it or release it.
   * @throws GatewayError `file_not_found`, `link_expired`, `rate_limit_exceeded` above the limits of the link,
   *   `media_unavailable`, what the platform answers about the item; the signal's reason.
   */
  async open({ name, signal: left, sent }: MediaFileRequest): Promise<MediaFile> {
    const { target, expiresAt } = this.#opened(name);
    const release = this.#take(name, expiresAt);
    try {
      const signal = AbortSignal.any([left, AbortSignal.timeout(TRANSFER_MS)]);
      const item = this.#itemOf(target);
      const extraction = await this.#extractionOf(item, target.file, signal);
      const entry = fileOf(extraction.data, target.file);
      const known = this.#known.get(name);
      const reader = this.#readerOf(item, target, { extraction, entry, size: known?.size, signal });
      const { size, type } = known ?? (await this.#learn(name, reader, entry));
      this.#checkBytes(name, size, expiresAt);
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

  #itemOf(media: MediaTarget): Item {
    const { extraction } = this.#options;
    const target = extraction.signedTarget(media);
    return extraction.itemOf(target, defaultRequestOptions(target.extractor.contribution));
  }

  /** A cached document with which the file can be fetched, or a new one. */
  async #extractionOf(item: Item, file: string, signal: AbortSignal): Promise<Extraction> {
    const { extraction } = this.#options;
    const usable = (await extraction.readUsable(item))?.cached.extraction;
    const entry = usable && findFile(usable.data, file);
    if (usable && entry && !lacksVisit(usable, entry)) return usable;
    return (await extraction.refresh(item, signal)).cached.extraction;
  }

  #readerOf(
    item: Item,
    target: MediaTarget,
    found: { extraction: Extraction; entry: MediaEntry; size: number | undefined; signal: AbortSignal },
  ): MediaReader {
    const { host, http, extraction, clock } = this.#options;
    const { contribution, entry: instance } = item.extractor;
    const trustedOrigins = host.trustedOriginsOf(instance);
    const { signal, size } = found;
    const reading = {
      http: http.scoped({ trustedOrigins, timeoutMs: TRANSFER_MS, signal }),
      mediaHosts: contribution.mediaHosts ?? [],
      trustedOrigins,
      source: sourceOf(item.extractor, found.extraction, found.entry),
      renew: async (renewing: AbortSignal) => {
        const { cached } = await extraction.refresh(item, renewing);
        return sourceOf(item.extractor, cached.extraction, fileOf(cached.extraction.data, target.file));
      },
      clock,
      signal,
    };
    return new MediaReader(reading, size);
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

  /** Takes a connection. @returns Gives it back. */
  #take(name: string, expiresAt: number): () => void {
    const count = this.#connections.get(name) ?? 0;
    if (count >= MAX_CONNECTIONS) {
      throw tooMuch(`A media link has at most ${MAX_CONNECTIONS} connections at a time.`, BUSY_SECONDS);
    }
    const known = this.#known.get(name);
    if (known) this.#checkBytes(name, known.size, expiresAt);
    this.#connections.set(name, count + 1);
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      const left = (this.#connections.get(name) ?? 1) - 1;
      if (left === 0) this.#connections.delete(name);
      else this.#connections.set(name, left);
    };
  }

  #checkBytes(name: string, size: number, expiresAt: number): void {
    if ((this.#sent.get(name) ?? 0) < mostBytes(size)) return;
    const seconds = Math.max(1, Math.ceil((expiresAt - this.#options.clock.now()) / 1000));
    throw tooMuch(`A media link gives at most ${MAX_TIMES} times its file; extract the link again.`, seconds);
  }

  #body(transfer: Transfer, range: ByteRange | undefined): StoredBody {
    const { start, end } = range ?? { start: 0, end: transfer.file.size - 1 };
    return { ...transfer.file, body: this.#transfer(transfer, start, end) };
  }

  async *#transfer({ name, file, reader, issuer, signal, sent, release }: Transfer, start: number, end: number) {
    let bytes = 0;
    try {
      for await (const chunk of reader.read(start, end)) {
        const total = (this.#sent.get(name) ?? 0) + chunk.byteLength;
        this.#sent.set(name, total);
        if (total > mostBytes(file.size)) throw tooMuch('The link has given all bytes that it may.', BUSY_SECONDS);
        await this.#pace.wait(issuer, chunk.byteLength, signal);
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

function mostBytes(size: number): number {
  return MAX_TIMES * Math.max(size, FREE_BYTES);
}

function tooMuch(message: string, retryAfterSeconds: number): GatewayError {
  return new GatewayError('rate_limit_exceeded', message, { retryAfterSeconds });
}

/** Whether the file is bound to cookies of a visit that another process made. */
function lacksVisit({ mediaHeaders }: Extraction, { bound_to: bindings }: MediaEntry): boolean {
  return mediaHeaders === undefined && bindings?.includes('cookie') === true;
}

function sourceOf({ contribution }: Item['extractor'], { mediaHeaders }: Extraction, { url }: MediaEntry): MediaSource {
  return { url, headers: { ...contribution.mediaHeaders, ...mediaHeaders } };
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

/** Shorter waits are skipped: a timer takes longer than that. */
const MIN_WAIT_MS = 20;

/**
 * Limits bytes a second to the clients of one key and to all of them. Each chunk is due when those before it have had
 * their time, so parallel transfers share the rate; a transfer that waited loses nothing.
 */
class Pace {
  readonly #options: Pick<MediaFilesOptions, 'bytesPerSecond' | 'keyBytesPerSecond' | 'clock'>;
  /** When the next bytes are due: of all, and of each key. */
  readonly #due = boundedTable<number>(10_000);

  constructor(options: Pick<MediaFilesOptions, 'bytesPerSecond' | 'keyBytesPerSecond' | 'clock'>) {
    this.#options = options;
  }

  /** Waits until these bytes may be sent. @throws The signal's reason. */
  async wait(key: string, bytes: number, signal: AbortSignal): Promise<void> {
    const { clock, bytesPerSecond, keyBytesPerSecond } = this.#options;
    const now = clock.monotonic();
    const waits = [this.#book('', bytesPerSecond, bytes, now), this.#book(`${key} `, keyBytesPerSecond, bytes, now)];
    const ms = Math.max(...waits);
    if (ms >= MIN_WAIT_MS) await clock.sleep(ms, signal);
  }

  /** Milliseconds until they are due. */
  #book(name: string, rate: number | undefined, bytes: number, now: number): number {
    if (rate === undefined) return 0;
    const due = Math.max(now, this.#due.get(name) ?? now);
    this.#due.set(name, due + (bytes * 1000) / rate);
    return due - now;
  }
}
