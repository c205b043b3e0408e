/**
 * A folder in memory for the files of a whole run. On a disk every commit of SQLite waits some milliseconds for it, and tests
 * make tens of thousands. Nothing else differs: a process that is killed has written what it had written.
 */

import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import path from 'node:path';

const SHARED_MEMORY = '/dev/shm';
/** Several times what the tests have there at a time. */
const FREE_BYTES = 4 * 1024 ** 3;
/** Of the machine, since what is there is taken from it. */
const MACHINE_BYTES = 2 * FREE_BYTES;

/** Waits for the end of its input, which comes with the end of this process, even by SIGKILL; then other processes may still write. */
const KEEPER = 'cat >/dev/null; sleep 2; rm -rf "$1" || { sleep 10; rm -rf "$1"; }';

/**
 * Makes one that is removed after the end of this process.
 * @returns Undefined where there is too little memory, or programs there cannot be run, as in most containers.
 */
export function makeFolderInMemory(): string | undefined {
  let folder: string | undefined;
  try {
    const { bavail, bsize } = statfsSync(SHARED_MEMORY);
    if (bavail * bsize < FREE_BYTES || process.availableMemory() < MACHINE_BYTES) return undefined;
    // A short name: paths of sockets in it may have 107 letters.
    folder = mkdtempSync(path.join(SHARED_MEMORY, 'mg-'));
    // For a PostgreSQL that runs as another user; what is in it belongs to this one.
    chmodSync(folder, 0o711);
    const program = path.join(folder, 'program');
    writeFileSync(program, '#!/bin/sh\n', { mode: 0o700 });
    execFileSync(program);
    rmSync(program);
    const keeper = spawn('sh', ['-c', KEEPER, 'keeper', folder], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    keeper.unref();
    (keeper.stdin as Socket).unref();
    return folder;
  } catch {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
    return undefined;
  }
}
