/*
 * The id of a process is a text: the machine, the process on it, its start, and a random part. A process that is
 * certainly dead is declared dead at once; in any doubt its lease decides.
 */

import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { isProcessRunning } from '../runtime/index.js';

/** One for each start of a process: the system reuses process ids, but not this. */
const BOOT = randomUUID();
const MACHINE = describeMachine();

export function createProcessId(): string {
  return JSON.stringify([MACHINE, process.pid, BOOT, randomUUID()]);
}

/** Whether the process is known to be dead. False if that cannot be determined here. */
export function isProcessDead(id: string): boolean {
  const [machine, pid, boot] = JSON.parse(id) as [string, number, string];
  if (machine !== MACHINE) return false;
  if (pid === process.pid) return boot !== BOOT;
  return !isProcessRunning(pid);
}

/** For people: the machine, which may be a container, and the process on it. */
export function describeProcess(id: string): { host: string; pid: number } {
  const [machine, pid] = JSON.parse(id) as [string, number];
  return { host: machine.split(' ', 1)[0] ?? '', pid };
}

/**
 * Two containers may have the same host name and the same process ids; if the system distinguishes them, so does this.
 */
function describeMachine(): string {
  const parts = [hostname()];
  try {
    parts.push(readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(), readlinkSync('/proc/self/ns/pid'));
  } catch {
    // Not Linux, so without this kind of containers.
  }
  return parts.join(' ');
}
