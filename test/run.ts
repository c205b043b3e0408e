import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { packageRoot } from './support/package-root.js';
import { runTestFiles, type TestTotals } from './support/test-process.js';

/**
 * All tests, or those of the folders that are named, in a few processes at a time, each with servers of its own. The last
 * line has the totals. `--reverse` runs the files, and the tests in them, from the last to the first: none may depend on those
 * before it.
 */

/** How many files a process takes, by where they are. The slowest come first: none is begun when all others have ended. */
const SHARES = [
  { folder: 'test/e2e/', files: 3 },
  { folder: 'test/core/state/', files: 5 },
  { folder: 'plugins/', files: 12 },
  { folder: '', files: 12 },
] as const;

/** More than there are cores: many tests wait, for what takes its time or to see that nothing comes. */
const PROCESSES = Math.min(availableParallelism() + 2, 5);

/** Slowest files that are listed. */
const LISTED = 15;

const { values: order, positionals: folders } = parseArgs({
  options: { reverse: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const found = globSync(['test/**/*.test.js', 'plugins/*/test/*.test.js'], { cwd: `${packageRoot}/dist` })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => folders.length === 0 || folders.some((folder) => file.startsWith(`${folder.replace(/\/$/, '')}/`)))
  .sort();
if (found.length === 0) throw new Error(`There are no tests in ${folders.join(', ')}.`);
// Reversed as a whole by the process that runs them.
const shares = share(found);
const ended: TestTotals[] = [];

// Hundreds of processes compile the same modules.
const compiled = mkdtempSync(path.join(tmpdir(), 'mediagate-compiled-'));
process.env.NODE_COMPILE_CACHE = compiled;
process.once('exit', () => rmSync(compiled, { recursive: true, force: true }));

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1));
await Promise.all(Array.from({ length: PROCESSES }, runShares));

printSeconds();
const failures = ended.flatMap((totals) => totals.failures);
for (const title of failures) console.log(`failed: ${title}`);
const count = (of: 'passed' | 'skipped') => ended.reduce((sum, totals) => sum + totals[of], 0);
console.log(`${count('passed')} passed, ${failures.length} failed, ${count('skipped')} skipped`);
process.exitCode = failures.length > 0 ? 1 : 0;

function share(files: readonly string[]): string[][] {
  const rest = new Set(files);
  return SHARES.flatMap(({ folder, files: atATime }) => {
    const own = [...rest].filter((file) => file.startsWith(folder));
    for (const file of own) rest.delete(file);
    const count = Math.ceil(own.length / atATime);
    return Array.from({ length: count }, (_, index) => own.slice(index * atATime, (index + 1) * atATime));
  });
}

/** Where the time goes. Files run side by side, so the sum is more than the time of the whole run. */
function printSeconds(): void {
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

async function runShares(): Promise<void> {
  for (let files = shares.shift(); files; files = shares.shift()) {
    const { output, ...totals } = await runTestFiles(
      files.map((file) => `dist/${file}`),
      order,
    );
    process.stdout.write(output);
    ended.push(totals);
  }
}
