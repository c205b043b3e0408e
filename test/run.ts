/**
 * All tests, or those of the folders (and of files, beside a flag) that are named, in a few processes at a time, which run share after share of the files
 * and have one PostgreSQL and one object server. The files that took longest in the last run start first. Each share that ends says what it ran and
 * how much is left. The compiler checks the types meanwhile. The last line has the totals. `--reverse` runs the files, and the tests in them, from the last to the first: none may depend on those
 * before it. Only the tests of one suite in test/e2e and test/long keep their order, since they are the steps of a walk.
 * `--quick` runs what a minute has room for, on SQLite alone and without a browser, those of changed subjects first. `--long`
 * runs what is left out otherwise because it takes minutes: test/long, the files that have more variants there, and the tests of the browser on
 * the system's Chromium.
 * `--times` lists the seconds of all files instead of the slowest.
 */

import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { findPackagedChromium, findSystemChromium } from '../server/settings/executables.js';
import { startPostgresOfRun } from './support/databases/postgres.js';
import { packageRoot } from './support/package-root.js';
import { cpuSeconds } from './support/runner/cpu-seconds.js';
import { makeFolderInMemory } from './support/runner/memory-folder.js';
import { changedSources, QuickQueue, readLastRun, storeLastRun, WholeQueue } from './support/runner/test-order.js';
import { TestProcess, type TestTotals } from './support/runner/test-process.js';
import { checkTypes } from './support/runner/type-check.js';
import { startObjectServerOfRun } from './support/storage/object-server.js';

/** More than there are cores: many tests wait, for what takes its time or to see that nothing comes. */
const PROCESSES = Math.min(availableParallelism() + 2, 5);

/** At most this many more while cores are idle, which they are where most tests that run wait. */
const MORE_PROCESSES = 6;
/** Part of the time of all cores in which they have nothing to do; less is no use to another process. */
const IDLE = 0.1;
/** Seconds over which it is measured: a process needs the first two or three of them to get to its tests. */
const IDLE_SECONDS = 5;

/** Files that test the browser service. Where a packaged and a system Chromium are there, a long run has them on the latter. */
const BROWSER_FILES =
  'test/{core/browser/{browser,browser-attack,gateway-browser},long/browser/browser-memory}.test.js';
const LONG_FOLDER = 'test/long';

interface Share {
  files: readonly string[];
  /** Chromium to run on. Default: the one that the gateway would find. */
  browserPath?: string;
}

/** Slowest files that are listed. */
const LISTED = 10;

