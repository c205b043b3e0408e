#!/usr/bin/env node
'use strict';
// The way in for every command. It runs on any Node that npm runs on: on one older than package.json's "engines" it hands
// over to the Node that `npm ci` has put into the checkout (carried-node). That one is found by path, since not every npm
// links it into node_modules/.bin. In a checkout build.cjs first compiles what changed.

const { spawn } = require('node:child_process');
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
      `${process.platform}-${process.arch}. Install a newer Node, or run "npm ci" without --omit in a checkout.`,
  );
  process.exit(1);
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
  // V8 keeps here what it made of the scripts: a fifth of the time of a short command. Where it may not write, it keeps nothing.
  NODE_COMPILE_CACHE: path.join(root, 'dist', '.code-cache'),
  ...process.env,
};

/**
 * All of it in one file, which loads in half the time. The condition leads plugins from elsewhere to the same modules. A
 * debugger gets the separate scripts, so that it shows the files of the sources.
 */
const isUnbundled = [process.env.NODE_OPTIONS, ...process.execArgv].some((flags) => flags?.includes('--inspect'));
const PROGRAM = isUnbundled
  ? [path.join(root, 'dist', 'server', 'cli', 'cli.js')]
  : ['--conditions=mediagate-bundle', path.join(root, 'dist', 'bundle', 'cli.cjs')];

const VERSION = new Set(['--version', '-V']);

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

async function main() {
  const args = process.argv.slice(2);
  // Answered here: loading the program would take three times as much CPU.
  if (args.length === 1 && VERSION.has(args[0])) {
    console.log(require('../package.json').version);
    return;
  }
  const node = findNode();
  const build = path.join(__dirname, 'build.cjs');
  const tool = fs.existsSync(build) ? await require(build).prepare(node, args, isUnbundled) : undefined;
  const [command, ...rest] = args;
  const words = command === 'start' ? ['serve', '--first-run', ...rest] : args;
  run(node, tool ?? [...PROGRAM, ...words]);
}

main().catch((error) => {
  console.error(`mediagate could not be compiled: ${error.message}`);
  process.exit(1);
});
