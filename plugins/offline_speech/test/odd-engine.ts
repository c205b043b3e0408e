/** An engine that hangs, crashes or answers, as its message asks. */

import { parentPort, threadId } from 'node:worker_threads';

/** What the thread of the tests does with an order. */
export type OddOrder = 'tell' | 'crash' | 'exit' | 'hang' | 'wait' | 'environment';

/** An engine that does as it is told, however badly. */
parentPort?.on('message', (order: OddOrder) => {
  if (order === 'crash') throw new Error('the engine is out of order');
  if (order === 'exit') process.exit(3);
  if (order === 'hang') for (;;);
  const answer = order === 'environment' ? Object.keys(process.env).length : threadId;
  setTimeout(() => parentPort?.postMessage(answer), order === 'wait' ? 300 : 0);
});
