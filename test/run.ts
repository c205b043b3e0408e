import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { packageRoot } from './support/package-root.js';
import { runTestFiles, type TestTotals } from './support/test-process.js';

/** All tests, in a few processes at a time, each with servers of its own; the last line has the totals. */

/** How many files a process takes, by where they are. The slowest come first: none is begun when all others have ended. */
const SHARES = [
  { folder: 'test/e2e/', files: 3 },
  { folder: 'test/core/state/', files: 5 },
  { folder: 'plugins/', files: 12 },
  { folder: '', files: 12 },
] as const;

/** More than there are cores: many tests wait, for what takes its time or to see that nothing comes. */
const PROCESSES = Math.min(availableParallelism() + 2, 5);

const shares = share(globSync(['test/**/*.test.js', 'plugins/*/test/*.test.js'], { cwd: `${packageRoot}/dist` }));
const ended: TestTotals[] = [];

// Hundreds of processes compile the same modules.
const compiled = mkdtempSync(path.join(tmpdir(), 'mediagate-compiled-'));
process.env.NODE_COMPILE_CACHE = compiled;
process.once('exit', () => rmSync(compiled, { recursive: true, force: true }));

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1));
await Promise.all(Array.from({ length: PROCESSES }, runShares));

const failures = ended.flatMap((totals) => totals.failures);
for (const title of failures) console.log(`failed: ${title}`);
const count = (of: 'passed' | 'skipped') => ended.reduce((sum, totals) => sum + totals[of], 0);
console.log(`${count('passed')} passed, ${failures.length} failed, ${count('skipped')} skipped`);
process.exitCode = failures.length > 0 ? 1 : 0;

function share(files: readonly string[]): string[][] {
  const rest = new Set(files.map((file) => file.replaceAll('\\', '/')).sort());
  return SHARES.flatMap(({ folder, files: atATime }) => {
    const own = [...rest].filter((file) => file.startsWith(folder));
    for (const file of own) rest.delete(file);
    const count = Math.ceil(own.length / atATime);
    return Array.from({ length: count }, (_, index) => own.slice(index * atATime, (index + 1) * atATime));
  });
}

async function runShares(): Promise<void> {
  for (let files = shares.shift(); files; files = shares.shift()) {
    const { output, ...totals } = await runTestFiles(files.map((file) => `dist/${file}`));
    process.stdout.write(output);
    ended.push(totals);
  }
}
