/*
 * The priority of worker threads. They have the processor time that the main thread leaves, so that long work on large
 * bodies, answers and files delays no other request.
 */

import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';

/** From 0 to 19. The main thread has 0 and comes first if there are fewer processors than threads. */
const NICENESS = 10;

/** Gives the calling thread a lower priority than the main thread, where the system can. Never throws. */
export function lowerThreadPriority(): void {
  try {
    // Linux has a priority per thread; its id is the last part of this link. Other systems have no such link.
    setPriority(Number(readlinkSync('/proc/thread-self').split('/').at(-1)), NICENESS);
  } catch {
    // The thread then has the priority of the process.
  }
}
