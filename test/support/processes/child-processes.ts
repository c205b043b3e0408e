/** The processes that a process has started, and what they hold. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Ids of the processes that a process has started, oldest first. */
export async function childrenOf(pid: number): Promise<number[]> {
  const { stdout } = await run('ps', ['-o', 'pid=', '--ppid', String(pid)]).catch(() => ({ stdout: '' }));
  return stdout
    .split('\n')
    .flatMap((line) => (line.trim() === '' ? [] : [Number(line)]))
    .sort((one, other) => one - other);
}

/** Resident memory of a process in megabytes; 0 if it has ended. */
export async function residentMegabytes(pid: number): Promise<number> {
  const { stdout } = await run('ps', ['-o', 'rss=', '-p', String(pid)]).catch(() => ({ stdout: '0' }));
  return Number(stdout) / 1024;
}
