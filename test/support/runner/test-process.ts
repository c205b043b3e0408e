/** Runs test files in a process and counts their tests. */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { packageRoot } from '../package-root.js';

export interface TestTotals {
  passed: number;
  skipped: number;
  /** What failed, and why. */
  failures: readonly string[];
  /** Tests that passed, but took more than a third of the time that they may take. */
  nearTimeout: readonly string[];
  /** Seconds of each file, by its path in `dist`. */
  seconds: Readonly<Record<string, number>>;
  /** Of the processor in them: of the process and of those that it has started and that have ended. */
  cpu: Readonly<Record<string, number>>;
}

export interface TestRun extends TestTotals {
  /** What the reporter and the tests themselves have written. */
  output: string;
}

/**
 * Runs test files, one after the other, in a process of their own. One that dies has failed, whatever it has passed before.
 * @param reverse Runs the files and the tests in them from the last to the first; of test/e2e and test/long, the suites alone. Default false.
 * @param environment Variables besides those of this process.
 */
export async function runTestFiles(
  files: readonly string[],
  { reverse = false, environment = {} }: { reverse?: boolean; environment?: Readonly<Record<string, string>> } = {},
): Promise<TestRun> {
  const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-tests-'));
  const [totalsFile, outputFile] = [path.join(folder, 'totals.json'), path.join(folder, 'output')];
  // A file, since a pipe would stay open as long as any process that a test has left behind.
  const written = await open(outputFile, 'w');
  const mocha = path.join(packageRoot, 'node_modules/mocha/bin/mocha.js');
  const reporter = path.join(packageRoot, 'dist/test/support/runner/totals-reporter.js');
  const options = ['--reporter', reporter, '--reporter-option', `output=${totalsFile}`];
  if (reverse) options.push('--reporter-option', 'reverse=true');
  if (process.stdout.isTTY) options.push('--color');
  const child = fork(mocha, [...files, ...options], {
    cwd: packageRoot,
    env: { ...process.env, ...environment },
    stdio: ['ignore', written.fd, written.fd, 'ipc'],
  });
  const kill = () => child.kill();
  process.once('exit', kill);
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    const totals = await readTotals(totalsFile);
    const failures = [...(totals?.failures ?? [])];
    if (!totals || (code !== 0 && failures.length === 0)) {
      failures.push(`a process of the tests ended with ${signal ?? code}: ${files.join(' ')}`);
    }
    const output = await readFile(outputFile, 'utf8');
    const { passed = 0, skipped = 0, nearTimeout = [], seconds = {}, cpu = {} } = totals ?? {};
    return { passed, skipped, failures, nearTimeout, seconds, cpu, output };
  } finally {
    process.off('exit', kill);
    await written.close();
    await rm(folder, { recursive: true });
  }
}

/** Undefined where the process did not come to the end of its tests. */
async function readTotals(file: string): Promise<TestTotals | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as TestTotals);
}
