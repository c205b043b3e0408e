'use strict';
// Bundles the program: all scripts of dist that a command or the gateway may load, and small packages that each start loads,
// in one file of dist/bundle, which run.cjs starts by load-program.cjs. Node takes about a millisecond of work to find, read
// and link a module, and a command that lists keys has 430 of them. What is imported with `import()` still runs only then.
// Tried and dropped: one file for each `import()`, which Node resolves again for each file that shares it.
//
// A module holds state, so it must be there once in a process. Therefore the plugins of the package are in the bundle too, and
// any other plugin that imports `mediagate/plugin` gets what the bundle has: run.cjs sets the condition `mediagate-bundle`, for
// which package.json has exports of its own, small files that pass on what the program has. Everybody else (tests, threads,
// programs that import the package) has the separate scripts of dist. `import.meta.url` is still the address of the separate
// script: what is beside it, such as the script of a thread, is found there.
//
// Functions do not keep their names (`keepNames` of esbuild) where the bundler renames them. It would set the name of each
// function whenever one is made, also of the small ones inside of others, which takes a sixth of the CPU of a chat.

const esbuild = require('esbuild');
const fs = require('node:fs');
const { isBuiltin } = require('node:module');
const path = require('node:path');
const { licencesOf, oldestNode } = require('./bundles.cjs');
const { exports: exported } = require('../package.json');

const root = path.resolve(__dirname, '..');
const dist = path.join(root, 'dist');
const folder = path.join(dist, 'bundle');
/** As NODE_COMPILE_CACHE of run.cjs. */
const caches = path.join(dist, '.code-cache');

/** Packages in the bundle: each start loads them, and they are scripts alone. */
const BUNDLED_PACKAGES = new Set([
  '@koa/router',
  'commander',
  'cookie',
  'fresh',
  'ipaddr.js',
  'keyv',
  'koa',
  'lru-cache',
  'nanospinner',
  'p-limit',
  'pino',
  'proxy-addr',
  'reflect-metadata',
  's3mini',
]);

function isBundled(specifier) {
  return BUNDLED_PACKAGES.has(/^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0]);
}

/** Where the program has modules for others, by the names of their files in the bundle. */
const REGISTRY = "globalThis[Symbol.for('mediagate.bundle')]";

/** What others import by its name: files in the bundle, with the scripts that they pass on. */
function passedOn() {
  const plugins = fs.readdirSync(path.join(dist, 'plugins')).filter((name) => !name.startsWith('_'));
  return new Map([
    ['core', 'core/index.js'],
    ['plugin', 'core/plugin.js'],
    ...plugins.map((name) => [`plugin-${name}`, `plugins/${name}/index.js`]),
  ]);
}

