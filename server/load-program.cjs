'use strict';
// The start of the bundled program (bundle-program.cjs copies it to dist/bundle/cli.cjs). It takes each module out of the file
// of the program when it is first used, and gives V8 what V8 made of it in earlier runs: the compiled functions. Node's own
// compile cache has only those that run while a module is loaded; each of the others would be parsed and compiled again when it
// is first called, a third of the CPU of a start. A run that has used a module or a command for the first time adds what it
// compiled, ten seconds after it began or when it ends. Without a folder for that (NODE_COMPILE_CACHE, which run.cjs sets), or
// if it may not write there, nothing is kept.

const fs = require('node:fs');
const { createRequire } = require('node:module');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { Script } = require('node:vm');

const SAVE_AFTER_MS = 10_000;
/** Bytes: V8 would copy what begins elsewhere. */
const ALIGNED = 8;
/** Where the separate scripts are, beside each of which a module finds its files. */
const dist = path.dirname(__dirname);
const program = path.join(__dirname, 'program.txt');
const isWorker = process.env.MEDIAGATE_WORKER !== undefined;
const [, , command = ''] = process.argv;

/** Parts of a file. A gateway that runs goes on with the file that it opened when another one takes its place. */
class Parts {
  #file;
  #buffer = Buffer.alloc(65_536);
  constructor(name) {
    this.#file = fs.openSync(name);
  }

