'use strict';
// Bundles the program: all modules that a command or the gateway may load, and small packages that each start loads, in one
// file of dist/bundle, from which load-program.cjs takes them one by one. Node takes about a millisecond of work to find, read
// and link a module, and the gateway has 900 of them. esbuild makes a script of CommonJS of each source; here its imports get
// the addresses that they have in the bundle.
//
// A module runs when something of it is first used, not where it is imported: `keys list` needs 200 of the 900 modules, most of
// which its imports lead to, and a supervisor still fewer. So all of a folder can be imported by its index without a cost.
// Only modules that declare errors or kinds of jobs when they run (`hasDeclarations`) run where they are imported, as always.
// Gain: 0.29 in place of 0.46 s of CPU for `keys list`. Each use of an import is a look whether its module has run, which
// could not be measured in requests. Tried and dropped: one script of all of them (V8 reads what it kept of all modules, 50 ms),
// and one file for each `import()`, which Node resolves again for each file that shares it.
//
// A module holds state, so it must be there once in a process. Therefore the plugins of the package are in the bundle too, and
// any other plugin that imports `mediagate/plugin` gets what the bundle has: run.cjs sets the condition `mediagate-bundle`, for
// which package.json has exports of its own, small files that pass on what the program has. Everybody else (tests, threads,
// programs that import the package) has the separate scripts of dist. `import.meta.url` is the address of the separate script:
// what is beside it, such as the script of a thread, is found there. Errors name the separate scripts, too.

const esbuild = require('esbuild');
const fs = require('node:fs');
const { isBuiltin } = require('node:module');
const path = require('node:path');
const { BUNDLED, isBundled, licencesOf, oldestNode } = require('./bundles.cjs');
const { exports: exported } = require('../package.json');

const root = path.resolve(__dirname, '..');
const dist = path.join(root, 'dist');
const folder = path.join(dist, 'bundle');
/** As NODE_COMPILE_CACHE of run.cjs. */
const caches = path.join(dist, '.code-cache');

/** Packages in the bundle: each start loads them, and they are scripts alone. */
const PACKAGES = [
  'commander',
  'cookie',
  'fresh',
  'ipaddr.js',
  'keyv',
  'koa',
  'lru-cache',
  'nanospinner',
  'p-limit',
  'proxy-addr',
  'reflect-metadata',
  's3mini',
];

/** Where the program begins. */
const ENTRY = 'server/cli/program.js';

