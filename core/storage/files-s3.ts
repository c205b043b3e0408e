import type { ByteRange, Clock, FileStat, Logger, StoredBody } from '../contracts/index.js';
import { GatewayError, isDamagedFile, isGatewayError } from '../runtime/index.js';
import { createUploads } from './file-uploads.js';
import type { Files } from './files.js';
import { openDiskFiles } from './files-disk.js';
import { readFilesUrl } from './files-url.js';
import { sweepObjects } from './object-expiry.js';
import { createObjectStore } from './object-store.js';

const ROUND_MS = 10_000;
const SWEEP_MS = 3_600_000;
const PATIENCE_MS = 10_000;
const PING_FRESH_MS = 15_000;

export interface S3FilesOptions {
  /** See {@link readFilesUrl}. */
  url: string;
  /** Where files are until the store has them. */
  folder: string;
  clock: Clock;
  logger: Logger;
  /** Milliseconds between two tries to bring what is left on the disk into the store. Default 10,000. Given by tests. */
  roundMs?: number;
  /** Milliseconds that a write waits for the store before the file stays on the disk for now. Default 10,000. Given by tests. */
  patienceMs?: number;
}

/** Storage in an S3-compatible store that can do without it for a while. */
export interface S3Files extends Files {
  /** Removes what is expired in the store. */
  sweep(): Promise<void>;
}

/**
 * Files in an S3-compatible store. Each is written to the disk first, where it is safe and can be read at once, then
 * uploaded and removed from the disk. Where the store is away it stays on the disk under the same name and is uploaded as
 * soon as the store is back; other nodes cannot read it until then. Opening asks the store for nothing.
 * @throws GatewayError `invalid_value` for a URL that cannot be used.
 */
export async function openS3Files(options: S3FilesOptions): Promise<S3Files> {
  const { clock, logger, roundMs = ROUND_MS, patienceMs = PATIENCE_MS } = options;
  const closing = new AbortController();
  const { signal } = closing;
  const address = readFilesUrl(options.url);
  const store = createObjectStore({ address, clock, signal });
  const local = await openDiskFiles(options.folder, clock);
  const uploads = createUploads({ local, store, clock, logger, patienceMs, signal });
  const background = repeat();
  let asked: { at: number; answer: Promise<void> } | undefined;

  async function repeat(): Promise<void> {
    let sweptAt = Number.NEGATIVE_INFINITY;
    for (;;) {
      try {
        await clock.sleep(roundMs, signal);
      } catch {
        // Only closing ends the sleep.
        return;
      }
      try {
        await uploads.round();
        if (clock.monotonic() - sweptAt < SWEEP_MS) continue;
        // Where there was more than one sweep removes, the next round goes on with it.
        if (await sweepObjects(store, clock.now())) sweptAt = clock.monotonic();
      } catch (error) {
        if (!signal.aborted) logger.debug('a round over the object store failed', { error });
      }
    }
  }

  const unlessOver = <File extends FileStat>(file: File | undefined): File | undefined =>
    file?.expiresAt && file.expiresAt.getTime() <= clock.now() ? undefined : file;

  /** What is damaged on the disk may be whole in the store; where it is not, the damage is told. */
  function wholeOf<File>(damage: Error | undefined, far: File | undefined): File | undefined {
    if (!far && damage) throw damage;
    return far;
  }

  /** The upload may remove a file from the disk before its reader has opened it: the store has it then. */
  async function* follow(near: StoredBody, range: ByteRange | undefined): AsyncGenerator<Uint8Array> {
    let begun = false;
    try {
      for await (const chunk of near.body) {
        begun = true;
        yield chunk;
      }
    } catch (error) {
      const isGone = isGatewayError(error) && error.code === 'file_not_found';
      if (begun || !isGone) throw error;
      const far = await store.read(near.name, range);
      if (far?.etag !== near.etag) throw error;
      yield* far.body;
    }
  }

  /** Of such a failure nobody else hears: the answer has begun. */
  async function* telling(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    try {
      yield* body;
    } catch (error) {
      if (isDamagedFile(error)) logger.warn('a stored file is damaged', { error });
      throw error;
    }
  }

  return {
    async write(file) {
      await uploads.alone(file.name, () => local.write(file));
      await uploads.offer(file.name);
      return (await local.stat(file.name)) ? 'local_cache' : address.source;
    },
    async read(name, range) {
      const near = await local.read(name, range).catch(damageOf);
      if (near && !(near instanceof Error)) return { ...near, body: follow(near, range) };
      const far = wholeOf(near, unlessOver(await store.read(name, range)));
      return far && { ...far, body: telling(far.body) };
    },
    async stat(name) {
      const near = await local.stat(name).catch(damageOf);
      if (near && !(near instanceof Error)) return near;
      return wholeOf(near, unlessOver(await store.stat(name)));
    },
    async delete(name) {
      await uploads.alone(name, () => local.delete(name));
      // Else it could arrive in the store after it was deleted there.
      await uploads.settled(name);
      await store.delete(name);
    },
    ping() {
      if (!asked || clock.monotonic() - asked.at >= PING_FRESH_MS) {
        asked = { at: clock.monotonic(), answer: store.ping() };
      }
      return asked.answer;
    },
    awaiting: async () => (await local.names()).length,
    async sweep() {
      await sweepObjects(store, clock.now());
    },
    async close() {
      closing.abort(new GatewayError('shutting_down', 'The gateway is closing.'));
      await uploads.idle();
      await background;
      local.close();
    },
  };
}

function damageOf(error: Error): Error {
  if (isDamagedFile(error)) return error;
  throw error;
}
