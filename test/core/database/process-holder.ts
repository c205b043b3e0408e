/** A process that holds a job, a reservation and an idempotency key until it is killed. */

import { once } from 'node:events';
import { systemClock } from '../../../core/runtime/time.js';
import { openState } from '../../../server/state.js';
import { ListLogger } from '../../support/databases/engines.js';
import { CHAT, settlement } from '../../support/models/model-requests.js';
import { until } from '../../support/until.js';

/**
 * A process of its own that holds a job, a reservation and an idempotency key at once. When it finds that its job was given to
 * another process, it tries to end all three, and prints what came of it.
 */
export interface Holding {
  dataDir: string;
  databaseUrl?: string;
  processLeaseMs: number;
  budgetId: string;
}

export const KEY = { scope: 'key POST /v1/audio/speech', key: 'held', fingerprint: 'body', accountId: 'acct_1' };
export const TOKENS = 100;

async function hold({ budgetId, ...place }: Holding): Promise<void> {
  const state = await openState({ ...place, clock: systemClock, logger: new ListLogger() });
  const { admissions, idempotentResponses, instances, jobs } = state;
  const claim = await idempotentResponses.claim(KEY);
  const { reservation } = await admissions.admit({ ...CHAT, reserve: { budgetId, tokens: TOKENS } });
  if (claim.state !== 'begun') throw new Error(`the key was not free: ${claim.state}`);
  const { work } = claim;
  const firstId = instances.id;
  jobs.work({
    kind: 'extraction',
    concurrency: 1,
    async run(_job, signal) {
      process.stdout.write('holding\n');
      await once(signal, 'abort');
      const kept = await idempotentResponses.keep(work, { status: 200, headers: {}, bytes: 1 });
      admissions.settle(settlement({ reservation, usage: { totalTokens: 1 } }));
      await admissions.flush();
      // A process that could not write its heartbeat abandons its work before it knows that it was declared dead.
      await until(() => instances.id !== firstId);
      process.stdout.write(`abandoned ${JSON.stringify({ kept })}\n`);
      throw signal.reason;
    },
  });
  await once(process.stdin, 'end');
  await state.close();
}

const [, script, order] = process.argv;
if (script?.endsWith('process-holder.js') && order !== undefined) await hold(JSON.parse(order) as Holding);
