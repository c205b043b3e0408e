/*
 * A thread beside the tests. A loop or an expression without an end keeps the main thread from running any timer, so
 * no limit of its own could end it. This thread sees that the main thread's pulse stands still while a call runs, and
 * ends what it executes.
 */

import * as inspector from 'node:inspector';
import { workerData } from 'node:worker_threads';

/**
 * A thread beside the tests. A loop or an expression without an end keeps the main thread from running any timer, so
 * that no limit of its own could end it. This thread sees that its pulse stands still, and ends what it executes.
 */
const { pulse, limitMs } = workerData as { pulse: Int32Array; limitMs: number };
const STEP_MS = 250;

let last = -1;
let stillMs = 0;
setInterval(() => {
  const [beat = 0, calls = 0] = [Atomics.load(pulse, 0), Atomics.load(pulse, 1)];
  stillMs = beat === last && calls > 0 ? stillMs + STEP_MS : 0;
  last = beat;
  if (stillMs < limitMs) return;
  stillMs = 0;
  Atomics.add(pulse, 2, 1);
  const debug = new inspector.Session();
  debug.connectToMainThread();
  debug.post('Runtime.terminateExecution', () => debug.disconnect());
}, STEP_MS);
