/** The reporter of a test process: progress, durations and totals for the runner. */

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import Mocha from 'mocha';
import { packageRoot } from '../package-root.js';
import { cpuSeconds } from './cpu-seconds.js';
import type { TestTotals } from './test-process.js';

// What the tests have started ends in handlers of `exit`, which a signal alone does not call, and a second one would cut off.
process.on('SIGTERM', () => process.exit(1));

const MAX_REASON = 300;
/** A test that takes a larger part of its time would fail on a machine that is three times as busy. */
const NEAR_TIMEOUT = 1 / 3;

/** The usual reporter, which also leaves the totals in the file that `output` names. */
export default class TotalsReporter extends Mocha.reporters.Spec {
  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options);
    if (options.reporterOptions.reverse) reverse(runner.suite);
    const failures: string[] = [];
    runner.on('fail', (test, error: unknown) => failures.push(`${test.fullTitle()} (${reasonOf(error)})`));
    const nearTimeout: string[] = [];
    runner.on('pass', (test) => {
      const [taken, limit] = [(test.duration ?? 0) / 1_000, test.timeout() / 1_000];
      // 0 is no limit.
      if (limit > 0 && taken > limit * NEAR_TIMEOUT)
        nearTimeout.push(`${test.fullTitle()} (${taken.toFixed(1)} of ${limit} s)`);
    });
    const seconds: Record<string, number> = {};
    const cpu: Record<string, number> = {};
    let begun = 0;
    let cpuBefore = 0;
    // With the hooks of the file; what its modules take to load is not in it.
    runner.on('suite', ({ parent }) => {
      if (!parent?.root) return;
      begun = performance.now();
      cpuBefore = cpuSeconds();
    });
    runner.on('suite end', ({ parent, file }) => {
      if (!parent?.root || file === undefined) return;
      const name = path.relative(path.join(packageRoot, 'dist'), file);
      seconds[name] = (seconds[name] ?? 0) + (performance.now() - begun) / 1_000;
      cpu[name] = (cpu[name] ?? 0) + cpuSeconds() - cpuBefore;
    });
    runner.once('end', () => {
      const { passes, pending } = this.stats;
      const totals: TestTotals = { passed: passes, skipped: pending, failures, nearTimeout, seconds, cpu };
      writeFileSync(options.reporterOptions.output, JSON.stringify(totals));
    });
  }
}

/** A suite there walks through one running process, test by test. */
const WALKS = ['e2e', 'long'].map((folder) => path.sep + path.join('test', folder) + path.sep);

/** No suite may depend on those before it, and no test but those of a walk. */
function reverse({ tests, suites, file }: Mocha.Suite): void {
  if (WALKS.some((folder) => file?.includes(folder))) return;
  tests.reverse();
  for (const suite of suites.reverse()) reverse(suite);
}

/** In one line: whoever sees no more than the end of the output knows where to look. */
function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.trim().replaceAll(/\s+/g, ' ').slice(0, MAX_REASON);
}
