/** Runs jobs in processes that are killed, and checks the ledger. */

import { setTimeout as sleep } from 'node:timers/promises';
import { judgeLedger, type RunLedger } from './run-ledger.js';

/** A process that runs jobs, or a gateway that does; it writes to the ledger at the beginning and end of each run. */
export interface ChaosTarget {
  ledger: RunLedger;
  /** Resolves once the process works. */
  start(): Promise<ChaosProcess>;
  /** Submits job number `index` and gives its id; rejects where it was not accepted. */
  submit(index: number): Promise<string>;
  find(id: string): Promise<JobSeen | undefined>;
}

export interface ChaosProcess {
  pid: number;
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
}

export interface JobSeen {
  /** `completed` and `failed` are final. */
  state: string;
  /** Anything that differs where a job was completed anew: its result, when it ended. */
  mark: string;
}

export interface ChaosPlan {
  jobs: number;
  kills: number;
  /** Milliseconds after its start that a process is killed, drawn between 0 and this. */
  lifeMs: number;
  /** Milliseconds for the last jobs to end once the killing is over. */
  timeoutMs: number;
}

/** Every number behind `kills` and `runs` has to be 0. */
export interface ChaosReport {
  accepted: number;
  completed: number;
  kills: number;
  runs: number;
  refused: number;
  /** Accepted, but gone or not ended in time. */
  lost: number;
  failed: number;
  overlapping: number;
  /** Jobs whose outcome changed after it had been seen, or that were ended by two runs in living processes. */
  completedTwice: number;
}

/**
 * Submits jobs all the while it kills the process that runs them at random moments, again and again, and then counts what
 * became of them.
 */
export async function runJobsChaos(target: ChaosTarget, plan: ChaosPlan): Promise<ChaosReport> {
  const ids: string[] = [];
  let refused = 0;
  const submitting = submitAll();
  const outcomes = new Map<string, string>();
  let changed = 0;
  let running = await target.start();
  for (let kill = 0; kill < plan.kills; kill += 1) {
    await sleep(Math.random() * plan.lifeMs);
    // Before the fact: a run that another process begins because of it comes after this line.
    target.ledger.write({ event: 'killed', pid: running.pid });
    await running.kill();
    await look();
    running = await target.start();
  }
  await submitting;
  const deadline = performance.now() + plan.timeoutMs;
  while (outcomes.size < ids.length && performance.now() < deadline) {
    await sleep(20);
    await look();
  }
  // Late results of runs that were thought dead would show now.
  await look(ids);
  await running.kill();

  async function submitAll(): Promise<void> {
    for (let index = 0; index < plan.jobs; index += 1) {
      await target.submit(index).then(
        (id) => ids.push(id),
        () => {
          refused += 1;
        },
      );
    }
  }

  async function look(which: readonly string[] = ids.filter((id) => !outcomes.has(id))): Promise<void> {
    for (const id of which) {
      const seen = await target.find(id);
      if (seen?.state !== 'completed' && seen?.state !== 'failed') continue;
      const outcome = JSON.stringify(seen);
      if (outcomes.has(id) && outcomes.get(id) !== outcome) changed += 1;
      outcomes.set(id, outcome);
    }
  }

  const states = [...outcomes.values()].map((outcome) => (JSON.parse(outcome) as JobSeen).state);
  const { runs, overlapping, endedTwice } = judgeLedger(target.ledger.read());
  return {
    accepted: ids.length,
    completed: states.filter((state) => state === 'completed').length,
    kills: plan.kills,
    runs,
    refused,
    lost: ids.length - outcomes.size,
    failed: states.filter((state) => state === 'failed').length,
    overlapping,
    completedTwice: changed + endedTwice,
  };
}