/** What others import by its name: files in the bundle, with the modules that they pass on. */
function passedOn() {
  const folders = fs
    .readdirSync(path.join(root, 'plugins'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory());
  const plugins = folders.map(({ name }) => name).filter((name) => !name.startsWith('_'));
  return {
    core: 'core/index.js',
    plugin: 'core/plugin.js',
    ...Object.fromEntries(plugins.map((name) => [`plugin-${name}`, `plugins/${name}/index.js`])),
  };
}

/** Writes the bundle. What bundles.cjs takes from packages must be in dist. @param scripts What `translate` made. */
async function bundleProgram(scripts) {
  const { packages, licences } = await bundlePackages();
  await translateBundled(scripts);
  const registry = passedOn();
  const modules = new Map(packages);
  const pending = [ENTRY, ...Object.values(registry)];
  for (const id of pending) {
    if (modules.has(id)) continue;
    const { code, imports } = linked(id, scripts);
    modules.set(id, code);
    pending.push(...imports);
  }
  const index = { registry, modules: {} };
  let text = '';
  for (const [id, code] of modules) {
    const start = text.length;
    text += inAscii(code);
    index.modules[id] = [start, text.length];
  }
  const passing = Object.entries(registry).map(([name, id]) => [`${name}.js`, passOn(name, namesOf(id, scripts))]);
  replaceFiles({
    'cli.cjs': fs.readFileSync(path.join(__dirname, 'load-program.cjs'), 'utf8'),
    'program.json': JSON.stringify(index),
    'program.txt': text,
    'LICENCES.txt': licences,
    ...Object.fromEntries(passing),
  });
}

const TRANSLATION = {
  platform: 'node',
  format: 'cjs',
  target: oldestNode(),
  legalComments: 'none',
  // The loader gives it to each module.
  define: { 'import.meta': 'importMeta' },
  logLevel: 'warning',
};

/** The sources of the product as CommonJS, by the names that their separate scripts have in dist. */
async function translate(sources) {
  const names = sources.map((file) => path.relative(root, file).split(path.sep).join('/'));
  const { outputFiles } = await esbuild.build({
    ...TRANSLATION,
    absWorkingDir: root,
    entryPoints: names.filter(isOfProgram),
    outdir: dist,
    outbase: root,
    write: false,
  });
  const idOf = (file) => path.relative(dist, file).split(path.sep).join('/');
  return new Map(outputFiles.map((file) => [idOf(file.path), withoutHelpers(file.text)]));
}

function isOfProgram(name) {
  if (!name.endsWith('.ts') || isBundled(path.join(root, name))) return false;
  return !/\/(test|_template)\/|^server\/(site\/browser\/|cli\/cli\.ts$)/.test(name);
}

/** Adds the modules that contain packages. */
async function translateBundled(scripts) {
  const translateOne = async (name) => {
    const script = fs.readFileSync(path.join(dist, `${name}.js`), 'utf8');
    scripts.set(`${name}.js`, (await esbuild.transform(script, TRANSLATION)).code);
  };
  await Promise.all(BUNDLED.map(translateOne));
}

/**
 * Of the sources those whose separate scripts a gateway runs: threads, what these import, and modules that a thread is told
 * to import.
 */
function sourcesOfThreads(scripts, sources) {
  const needed = new Set();
  const add = (id) => {
    if (needed.has(id)) return;
    needed.add(id);
    for (const [, specifier] of (scripts.get(id) ?? '').matchAll(/\b(?:require|import)\("([^"]+)"/g)) {
      const address = addressOf(specifier, id);
      if (address !== undefined && !PACKAGES.includes(address)) add(address);
    }
  };
  for (const [id, script] of scripts) {
    if (script.includes('module: importMeta.url')) add(id);
    for (const [, specifier] of script.matchAll(/\bnew URL\("(\.\/[^"]+\.js)", importMeta\.url\)/g))
      add(addressOf(specifier, id));
  }
  const scriptOf = (file) => path.relative(root, file).split(path.sep).join('/').replace(/\.ts$/, '.js');
  return sources.filter(({ file }) => needed.has(scriptOf(file)));
}

const OWN = /^mediagate(\/plugin)?$/;

/** The address that an import has in the bundle; undefined for what Node finds. */
function addressOf(specifier, importer) {
  if (specifier.startsWith('.')) return path.posix.join(path.posix.dirname(importer), specifier);
  if (OWN.test(specifier)) return path.posix.relative('dist', exported[specifier.replace('mediagate', '.')].default);
  return PACKAGES.includes(specifier) ? specifier : undefined;
}

/** One module as the loader takes it, with the addresses of those that it imports. */
function linked(id, scripts) {
  if (id.endsWith('.json'))
    return { code: JSON.stringify(JSON.parse(fs.readFileSync(path.join(root, id), 'utf8'))), imports: [] };
  const script = scripts.get(id);
  if (script === undefined) throw new Error(`The program would import ${id}, which is no module of it.`);
  const imports = [];
  const requireOf = (specifier) => {
    const address = addressOf(specifier, id);
    if (address === undefined) return `require("${specifier}")`;
    imports.push(address);
    return `requireModule("${address}")`;
  };
  const held = [];
  const hold = (_, name, isWhole, specifier) => {
    held.push(name);
    if (isWhole && addressOf(specifier, id) === undefined && !isBuiltin(specifier)) {
      // With `require`, a module of ESM has its default export under another name than with `import`.
      throw new Error(`${id}: import names of ${specifier}, or add it to the bundle`);
    }
    const load = requireOf(specifier);
    if (hasDeclarations(addressOf(specifier, id), scripts))
      return `var ${name}\0 = { run: ${isWhole ? `__toESM(${load})` : load} };`;
    return `var ${name}\0 = new Later(${load.replace('(', ', ').replace(')', isWhole ? ', __toESM)' : ')')};`;
  };
  let code = script
    .replace(
      /^module\.exports = __toCommonJS\((\w+)\);$/m,
      'module.exports = __defProp($1, "__esModule", { value: true });',
    )
    .replaceAll(/^var (import_\w+) = (__toESM\()?require\("([^"]+)"\)(?:(?:, 1)?\))?;$/gm, hold)
    .replaceAll(
      /(^|, )require\("([^"]+)"\)(?=;|, module\.exports)/gm,
      (_, before, specifier) => `${before}${requireOf(specifier)}`,
    )
    .replaceAll(/\bimport\((?:"([^"]+)"|location)(?:, \{ with: .*?\} \})?\)/g, (_, specifier) => {
      const address = specifier && addressOf(specifier, id);
      if (!address) return `importPackage(${specifier ? `"${specifier}"` : 'location'})`;
      imports.push(address);
      return `importModule("${address}")`;
    });
  if (held.length > 0)
    code = code.replaceAll(new RegExp(`\\b(${held.join('|')})\\b(?!\0)`, 'g'), '$1.run').replaceAll('\0', '');
  const [left] = /^.*(?:\bimport\(|[^.]\brequire\("\.).*/m.exec(code) ?? [];
  if (left !== undefined) throw new Error(`The program would import without a module: ${left}`);
  return { code: inModule(code), imports };
}

/** As the loader takes a module: a function of what it gives to each. */
function inModule(code) {
  const given = [
    ...['module', 'require', 'requireModule', 'importModule', 'importPackage', 'importMeta', 'Later'],
    ...['__defProp', '__getOwnPropDesc', '__export', '__reExport', '__toESM'],
  ];
  return `(function (${given.join(', ')}) {${code}\n})`;
}

const HELPERS =
  /^var __(?:create|defProp|getOwnPropDesc|getOwnPropNames|getProtoOf|hasOwnProp|export|copyProps|reExport|toESM|toCommonJS) = (?:.*;|.*[{(]\n(?: .*\n)+[})]+;)\n/gm;

/** Leaves out what esbuild writes into each script, and the loader has once: a third of what V8 keeps of a module. */
function withoutHelpers(script) {
  return script.replaceAll(HELPERS, '');
}

const declaring = new Map();

/** Whether a module, or what it imports for that alone, declares something when it runs; and of a folder, whether one of its modules does. */
function hasDeclarations(id, scripts) {
  const known = declaring.get(id);
  if (known !== undefined) return known;
  declaring.set(id, false);
  const script = scripts.get(id) ?? '';
  const isFolder = id !== undefined && path.posix.basename(id) === 'index.js';
  const imported = [...script.matchAll(/\brequire\("(\.[^"]+)"\)/g)].map(([, specifier]) => addressOf(specifier, id));
  const does =
    /^(?:require\("\.|(?:const \w+ = )?\(0, import_\w+\.declare\w+\)\()/m.test(script) ||
    (isFolder &&
      imported.some((one) => path.posix.dirname(one) === path.posix.dirname(id) && hasDeclarations(one, scripts)));
  declaring.set(id, does);
  return does;
}

/** The names that a module exports. */
function namesOf(id, scripts) {
  const script = scripts.get(id);
  const [, own = ''] = /^__export\(\w+, \{\n([\s\S]*?)^\}\);$/m.exec(script) ?? [];
  const others = [...script.matchAll(/^__reExport\(\w+, require\("([^"]+)"\)/gm)].flatMap(([, specifier]) =>
    namesOf(addressOf(specifier, id), scripts),
  );
  const names = [...own.matchAll(/^ {2}(\w+): \(\) =>/gm)].map(([, name]) => name);
  return [...new Set([...names, ...others.filter((name) => name !== 'default')])];
}

/** A file that exports what a module of the program does. */
function passOn(name, names) {
  const lines = names.map((one) =>
    one === 'default' ? 'export default m.default;' : `export const ${one} = m.${one};`,
  );
  return [`const m = await globalThis[Symbol.for('mediagate.bundle')]['${name}']();`, ...lines, ''].join('\n');
}

/** V8 takes a script twice as large if a single character of it, or of a comment, needs more than a byte. */
function inAscii(script) {
  return script.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The packages, a module each. */
async function bundlePackages() {
  const { metafile, outputFiles } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: Object.fromEntries(PACKAGES.map((name) => [name, name])),
    outdir: folder,
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    mainFields: ['module', 'main'],
    format: 'cjs',
    target: oldestNode(),
    legalComments: 'none',
    plugins: [LATER],
    logLevel: 'warning',
  });
  const sources = Object.keys(metafile.inputs).map((name) => name.replace(/^later:/, ''));
  const nameOf = (file) => path.relative(folder, file).split(path.sep).join('/').replace(/\.js$/, '');
  return {
    packages: new Map(
      outputFiles.map((file) => [nameOf(file.path), inModule(`var { exports } = module;\n${file.text}`)]),
    ),
    licences: licencesOf(sources, root),
  };
}

/** Functions of what packages require, and no short command uses: Koa's types of files become tables when they are loaded. */
const USED_LATER = { 'mime-types': ['charset', 'contentType', 'extension', 'lookup'], 'node:child_process': ['spawn'] };

/** Has what packages require loaded when one of its functions is first called. */
const LATER = {
  name: 'later',
  setup(build) {
    build.onResolve(
      { filter: /^(mime-types|node:child_process)$/ },
      async ({ path: name, importer, resolveDir, kind, pluginData }) => {
        if (pluginData === LATER) return undefined;
        const { path: file } = await build.resolve(name, { importer, resolveDir, kind, pluginData: LATER });
        return { path: file, namespace: 'later', pluginData: { name, resolveDir } };
      },
    );
    build.onLoad({ filter: /.*/, namespace: 'later' }, ({ path: file, pluginData: { name, resolveDir } }) => ({
      contents: `let loaded;
for (const name of ${JSON.stringify(USED_LATER[name])})
  exports[name] = (...given) => (loaded ??= require(${JSON.stringify(file)}))[name](...given);`,
      resolveDir,
      pluginData: LATER,
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

module.exports = { bundleProgram, sourcesOfThreads, translate };
