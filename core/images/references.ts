/*
 * Input images of a request: checks before acceptance, storage for the job, and loading for the model. The check reads
 * headers only; nothing is downloaded or decoded, and the event loop is free between two images. URLs must be https
 * and pass the address guard, also after redirects. Images that came with the request are stored as files for a day,
 * because 40 MB do not belong in a row; another node waits up to a minute for a file that it cannot read yet. A mask
 * must have an alpha channel and the size of the first image.
 */

import { setImmediate } from 'node:timers/promises';
import type { Clock, HttpClient, HttpStream, ImageSize, Logger, Media, Storage } from '../contracts/index.js';
import type { JobRecord } from '../jobs/index.js';
import {
  checkHeader,
  checkImage,
  fileTooLarge,
  IMAGE_CONTENT_TYPES,
  type ImageFiles,
  MAX_IMAGE_BYTES,
} from '../media/index.js';
import { type AddressGuard, createAddressGuard, discard, type Hop, MAX_URL_LENGTH, nextHop } from '../net/index.js';
import { diskFailure, GatewayError, isGatewayError, withDeadline } from '../runtime/index.js';
import { fileName, type ImageDelivery, newFileStem } from './result-files.js';

/** Maximum number of input images per request. */
export const MAX_REFERENCES = 4;

/** An input image as the client sent it. */
export interface ReferenceInput {
  /** A public https URL, a data URI, or the bytes of a file. */
  value: string | Uint8Array;
  /** The field it was sent in, e.g. `image_url` or `image[1]`. */
  param: string;
}

/** A checked input image: bytes, or the URL to download them from. */
export type Reference = { param: string } & ({ media: Media } | { url: string });

interface ReferencesOptions {
  /** Guards every address; belongs to no plugin instance. */
  http: HttpClient;
  images: ImageFiles;
  /** Private origins that the operator trusts. They too are reached only by https. Default: none. */
  trustedOrigins?: readonly string[];
}

export class References {
  readonly #http: HttpClient;
  readonly #images: ImageFiles;
  readonly #guard: AddressGuard;

  constructor({ http, images, trustedOrigins }: ReferencesOptions) {
    this.#http = http;
    this.#images = images;
    this.#guard = createAddressGuard({ trustedOrigins });
  }

