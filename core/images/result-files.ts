/*
 * Stores the image of a job and opens public files by name. A public name contains 128 random bits, the expiry and a
 * checksum, so an expired link differs from one that never existed, without a table. Each run after the first has
 * names of its own: a run that was considered dead may write late without changing a promised image. A write is tried
 * four times, since an image took minutes and money. The model's original is stored in parallel if it differs. Names
 * of images made by a mock say so.
 */

import { crc32 } from 'node:zlib';
import type {
  ByteRange,
  Clock,
  FileSource,
  FileStat,
  ImageWarning,
  Logger,
  Media,
  Storage,
  StoredBody,
  StoredFile,
  Usage,
} from '../contracts/index.js';
import type { FittedImage } from '../media/index.js';
import { drawRandomBytes, GatewayError } from '../runtime/index.js';

/** Retention of an image that is no public file. */
const INLINE_RETENTION_MS = 24 * 60 * 60 * 1000;
/** Retries a failed write: an image took minutes and money. */
const RETRIES_MS = [250, 1_000, 4_000];

/** Names of the files of one job, chosen at acceptance. */
export interface ResultTarget {
  stem: string;
  expiresAt: number;
  public: boolean;
}

/**
 * Names of the files of one run: the first run uses the names of the job, each further run its own. A run that was
 * considered dead may write late without changing an image that was promised meanwhile.
 * @param attempt Number of the run, from 1.
 */
export function targetOfRun(target: ResultTarget, attempt: number): ResultTarget {
  if (attempt === 1) return target;
  return { ...target, stem: target.public ? newPublicStem(target.expiresAt) : newFileStem() };
}

/** An image that is not yet fitted to its canvas. */
export interface Drawing {
  /** The model's original image. */
  raw: Media;
  /** Calls `redraws` as soon as it is known that the image will differ from the original. */
  fit(redraws: () => void): Promise<FittedImage>;
  /** Name of the plugin that made it, if it is a mock; the names of the files then say so. Default: it is none. */
  standIn?: string;
}

export type StoredImage = Omit<FinishedImage, 'usage' | 'quality' | 'warnings'>;

interface ResultFilesOptions {
  storage: Storage;
  clock: Clock;
  logger: Logger;
  /** Milliseconds that public files are kept. */
  publicMs: number;
}

export class ResultFiles {
  readonly #storage: Storage;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #publicMs: number;

  constructor({ storage, clock, logger, publicMs }: ResultFilesOptions) {
    this.#storage = storage;
    this.#clock = clock;
    this.#logger = logger;
    this.#publicMs = publicMs;
  }

  target(delivery: ImageDelivery): ResultTarget {
    const isPublic = delivery !== 'inline';
    const expiresAt = this.#clock.now() + (isPublic ? this.#publicMs : INLINE_RETENTION_MS);
    return { stem: isPublic ? newPublicStem(expiresAt) : newFileStem(), expiresAt, public: isPublic };
  }

  /**
   * Writes the image, and the model's original if it differs.
   * @throws GatewayError `storage_error`; what `fit` throws.
   */
  async store(target: ResultTarget, { raw, fit, standIn }: Drawing, signal: AbortSignal): Promise<StoredImage> {
    const prefix = target.public ? 'img' : 'inline';
    const expiresAt = new Date(target.expiresAt);
    const fileOf = (stem: string, { contentType, bytes: body }: Media) => {
      return { name: fileName(prefix, stem + markOf(standIn), contentType), contentType, expiresAt, body };
    };
    const rawFile = fileOf(`${target.stem}_raw`, raw);
    let writingRaw: Promise<FileSource> | undefined;
    // Stores the original while the image is being redrawn, which shortens the wait.
    const fitting = fit(() => {
      // Without public files, the name of the original is not disclosed.
      if (!target.public) return;
      writingRaw = this.#write(rawFile, signal);
      // Its result is awaited later.
      writingRaw.catch(() => undefined);
    });
    try {
      const image = await fitting;
      const { contentType, width, height, bytes } = image;
      const file = fileOf(target.stem, image);
      const { name } = file;
      const source = await this.#write(file, signal);
      await writingRaw;
      const rawName = writingRaw ? rawFile.name : name;
      return { name, rawName, contentType, width, height, bytes: bytes.byteLength, source };
    } catch (error) {
      // Removes the file; if that fails, it expires.
      const written = await writingRaw?.catch(() => undefined);
      if (written) await this.#storage.delete(rawFile.name).catch(() => undefined);
      throw error;
    }
  }

