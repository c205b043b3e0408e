import { randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { brotliDecompress, createBrotliDecompress } from 'node:zlib';

const TAR_BLOCK = 512;
const REGULAR_FILE = '0';
const POLL_MS = 100;
/** Unpacking takes seconds; whoever began this long ago is gone. */
const STALE_MS = 60_000;

/**
 * Undoes brotli, file to file. The target is there whole or not at all, and survives a crash once it is there. Of several
 * processes that want the same target one does the work.
 */
export async function unpackFile(source: string, target: string, { mode }: { mode: number }): Promise<void> {
  await whileAlone(target, async () => {
    const making = `${target}.${randomUUID()}`;
    try {
      const file = createWriteStream(making, { mode, flags: 'wx', flush: true });
      await pipeline(createReadStream(source), createBrotliDecompress(), file);
      await rename(making, target);
    } catch (error) {
      await rm(making, { force: true });
      throw error;
    }
  });
}

/** As {@link unpackFile}, for the regular files of a tar archive, whose folders are left out. */
export async function unpackFolder(source: string, target: string): Promise<void> {
  await whileAlone(target, async () => {
    const making = `${target}.${randomUUID()}`;
    try {
      await mkdir(making);
      const archive = await promisify(brotliDecompress)(await readFile(source));
      for (const { name, content } of filesOf(archive)) {
        await writeFile(path.join(making, name), content, { mode: 0o755, flush: true });
      }
      await rename(making, target);
    } catch (error) {
      await rm(making, { recursive: true, force: true });
      throw error;
    }
  });
}

/** Runs the work in one process at a time, and not at all where another one has made the target meanwhile. */
async function whileAlone(target: string, work: () => Promise<void>): Promise<void> {
  const lock = `${target}.lock`;
  await mkdir(path.dirname(target), { recursive: true, mode: 0o700 });
  for (;;) {
    if ((await ageOf(target)) !== undefined) return;
    if (await takeLock(lock)) break;
    const age = await ageOf(lock);
    if (age !== undefined && age > STALE_MS) await rm(lock, { force: true });
    else await sleep(POLL_MS);
  }
  try {
    if ((await ageOf(target)) === undefined) await work();
  } finally {
    await rm(lock, { force: true });
  }
}

async function takeLock(lock: string): Promise<boolean> {
  try {
    await (await open(lock, 'wx')).close();
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

/** Milliseconds since the last change; undefined where there is no such file. */
async function ageOf(file: string): Promise<number | undefined> {
  const found = await stat(file).catch(() => undefined);
  return found && Date.now() - found.mtimeMs;
}

/** Names without folders; the archive is one of our own packages'. */
function* filesOf(archive: Buffer): Generator<{ name: string; content: Buffer }> {
  for (let at = 0; at + TAR_BLOCK <= archive.length; ) {
    const text = (from: number, length: number) =>
      archive.toString('latin1', at + from, at + from + length).replace(/\0.*$/s, '');
    const size = Number.parseInt(text(124, 12), 8) || 0;
    const start = at + TAR_BLOCK;
    if (text(156, 1) === REGULAR_FILE) {
      yield { name: path.basename(text(0, 100)), content: archive.subarray(start, start + size) };
    }
    at = start + Math.ceil(size / TAR_BLOCK) * TAR_BLOCK;
  }
}
