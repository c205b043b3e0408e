'use strict';
// What only a checkout can do: compile what changed, make the package, and run the tests and tools of developers. An installed
// package is compiled and lacks this file; run.cjs then starts the command line at once.

const { spawn, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const root = path.resolve(__dirname, '..');
const SOURCES = ['core', 'plugins', 'server', 'test'];
const PROGRESS_MS = 3_000;

function newestSource(folder) {
  let newest = 0;
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    if (entry.name === 'fixtures') continue;
    const full = path.join(folder, entry.name);
    if (entry.isDirectory()) newest = Math.max(newest, newestSource(full));
    else if (/\.(ts|json)$/.test(entry.name)) newest = Math.max(newest, fs.statSync(full).mtimeMs);
  }
  return newest;
}

const config = path.join(root, 'tsconfig.json');
const compiler = path.join(root, 'node_modules', 'typescript', 'bin', 'tsc');

/** Compiles when a source is newer than the last build. */
async function compile(node) {
  if (!fs.existsSync(config) || !fs.existsSync(compiler)) return;
  // Not the compiler's own file: it writes that one without compiling as well (`tsc --noEmit`).
  const stamp = path.join(root, 'dist', '.built');
  const built = fs.existsSync(stamp) ? fs.statSync(stamp).mtimeMs : 0;
  const newest = Math.max(
    fs.statSync(config).mtimeMs,
    // What is bundled may have come anew.
    ...[path.join(root, 'node_modules', '.package-lock.json')]
      .filter(fs.existsSync)
      .map((file) => fs.statSync(file).mtimeMs),
    ...SOURCES.map((name) => path.join(root, name))
      .filter(fs.existsSync)
      .map(newestSource),
  );
  if (built > newest) return;
  const endProgress = showProgress(built === 0);
  await runCompiler(node, []);
  endProgress();
  fs.writeFileSync(stamp, '');
}

/** Says every few seconds that the compilation still runs. @returns What ends it. */
function showProgress(isFirst) {
  console.error(
    isFirst
      ? 'Compiling. This takes up to a minute, and only the first time.'
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

async function runCompiler(node, flags) {
  const child = spawn(node, [compiler, '-p', root, ...flags], { stdio: ['ignore', 2, 2] });
  const status = await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', resolve);
  });
  if (status !== 0) process.exit(status ?? 1);
  for (const module of BUNDLED) bundle(module);
  // Its process would otherwise run as long as the gateway that is started next.
  await require('esbuild').stop();
  bringWeights();
}

/** Files that stand for a package of hundreds of files, all of which every command would have to find and read. */
const BUNDLED = [
  { file: 'core/contracts/typebox', of: 'typebox' },
  { file: 'core/database/kysely', of: 'kysely' },
];

function bundle({ file, of }) {
  const oldestNode = require('../package.json').engines.node.replace('>=', '');
  const folder = path.join(root, 'node_modules', of);
  const licence = fs.readdirSync(folder).find((name) => /^licen[cs]e/i.test(name));
  const terms = fs.readFileSync(path.join(folder, licence), 'utf8').trim();
  require('esbuild').buildSync({
    absWorkingDir: root,
    entryPoints: [`${file}.ts`],
    outfile: `dist/${file}.js`,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: `node${oldestNode}`,
    legalComments: 'none',
    banner: { js: `/*!\n${of}\n\n${terms}\n*/` },
    logLevel: 'warning',
  });
}

/** What offline_speech hears with, out of a package that only a checkout has, for installations that lack it. */
function bringWeights() {
  const from = path.join(root, 'node_modules', '@moonshine-ai', 'moonshine-js');
  const to = path.join(root, 'dist', 'plugins', 'offline_speech', 'weights');
  fs.mkdirSync(to, { recursive: true });
  for (const file of [
    'LICENSE',
    'dist/model/tiny/quantized/encoder_model.onnx',
    'dist/model/tiny/quantized/decoder_model_merged.onnx',
  ])
    fs.copyFileSync(path.join(from, file), path.join(to, path.basename(file)));
}

/** Compiles for the packages: all of it, and without the lines that point to maps, which the package has not. */
async function compilePackage(node) {
  fs.rmSync(path.join(root, 'dist'), { recursive: true, force: true });
  // Without its record of the build the checkout compiles once more, maps and all, when it is next used.
  await runCompiler(node, ['--sourceMap', 'false', '--incremental', 'false', '--tsBuildInfoFile', 'null']);
  const dist = path.join(root, 'dist');
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
    first === undefined || ['--reverse', '--quick'].includes(first) || /^(test|plugins)(?!.*\.js$)/.test(first);
  return isForRunner ? 'dist/test/run.js' : 'node_modules/mocha/bin/mocha.js';
}

/**
 * Compiles what changed.
 * @returns Resolves with arguments for Node where these are a command of developers; undefined for a command of the product.
 */
async function prepare(node, [command, ...rest]) {
  if (command === '--package') await compilePackage(node);
  else await compile(node);
  if (command === '--build' || command === '--package') process.exit(0);
  const tool = toolOf(command, rest);
  return tool && [...(command === '--bench' ? ['--expose-gc'] : []), path.join(root, tool), ...rest];
}

module.exports = { prepare };