  /**
   * Checks all inputs before acceptance, in the caller's order; the mask is last. Nothing is downloaded or decoded to
   * pixels; the event loop is free between two inputs.
   * @throws GatewayError with the `param` of the first invalid input: `too_many_images`, `invalid_image_url`,
   *   `invalid_base64_image`, and what {@link checkImage} throws.
   */
  async check(inputs: readonly ReferenceInput[], mask?: ReferenceInput): Promise<Reference[]> {
    if (inputs.length > MAX_REFERENCES) {
      const message = `A request accepts at most ${MAX_REFERENCES} input images; this one has ${inputs.length}.`;
      throw new GatewayError('too_many_images', message, { param: inputs[MAX_REFERENCES]?.param });
    }
    const references: Reference[] = [];
    for (const input of mask ? [...inputs, mask] : inputs) {
      const { value, param } = input;
      if (references.length > 0) await setImmediate();
      try {
        if (typeof value === 'string' && !isDataUri(value)) references.push({ param, url: this.#checkUrl(value) });
        else {
          const media = readFile(typeof value === 'string' ? decodeDataUri(value) : value);
          if (input === mask && media.contentType === IMAGE_CONTENT_TYPES.jpeg) throw noAlpha();
          references.push({ param, media });
        }
      } catch (error) {
        throw naming({ param }, error);
      }
    }
    return references;
  }

  /**
   * The images as a model receives them, in the same order, each normalized by {@link ImageFiles.normalize}. The first
   * failure aborts the others.
   * @throws GatewayError with the `param` of the failed input: `failed_to_download_image`, `image_file_too_large`,
   *   `unsupported_image_media_type`, `invalid_image`, `image_too_large`, `queue_full`; the signal's reason.
   */
  async load(references: readonly Reference[], signal: AbortSignal): Promise<Media[]> {
    const siblings = new AbortController();
    const either = AbortSignal.any([signal, siblings.signal]);
    try {
      return await Promise.all(references.map((reference) => this.#fetchOne(reference, either)));
    } finally {
      siblings.abort(new GatewayError('interrupted', 'Another input image of the request could not be fetched.'));
    }
  }

  /** Checks the text of the URL; the address its host resolves to is checked at download. */
  #checkUrl(text: string): string {
    // Long texts are not parsed, since that takes time.
    const url = text.length > MAX_URL_LENGTH ? undefined : URL.parse(text);
    if (url?.protocol !== 'https:')
      throw invalidUrl(`It must be an https URL of at most ${MAX_URL_LENGTH} characters, or a data URI.`);
    try {
      this.#guard.checkUrl(url);
    } catch (error) {
      throw isGatewayError(error) ? invalidUrl(error.message) : error;
    }
    return url.href;
  }

  async #fetchOne(reference: Reference, signal: AbortSignal): Promise<Media> {
    try {
      const bytes =
        'url' in reference
          ? await downloadReference({ http: this.#http, url: reference.url, signal })
          : reference.media.bytes;
      return await this.#images.normalize(bytes, signal);
    } catch (error) {
      signal.throwIfAborted();
      throw naming(reference, error);
    }
  }
}

function readFile(bytes: Uint8Array): Media {
  return { bytes, contentType: IMAGE_CONTENT_TYPES[checkImage(bytes).type] };
}

/** A PNG states in this byte of its header whether its pixels have alpha; {@link ImageFiles.normalize} keeps alpha in PNG only. */
const PNG_COLOUR_TYPE = 25;
const HAS_ALPHA = 4;

/**
 * Checks a normalized mask against the normalized image that it belongs to.
 * @throws GatewayError `invalid_image` if it has no alpha channel, or another size.
 */
export function checkMask(param: string, mask: Media, image: Media): void {
  const isPng = mask.contentType === IMAGE_CONTENT_TYPES.png;
  if (!isPng || ((mask.bytes[PNG_COLOUR_TYPE] ?? 0) & HAS_ALPHA) === 0) throw noAlpha().with({ param });
  const [own, other] = [checkHeader(mask.bytes), checkHeader(image.bytes)];
  if (own.width === other.width && own.height === other.height) return;
  const sizes = `${own.width} x ${own.height} pixels, and the first input image has ${other.width} x ${other.height}`;
  throw new GatewayError('invalid_image', `The mask must have the size of the first input image: it has ${sizes}.`, {
    param,
  });
}

function noAlpha(): GatewayError {
  const message =
    'A mask must be a PNG, WebP or GIF file with an alpha channel: its transparent pixels mark what changes.';
  return new GatewayError('invalid_image', message);
}

function naming({ param }: { param: string }, error: unknown): unknown {
  return isGatewayError(error) ? error.with({ param }) : error;
}

function invalidUrl(why: string): GatewayError {
  return new GatewayError('invalid_image_url', `The image URL cannot be used. ${why}`);
}

/** After this time the files are no longer needed, in any state of the job. */
const RETENTION_MS = 24 * 60 * 60 * 1000;
/**
 * Another node may hold the files on its disk until the object store is available again: retries for a minute, with
 * short delays first.
 */
const RETRY_DELAYS_MS = [250, 750, 1_000, 3_000, ...Array.from({ length: 11 }, () => 5_000)];

/** An input image as a job stores it. */
export type StoredReference = { param: string } & ({ url: string } | { file: string; contentType: string });

interface ReferenceFilesOptions {
  storage: Storage;
  clock: Clock;
  logger: Logger;
}

/** Removes input images of a job that never ran. Never fails: files that remain expire. */
export async function removeInputImages({ summary }: JobRecord, options: ReferenceFilesOptions): Promise<void> {
  await new ReferenceFiles(options).remove((summary as ImageJobSummary).files);
}

/** Input images that came with the request are stored as files, since 40 MB do not belong in a table row. */
export class ReferenceFiles {
  readonly #storage: Storage;
  readonly #clock: Clock;
  readonly #logger: Logger;

  constructor({ storage, clock, logger }: ReferenceFilesOptions) {
    this.#storage = storage;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** @throws GatewayError `storage_error`. */
  async store(references: readonly Reference[]): Promise<StoredReference[]> {
    const expiresAt = new Date(this.#clock.now() + RETENTION_MS);
    const stored: StoredReference[] = [];
    try {
      for (const reference of references) {
        if ('url' in reference) stored.push(reference);
        else {
          const { param, media } = reference;
          const name = fileName('ref', newFileStem(), media.contentType);
          await this.#storage.write({ name, contentType: media.contentType, expiresAt, body: media.bytes });
          stored.push({ param, file: name, contentType: media.contentType });
        }
      }
    } catch (cause) {
      await this.remove(fileNamesOf(stored));
      const failure = diskFailure(cause);
      // A full disk, or an object store that does not answer: the request can be sent again.
      if (isGatewayError(failure) && failure.retryable && failure.code !== 'storage_error') throw failure;
      throw new GatewayError('storage_error', 'The input images could not be stored.', { cause });
    }
    return stored;
  }

  /**
   * Waits up to a minute for files that cannot be read yet.
   * @throws GatewayError `storage_error` if one is missing; the reason of the signal.
   */
  load(stored: readonly StoredReference[], signal: AbortSignal): Promise<Reference[]> {
    return Promise.all(
      stored.map(async (reference): Promise<Reference> => {
        if ('url' in reference) return reference;
        const { param, file, contentType } = reference;
        return { param, media: { bytes: await this.#readInTime(file, signal), contentType } };
      }),
    );
  }

  /** Never fails: files that remain expire. */
  async remove(names: readonly string[]): Promise<void> {
    const results = await Promise.allSettled(names.map((name) => this.#storage.delete(name)));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) this.#logger.warn('a file of an image job could not be removed', { error: failed.reason });
  }

  async #readInTime(name: string, signal: AbortSignal): Promise<Uint8Array> {
    for (const waitMs of RETRY_DELAYS_MS) {
      try {
        return await readWhole(this.#storage, name);
      } catch (error) {
        this.#logger.debug('an input image cannot be read yet', { error });
      }
      await this.#clock.sleep(waitMs, signal);
    }
    try {
      return await readWhole(this.#storage, name);
    } catch (cause) {
      throw new GatewayError('storage_error', 'An input image of the job could not be read.', { cause });
    }
  }
}

export function fileNamesOf(stored: readonly StoredReference[]): string[] {
  return stored.flatMap((reference) => ('file' in reference ? [reference.file] : []));
}

async function readWhole(storage: Storage, name: string): Promise<Uint8Array> {
  const found = await storage.read(name);
  if (!found) throw new GatewayError('file_not_found', 'There is no such file.');
  const chunks: Uint8Array[] = [];
  for await (const chunk of found.body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Length of 10 MiB in base64. */
const MAX_BASE64_LENGTH = Math.ceil(MAX_IMAGE_BYTES / 3) * 4;
/** `data:`, a label with some parameters, `;base64,`. */
const MAX_PREFIX_LENGTH = 256;

const PREFIX = /^data:image\/[a-z0-9.+-]+(?:;[^;,]*)*;base64,/i;

export function isDataUri(text: string): boolean {
  return /^data:/i.test(text);
}

/**
 * Decodes a `data:image/<type>;base64,` URI. The stated type is ignored. Takes about 10 ms for the largest.
 * @throws GatewayError `invalid_base64_image`, `image_file_too_large`.
 */
export function decodeDataUri(uri: string): Uint8Array {
  const prefix = PREFIX.exec(uri.slice(0, MAX_PREFIX_LENGTH))?.[0];
  if (prefix === undefined) {
    const message = 'The data URI must have the form data:image/<type>;base64,<data>.';
    throw new GatewayError('invalid_base64_image', message);
  }
  if (uri.length - prefix.length > MAX_BASE64_LENGTH) throw fileTooLarge();
  const bytes = decodeBase64(uri.slice(prefix.length));
  if (!bytes) throw new GatewayError('invalid_base64_image', 'The data URI is not valid base64.');
  return bytes;
}

/** Undefined if it contains characters outside the alphabet of RFC 4648, section 4, and its padding. */
function decodeBase64(text: string): Uint8Array | undefined {
  const letters = text.endsWith('==') ? text.length - 2 : text.endsWith('=') ? text.length - 1 : text.length;
  if (letters % 4 === 1 || (letters < text.length && text.length % 4 !== 0)) return undefined;
  // Node also accepts the URL alphabet, and the lower byte of wider characters.
  if (text.includes('-') || text.includes('_') || Buffer.byteLength(text) !== text.length) return undefined;
  const bytes = Buffer.from(text, 'base64');
  // It skips invalid characters, so the result has fewer bytes than expected.
  return bytes.length === Math.floor((letters * 3) / 4) ? bytes : undefined;
}

const DEADLINE_MS = 15_000;

const MAX_REDIRECTS = 3;

interface ReferenceDownload {
  /** Guards every address, and has no cookies or credentials. */
  http: HttpClient;
  url: string;
  signal: AbortSignal;
}

/**
 * Downloads an https URL, including redirects, within 15 seconds. The caller checks the content.
 * @throws GatewayError `failed_to_download_image`, `image_file_too_large`; the signal's reason.
 */
async function downloadReference(download: ReferenceDownload): Promise<Uint8Array> {
  const { signal } = download;
  try {
    const work = async (deadline: AbortSignal) => readBody(await walk({ ...download, signal: deadline }));
    const error = () => new GatewayError('upstream_timeout', 'The download took too long.');
    return await withDeadline(DEADLINE_MS, work, { signals: [signal], error });
  } catch (error) {
    signal.throwIfAborted();
    if (!isGatewayError(error) || !error.code.startsWith('upstream_')) throw error;
    throw downloadFailed(error.message, { cause: error, retryable: error.retryable });
  }
}

async function walk({ http, url, signal }: ReferenceDownload): Promise<HttpStream> {
  let hop: Hop = { url: new URL(url), method: 'GET', headers: {} };
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    if (hop.url.protocol !== 'https:')
      throw downloadFailed('The host redirects to another scheme.', { retryable: false });
    const reply = await http.stream({
      url: hop.url,
      // Images are already compressed; a second compression would hide their size.
      headers: { accept: 'image/*', 'accept-encoding': 'identity' },
      signal,
      timeoutMs: DEADLINE_MS,
      // The limit is checked below, where exceeding it has its own error code.
      maxBytes: Number.MAX_SAFE_INTEGER,
    });
    const next = nextHop(hop, reply.status, reply.headers.location);
    if (!next) return reply;
    discard(reply);
    hop = next;
  }
  throw downloadFailed('The host redirects too often.');
}

async function readBody(reply: HttpStream): Promise<Uint8Array> {
  const { 'content-encoding': coding = 'identity', 'content-length': length } = reply.headers;
  if (reply.status !== 200) {
    discard(reply);
    throw downloadFailed(`The host answered ${reply.status}.`);
  }
  if (coding.toLowerCase() !== 'identity') {
    discard(reply);
    throw downloadFailed('The host sent an encoding that was not requested.', { retryable: false });
  }
  if (Number(length) > MAX_IMAGE_BYTES) {
    discard(reply);
    throw fileTooLarge();
  }
  const chunks: Uint8Array[] = [];
  let total = 0;
  for await (const chunk of reply.body) {
    total += chunk.byteLength;
    if (total > MAX_IMAGE_BYTES) throw fileTooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function downloadFailed(why: string, details: { cause?: unknown; retryable?: boolean } = {}): GatewayError {
  return new GatewayError('failed_to_download_image', `The image could not be downloaded. ${why}`, details);
}

/** What every read of the job returns or needs: `summary` of its record. */
export interface ImageJobSummary {
  model: string;
  delivery: ImageDelivery;
  requestId: string | null;
  owner: string;
  /** Files of the input images, which are removed when the job has ended. */
  files: readonly string[];
  /** What was asked for, if the request is kept. */
  request?: StoredImageRequest;
  /** Maximum number of partial images, if any are wanted. */
  partialImages?: number;
}

/** What was asked for, without input images. */
export interface StoredImageRequest {
  prompt: string;
  size: ImageSize | 'auto';
  options: Readonly<Record<string, unknown>>;
  /** Number of input images. */
  references: number;
  hasMask: boolean;
}
