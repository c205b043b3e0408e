/** An engine that hangs, crashes or answers, as its order asks. */

import { setTimeout as sleep } from 'node:timers/promises';

/** What the process of the tests does with an order. */
export type OddOrder = 'tell' | 'crash' | 'exit' | 'hang' | 'wait' | 'environment';

/** An engine that does as it is told, however badly. */
export async function openEngine(): Promise<(order: OddOrder) => Promise<number>> {
  return async (order) => {
    if (order === 'crash') throw new Error('the engine is out of order');
    if (order === 'exit') process.exit(3);
    if (order === 'hang') for (;;);
    await sleep(order === 'wait' ? 300 : 0);
    return order === 'environment' ? Object.keys(process.env).length : process.pid;
  };
}
