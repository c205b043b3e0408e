import { crc32 } from 'node:zlib';
import type { Clock, FileSource, Logger, Media, Storage, StoredFile } from '../contracts/index.js';
import type { FittedImage } from '../media/index.js';
import { drawRandomBytes, GatewayError } from '../runtime/index.js';
import type { FinishedImage, ImageDelivery, ImageFile } from './images.js';

/** How long a picture is kept for the looks at its job, where it is no public file. */
const INLINE_KEPT_MS = 24 * 60 * 60 * 1000;
/** A picture that took minutes and money is not given up for a hiccup of the disk. */
const RETRIES_MS = [250, 1_000, 4_000];

/** Where the files of one job go, chosen when it is accepted. */
export interface ResultPlace {
  stem: string;
  expiresAt: number;
  public: boolean;
}

/**
 * Where those of one of its runs go: the first to the place itself, each further one to a place of its own. A run that others
 * took for dead may write as late as it likes, and changes no picture that was promised meanwhile.
 * @param attempt Number of the run, from 1.
 */
export function placeOfRun(place: ResultPlace, attempt: number): ResultPlace {
  if (attempt === 1) return place;
  return { ...place, stem: place.public ? newPublicStem(place.expiresAt) : newFileStem() };
}

export interface ResultFiles {
  place(delivery: ImageDelivery): ResultPlace;
  /** Writes the picture, and the model's own where that is another. @throws GatewayError `storage_error`; what `fit` throws. */
  store(place: ResultPlace, drawing: Drawing, signal: AbortSignal): Promise<StoredImage>;
  /** @throws GatewayError `file_not_found`, `file_expired`. */
  open(name: string): Promise<ImageFile>;
}

/** A picture that is still to be fitted to its canvas. */
export interface Drawing {
  /** The model's own. */
  raw: Media;
  /** Calls `redraws` as soon as it is known that another picture than the model's own will come. */
  fit(redraws: () => void): Promise<FittedImage>;
}

export type StoredImage = Omit<FinishedImage, 'usage' | 'warnings'>;

export interface ResultFilesOptions {
  storage: Storage;
  clock: Clock;
  logger: Logger;
  /** Milliseconds that public files are kept. */
  publicMs: number;
}

export function createResultFiles({ storage, clock, logger, publicMs }: ResultFilesOptions): ResultFiles {
  async function write(file: StoredFile, signal: AbortSignal): Promise<FileSource> {
    for (const retryMs of RETRIES_MS) {
      try {
        return await storage.write(file);
      } catch (error) {
        logger.warn('an image could not be stored; it is tried again', { error });
      }
      await clock.sleep(retryMs, signal);
    }
    try {
      return await storage.write(file);
    } catch (cause) {
      throw new GatewayError('storage_error', 'The image was made, and could not be stored.', { cause });
    }
  }

  return {
    place(delivery) {
      const isPublic = delivery !== 'inline';
      const expiresAt = clock.now() + (isPublic ? publicMs : INLINE_KEPT_MS);
      return { stem: isPublic ? newPublicStem(expiresAt) : newFileStem(), expiresAt, public: isPublic };
    },
    async store(place, { raw, fit }, signal) {
      const prefix = place.public ? 'img' : 'inline';
      const expiresAt = new Date(place.expiresAt);
      const fileOf = (stem: string, { contentType, bytes: body }: Media) => {
        return { name: fileName(prefix, stem, contentType), contentType, expiresAt, body };
      };
      const rawFile = fileOf(`${place.stem}_raw`, raw);
      let writingRaw: Promise<FileSource> | undefined;
      // While the picture is drawn anew: then there is less to wait for once it is.
      const fitting = fit(() => {
        // Nobody is told the way to the model's own picture where there are no public files.
        if (!place.public) return;
        writingRaw = write(rawFile, signal);
        // How it ends is asked for later.
        writingRaw.catch(() => undefined);
      });
      try {
        const image = await fitting;
        const { contentType, width, height, bytes } = image;
        const file = fileOf(place.stem, image);
        const { name } = file;
        const source = await write(file, signal);
        await writingRaw;
        const rawName = writingRaw ? rawFile.name : name;
        return { name, rawName, contentType, width, height, bytes: bytes.byteLength, source };
      } catch (error) {
        // It is not left alone; where it cannot be removed, it expires.
        const written = await writingRaw?.catch(() => undefined);
        if (written) await storage.delete(rawFile.name).catch(() => undefined);
        throw error;
      }
    },
    async open(name) {
      const expiresAt = expiryOf(name);
      const file = expiresAt === undefined ? undefined : await storage.stat(name);
      if (file) return { file, read: (range) => storage.read(name, range) };
      if (expiresAt !== undefined && expiresAt <= clock.now()) {
        throw new GatewayError('file_expired', 'The time of this file is over.');
      }
      throw new GatewayError('file_not_found', 'There is no such file.');
    },
  };
}

const RANDOM_BYTES = 16;
const STEM_BYTES = RANDOM_BYTES + 8;
const PUBLIC = /^img_([0-9a-f]{48})(?:_raw)?\.(?:png|jpg|webp|gif)$/;

const EXTENSIONS: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'image/gif': 'gif',
};

/** What a file is called after: 128 random bits. */
export function newFileStem(): string {
  return drawRandomBytes(RANDOM_BYTES).toString('hex');
}

/**
 * What a public file is called after: 128 random bits, when its time is over, and a sum of both. So a link that is too old
 * is told from one that never was, long after the file and whatever was known of it are gone.
 */
export function newPublicStem(expiresAt: number): string {
  const stem = Buffer.alloc(STEM_BYTES);
  drawRandomBytes(RANDOM_BYTES).copy(stem);
  stem.writeUInt32BE(Math.floor(expiresAt / 1000), RANDOM_BYTES);
  stem.writeUInt32BE(crc32(stem.subarray(0, STEM_BYTES - 4)), STEM_BYTES - 4);
  return stem.toString('hex');
}

/** When a public file's time is over; undefined where the name is none that was made here. */
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
