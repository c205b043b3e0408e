import { writeFileSync } from 'node:fs';
import Mocha from 'mocha';
import type { TestTotals } from './test-process.js';

// What the tests have started ends in handlers of `exit`, which a signal alone does not call.
process.once('SIGTERM', () => process.exit(1));

/** The usual reporter, which also leaves the totals in the file that `output` names. */
export default class TotalsReporter extends Mocha.reporters.Spec {
  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options);
    const failures: string[] = [];
    runner.on('fail', (test) => failures.push(test.fullTitle()));
    runner.once('end', () => {
      const { passes, pending } = this.stats;
      const totals: TestTotals = { passed: passes, skipped: pending, failures };
      writeFileSync(options.reporterOptions.output, JSON.stringify(totals));
    });
  }
}
