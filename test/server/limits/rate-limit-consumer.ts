/** A process that takes slots of a rate limit. */

import { systemClock } from '../../../core/runtime/time.js';
import { openState } from '../../../server/state.js';
import { ListLogger } from '../../support/databases/engines.js';

/** A process of its own that takes slots one after the other and prints a line for each that was accepted. */
export interface Taking {
  dataDir: string;
  databaseUrl?: string;
  limit: number;
  /** Attempts. */
  count: number;
}

const { dataDir, databaseUrl, limit, count } = JSON.parse(process.argv[2] ?? '') as Taking;
const state = await openState({ dataDir, databaseUrl, clock: systemClock, logger: new ListLogger() });
for (let index = 0; index < count; index += 1) {
  const { accepted } = await state.rateLimits.consume({ keyId: 'shared', family: 'image', count: 1, limit });
  if (accepted) process.stdout.write('accepted\n');
}
await state.close();
