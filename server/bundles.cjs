'use strict';
// What the build takes out of packages of npm and puts into dist: scripts, each bundled into one file, and data. A package of
// hundreds of files loads several times as fast as one; and of a package that is large for what is used of it, an installation
// then has that part alone, so that it is a package of checkouts only (one ONNX runtime of four, one encoding of tokens of
// seven). Licences go with what is taken.

const esbuild = require('esbuild');
const fs = require('node:fs');
const path = require('node:path');

const root = path.resolve(__dirname, '..');
const dist = path.join(root, 'dist');
const modules = path.join(root, 'node_modules');

/** Modules that become one file together with the packages that they import; they import nothing else. */
const BUNDLED = [
  'core/contracts/typebox',
  'core/database/kysely',
  'core/media/fluent-ffmpeg',
  'core/plugins/tsyringe',
  'core/text/counting/token-thread',
  'plugins/offline_speech/onnx',
  'server/alerts/smtp',
  'server/observability/opentelemetry',
  'server/passkeys/webauthn',
  'server/site/docs/marked',
  'server/site/highlight',
];

/** Scripts of the site. Each that a page names becomes one file, and what several share or load later further ones. */
const PAGE_SCRIPTS = path.join(root, 'server', 'site', 'browser');

/** Folders of dist with the files that are copied into them, each from a folder of a package. */
const COPIED = {
  'plugins/offline_speech/weights': [
    ['@moonshine-ai/moonshine-js', ['LICENSE']],
    ['@moonshine-ai/moonshine-js/dist/model/tiny/quantized', ['encoder_model.onnx', 'decoder_model_merged.onnx']],
    ['onnxruntime-web/dist', ['ort-wasm-simd-threaded.wasm']],
  ],
};

/** Writes all of them into dist, over what the compiler made of the same modules. */
async function takeFromPackages() {
  await Promise.all([...BUNDLED.map(bundle), bundlePageScripts()]);
  for (const [folder, sources] of Object.entries(COPIED)) {
    fs.mkdirSync(path.join(dist, folder), { recursive: true });
    for (const [from, names] of sources)
      for (const name of names) fs.copyFileSync(path.join(modules, from, name), path.join(dist, folder, name));
  }
}

async function bundle(file) {
  const { metafile, outputFiles } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: [`${file}.ts`],
    outfile: path.join(dist, `${file}.js`),
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    mainFields: ['module', 'main'],
    format: 'esm',
    target: oldestNode(),
    legalComments: 'inline',
    define: { __dirname: 'import.meta.dirname' },
    // Never there: fluent-ffmpeg asks for its sources with counters of coverage.
    external: ['./lib-cov/*'],
    logLevel: 'warning',
  });
  const [{ path: output, text }] = outputFiles;
  // What was CommonJS requires modules of Node.
  const require = text.includes('typeof require')
    ? "import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);\n"
    : '';
  fs.mkdirSync(path.dirname(output), { recursive: true });
  fs.writeFileSync(output, `/*!\n${licencesOf(Object.keys(metafile.inputs))}\n*/\n${require}${text}`);
}

/** The scripts that pages name, as in `'payment.js'`. */
function pageScripts() {
  const site = path.join(root, 'server', 'site');
  const names = fs.readdirSync(PAGE_SCRIPTS, { recursive: true }).filter((name) => name.endsWith('.ts'));
  const pages = fs.readdirSync(site, { recursive: true }).filter((name) => /^(?!browser\b).*\.ts$/.test(name));
  const text = pages.map((name) => fs.readFileSync(path.join(site, name), 'utf8')).join('\n');
  const isNamed = (name) => text.includes(`'${path.basename(name, '.ts')}.js'`);
  return names.filter(isNamed).map((name) => path.join(PAGE_SCRIPTS, name));
}

/**
 * The part of `marked` that pages use. Its file ends with an instance of everything, which esbuild has to keep; that part
 * is left out here, as a fifth of the file. Options are those of `markdown.ts`, and expressions that nothing uses then are
 * left out as well.
 */
