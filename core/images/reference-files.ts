import type { Clock, Logger, Storage } from '../contracts/index.js';
import type { JobRecord } from '../jobs/index.js';
import { GatewayError } from '../runtime/index.js';
import { fileName, newFileStem } from './file-names.js';
import type { ImageJobSummary } from './image-jobs.js';
import type { Reference } from './references.js';

/** Whatever became of its job by then, nobody needs it any more. */
const KEPT_MS = 24 * 60 * 60 * 1000;
/** Another node may have them on its disk until the object store is back: a minute, in short steps at first. */
const LOOKS_AGAIN_MS = [250, 750, 1_000, 3_000, ...Array.from({ length: 11 }, () => 5_000)];

/** An input image as a job remembers it. */
export type StoredReference = { param: string } & ({ url: string } | { file: string; contentType: string });

/** Input images that came with the request: files of their own, since a job of 40 MB is no row of a table. */
export interface ReferenceFiles {
  /** @throws GatewayError `storage_error`. */
  store(references: readonly Reference[]): Promise<StoredReference[]>;
  /**
   * Waits up to a minute for those that cannot be read yet.
   * @throws GatewayError `storage_error` where one is gone; the reason of the signal.
   */
  load(stored: readonly StoredReference[], signal: AbortSignal): Promise<Reference[]>;
  /** Never fails: what is left behind expires. */
  remove(names: readonly string[]): Promise<void>;
}

export interface ReferenceFilesOptions {
  storage: Storage;
  clock: Clock;
  logger: Logger;
}

/** Input images of a job that never ran and never will. Never fails: what is left behind expires. */
export async function removeInputImages({ summary }: JobRecord, options: ReferenceFilesOptions): Promise<void> {
  await createReferenceFiles(options).remove((summary as ImageJobSummary).files);
}

export function createReferenceFiles({ storage, clock, logger }: ReferenceFilesOptions): ReferenceFiles {
  async function remove(names: readonly string[]): Promise<void> {
    const results = await Promise.allSettled(names.map((name) => storage.delete(name)));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) logger.warn('a file of an image job could not be removed', { error: failed.reason });
  }

  async function readInTime(name: string, signal: AbortSignal): Promise<Uint8Array> {
    for (const waitMs of LOOKS_AGAIN_MS) {
      try {
        return await readWhole(storage, name);
      } catch (error) {
        logger.debug('an input image cannot be read yet', { error });
      }
      await clock.sleep(waitMs, signal);
    }
    try {
      return await readWhole(storage, name);
    } catch (cause) {
      throw new GatewayError('storage_error', 'An input image of the job could not be read.', { cause });
    }
  }

  return {
    async store(references) {
      const expiresAt = new Date(clock.now() + KEPT_MS);
      const stored: StoredReference[] = [];
      try {
        for (const reference of references) {
          if ('url' in reference) stored.push(reference);
          else {
            const { param, media } = reference;
            const name = fileName('ref', newFileStem(), media.contentType);
            await storage.write({ name, contentType: media.contentType, expiresAt, body: media.bytes });
            stored.push({ param, file: name, contentType: media.contentType });
          }
        }
      } catch (cause) {
        await remove(fileNamesOf(stored));
        throw new GatewayError('storage_error', 'The input images could not be stored.', { cause });
      }
      return stored;
    },
    load: (stored, signal) =>
      Promise.all(
        stored.map(async (reference): Promise<Reference> => {
          if ('url' in reference) return reference;
          const { param, file, contentType } = reference;
          return { param, media: { bytes: await readInTime(file, signal), contentType } };
        }),
      ),
    remove,
  };
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