/** Writes the bundle of what the compiler has made. */
async function bundleProgram() {
  const modules = passedOn();
  const registered = [...modules].map(([name, script]) => `'${name}': () => import('./${script}')`);
  const { metafile, outputFiles } = await esbuild.build({
    absWorkingDir: dist,
    stdin: {
      contents: `${REGISTRY} = { ${registered.join(', ')} };\nexport { runProgram } from './server/cli/program.js';`,
      resolveDir: dist,
      sourcefile: 'program.js',
    },
    outfile: path.join(folder, 'program.cjs'),
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    mainFields: ['module', 'main'],
    format: 'cjs',
    target: oldestNode(),
    legalComments: 'none',
    plugins: [TABLES_LATER, SEPARATE_SCRIPTS],
    logLevel: 'warning',
  });
  const [{ text }] = outputFiles;
  const [left] = /^(?!\s*(?:\*|\/\/)).*\bimport\(.*/m.exec(text) ?? [];
  if (left !== undefined) throw new Error(`The program would import without a module: ${left}`);
  const files = {
    'cli.cjs': fs.readFileSync(path.join(__dirname, 'load-program.cjs'), 'utf8'),
    'program.cjs': `(function (require, importPackage, importMetaOf, __filename, __dirname, module, exports) {${inAscii(text)}\n})`,
    'LICENCES.txt': licencesOf(sourcesOf(metafile), dist),
  };
  for (const [name, script] of modules) files[`${name}.js`] = await passOn(name, script);
  replaceFiles(files);
}

function sourcesOf({ inputs }) {
  return Object.keys(inputs).map((name) => name.replace(/^later:/, ''));
}

/** V8 takes a script twice as large if a single character of it, or of a comment, needs more than a byte. */
function inAscii(script) {
  return script.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** A file that exports what a module of the program does. */
async function passOn(name, script) {
  const { metafile } = await esbuild.build({
    absWorkingDir: dist,
    entryPoints: [script],
    outdir: folder,
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    logLevel: 'error',
  });
  const [{ exports: names }] = Object.values(metafile.outputs);
  const lines = names.map((one) =>
    one === 'default' ? 'export default m.default;' : `export const ${one} = m.${one};`,
  );
  return [`const m = await ${REGISTRY}['${name}']();`, ...lines, ''].join('\n');
}

/** Finds by the name of the package what is to be bundled, and keeps the addresses of the scripts. */
const SEPARATE_SCRIPTS = {
  name: 'separate-scripts',
  setup(build) {
    build.onResolve({ filter: /^mediagate($|\/plugin$)/ }, ({ path: name }) => ({
      path: path.join(root, exported[name.replace('mediagate', '.')].default),
    }));
    build.onResolve({ filter: /^[^./]/ }, ({ path: name, importer, kind }) => {
      if (kind === 'entry-point' || isBuiltin(name) || path.isAbsolute(name)) return undefined;
      if (importer.includes('node_modules') || isBundled(name)) return undefined;
      return { path: name, external: true };
    });
    build.onLoad({ filter: /\.js$/ }, ({ path: file }) => {
      if (file.includes('node_modules')) return undefined;
      const text = fs.readFileSync(file, 'utf8');
      // With `require`, a module of ESM has its default export under another name than with `import`.
      for (const [, name] of text.matchAll(/^import \w+\b.* from ['"]([^'"./][^'"]*)['"]/gm))
        if (!isBundled(name) && !isBuiltin(name))
          throw new Error(`${file}: import names of ${name}, or add it to the bundle`);
      const script = path.relative(folder, file).split(path.sep).join('/');
      const contents = text
        // Not by `require`: a bundled package may have its own.
        .replaceAll('import.meta.url', `importMetaOf('${script}').url`)
        .replaceAll('import.meta.dirname', `importMetaOf('${script}').dirname`)
        // Node does not let a script import that it was given without a module. The first start's compiler writes other quotes.
        .replaceAll(/\bimport\((?=location\)|['"][^'"./])/g, 'importPackage(');
      return { contents };
    });
  },
};

/**
 * Koa and two of its packages have a list of types of files each, of which they make tables when they are loaded. With this,
 * they do so when they are asked for a type, which no short command does.
 */
const TABLES_LATER = {
  name: 'tables-later',
  setup(build) {
    build.onResolve({ filter: /^mime-types$/ }, async ({ path: name, importer, resolveDir, kind, pluginData }) => {
      if (pluginData === TABLES_LATER) return undefined;
      const { path: file } = await build.resolve(name, { importer, resolveDir, kind, pluginData: TABLES_LATER });
      return { path: file, namespace: 'later' };
    });
    build.onLoad({ filter: /.*/, namespace: 'later' }, ({ path: file }) => ({
      contents: `let types;
for (const name of ['charset', 'contentType', 'extension', 'lookup'])
  exports[name] = (...given) => (types ??= require(${JSON.stringify(file)}))[name](...given);`,
      resolveDir: path.dirname(file),
    }));
  },
};

/** Writes the files in place of the last ones, of which a gateway that runs loads no more. */
function replaceFiles(files) {
  fs.mkdirSync(folder, { recursive: true });
  for (const name of fs.readdirSync(folder))
    if (!Object.hasOwn(files, name)) fs.rmSync(path.join(folder, name), { recursive: true });
  for (const [name, text] of Object.entries(files)) fs.writeFileSync(path.join(folder, name), text);
  if (!fs.existsSync(caches)) return;
  for (const name of fs.readdirSync(caches)) if (name.startsWith('program-')) fs.rmSync(path.join(caches, name));
}

module.exports = { bundleProgram };
