'use strict';
// Makes the package mediagate-plugin out of the build: what `mediagate/plugin` exports, as its main entry, and the kit of
// `mediagate/testing`. An author installs it in seconds, where the gateway brings a browser and speech models.
//
// The scripts are bundled, so that the package has exactly the code that the two entries use, and depends on the packages
// that this code names. The declarations are those of the build, as far as the entries' own declarations lead.

const fs = require('node:fs');
const path = require('node:path');

const NAME = 'mediagate-plugin';
const ENTRIES = { plugin: 'core/plugin', testing: 'core/testing/index' };
/** The pages for authors, each with its name in the package. */
const PAGES = {
  'docs/develop/plugins.md': 'README.md',
  'docs/develop/plugin-platforms.md': 'docs/platforms.md',
  'docs/develop/plugin-models.md': 'docs/models.md',
  'docs/develop/plugin-tests.md': 'docs/tests.md',
  'docs/reference/plugin-api.md': 'docs/plugin-api.md',
  'docs/reference/plugins-config.md': 'docs/plugins-config.md',
};
/** Of which the tutorial shows the sources. */
const EXAMPLE = path.join('examples', 'plugin-package');
/** Used by the checks of image providers alone; their authors install it. */
const OPTIONAL = ['sharp'];

/**
 * Writes the folder dist/plugin-package, ready for `npm pack`.
 * @param root Of a compiled checkout.
 */