  /** @throws GatewayError `file_not_found`, `file_expired`. */
  async open(name: string): Promise<ImageFile> {
    const expiresAt = expiryOf(name);
    const file = expiresAt === undefined ? undefined : await this.#storage.stat(name);
    const [, , standIn] = PUBLIC.exec(name) ?? [];
    if (file)
      return { file, read: (range) => this.#storage.read(name, range), ...(standIn !== undefined && { standIn }) };
    if (expiresAt !== undefined && expiresAt <= this.#clock.now()) {
      throw new GatewayError('file_expired', 'This file has expired.');
    }
    throw new GatewayError('file_not_found', 'There is no such file.');
  }

  async #write(file: StoredFile, signal: AbortSignal): Promise<FileSource> {
    for (const retryMs of RETRIES_MS) {
      try {
        return await this.#storage.write(file);
      } catch (error) {
        this.#logger.warn('an image could not be stored; it is retried', { error });
      }
      await this.#clock.sleep(retryMs, signal);
    }
    try {
      return await this.#storage.write(file);
    } catch (cause) {
      throw new GatewayError('storage_error', 'The image was generated but could not be stored.', { cause });
    }
  }
}

const RANDOM_BYTES = 16;
const STEM_BYTES = RANDOM_BYTES + 8;
const PUBLIC = /^img_([0-9a-f]{48})(?:_raw)?(?:_by_([a-z0-9_-]{1,64}))?\.(?:png|jpg|webp|gif)$/;

/** The end of a file's name that says which mock made it. */
function markOf(standIn: string | undefined): string {
  return standIn !== undefined && /^[a-z0-9_-]{1,64}$/.test(standIn) ? `_by_${standIn}` : '';
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'image/gif': 'gif',
};

/** File name: 128 random bits. */
export function newFileStem(): string {
  return drawRandomBytes(RANDOM_BYTES).toString('hex');
}

/**
 * Name of a public file: 128 random bits, its expiry, and a checksum of both. So an expired link can be distinguished
 * from one that never existed, long after the file and its records are deleted.
 */
function newPublicStem(expiresAt: number): string {
  const stem = Buffer.alloc(STEM_BYTES);
  drawRandomBytes(RANDOM_BYTES).copy(stem);
  stem.writeUInt32BE(Math.floor(expiresAt / 1000), RANDOM_BYTES);
  stem.writeUInt32BE(crc32(stem.subarray(0, STEM_BYTES - 4)), STEM_BYTES - 4);
  return stem.toString('hex');
}

/** When a public file expires; undefined if the name was not made here. */
export function expiryOf(name: string): number | undefined {
  const stem = Buffer.from(PUBLIC.exec(name)?.[1] ?? '', 'hex');
  if (stem.length !== STEM_BYTES) return undefined;
  const genuine = stem.readUInt32BE(STEM_BYTES - 4) === crc32(stem.subarray(0, STEM_BYTES - 4));
  return genuine ? stem.readUInt32BE(RANDOM_BYTES) * 1000 : undefined;
}

export function fileName(prefix: 'img' | 'inline' | 'ref', stem: string, contentType: string): string {
  const extension = EXTENSIONS[contentType];
  if (extension === undefined) throw new Error(`no file is kept of ${contentType}`);
  return `${prefix}_${stem}.${extension}`;
}

export type ImageDelivery = 'url' | 'inline' | 'both';

export interface FinishedImage {
  /** Name of its file. Public unless the delivery is `inline`. */
  name: string;
  /**
   * The model's original image, before it was fitted to the canvas; the same as `name` if it already had the right
   * form.
   */
  rawName: string;
  contentType: string;
  /** Pixels. */
  width: number;
  height: number;
  bytes: number;
  /** The kind of storage that held the file when it was stored. */
  source: FileSource;
  usage?: Usage;
  /** The seed that the model used, if it reports one. */
  seed?: number;
  /** The quality that was asked for. */
  quality?: string;
  /** Settings that the model ignored. */
  warnings?: readonly ImageWarning[];
}

/** A public file. */
export interface ImageFile {
  file: FileStat;
  read(range?: ByteRange): Promise<StoredBody | undefined>;
  /** Name of the plugin that made it, if it is a mock. */
  standIn?: string;
}
