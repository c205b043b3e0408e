/*
 * A lock of a file between processes of one machine: a file `NAME.lock` beside it, which only one process can create.
 * Others wait for it. A lock that is older than a minute belongs to a dead process and is removed.
 */

import { open, rm, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 100;
/** Holders take seconds; a process that began this long ago is dead. */
const STALE_MS = 60_000;

/**
 * Runs the work in one process at a time. The folder of the target must exist.
 * @param isDone Asked while the lock is held by another process; the wait then ends without the work. Default: never.
 */
export async function withFileLock<Result>(
  target: string,
  work: () => Promise<Result>,
  isDone: () => Promise<boolean> = async () => false,
): Promise<Result | undefined> {
  const lock = `${target}.lock`;
  for (;;) {
    if (await isDone()) return undefined;
    if (await takeLock(lock)) break;
    const age = await ageOf(lock);
    if (age !== undefined && age > STALE_MS) await rm(lock, { force: true });
    else await sleep(POLL_MS);
  }
  try {
    return (await isDone()) ? undefined : await work();
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

/** Milliseconds since the last change; undefined if there is no such file. */
async function ageOf(file: string): Promise<number | undefined> {
  const found = await stat(file).catch(() => undefined);
  return found && Date.now() - found.mtimeMs;
}
