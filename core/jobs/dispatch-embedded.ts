import type { Dispatcher } from './dispatcher.js';
import { createEndWatchers } from './end-watchers.js';
import { createPumps } from './job-pump.js';

/** Other processes on the same file queue jobs, too: the command line, a second server during an upgrade. */
const POLL_MS = 1_000;

/** Work is heard of in this process at once, and of other processes by looking every second. */
export function createEmbeddedDispatcher(pollMs = POLL_MS): Dispatcher {
  const { add, ended } = createEndWatchers();
  return {
    *announce() {},
    *announceEnds() {},
    ...createPumps(pollMs),
    ended,
    watchEnds: add,
  };
}