  /** Valid until the next one. */
  read(start, end) {
    if (end - start > this.#buffer.length) this.#buffer = Buffer.alloc(2 * (end - start));
    const part = this.#buffer.subarray(0, end - start);
    for (let at = 0; at < part.length; ) {
      const count = fs.readSync(this.#file, part, at, part.length - at, start + at);
      if (count === 0) throw new Error(`${program} has changed while it was loaded.`);
      at += count;
    }
    return part;
  }
}

/** A sum that changes if a word does. V8 does not check what it is given: with a damaged file the process would end. */
function sumOf(part) {
  const words = new Uint32Array(part.buffer, part.byteOffset, part.length >>> 2);
  let sum = part.length;
  for (let at = 0; at < words.length; at++) sum = Math.imul(sum ^ words[at], 0x01000193);
  return sum;
}

/** What V8 made of modules in earlier runs. */
class CompiledModules {
  #file;
  #data;
  #start = 0;
  #kept = { commands: [], modules: {} };

  constructor() {
    this.#file = CompiledModules.#fileName();
    if (this.#file === undefined || !fs.existsSync(this.#file)) return;
    try {
      const data = new Parts(this.#file);
      this.#start = data.read(0, 4).readUInt32LE();
      this.#kept = JSON.parse(data.read(4, this.#start).toString());
      this.#data = data;
    } catch {
      // As if there were none.
    }
  }

  /** Undefined where nothing is kept. V8 itself compares its version and flags, but of the source only the length. */
  static #fileName() {
    const { NODE_COMPILE_CACHE: folder, NODE_DISABLE_COMPILE_CACHE: isOff } = process.env;
    if (!folder || isOff) return undefined;
    const { size, mtimeMs } = fs.statSync(program);
    // A supervisor, which comes with the commands, shall not hold what only its workers run.
    const kind = isWorker ? 'worker' : 'command';
    return path.join(folder, `program-${kind}-${process.version}-${size}-${Math.trunc(mtimeMs)}`);
  }

  /** Undefined for a module that no run used, or that is damaged. */
  of(id) {
    const [start, end, sum] = this.#kept.modules[id] ?? [];
    if (start === undefined) return undefined;
    try {
      const part = this.#data.read(this.#start + start, this.#start + end);
      return sumOf(part) === sum ? part : undefined;
    } catch {
      return undefined;
    }
  }

  /** Writes the file once, when the functions of a start have been compiled; not for a mistyped command. @param scripts Those that ran, by their modules. */
  keepLater(scripts) {
    if (this.#file === undefined) return;
    const save = () => {
      clearTimeout(timer);
      process.off('exit', saveAtEnd);
      const isNew = ([id, script]) => !Object.hasOwn(this.#kept.modules, id) || script.cachedDataRejected;
      if (!this.#kept.commands.includes(command) || [...scripts].some(isNew)) this.#write(scripts);
    };
    const saveAtEnd = (code) => code === 0 && save();
    const timer = setTimeout(save, SAVE_AFTER_MS).unref();
    process.on('exit', saveAtEnd);
  }

  #write(scripts) {
    const { commands, modules } = this.#kept;
    const made = [...scripts].map(([id, script]) => [id, script.createCachedData()]);
    const left = Object.keys(modules).filter((id) => !scripts.has(id));
    const parts = [...made, ...left.map((id) => [id, Buffer.from(this.of(id) ?? [])])].filter(
      ([, part]) => part.length > 0,
    );
    const index = { commands: [...new Set([...commands, command])], modules: {} };
    let end = 0;
    const data = parts.flatMap(([id, part]) => {
      const start = end;
      end += Math.ceil(part.length / ALIGNED) * ALIGNED;
      index.modules[id] = [start, start + part.length, sumOf(part)];
      return [part, Buffer.alloc(end - start - part.length)];
    });
    const head = Buffer.from(`    ${JSON.stringify(index)}`);
    head.writeUInt32LE(head.length);
    const written = `${this.#file}.${process.pid}`;
    try {
      fs.mkdirSync(path.dirname(this.#file), { recursive: true });
      fs.writeFileSync(written, Buffer.concat([head, ...data]), { mode: 0o600 });
      fs.renameSync(written, this.#file);
    } catch {
      // The next start takes as long as this one.
      fs.rmSync(written, { force: true });
    }
  }
}

/** What a module of the program has as `import.meta`. */
class ImportMeta {
  #file;
  constructor(id) {
    this.#file = path.join(dist, id);
  }

  get url() {
    return pathToFileURL(this.#file).href;
  }

  get dirname() {
    return path.dirname(this.#file);
  }
}

/** An import whose module runs when it is first used. */
class Later {
  /** @param whole For an import of the default or of all: makes that of the exports of CommonJS. */
  constructor(load, name, whole) {
    this.load = load;
    this.name = name;
    this.whole = whole;
    this.loaded = undefined;
  }

  get run() {
    this.loaded ??= this.whole ? this.whole(this.load(this.name)) : this.load(this.name);
    return this.loaded;
  }
}

// What esbuild would write into each script of a module.
const { defineProperty, getOwnPropertyDescriptor, getOwnPropertyNames, hasOwn } = Object;

function exportNames(target, names) {
  for (const name in names) defineProperty(target, name, { get: names[name], enumerable: true });
}

function copyNames(target, source) {
  for (const name of getOwnPropertyNames(source))
    if (!hasOwn(target, name) && name !== 'default')
      defineProperty(target, name, { get: () => source[name], enumerable: true });
  return target;
}

function exportAll(target, module, exported) {
  copyNames(target, module);
  if (exported && exported !== target) copyNames(exported, module);
}

function wholeOf(module) {
  if (module.__esModule) return module;
  return copyNames(defineProperty({}, 'default', { value: module, enumerable: true }), module);
}

const { registry, modules } = JSON.parse(fs.readFileSync(path.join(__dirname, 'program.json'), 'utf8'));
const sources = new Parts(program);
const compiled = new CompiledModules();
const scripts = new Map();
const loaded = new Map();
const HELPERS = [defineProperty, getOwnPropertyDescriptor, exportNames, exportAll, wholeOf];
const requirePackage = createRequire(program);
const importModule = async (id) => requireModule(id);
const importPackage = (name) => import(name);

/** What a module exports. It runs the first time. */
function requireModule(id) {
  const known = loaded.get(id);
  if (known) return known.exports;
  const source = sources.read(...modules[id]).latin1Slice();
  const module = { exports: {} };
  if (id.endsWith('.json')) {
    module.exports = JSON.parse(source);
    loaded.set(id, module);
    return module.exports;
  }
  const script = new Script(source, { filename: path.join(dist, id), cachedData: compiled.of(id) });
  scripts.set(id, script);
  loaded.set(id, module);
  try {
    const run = script.runInThisContext();
    const address = new ImportMeta(id);
    run(module, requirePackage, requireModule, importModule, importPackage, address, Later, ...HELPERS);
  } catch (error) {
    loaded.delete(id);
    throw error;
  }
  return module.exports;
}

/** For plugins from elsewhere, which import `mediagate/plugin`. */
globalThis[Symbol.for('mediagate.bundle')] = Object.fromEntries(
  Object.entries(registry).map(([name, id]) => [name, async () => requireModule(id)]),
);

const { runProgram } = requireModule('server/cli/program.js');
compiled.keepLater(scripts);
module.exports = { runProgram, ended: runProgram() };
