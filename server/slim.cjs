'use strict';
// `npm run slim`: removes from the packages of this checkout what never runs here, a quarter of their size. npm cannot leave it
// out: no registry has these packages without it, and a checkout runs no scripts while it installs (.npmrc), so this is a
// command of its own. `npm ci` brings all of it back. What the list names is gone for a debugger too (maps, sources).
//
// Files are unlinked, never shortened: another checkout may have hard links to them. Nothing is followed that is a link, the
// folder of the packages included. What is not there, or may not be removed, stays, and is no failure.

const fs = require('node:fs');
const path = require('node:path');

/** Of which package what is removed, and why it is not used. The paths are those in the package. */
const UNUSED = [
  { of: /^/, what: /\.map$/, why: 'maps of scripts: nothing here reads them' },
  { of: /^node-/, what: /^(include|share)$/, why: 'headers of Node: nothing is compiled for it' },
  {
    of: /^onnxruntime-web$/,
    what: /^(lib|dist\/ort(?!\.wasm\.|-wasm-simd-threaded\.m?js$|-wasm-simd-threaded\.wasm$).*|dist\/ort\.wasm(?!\.bundle).*)$/,
    why: 'builds for graphics cards: offline_speech takes the one for WebAssembly alone',
  },
  {
    of: /^gpt-tokenizer$/,
    what: /^(cjs|data|src|esm\/model|esm\/(bpeRanks|encoding)\/(?!o200k_base\.).*)$/,
    why: 'other encodings, and other kinds of modules: the build takes o200k_base',
  },
  { of: /^better-sqlite3$/, what: /^(deps|src)$/, why: 'sources of SQLite: the package brings it compiled' },
  {
    of: /^better-sqlite3$/,
    what: new RegExp(`^prebuilds/(?!${process.platform}(musl)?-${process.arch}\\.)`),
    why: 'SQLite compiled for other systems',
  },
  { of: /^fluent-ffmpeg$/, what: /^(coverage|doc|OLD|tools)$/, why: 'reports and tools of its authors' },
  {
    of: /^(openai|@anthropic-ai\/sdk|zod|ai|@ai-sdk\/.*|@redocly\/openapi-core)$/,
    what: /^(src|docs)$/,
    why: 'sources, of which the package has scripts',
  },
  { of: /^bintrees$/, what: /^test$/, why: 'tests of its authors' },
];

/** @returns Bytes on the disk of what was removed. */
function slim(root) {
  const modules = path.join(root, 'node_modules');
  const found = fs.lstatSync(modules, { throwIfNoEntry: false });
  return found?.isDirectory() ? slimFolder(modules, undefined, '') : 0;
}

/**
 * @param name Of the package that the folder is in; undefined for a folder of packages.
 * @param within The folder in that package.
 */
function slimFolder(folder, name, within) {
  let removed = 0;
  for (const entry of list(folder)) {
    const file = path.join(folder, entry.name);
    const inside = within ? `${within}/${entry.name}` : entry.name;
    if (entry.isSymbolicLink()) continue;
    if (name !== undefined && UNUSED.some(({ of, what }) => of.test(name) && what.test(inside)))
      removed += remove(file);
    else if (!entry.isDirectory()) continue;
    else if (entry.name === 'node_modules') removed += slimFolder(file, undefined, '');
    else if (name !== undefined) removed += slimFolder(file, name, inside);
    else if (entry.name.startsWith('@') && within === '') removed += slimFolder(file, undefined, entry.name);
    else removed += slimFolder(file, inside, '');
  }
  return removed;
}

function list(folder) {
  try {
    return fs.readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

/** @returns Its bytes on the disk, also of what another checkout has a link to; 0 if it may not be removed. */
function remove(file) {
  try {
    const bytes = sizeOf(file);
    fs.rmSync(file, { recursive: true });
    return bytes;
  } catch {
    return 0;
  }
}

function sizeOf(file) {
  const found = fs.lstatSync(file);
  if (!found.isDirectory()) return found.blocks * 512;
  return list(file).reduce((sum, { name }) => sum + sizeOf(path.join(file, name)), found.blocks * 512);
}

console.log(
  `Removed ${Math.round(slim(path.resolve(__dirname, '..')) / 1024 / 1024)} MB that never run here. "npm ci" brings them back.`,
);
