import { existsSync, globSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { findPackagedChromium, findSystemChromium } from '../server/settings/executables.js';
import { startObjectServerOfRun } from './support/object-server.js';
import { packageRoot } from './support/package-root.js';
import { startPostgresOfRun } from './support/postgres.js';
import { readLastRun, storeLastRun, TestQueue } from './support/test-order.js';
import { runTestFiles, type TestTotals } from './support/test-process.js';

/**
 * All tests, or those of the folders that are named, in a few processes at a time, which share a PostgreSQL and an object
 * server. The files that took longest in the last run start first. Each process that ends says what it ran and how much is left. The last line
 * has the totals. `--reverse` runs the files, and the tests in them, from the last to the first: none may depend on those
 * before it. Only the tests of one suite in test/e2e keep their order, since they are the steps of a walk.
 */

/** More than there are cores: many tests wait, for what takes its time or to see that nothing comes. */
const PROCESSES = Math.min(availableParallelism() + 2, 5);

/** Files that test the browser service. Where a packaged and a system Chromium are there, they run on both. */
const BROWSER_FILES = 'test/core/browser/{browser,browser-attack,browser-memory,gateway-browser}.test.js';

interface Share {
  files: readonly string[];
  /** Chromium to run on. Default: the one that the gateway would find. */
  browserPath?: string;
}

/** Slowest files that are listed. */
const LISTED = 10;

const { values: order, positionals: folders } = parseArgs({
  options: { reverse: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const cwd = `${packageRoot}/dist`;
const found = globSync(['test/**/*.test.js', 'plugins/*/test/*.test.js'], { cwd })
  .map((file) => file.replaceAll('\\', '/'))
  // A compiled test stays in dist after its source has moved.
  .filter((file) => existsSync(path.join(packageRoot, file.replace(/\.js$/, '.ts'))))
  .filter((file) => folders.length === 0 || folders.some((folder) => file.startsWith(`${folder.replace(/\/$/, '')}/`)))
  .sort();
if (found.length === 0) throw new Error(`There are no tests in ${folders.join(', ')}.`);
// One share a file: they wait more than they compute.
const browserShares = await systemChromiumShares();
// The files of a share are reversed by the process that runs them.
const queue = new TestQueue(found, readLastRun(), PROCESSES);
const all = queue.left + browserShares.length;
let done = 0;
const begun = performance.now();
const ended: TestTotals[] = [];

// Hundreds of processes compile the same modules.
const compiled = mkdtempSync(path.join(tmpdir(), 'mediagate-compiled-'));
process.env.NODE_COMPILE_CACHE = compiled;
process.once('exit', () => rmSync(compiled, { recursive: true, force: true }));

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1));
// PostgreSQL ends with this process.
const [postgres, objects] = await Promise.all([startPostgresOfRun(), startObjectServerOfRun()]);
Object.assign(process.env, postgres, objects.environment);
await Promise.all(Array.from({ length: PROCESSES }, runShares));
await objects.stop();

printSeconds();
const failures = ended.flatMap((totals) => totals.failures);
for (const title of failures) console.log(`failed: ${title}`);
const count = (of: 'passed' | 'skipped') => ended.reduce((sum, totals) => sum + totals[of], 0);
console.log(`${count('passed')} passed, ${failures.length} failed, ${count('skipped')} skipped`);
process.exitCode = failures.length > 0 ? 1 : 0;

/** Of the files that run on both browsers, those on the system's. */
async function systemChromiumShares(): Promise<Share[]> {
  // With BROWSER_PATH all tests run on that one.
  if (process.env.BROWSER_PATH !== undefined || !findPackagedChromium()) return [];
  const browserPath = await findSystemChromium({ searchPath: process.env.PATH });
  if (browserPath === undefined) {
    console.log('There is no system Chromium: the tests of the browser run on the packaged one alone.');
    return [];
  }
  console.log(`The tests of the browser run on the packaged Chromium and on ${browserPath}.`);
  return globSync(BROWSER_FILES, { cwd })
    .filter((file) => found.includes(file))
    .map((file) => ({ files: [file], browserPath }));
}

/** Where the time goes. Files run side by side, so the sum is more than the time of the whole run. */
function printSeconds(): void {
  storeLastRun(Object.assign({}, ...ended.map(({ seconds }) => seconds)));
  const byFile = ended.flatMap(({ seconds }) => Object.entries(seconds)).sort(([, one], [, other]) => other - one);
  const byFolder = Map.groupBy(byFile, ([file]) => path.posix.dirname(file));
  const sums = Array.from(byFolder, ([folder, files]) => ({
    name: `${folder} (${files.length} file${files.length === 1 ? '' : 's'})`,
    seconds: files.reduce((sum, [, seconds]) => sum + seconds, 0),
  }));
  const line = (name: string, seconds: number) => console.log(`${seconds.toFixed(1).padStart(8)} s  ${name}`);
  console.log('Seconds by folder:');
  for (const { name, seconds } of sums.sort((one, other) => other.seconds - one.seconds)) line(name, seconds);
  console.log('Slowest files:');
  for (const [file, seconds] of byFile.slice(0, LISTED)) line(file, seconds);
}

function nextShare(): Share | undefined {
  const share = browserShares.shift();
  if (share) return share;
  const files = queue.next();
  return files && { files };
}

async function runShares(): Promise<void> {
  for (let next = nextShare(); next; next = nextShare()) {
    const { files, browserPath } = next;
    const run = await runTestFiles(
      files.map((file) => `dist/${file}`),
      { ...order, environment: browserPath === undefined ? {} : { BROWSER_PATH: browserPath } },
    );
    const on = browserPath === undefined ? '' : `on ${browserPath}: `;
    process.stdout.write(run.output);
    ended.push({ ...run, failures: run.failures.map((failure) => on + failure) });
    done += files.length;
    const minutes = ((performance.now() - begun) / 60_000).toFixed(1);
    console.log(`${on}${files.join(' ')} ended. After ${minutes} minutes, ${all - done} of ${all} files are left.\n`);
  }
}