const {
  values: { quick, long, times, ...order },
  positionals,
} = parseArgs({
  options: {
    reverse: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    long: { type: 'boolean', default: false },
    times: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});
const folders = positionals;
const isIn = (file: string, place: string) =>
  file === place.replace(/^dist\//, '') || file.startsWith(`${place.replace(/\/$/, '')}/`);
const cwd = `${packageRoot}/dist`;
if (long) process.env.TEST_LONG = '1';
// With all variants, replies are damaged in as many ways as the kit has by itself.
if (process.env.TEST_LONG === undefined) process.env.PRUNINGS ??= '30';
const found = globSync(['test/**/*.test.js', 'plugins/*/test/*.test.js'], { cwd })
  .map((file) => file.replaceAll('\\', '/'))
  // A compiled test stays in dist after its source has moved.
  .filter((file) => existsSync(path.join(packageRoot, file.replace(/\.js$/, '.ts'))))
  .filter((file) => {
    const isNamed = folders.some((folder) => isIn(file, folder));
    if (long) return (folders.length === 0 || isNamed) && (isIn(file, LONG_FOLDER) || hasVariants(file));
    return folders.length === 0 ? !isIn(file, LONG_FOLDER) : isNamed;
  })
  .sort();
if (found.length === 0) throw new Error(`There are no tests in ${folders.join(', ')}.`);
// One share a file: they wait more than they compute.
const browserShares = long && folders.length === 0 ? await systemChromiumShares() : [];
// The files of a share are reversed by the process that runs them.
const queue = quick
  ? new QuickQueue(found, readLastRun(), changedSources())
  : new WholeQueue(found, readLastRun(), PROCESSES);
const all = queue.left + browserShares.length;
let done = 0;
const begun = performance.now();
const ended: TestTotals[] = [];
/** Those that wait for their next share. */
const idle: TestProcess[] = [];

// Where the system says where files belong, they stay there.
const inMemory = process.env.TMPDIR === undefined ? makeFolderInMemory() : undefined;
if (inMemory !== undefined) process.env.TMPDIR = inMemory;
// Hundreds of processes compile the same modules.
const compiled = mkdtempSync(path.join(tmpdir(), 'mediagate-compiled-'));
process.env.NODE_COMPILE_CACHE = compiled;
process.once('exit', () => {
  try {
    rmSync(compiled, { recursive: true, force: true });
  } catch {
    // A process that still writes into it is ended by the next handler, which an error here would leave out.
  }
});

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1));
// A run of named folders, or a quick one, does not wait for it.
const typeErrors = quick || folders.length > 0 ? '' : checkTypes();
const stopServers = quick ? undefined : await startServers();
if (quick) process.env.TEST_QUICK = '1';
const isOver = new AbortController();
const shares = Promise.all(Array.from({ length: PROCESSES }, runShares)).finally(() => isOver.abort());
await Promise.all([shares, addWhileIdle(isOver.signal)]);
await Promise.all(idle.map((one) => one.end()));
await stopServers?.();

printSeconds();
if (quick) {
  console.log(
    `This was a quick run: ${done} of ${found.length} files, on SQLite alone and without a browser. ${queue.left} more had no time.`,
  );
}
for (const title of ended.flatMap((totals) => totals.nearTimeout)) console.log(`near its timeout: ${title}`);
const failures = ended.flatMap((totals) => totals.failures);
const types = await typeErrors;
if (types !== '') {
  console.log(types);
  failures.push('the types of the sources are right');
}
for (const title of failures) console.log(`failed: ${title}`);
const count = (of: 'passed' | 'skipped') => ended.reduce((sum, totals) => sum + totals[of], 0);
console.log(`${count('passed')} passed, ${failures.length} failed, ${count('skipped')} skipped`);
process.exitCode = failures.length > 0 ? 1 : 0;

/** Whether a long run has more tests of the file than others have, or a plugin's replies are damaged in more ways. */
function hasVariants(file: string): boolean {
  return /\/runner\/variants\.js'|describeOnFirstStack|describeExtractor\(/.test(
    readFileSync(path.join(cwd, file), 'utf8'),
  );
}

/** For all processes. */
async function startServers(): Promise<() => Promise<void>> {
  const [postgres, objects] = await Promise.all([startPostgresOfRun(), startObjectServerOfRun()]);
  Object.assign(process.env, postgres.environment, objects.environment);
  return async () => {
    await Promise.all([postgres.stop(), objects.stop()]);
  };
}

/** The files of {@link BROWSER_FILES}, on the browser of the system. */
async function systemChromiumShares(): Promise<Share[]> {
  // With BROWSER_PATH all tests run on that one.
  if (process.env.BROWSER_PATH !== undefined || !findPackagedChromium()) return [];
  const browserPath = await findSystemChromium({ searchPath: process.env.PATH });
  if (browserPath === undefined) {
    console.log('There is no system Chromium: the tests of the browser are left out.');
    return [];
  }
  console.log(`The tests of the browser run on ${browserPath}.`);
  return globSync(BROWSER_FILES, { cwd }).map((file) => ({ files: [file], browserPath }));
}

