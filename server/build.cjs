'use strict';
// What only a checkout can do: compile what changed, make the package, and run the tests and tools of developers. An installed
// package is compiled and lacks this file; run.cjs then starts the command line at once. What is published is made and checked
// by the compiler. A start, tests or another command are not worth its twenty seconds: esbuild makes the same scripts of what
// changed, and a run of all tests has the types checked meanwhile. Both write to dist, and each takes what the other has made.

const { spawn, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const root = path.resolve(__dirname, '..');
const dist = path.join(root, 'dist');
/** What the product runs, and what its developers run besides. */
const PRODUCT = ['core', 'plugins', 'server'];
const ALL = [...PRODUCT, 'test'];
/** Whether the build of a command is checked: that of what is published. The others run what esbuild makes of the sources. */
function isCheckedBy(command) {
  return command === '--build' || command === '--package';
}

const PROGRESS_MS = 3_000;

const config = path.join(root, 'tsconfig.json');
const compiler = path.join(root, 'node_modules', 'typescript', 'bin', 'tsc');
/** Besides the sources, what the result depends on: settings, these scripts, and packages, which may have come anew. */
const BASES = [
  config,
  path.join(root, 'package.json'),
  path.join(root, 'node_modules', '.package-lock.json'),
  ...['build.cjs', 'bundle-program.cjs', 'bundles.cjs', 'load-program.cjs'].map((name) => path.join(__dirname, name)),
];

/** Sources and their data, each with the time of its last change. */
function sourcesIn(folder) {
  return fs.readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const file = path.join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === 'fixtures' ? [] : sourcesIn(file);
    return /\.(ts|json)$/.test(entry.name) ? [{ file, changedAt: changeOf(file) }] : [];
  });
}

/** @returns Milliseconds; 0 for a file that is not there. */
function changeOf(file) {
  return fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** Makes what changed since the last build of this kind. */
async function compile(node, command, isUnbundled) {
  const isChecked = isCheckedBy(command);
  const isWhole = isChecked || isUnbundled || command === '--test' || TOOLS[command] !== undefined;
  const folders = isWhole ? ALL : PRODUCT;
  const tool = isChecked ? compiler : path.join(root, 'node_modules', 'esbuild');
  if (!fs.existsSync(config) || !fs.existsSync(tool)) return;
  // Not the compiler's own file: it writes that one without compiling as well (`tsc --noEmit`).
  const stamps = [path.join(dist, '.built'), ...(isChecked ? [] : [path.join(dist, `.transpiled-${folders.length}`)])];
  const builtAt = Math.max(...stamps.map(changeOf));
  const sources = folders.flatMap((name) => sourcesIn(path.join(root, name)));
  const newest = Math.max(...BASES.map(changeOf), ...sources.map(({ changedAt }) => changedAt));
  if (builtAt > newest) return;
  const endProgress = showProgress(builtAt === 0, isChecked ? 'up to a minute' : 'some seconds');
  if (isChecked) await runCompiler(node, []);
  // After the compiler these are the scripts that are not there although its record of an earlier run has them.
  await esbuildAll(sources, isWhole ? sources : undefined);
  endProgress();
  fs.writeFileSync(stamps.at(-1), '');
}

/**
 * Makes what esbuild makes: scripts of the sources, scripts of packages, and the program, which contains some of them. The
 * program is made first, so that a start has little more to do: of 900 separate scripts it needs those of threads alone. Gain:
 * a third of the CPU of a first start.
 * @param separate The sources of the separate scripts. Default: those of threads.
 */
async function esbuildAll(sources, separate) {
  const { takeFromPackages } = require('./bundles.cjs');
  const { bundleProgram, sourcesOfThreads, translate } = require('./bundle-program.cjs');
  const isOfProduct = ({ file }) => !file.startsWith(path.join(root, 'test', path.sep));
  const [scripts] = await Promise.all([
    translate(sources.filter(isOfProduct).map(({ file }) => file)),
    takeFromPackages(),
    transpile(separate ?? []),
  ]);
  await Promise.all([bundleProgram(scripts), separate ? undefined : transpile(sourcesOfThreads(scripts, sources))]);
  // Its process would otherwise run as long as the gateway that is started next.
  await require('esbuild').stop();
}

/** Says every few seconds that the compilation still runs. @returns What ends it. */
function showProgress(isFirst, duration) {
  console.error(
    isFirst
      ? `Compiling. This takes ${duration}, and only the first time.`
      : 'Compiling, because sources or packages are newer than the last build.',
  );
  const startedAt = Date.now();
  const seconds = () => Math.round((Date.now() - startedAt) / 1000);
  const timer = setInterval(() => console.error(`  still compiling: ${seconds()} s`), PROGRESS_MS);
  return () => {
    clearInterval(timer);
    console.error(`Compiled in ${seconds()} s.`);
  };
}

/** Of the compiler by itself; each checks a part, and computes again what the parts have in common. */
const MAX_CHECKERS = 4;

/** Compiles and checks all. */
async function runCompiler(node, flags) {
  const checkers = String(Math.min(os.availableParallelism(), MAX_CHECKERS));
  const child = spawn(node, [compiler, '-p', root, '--checkers', checkers, ...flags], { stdio: ['ignore', 2, 2] });
  const status = await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', resolve);
  });
  if (status !== 0) process.exit(status ?? 1);
}

