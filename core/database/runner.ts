import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { isProcessRunning } from '../runtime/index.js';

/*
 * Who runs a job, as text: the machine, the process on it, and which of the process's workers. A run whose process is
 * certainly gone is given to another at once; in any doubt its lease decides.
 */

/** One for each start of a process: a process id is used again, this is not. */
const BOOT = randomUUID();
const MACHINE = describeMachine();

/** A name for one set of workers of this process. */
export function nameRunner(): string {
  return JSON.stringify([MACHINE, process.pid, BOOT, randomUUID()]);
}

/** Whether the process is known to have ended. False where that cannot be told from here. */
export function hasEnded(runner: string): boolean {
  const [machine, pid, boot] = JSON.parse(runner) as [string, number, string];
  if (machine !== MACHINE) return false;
  if (pid === process.pid) return boot !== BOOT;
  return !isProcessRunning(pid);
}

/** In words for people: the machine, which may be a container, and the process on it. */
export function describeRunner(runner: string): { host: string; pid: number } {
  const [machine, pid] = JSON.parse(runner) as [string, number];
  return { host: machine.split(' ', 1)[0] ?? '', pid };
}

/**
 * Two containers may have the same host name and the same process ids; where the system tells them apart, so does this.
 */
function describeMachine(): string {
  const parts = [hostname()];
  try {
    parts.push(readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(), readlinkSync('/proc/self/ns/pid'));
  } catch {
    // Not Linux, which has containers of this sort.
  }
  return parts.join(' ');
}
