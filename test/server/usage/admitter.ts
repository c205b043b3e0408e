/** A process that admits requests until it is killed. */

import { once } from 'node:events';
import { systemClock } from '../../../core/runtime/time.js';
import { openState } from '../../../server/state.js';
import { ListLogger } from '../../support/databases/engines.js';
import { CHAT, settlement } from '../../support/models/model-requests.js';

/**
 * A process of its own that asks to be let in, many times at once, and prints a line for each time it was. Then it waits for
 * its end; with `settled`, that many of its requests have ended by then and are on their way to the ledger.
 */
export interface Admitting {
  dataDir: string;
  databaseUrl?: string;
  budgetId: string;
  /** Of each request. */
  tokens: number;
  /** Requests. */
  count: number;
  settled: number;
}

const { dataDir, databaseUrl, budgetId, tokens, count, settled } = JSON.parse(process.argv[2] ?? '') as Admitting;
const state = await openState({ dataDir, databaseUrl, clock: systemClock, logger: new ListLogger() });

async function request(index: number): Promise<void> {
  try {
    const { reservation } = await state.admissions.admit({ ...CHAT, reserve: { budgetId, tokens } });
    process.stdout.write('admitted\n');
    if (index < settled) state.admissions.settle(settlement({ reservation, at: Date.now() }));
  } catch {
    process.stdout.write('refused\n');
  }
}

await Promise.all(Array.from({ length: count }, (_, index) => request(index)));
await state.admissions.flush();
process.stdout.write('done\n');
await once(process.stdin, 'end');
await state.close();
