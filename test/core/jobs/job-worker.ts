/** A process that runs jobs and writes its ledger. */

import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../../core/runtime/time.js';
import { openState } from '../../../server/state.js';
import { ListLogger } from '../../support/databases/engines.js';
import { openLedger } from '../../support/jobs/run-ledger.js';

/** A process of its own that runs jobs until it is killed, and prints a line once it does. */
export interface Working {
  dataDir: string;
  databaseUrl?: string;
  ledger: string;
  concurrency: number;
  processLeaseMs?: number;
}

/** What such a job is to do. */
export interface WorkOrder {
  /** How long it takes. */
  ms: number;
  /** Kill the own process: when the run begins, when it is over but not yet written down, or shortly after that. */
  killAt?: 'begin' | 'end' | 'after';
  /** In which run. Default: the first. 0 is every run. */
  killInRun?: number;
}

const {
  dataDir,
  databaseUrl,
  ledger: file,
  concurrency,
  processLeaseMs,
} = JSON.parse(process.argv[2] ?? '') as Working;
const ledger = openLedger(file);
const logger = new ListLogger();
const { pid } = process;
const state = await openState({ dataDir, databaseUrl, clock: systemClock, processLeaseMs, logger });

function killSelf(): void {
  ledger.write({ event: 'killed', pid });
  process.kill(pid, 'SIGKILL');
}

state.jobs.work({
  kind: 'extraction',
  concurrency,
  async run({ id: job, attempts: attempt, input }, signal) {
    const { ms, killAt, killInRun = 1 } = input as WorkOrder;
    const kills = killInRun === 0 || killInRun === attempt;
    ledger.write({ event: 'begin', job, attempt, pid });
    if (kills && killAt === 'begin') killSelf();
    try {
      await sleep(ms, undefined, { signal });
    } catch (error) {
      ledger.write({ event: 'aborted', job, attempt, pid });
      throw error;
    }
    if (kills && killAt === 'end') killSelf();
    ledger.write({ event: 'end', job, attempt, pid });
    if (kills && killAt === 'after') setImmediate(() => setImmediate(killSelf));
    return { attempt, pid };
  },
});
process.stdout.write('working\n');
