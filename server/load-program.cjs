'use strict';
// The start of the bundled program (bundle-program.cjs copies it to dist/bundle/cli.cjs). It gives V8 what V8 made of the
// program in earlier runs: the compiled functions. Node's own compile cache has only those that run while a module is loaded;
// each of the others would be parsed and compiled again when it is first called, a third of the CPU of a start. The first run
// of each command adds what it compiled, ten seconds after it began or when it ends. Without a folder for that
// (NODE_COMPILE_CACHE, which run.cjs sets), or if it may not write there, nothing is kept.

const fs = require('node:fs');
const { createRequire } = require('node:module');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { Script } = require('node:vm');
const { crc32 } = require('node:zlib');

const SAVE_AFTER_MS = 10_000;
/** Of the checksum, and of the length of the list of commands behind it. */
const NUMBER_BYTES = 4;

const program = path.join(__dirname, 'program.cjs');
const isWorker = process.env.MEDIAGATE_WORKER !== undefined;
const [, , command = ''] = process.argv;

/** Undefined where nothing is kept. V8 itself compares its version and flags, but of the source only the length. */
function cacheFile() {
  const { NODE_COMPILE_CACHE: folder, NODE_DISABLE_COMPILE_CACHE: isOff } = process.env;
  if (!folder || isOff) return undefined;
  const { size, mtimeMs } = fs.statSync(program);
  // A supervisor, which comes with the commands, shall not hold what only its workers run.
  return path.join(
    folder,
    `program-${isWorker ? 'worker' : 'command'}-${process.version}-${size}-${Math.trunc(mtimeMs)}`,
  );
}

/** V8 does not check what it is given: a file that is cut off or changed would end the process. */
function readCache(file) {
  try {
    const whole = fs.readFileSync(file);
    if (crc32(whole.subarray(NUMBER_BYTES)) !== whole.readUInt32LE(0)) return undefined;
    const start = 2 * NUMBER_BYTES + whole.readUInt32LE(NUMBER_BYTES);
    return { commands: JSON.parse(whole.toString('utf8', 2 * NUMBER_BYTES, start)), data: whole.subarray(start) };
  } catch {
    return undefined;
  }
}

function writeCache(file, { commands, data }) {
  const names = Buffer.from(JSON.stringify(commands));
  const numbers = Buffer.alloc(2 * NUMBER_BYTES);
  numbers.writeUInt32LE(names.length, NUMBER_BYTES);
  numbers.writeUInt32LE(crc32(data, crc32(names, crc32(numbers.subarray(NUMBER_BYTES)))), 0);
  const part = `${file}.${process.pid}`;
  try {
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(part, Buffer.concat([numbers, names, data]), { mode: 0o600 });
    fs.renameSync(part, file);
  } catch {
    // The next start takes as long as this one.
    fs.rmSync(part, { force: true });
  }
}

/** Writes the file once, when the functions of a start have been compiled; not for a mistyped command. */
function keepLater(script, file, commands) {
  const save = () => {
    clearTimeout(timer);
    process.off('exit', saveAtEnd);
    writeCache(file, { commands: [...commands, command], data: script.createCachedData() });
  };
  const saveAtEnd = (code) => code === 0 && save();
  const timer = setTimeout(save, SAVE_AFTER_MS).unref();
  process.on('exit', saveAtEnd);
}

/** What a module of the program had as `import.meta`. @param script Its path from the bundle. */
function importMetaOf(script) {
  const file = path.join(__dirname, script);
  return { url: pathToFileURL(file).href, dirname: path.dirname(file) };
}

function load() {
  const file = cacheFile();
  const cache = file && readCache(file);
  const script = new Script(fs.readFileSync(program, 'utf8'), { filename: program, cachedData: cache?.data });
  const commands = cache && !script.cachedDataRejected ? cache.commands : [];
  if (file && !commands.includes(command)) keepLater(script, file, commands);
  const module = { exports: {} };
  const importPackage = (name) => import(name);
  // The script is a function of what CommonJS gives to a module, of the import of packages, and of where its modules lay.
  const own = [createRequire(program), importPackage, importMetaOf];
  script.runInThisContext()(...own, program, __dirname, module, module.exports);
  return module.exports;
}

const { runProgram } = load();
module.exports = { runProgram, ended: runProgram() };
