import { writeFileSync } from 'node:fs';
import Mocha from 'mocha';
import type { TestTotals } from './test-process.js';

// What the tests have started ends in handlers of `exit`, which a signal alone does not call, and a second one would cut off.
process.on('SIGTERM', () => process.exit(1));

const MAX_REASON = 300;

/** The usual reporter, which also leaves the totals in the file that `output` names. */
export default class TotalsReporter extends Mocha.reporters.Spec {
  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options);
    const failures: string[] = [];
    runner.on('fail', (test, error: unknown) => failures.push(`${test.fullTitle()} (${reasonOf(error)})`));
    runner.once('end', () => {
      const { passes, pending } = this.stats;
      const totals: TestTotals = { passed: passes, skipped: pending, failures };
      writeFileSync(options.reporterOptions.output, JSON.stringify(totals));
    });
  }
}

/** In one line: whoever sees no more than the end of the output knows where to look. */
function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.trim().replaceAll(/\s+/g, ' ').slice(0, MAX_REASON);
}
