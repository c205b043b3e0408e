// The usual reporter, and one plain line with the totals for machines that do not know its closing.
const { writeFileSync } = require('node:fs');
const Mocha = require('mocha');

module.exports = class extends Mocha.reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    runner.once('end', () => {
      const { passes, failures, pending } = this.stats;
      writeFileSync(options.reporterOptions.output, `${passes} passed, ${failures} failed, ${pending} skipped\n`);
    });
  }
};
