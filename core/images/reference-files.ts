import type { Clock, Logger, Storage } from '../contracts/services.js';
import { GatewayError } from '../errors.js';
import { fileName, newFileStem } from './file-names.js';
import type { Reference } from './references.js';

/** Whatever became of its job by then, nobody needs it any more. */
const KEPT_MS = 24 * 60 * 60 * 1000;

/** An input image as a job remembers it. */
export type StoredReference = { param: string } & ({ url: string } | { file: string; contentType: string });

/** Input images that came with the request: files of their own, since a job of 40 MB is no row of a table. */
export interface ReferenceFiles {
  /** @throws GatewayError `storage_error`. */
  store(references: readonly Reference[]): Promise<StoredReference[]>;
  /** @throws GatewayError `storage_error` where one is gone. */
  load(stored: readonly StoredReference[]): Promise<Reference[]>;
  /** Never fails: what is left behind expires. */
  remove(names: readonly string[]): Promise<void>;
}

export interface ReferenceFilesOptions {
  storage: Storage;
  clock: Clock;
  logger: Logger;
}

export function createReferenceFiles({ storage, clock, logger }: ReferenceFilesOptions): ReferenceFiles {
  async function remove(names: readonly string[]): Promise<void> {
    const results = await Promise.allSettled(names.map((name) => storage.delete(name)));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) logger.warn('a file of an image job could not be removed', { error: failed.reason });
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
    load: (stored) =>
      Promise.all(
        stored.map(async (reference): Promise<Reference> => {
          if ('url' in reference) return reference;
          const { param, file, contentType } = reference;
          return { param, media: { bytes: await readWhole(storage, file), contentType } };
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
  if (!found) throw new GatewayError('storage_error', 'An input image of the job is gone.');
  const chunks: Uint8Array[] = [];
  for await (const chunk of found.body) chunks.push(chunk);
  return Buffer.concat(chunks);
}