/** Where the time goes. Files run side by side, so the sum is more than the time of the whole run. */
function printSeconds(): void {
  // On SQLite alone a file takes less.
  if (!quick) storeLastRun(Object.assign({}, ...ended.map(({ seconds }) => seconds)));
  const files = ended.flatMap(({ seconds, cpu }) =>
    Object.entries(seconds).map(([name, wall]) => ({ name, wall, cpu: cpu[name] ?? 0 })),
  );
  const folders = Array.from(
    Map.groupBy(files, ({ name }) => path.posix.dirname(name)),
    ([folder, inside]) => ({
      name: `${folder} (${inside.length} file${inside.length === 1 ? '' : 's'})`,
      wall: inside.reduce((sum, { wall }) => sum + wall, 0),
      cpu: inside.reduce((sum, { cpu }) => sum + cpu, 0),
    }),
  );
  const byWall = (one: Times, other: Times) => other.wall - one.wall;
  printTimes('Seconds by folder, and of the processor in them:', folders.sort(byWall));
  const listed = times ? files.length : LISTED;
  printTimes('Slowest files:', files.sort(byWall).slice(0, listed));
  printTimes('Files that compute most:', files.sort((one, other) => other.cpu - one.cpu).slice(0, listed));
  const inTests = files.reduce((sum, { cpu }) => sum + cpu, 0);
  const besides = cpuSeconds() - inTests;
  console.log(
    `Processor: ${inTests.toFixed(0)} s in tests, ${besides.toFixed(0)} s to load them and for their servers.`,
  );
}

/** Seconds, and those of the processor. */
interface Times {
  name: string;
  wall: number;
  cpu: number;
}

function printTimes(title: string, rows: readonly Times[]): void {
  console.log(title);
  for (const { name, wall, cpu } of rows)
    console.log(`${wall.toFixed(1).padStart(8)} s ${cpu.toFixed(1).padStart(8)} s  ${name}`);
}

function nextShare(): Share | undefined {
  const share = browserShares.shift();
  if (share) return share;
  const files = queue.next();
  return files && { files };
}

async function runShares(): Promise<void> {
  for (let next = nextShare(); next; next = nextShare()) await runShare(next);
}

/** Runs further shares while the others leave cores idle. @param signal Of their end: a quick run has files left then. */
async function addWhileIdle(signal: AbortSignal): Promise<void> {
  const added = new Set<Promise<void>>();
  for (let before = coreTimes(); browserShares.length + queue.left > 0; before = coreTimes()) {
    await sleep(IDLE_SECONDS * 1_000, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) break;
    const times = coreTimes();
    const isIdle = times.idle - before.idle >= IDLE * (times.all - before.all);
    if (added.size === MORE_PROCESSES || !isIdle) continue;
    const next = nextShare();
    if (!next) break;
    const run: Promise<void> = runShare(next).finally(() => added.delete(run));
    added.add(run);
  }
  await Promise.all(added);
}

function coreTimes(): { idle: number; all: number } {
  const times = cpus().map((core) => core.times);
  const sum = (of: (each: (typeof times)[number]) => number) => times.reduce((total, each) => total + of(each), 0);
  return { idle: sum(({ idle }) => idle), all: sum((each) => Object.values(each).reduce((one, other) => one + other)) };
}

async function runShare({ files, browserPath }: Share): Promise<void> {
  const environment = browserPath === undefined ? undefined : { BROWSER_PATH: browserPath };
  const runner = (browserPath === undefined && idle.pop()) || (await TestProcess.start({ ...order, environment }));
  const run = await runner.run(files.map((file) => `dist/${file}`));
  if (browserPath === undefined && !runner.isWorn) idle.push(runner);
  else await runner.end();
  const on = browserPath === undefined ? '' : `on ${browserPath}: `;
  process.stdout.write(run.output);
  ended.push({ ...run, failures: run.failures.map((failure) => on + failure) });
  done += files.length;
  const minutes = ((performance.now() - begun) / 60_000).toFixed(1);
  console.log(`${on}${files.join(' ')} ended. After ${minutes} minutes, ${all - done} of ${all} files are left.\n`);
}
