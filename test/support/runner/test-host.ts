/** Runs in a process of the tests: the files that the runner names, share after share, with modules that are loaded once. */

import { createRequire } from 'node:module';
import path from 'node:path';
import Mocha from 'mocha';
import { packageRoot } from '../package-root.js';
import TotalsReporter from './totals-reporter.js';

/** What the runner sends. */
export interface TestOrder {
  /** Relative to the package, or absolute. */
  files: readonly string[];
  /** Where the totals go. */
  output: string;
  reverse: boolean;
  color: boolean;
}

const config: Mocha.MochaOptions = createRequire(import.meta.url)(path.join(packageRoot, '.mocharc.cjs'));

async function run({ files, output, reverse, color }: TestOrder): Promise<void> {
  const { timeout, slow } = config;
  const reporting = { color, reporter: TotalsReporter, reporterOptions: { output, reverse } };
  const mocha = new Mocha({ timeout, slow, ...reporting }).cleanReferencesAfterRun(false);
  for (const file of files) mocha.addFile(path.resolve(packageRoot, file));
  await mocha.loadFilesAsync();
  await new Promise((resolve) => mocha.run(resolve));
  // Its listeners of the process would see the errors of later shares.
  mocha.dispose();
}

process.on('message', async (order: TestOrder) => {
  try {
    await run(order);
    process.send?.(process.memoryUsage.rss());
  } catch (error) {
    // A file that cannot be loaded. What it has started so far must not run on.
    console.error(error);
    process.exit(1);
  }
});
// Between two shares no Mocha is there to take what a test has left behind.
process.on('unhandledRejection', (reason) => console.error('Nobody has handled:', reason));
// The run has ended.
process.once('disconnect', () => process.exit());