/**
 * Makes scripts of the sources that are newer than theirs, each by itself and without a look at types: in a second, where the
 * compiler takes twenty. `isolatedModules` makes the compiler refuse what would need more than the one file.
 */
async function transpile(sources) {
  const { isBundled } = require('./bundles.cjs');
  const scriptOf = (file) => path.join(dist, path.relative(root, file)).replace(/\.ts$/, '.js');
  const changed = sources
    .filter(({ file, changedAt }) => !isBundled(file) && changeOf(scriptOf(file)) <= changedAt)
    .map(({ file }) => file);
  if (changed.length === 0) return;
  await require('esbuild').build({
    absWorkingDir: root,
    entryPoints: changed,
    outdir: dist,
    outbase: root,
    format: 'esm',
    loader: { '.json': 'copy' },
    target: require('./bundles.cjs').oldestNode(),
    sourcemap: true,
    logLevel: 'warning',
  });
}

/** Compiles for the packages: all of it, and without the lines that point to maps, which the package has not. */
async function compilePackage(node) {
  fs.rmSync(dist, { recursive: true, force: true });
  // Without its record of the build the checkout compiles once more, maps and all, when it is next used.
  await runCompiler(node, ['--sourceMap', 'false', '--incremental', 'false', '--tsBuildInfoFile', 'null']);
  await esbuildAll(
    PRODUCT.flatMap((name) => sourcesIn(path.join(root, name))),
    [],
  );
  const declarations = fs.readdirSync(dist, { recursive: true }).filter((name) => name.endsWith('.d.ts'));
  for (const name of declarations) restoreAttributes(path.join(dist, name));
  const { status } = spawnSync(node, [path.join(__dirname, 'plugin-package.cjs')], { stdio: ['ignore', 2, 2] });
  if (status !== 0) process.exit(status ?? 1);
}

/** The compiler leaves out of declarations that an import is of JSON, and refuses the same declarations in a strict project. */
function restoreAttributes(file) {
  const text = fs.readFileSync(file, 'utf8');
  const whole = text.replace(/^(import .* from '\.[^']*\.json');$/gm, "$1 with { type: 'json' };");
  if (whole !== text) fs.writeFileSync(file, whole);
}

/** Scripts that run the commands of developers. */
const TOOLS = {
  '--demo': 'dist/test/demo.js',
  '--cluster': 'dist/test/cluster/run-cluster.js',
  '--screenshots': 'dist/test/screenshots.js',
  '--faults': 'dist/test/chaos/run-faults.js',
  '--bench': 'dist/test/bench/index.js',
  '--tour': 'dist/test/tour.js',
};

function toolOf(command, rest) {
  if (command !== '--test') return TOOLS[command];
  const [first] = rest;
  // The runner takes folders; a file or a title goes to mocha.
  const isForRunner =
    first === undefined ||
    ['--reverse', '--quick', '--long', '--times'].includes(first) ||
    /^(test|plugins)(?!.*\.js$)/.test(first);
  return isForRunner ? 'dist/test/run.js' : 'node_modules/mocha/bin/mocha.js';
}

/**
 * Compiles what changed.
 * @param isUnbundled Whether the separate scripts run in place of the program.
 * @returns Resolves with arguments for Node where these are a command of developers; undefined for a command of the product.
 */
async function prepare(node, [command, ...rest], isUnbundled) {
  if (command === '--package') await compilePackage(node);
  else await compile(node, command, isUnbundled);
  if (isCheckedBy(command)) process.exit(0);
  const tool = toolOf(command, rest);
  return tool && [...(command === '--bench' ? ['--expose-gc'] : []), path.join(root, tool), ...rest];
}

module.exports = { prepare };