async function writePluginPackage(root) {
  const dist = path.join(root, 'dist');
  const folder = path.join(dist, 'plugin-package');
  fs.rmSync(folder, { recursive: true, force: true });
  const packages = new Set(['@types/node', ...(await bundleScripts(root, folder)), ...copyDeclarations(dist, folder)]);
  const { version, license, type, engines, dependencies } = require(path.join(root, 'package.json'));
  const isOptional = (name) => OPTIONAL.includes(name);
  const versionsOf = (names) => Object.fromEntries(names.sort().map((name) => [name, versionOf(name, dependencies)]));
  const manifest = {
    name: NAME,
    version,
    description: 'Contracts, building blocks and the testing kit for plugins of mediagate.',
    license,
    type,
    engines,
    exports: {
      '.': { types: `./types/${ENTRIES.plugin}.d.ts`, default: './plugin.js' },
      './testing': { types: `./types/${ENTRIES.testing}.d.ts`, default: './testing.js' },
      './package.json': './package.json',
    },
    dependencies: versionsOf([...packages].filter((name) => !isOptional(name))),
    peerDependencies: versionsOf(OPTIONAL),
    peerDependenciesMeta: Object.fromEntries(OPTIONAL.map((name) => [name, { optional: true }])),
  };
  fs.writeFileSync(path.join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  fs.copyFileSync(path.join(root, 'LICENSE'), path.join(folder, 'LICENSE'));
  for (const page of Object.keys(PAGES)) copyPage(root, folder, page);
  fs.cpSync(path.join(root, EXAMPLE), path.join(folder, EXAMPLE), {
    recursive: true,
    filter: (file) => !/[\\/](?:node_modules|dist|package-lock\.json)$/.test(path.relative(root, file)),
  });
}

/** A link between these pages leads to the copies; a link to any other page becomes text. */
function copyPage(root, folder, page) {
  const copy = PAGES[page];
  const text = fs.readFileSync(path.join(root, page), 'utf8').replace(LINK, (link, title, target, anchor = '') => {
    if (target === '' || /^[a-z]+:/.test(target)) return link;
    const linked = PAGES[path.posix.join(path.posix.dirname(page), target)];
    if (linked === undefined) return title;
    return `[${title}](${path.posix.relative(path.posix.dirname(copy), linked)}${anchor})`;
  });
  fs.mkdirSync(path.dirname(path.join(folder, copy)), { recursive: true });
  fs.writeFileSync(path.join(folder, copy), text);
}

const LINK = /\[([^\]]+)\]\(([^)#\s]*)(#[^)\s]*)?\)/g;

function versionOf(name, dependencies) {
  const version = dependencies[name];
  if (version === undefined) throw new Error(`${NAME} needs ${name}, which is no dependency of mediagate.`);
  return version;
}

/** @returns the packages that the scripts import. */
async function bundleScripts(root, folder) {
  const entries = { ...ENTRIES, ...threadsOf(path.join(root, 'dist', 'core', 'testing')) };
  const { metafile } = await require('esbuild').build({
    absWorkingDir: root,
    entryPoints: Object.fromEntries(Object.entries(entries).map(([name, file]) => [name, `dist/${file}.js`])),
    outdir: folder,
    bundle: true,
    splitting: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: `node${require(path.join(root, 'package.json')).engines.node.replace('>=', '')}`,
    metafile: true,
    logLevel: 'warning',
    // Modules that declare other things than errors are left out on purpose.
    logOverride: { 'ignored-bare-import': 'silent' },
    plugins: [withoutSideEffects],
  });
  const outputs = new Map(Object.entries(metafile.outputs));
  const used = reach(
    Object.keys(entries).map((name) => path.relative(root, path.join(folder, `${name}.js`))),
    (output) => outputs.get(output).imports.flatMap(({ path: target }) => (outputs.has(target) ? target : [])),
  );
  for (const output of outputs.keys()) if (!used.has(output)) fs.rmSync(path.join(root, output));
  const texts = [...used].map((output) => fs.readFileSync(path.join(root, output), 'utf8'));
  return texts.flatMap(packagesIn);
}

/** Modules that the kit runs in threads: no import leads to them, and they must lie beside the script that starts them. */
function threadsOf(folder) {
  const scripts = fs.readdirSync(folder).filter((name) => name.endsWith('.js'));
  const texts = scripts.map((name) => fs.readFileSync(path.join(folder, name), 'utf8'));
  const names = texts.flatMap((text) =>
    Array.from(text.matchAll(/new URL\('\.\/([\w-]+)\.js', import\.meta\.url\)/g), ([, name]) => name),
  );
  return Object.fromEntries(names.map((name) => [name, `core/testing/${name}`]));
}

/** Modules that declare error codes when they load. */
const DECLARES_ERRORS = /\/(?:error-codes|errors|source-errors)\.js$/;

/** Leaves out each module that no entry uses and that declares nothing, and so the packages that it loads. */
const withoutSideEffects = {
  name: 'without-side-effects',
  setup: ({ onResolve }) =>
    onResolve({ filter: /^\./ }, ({ path: target, resolveDir }) => ({
      path: path.resolve(resolveDir, target),
      sideEffects: DECLARES_ERRORS.test(target),
    })),
};

/** @returns the packages that the declarations import. */
function copyDeclarations(dist, folder) {
  const texts = new Map();
  const read = (file) => {
    const known = texts.get(file) ?? pastIndexes(file, fs.readFileSync(file, 'utf8'));
    texts.set(file, known);
    return known;
  };
  const entries = Object.values(ENTRIES).map((file) => path.join(dist, `${file}.d.ts`));
  const files = reach(entries, (file) =>
    specifiersIn(read(file))
      .filter(isRelative)
      .map((one) => declaration(file, one)),
  );
  for (const file of files) {
    const copy = path.join(folder, 'types', path.relative(dist, file));
    fs.mkdirSync(path.dirname(copy), { recursive: true });
    fs.writeFileSync(copy, read(file));
  }
  return [...files].flatMap((file) => packagesIn(read(file)));
}

/**
 * Imports of a folder's index become imports of the files behind it: an index leads to all of its folder, and to the
 * declarations of packages that no plugin has.
 */
function pastIndexes(file, text) {
  return text.replace(NAMED, (statement, keyword, names, specifier) => {
    if (!specifier.startsWith('..') || path.basename(specifier) !== 'index.js') return statement;
    const index = declaration(file, specifier);
    const behind = exportsOf(index);
    if (!behind) return statement;
    const lines = new Map();
    for (const name of names
      .split(',')
      .map((one) => one.trim())
      .filter(Boolean)) {
      const target = behind.get(name.replace(/^type /, '').split(' ')[0]);
      if (target === undefined) throw new Error(`${index} does not export ${name}, which ${file} imports.`);
      lines.set(target, [...(lines.get(target) ?? []), name]);
    }
    const folder = path.posix.dirname(specifier);
    return [...lines]
      .map(([target, ones]) => `${keyword} { ${ones.join(', ')} } from '${path.posix.join(folder, target)}';`)
      .join('\n');
  });
}

/** File of each name that an index exports, from its folder; undefined if it exports all of a file. */
function exportsOf(index) {
  const text = fs.readFileSync(index, 'utf8');
  if (/^export (type )?\*/m.test(text)) return undefined;
  const files = new Map();
  for (const [, , names, specifier] of text.matchAll(NAMED)) {
    for (const name of names.split(',').map((one) => one.trim().replace(/^type /, ''))) files.set(name, specifier);
  }
  return files;
}

const NAMED = /^((?:import|export)(?: type)?) \{([^}]*)\} from '([^']+)';$/gm;
/** Not the words in strings: `'import', …`. */
const SPECIFIER =
  /(?<!['"])(?:\bfrom|\bimport|\bimport\(|\brequire\(|\bcreateRequire\([^)]*\)\()\s*(['"])([\w@./:-]+)\1/g;

function specifiersIn(text) {
  return Array.from(text.matchAll(SPECIFIER), ([, , specifier]) => specifier);
}

function packagesIn(text) {
  return specifiersIn(text)
    .filter((specifier) => !isRelative(specifier) && !specifier.startsWith('node:'))
    .map((specifier) => specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/'));
}

function isRelative(specifier) {
  return specifier.startsWith('.');
}

function declaration(file, specifier) {
  return path.resolve(path.dirname(file), specifier.replace(/\.js$/, '.d.ts'));
}

/** All that the first ones lead to, themselves included. */
function reach(first, next) {
  const reached = new Set(first);
  for (const one of reached) for (const target of next(one)) reached.add(target);
  return reached;
}

writePluginPackage(path.resolve(__dirname, '..')).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
