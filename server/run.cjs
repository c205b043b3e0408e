#!/usr/bin/env node
'use strict';
// The way in for every command. It runs on any Node that npm runs on: on one older than package.json's "engines" it hands
// over to the Node that npm installed as an optional platform dependency. That one is found by path, since not every npm
// links it into node_modules/.bin. In a checkout it first compiles what changed.

const { spawn, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const root = path.resolve(__dirname, '..');
const MINIMUM = [22, 19];

function isEnough(version) {
  const [major, minor] = version.split('.').map(Number);
  return major > MINIMUM[0] || (major === MINIMUM[0] && minor >= MINIMUM[1]);
}

function findNode() {
  if (isEnough(process.versions.node)) return process.execPath;
  const names = [`node-${process.platform}-${process.arch}`, `node-bin-${process.platform}-${process.arch}`];
  if (process.platform === 'win32') names.unshift(`node-win-${process.arch}`);
  const executable = process.platform === 'win32' ? 'node.exe' : 'node';
  for (const name of names) {
    for (let folder = root; ; folder = path.dirname(folder)) {
      const candidate = path.join(folder, 'node_modules', name, 'bin', executable);
      if (fs.existsSync(candidate)) return candidate;
      if (folder === path.dirname(folder)) break;
    }
  }
  console.error(
    `mediagate needs Node ${MINIMUM.join('.')} or newer; this is ${process.versions.node}, and npm has installed no Node for ` +
      `${process.platform}-${process.arch}. Install a newer Node, or run "npm ci" without --omit=optional.`,
  );
  process.exit(1);
}

const SOURCES = ['core', 'plugins', 'server', 'test'];

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

/** Compiles a checkout when a source is newer than the last build; an installed package ships compiled. */
function compile(node) {
  if (!fs.existsSync(config) || !fs.existsSync(compiler)) return;
  const stamp = path.join(root, 'dist', '.tsbuildinfo');
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
  runCompiler(node, []);
  const now = new Date();
  fs.utimesSync(stamp, now, now);
}

function runCompiler(node, flags) {
  const result = spawnSync(node, [compiler, '-p', root, ...flags], { stdio: ['ignore', 2, 2] });
  if (result.status !== 0) process.exit(result.status ?? 1);
  for (const module of BUNDLED) bundle(module);
  bringWeights();
}

/** Files that stand for a package of hundreds of files, all of which every command would have to find and read. */
const BUNDLED = [
  { file: 'core/contracts/typebox', of: 'typebox' },
  { file: 'core/database/kysely', of: 'kysely' },
];

function bundle({ file, of }) {
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
    target: `node${MINIMUM.join('.')}`,
    legalComments: 'none',
    banner: { js: `/*\n${of}\n\n${terms}\n*/` },
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

/** Compiles for the package: all of it, and without the lines that point to maps, which the package has not. */
function compilePackage(node) {
  fs.rmSync(path.join(root, 'dist'), { recursive: true, force: true });
  // Without its record of the build the checkout compiles once more, maps and all, when it is next used.
  runCompiler(node, ['--sourceMap', 'false', '--incremental', 'false', '--tsBuildInfoFile', 'null']);
}

// Pages of a megabyte make garbage of megabytes. With Node's young generation of today and an arena of malloc for every
// thread the process would hold on to 390 MB for 54 MB of live objects; like this it is 250 MB, and stays there. What is old
// may double before it is collected, where Node would wait for it to become a larger multiple of what is alive; less than
// that costs more time than everything else about an answer from the cache. V8 would also learn from the first requests that
// some of their objects live long, and from then on make garbage of all requests among what is old: a tenth of a request's time.
const FLAGS = ['--max-semi-space-size=16', '--heap-growing-percent=100', '--no-allocation-site-pretenuring'];
const ENVIRONMENT = {
  MALLOC_ARENA_MAX: '2',
  // Four threads for files, names and compression, as ever, and two for the images that are decoded at a time.
  UV_THREADPOOL_SIZE: '6',
  // What libvips would rather not show to strangers' files. The gateway lets it read four kinds anyway, from memory.
  VIPS_BLOCK_UNTRUSTED: '1',
  ...process.env,
};

function run(node, args) {
  const child = spawn(node, [...FLAGS, ...args], { stdio: 'inherit', env: ENVIRONMENT });
  // A terminal sends Ctrl-C to the whole group; the child decides when it has drained, and this process waits for it.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
    });
  }
  child.on('error', (error) => {
    console.error(`mediagate could not start ${node}: ${error.message}`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => process.exit(signal ? 1 : (code ?? 1)));
}

const node = findNode();
const [command, ...rest] = process.argv.slice(2);
const dist = (...parts) => path.join(root, 'dist', ...parts);

if (command === '--package') compilePackage(node);
else compile(node);
if (command === '--build' || command === '--package') process.exit(0);
else if (command === '--test' && (rest.length === 0 || rest[0] === '--reverse'))
  run(node, [dist('test', 'run.js'), ...rest]);
else if (command === '--test') run(node, [path.join(root, 'node_modules', 'mocha', 'bin', 'mocha.js'), ...rest]);
else if (command === '--demo') run(node, [dist('test', 'demo.js'), ...rest]);
else if (command === '--stand') run(node, [dist('test', 'cluster', 'run-stand.js'), ...rest]);
else if (command === '--screenshots') run(node, [dist('test', 'screenshots.js'), ...rest]);
else if (command === '--faults') run(node, [dist('test', 'chaos', 'run-faults.js'), ...rest]);
else if (command === '--bench') run(node, ['--expose-gc', dist('test', 'bench', 'index.js'), ...rest]);
else
  run(node, [
    dist('server', 'cli', 'cli.js'),
    ...(command === 'start' ? ['serve', '--first-run'] : process.argv.slice(2)),
    ...(command === 'start' ? rest : []),
  ]);
