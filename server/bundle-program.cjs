'use strict';
// Bundles the program: all scripts of dist that a command or the gateway may load, in few files of dist/bundle, where run.cjs
// starts it. Node takes about a millisecond of work to find, read and link a module, and a command that lists keys has 430 of
// them; of the bundle it has 60. What is imported with `import()` is a file of its own here as well, so a command still loads
// no more than it runs.
//
// A module holds state, so it must be there once in a process. Therefore the plugins of the package are in the bundle too, and
// any other plugin that imports `mediagate/plugin` gets what the bundle has: run.cjs sets the condition `mediagate-bundle`, for
// which package.json has exports of its own. Everybody else (tests, threads, programs that import the package) has the separate
// scripts of dist. `import.meta.url` is still the address of the separate script: what is beside it, such as the script of a
// thread, is found there.

const esbuild = require('esbuild');
const fs = require('node:fs');
const path = require('node:path');
const { oldestNode } = require('./bundles.cjs');
const { exports: exported } = require('../package.json');

const root = path.resolve(__dirname, '..');
const dist = path.join(root, 'dist');
const folder = path.join(dist, 'bundle');
/** The names of the files of the last bundle. */
const listing = path.join(folder, 'files.json');

/** Writes the bundle of what the compiler has made. */
async function bundleProgram() {
  const { metafile } = await esbuild.build({
    absWorkingDir: dist,
    entryPoints: entries(),
    outdir: folder,
    chunkNames: 'part-[hash]',
    bundle: true,
    splitting: true,
    metafile: true,
    platform: 'node',
    format: 'esm',
    target: oldestNode(),
    packages: 'external',
    // Threads ask for functions by their names.
    keepNames: true,
    legalComments: 'inline',
    plugins: [SEPARATE_SCRIPTS],
    logLevel: 'warning',
  });
  removeOld(Object.keys(metafile.outputs).map((file) => path.basename(file)));
}

/** What is started, and what is imported by its name. All files are in one folder. */
function entries() {
  const plugins = fs.readdirSync(path.join(dist, 'plugins')).filter((name) => !name.startsWith('_'));
  return [
    { in: 'server/cli/cli.js', out: 'cli' },
    { in: 'core/index.js', out: 'core' },
    { in: 'core/plugin.js', out: 'plugin' },
    ...plugins.map((name) => ({ in: `plugins/${name}/index.js`, out: `plugin-${name}` })),
  ];
}

/** Finds by the name of the package what is to be bundled, and keeps the addresses of the scripts. */
const SEPARATE_SCRIPTS = {
  name: 'separate-scripts',
  setup(build) {
    build.onResolve({ filter: /^mediagate($|\/plugin$)/ }, ({ path: name }) => ({
      path: path.join(root, exported[name.replace('mediagate', '.')].default),
    }));
    build.onLoad({ filter: /\.js$/ }, ({ path: file }) => {
      const script = path.relative(folder, file).split(path.sep).join('/');
      const address = `new URL('${script}', import.meta.url).href`;
      return { contents: fs.readFileSync(file, 'utf8').replaceAll('import.meta.url', address) };
    });
  },
};

/** Removes what neither this bundle has nor the last one, of which a gateway that runs may still load parts. */
function removeOld(names) {
  const last = fs.existsSync(listing) ? JSON.parse(fs.readFileSync(listing, 'utf8')) : [];
  for (const name of fs.readdirSync(folder))
    if (!names.includes(name) && !last.includes(name)) fs.rmSync(path.join(folder, name), { recursive: true });
  fs.writeFileSync(listing, JSON.stringify(names));
}

module.exports = { bundleProgram };
