/** Seconds of processor time of this process and of those that it has started and that have ended. */

import { readFileSync } from 'node:fs';

/** Of the clock in which Linux counts processor time, for programs. */
const TICKS_PER_SECOND = 100;

/** Of utime, stime, cutime and cstime in /proc/self/stat, counted after the name of the program. */
const TIMES = { from: 11, to: 15 };

/** Without the processes that it has started, where the system does not say what these took. */
export function cpuSeconds(): number {
  try {
    const status = readFileSync('/proc/self/stat', 'utf8');
    const fields = status.slice(status.lastIndexOf(')') + 2).split(' ');
    return fields.slice(TIMES.from, TIMES.to).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS_PER_SECOND;
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  }
}
