import type { Media } from '../contracts/media.js';
import type { Clock, FileSource, Logger, Storage } from '../contracts/services.js';
import { GatewayError } from '../errors.js';
import type { FittedImage } from '../media/image-file.js';
import { expiryOf, fileName, newFileStem, newPublicStem } from './file-names.js';
import type { FinishedImage, ImageDelivery, ImageFile } from './image-jobs.js';

/** How long a picture is kept for the looks at its job, where it is no public file. */
const INLINE_KEPT_MS = 24 * 60 * 60 * 1000;
/** A picture that took minutes and money is not given up for a hiccup of the disk. */
const RETRIES_MS = [250, 1_000, 4_000];

/** Where the files of one job go. Chosen when it is accepted, so that every run of it writes the same ones. */
export interface ResultPlace {
  stem: string;
  expiresAt: number;
  public: boolean;
}

export interface ResultFiles {
  place(delivery: ImageDelivery): ResultPlace;
  /** Writes the picture, and the model's own where that is another. @throws GatewayError `storage_error`. */
  store(place: ResultPlace, pictures: { raw: Media; fitted: FittedImage }, signal: AbortSignal): Promise<StoredImage>;
  /** @throws GatewayError `file_not_found`, `file_expired`. */
  open(name: string): Promise<ImageFile>;
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
  async function write(
    name: string,
    { bytes, contentType }: Media,
    place: ResultPlace,
    signal: AbortSignal,
  ): Promise<FileSource> {
    const file = { name, contentType, expiresAt: new Date(place.expiresAt), body: bytes };
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
    async store(place, { raw, fitted }, signal) {
      const prefix = place.public ? 'img' : 'inline';
      const name = fileName(prefix, place.stem, fitted.contentType);
      // Nobody is told the way to the model's own picture where there are no public files.
      const keepsRaw = place.public && !fitted.untouched;
      const rawName = keepsRaw ? fileName(prefix, `${place.stem}_raw`, raw.contentType) : name;
      // At once, and neither is left alone: what the one waits for at the disk does for the other too.
      const [written, writtenRaw] = await Promise.allSettled([
        write(name, fitted, place, signal),
        keepsRaw && write(rawName, raw, place, signal),
      ]);
      if (writtenRaw.status === 'rejected') throw writtenRaw.reason;
      if (written.status === 'rejected') throw written.reason;
      const source = written.value;
      const { contentType, width, height, bytes } = fitted;
      return { name, rawName, contentType, width, height, bytes: bytes.byteLength, source };
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
