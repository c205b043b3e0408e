/** Binds processes to a core, so that load and measured server do not share one. */

import { execFileSync } from 'node:child_process';
import { cpus } from 'node:os';

/** What is measured has one core to itself; its clients and upstreams have the other. */
export const MEASURED_CORE = 0;
export const LOADING_CORE = 1;

/** Whether processes can be kept on a core here: Linux, two cores and `taskset`. */
export const canPin = process.platform === 'linux' && cpus().length > 1 && hasTaskset();

function hasTaskset(): boolean {
  try {
    execFileSync('taskset', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Keeps a process, all its threads, on one core. Does nothing where that cannot be done. */
export function pin(pid: number, core: number): void {
  if (canPin) execFileSync('taskset', ['-a', '-p', '-c', String(core), String(pid)], { stdio: 'ignore' });
}

/** Lets a process run on all cores again. */
export function unpin(pid: number): void {
  if (canPin) execFileSync('taskset', ['-a', '-p', '-c', `0-${cpus().length - 1}`, String(pid)], { stdio: 'ignore' });
}
