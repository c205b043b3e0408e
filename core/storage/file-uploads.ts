import pLimit from 'p-limit';
import type { ByteRange, Clock, FileStat, Logger } from '../contracts/index.js';
import { GatewayError, isGatewayError } from '../runtime/index.js';
import type { DiskFiles } from './files-disk.js';
import { expiryMarkerOf } from './object-expiry.js';
import type { ObjectStore } from './object-store.js';

/** Each holds one part in memory. */
const PARALLEL = 4;
/** So many writers wait for their turn at the most; what comes then is uploaded later. */
const MAX_WAITING = 16;
/** A round that meets so many failures in a row is over: what is wrong is not the file. */
const MAX_FAILURES = 3;

export interface UploadsOptions {
  local: DiskFiles;
  store: ObjectStore;
  clock: Clock;
  logger: Logger;
  /** Milliseconds that a writer waits for the store; the upload itself goes on. */
  patienceMs: number;
  /** Nothing is begun after it. */
  signal: AbortSignal;
}

/** Brings files from the disk into the store. What is on the disk is what is to be brought: there is no other list. */
export interface Uploads {
  /** Uploads a file that was just written. Resolves when it is there, or when it will be later; never rejects. */
  offer(name: string): Promise<void>;
  /** Resolves when no upload of this file is under way. */
  settled(name: string): Promise<void>;
  /** Tries everything that is still on the disk. */
  round(): Promise<void>;
  /** Runs `work` while nobody else changes the file on this disk. */
  alone<Result>(name: string, work: () => Promise<Result>): Promise<Result>;
  /** Resolves when no upload is under way. */
  idle(): Promise<void>;
}

interface Upload {
  /** The file has been written again since it was begun. */
  again: boolean;
  done: Promise<void>;
}

export function createUploads({ local, store, clock, logger, patienceMs, signal }: UploadsOptions): Uploads {
  const limit = pLimit(PARALLEL);
  const underWay = new Map<string, Upload>();
  const turns = new Map<string, Promise<unknown>>();
  const failedBefore = new Set<string>();
  /** Writers do not wait for a store that is away; the next round finds out whether it is back. */
  let away = false;

  function setAway(next: boolean, error?: unknown): void {
    if (next && !away) logger.warn('the object store is away; files stay on the disk until it is back', { error });
    if (!next && away) logger.info('the object store is back');
    away = next;
  }

  function alone<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    const result = (turns.get(name) ?? Promise.resolve()).then(work);
    const turn = result
      .catch(() => undefined)
      .finally(() => {
        if (turns.get(name) === turn) turns.delete(name);
      });
    turns.set(name, turn);
    return result;
  }

  async function bring(name: string, upload: Upload): Promise<void> {
    do {
      upload.again = false;
      const file = await local.stat(name);
      if (!file) return;
      try {
        const marker = expiryMarkerOf(file);
        const bytes = (range: ByteRange) => bytesOf(local, file, range);
        await Promise.all([store.put({ file, bytes }), marker && store.mark(marker)]);
      } catch (error) {
        if (upload.again) continue;
        throw error;
      }
      setAway(false);
      await alone(name, async () => {
        const now = await local.stat(name);
        if (now && isSame(now, file)) await local.delete(name);
      });
    } while (upload.again);
  }

  function start(name: string): Promise<void> {
    const known = underWay.get(name);
    if (known) {
      known.again = true;
      return known.done;
    }
    const upload: Upload = { again: false, done: Promise.resolve() };
    underWay.set(name, upload);
    upload.done = limit(() => bring(name, upload))
      .then(
        () => {
          failedBefore.delete(name);
        },
        (error: unknown) => {
          // One file that is never taken says nothing of the store.
          if (!signal.aborted && !failedBefore.has(name)) {
            if (isOfStore(error)) setAway(true, error);
            logger.warn('a file could not be put into the object store yet', { error });
            failedBefore.add(name);
          }
          throw error;
        },
      )
      .finally(() => underWay.delete(name));
    // Whoever waits is told; nobody has to.
    upload.done.catch(() => undefined);
    return upload.done;
  }

  return {
    alone,
    async offer(name) {
      if (away || signal.aborted || limit.pendingCount >= MAX_WAITING) return;
      const patience = new AbortController();
      const tooLong = clock.sleep(patienceMs, patience.signal).then(
        () => setAway(true, new GatewayError('upstream_unavailable', 'The object store is too slow.')),
        // No longer needed.
        () => undefined,
      );
      await Promise.race([start(name).catch(() => undefined), tooLong]);
      patience.abort();
    },
    async settled(name) {
      await underWay.get(name)?.done.catch(() => undefined);
    },
    async round() {
      const names = await local.names();
      if (!away && names.length === 0) return;
      if (away) await store.ping();
      // A file that the store does not take must not stand in the way of others for ever.
      const rest = [...names.filter((name) => !failedBefore.has(name)), ...failedBefore].values();
      let failures = 0;
      const work = async () => {
        for (const name of rest) {
          if (failures >= MAX_FAILURES || signal.aborted) return;
          try {
            await (underWay.get(name)?.done ?? start(name));
            failures = 0;
          } catch (error) {
            if (isOfStore(error)) failures += 1;
          }
        }
      };
      await Promise.all(Array.from({ length: PARALLEL }, work));
      if (failures === 0) setAway(false);
    },
    async idle() {
      await Promise.allSettled([...underWay.values()].map(({ done }) => done));
    },
  };
}

/** The disk has errors of its own, which say nothing of the store. */
function isOfStore(error: unknown): boolean {
  return isGatewayError(error) && error.code === 'upstream_unavailable';
}

function isSame(one: FileStat, other: FileStat): boolean {
  return (
    one.etag === other.etag &&
    one.modifiedAt.getTime() === other.modifiedAt.getTime() &&
    one.expiresAt?.getTime() === other.expiresAt?.getTime()
  );
}

async function bytesOf(local: DiskFiles, file: FileStat, range: ByteRange): Promise<Uint8Array> {
  const found = await local.read(file.name, range);
  if (found?.etag !== file.etag) throw new GatewayError('file_not_found', 'The file was replaced.');
  const bytes = Buffer.allocUnsafe(range.end + 1 - range.start);
  let filled = 0;
  for await (const chunk of found.body) {
    bytes.set(chunk, filled);
    filled += chunk.byteLength;
  }
  return bytes;
}