const lexerOfMarked = {
  name: 'lexer-of-marked',
  setup({ onLoad }) {
    onLoad({ filter: /marked\.esm\.js$/ }, ({ path: file }) => {
      const text = fs.readFileSync(file, 'utf8');
      const end = text.search(/var (\w+)=new \w+;function \w+\(\w+,\w+\)\{return \1\.parse\(/);
      const [, lexer] = /\b(\w+) as Lexer\b/.exec(text) ?? [];
      if (end === -1 || lexer === undefined) throw new Error('marked has another shape: see lexerOfMarked');
      let part = text
        .slice(0, end)
        .replaceAll('this.options.pedantic', '!1')
        .replaceAll(/this\.options\.(gfm|breaks)/g, '!0');
      for (const [member, rules] of text.matchAll(/,pedantic:(\w+)(?=\})/g)) {
        const rule = new RegExp(`,${rules}=\\{[^]*?\\.getRegex\\(\\)\\}(?=,\\w+=)`);
        part = part.replace(member, '').replace(rule, '');
      }
      const names = new Map();
      for (const [name] of part.matchAll(/\b\w+\b/g)) names.set(name, (names.get(name) ?? 0) + 1);
      const expression = /(?<=[{,])(\w+):\/(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/[\\\n])+\/[a-z]*,/g;
      const used = part.replace(expression, (whole, name) => (names.get(name) === 1 ? '' : whole));
      return { contents: `${used}export{${lexer} as Lexer};` };
    });
  },
};

/** Writes the scripts of pages to `server/site/scripts` of dist, with the packages that they import. */
async function bundlePageScripts() {
  const folder = path.join(dist, 'server', 'site', 'scripts');
  const { metafile } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: pageScripts(),
    outdir: folder,
    entryNames: '[name]',
    chunkNames: 'part-[hash]',
    plugins: [lexerOfMarked],
    bundle: true,
    splitting: true,
    metafile: true,
    minify: true,
    platform: 'browser',
    format: 'esm',
    target: 'es2022',
    charset: 'utf8',
    legalComments: 'none',
    logLevel: 'warning',
  });
  const made = new Set(Object.keys(metafile.outputs).map((file) => path.basename(file)));
  for (const name of fs.readdirSync(folder)) if (!made.has(name)) fs.rmSync(path.join(folder, name));
  fs.writeFileSync(path.join(folder, 'licences.txt'), `${licencesOf(Object.keys(metafile.inputs))}\n`);
}

/** The terms of all packages that the sources are of; equal ones once. The sources are below the base. */
function licencesOf(sources, base = root) {
  const namesOf = new Map();
  for (const source of sources) {
    const [, folder, name] = /^(.*node_modules\/((?:@[^/]+\/)?[^/]+))\//.exec(source) ?? [];
    if (name === undefined) continue;
    const terms = termsOf(path.resolve(base, folder));
    namesOf.set(terms, (namesOf.get(terms) ?? new Set()).add(name));
  }
  return [...namesOf].map(([terms, names]) => `${[...names].join(', ')}\n\n${terms}`).join('\n\n');
}

function termsOf(folder) {
  const file = fs.readdirSync(folder).find((name) => /^licen[cs]e/i.test(name));
  if (file !== undefined) return fs.readFileSync(path.join(folder, file), 'utf8').trim().replaceAll('*/', '* /');
  const { license, author } = require(path.join(folder, 'package.json'));
  return `Licence: ${license}${author ? `. Author: ${author.name ?? author}` : ''}`;
}

/** The oldest Node that runs the scripts, as esbuild names it. */
function oldestNode() {
  return require('../package.json').engines.node.replace('>=', 'node');
}

/** Whether the script of a source is made here. */
function isBundled(file) {
  return BUNDLED.includes(path.relative(root, file).split(path.sep).join('/').replace(/\.ts$/, ''));
}

module.exports = { BUNDLED, isBundled, licencesOf, oldestNode, takeFromPackages };
