/** The npm package and the small package for authors, installed in another project. */

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import sharp from 'sharp';
import { anchorsOf, snippetsOf, withoutCode } from '../support/docs/documents.js';
import {
  addPluginPackage,
  type InstalledPackage,
  installPackage,
  installPluginPackage,
} from '../support/docs/installed-package.js';
import { packageRoot } from '../support/package-root.js';
import { freePort } from '../support/processes/free-port.js';
import { until } from '../support/until.js';

interface LockedPackage {
  /** Where it stands in for another one. */
  name?: string;
  dev?: boolean;
  dependencies?: Readonly<Record<string, string>>;
  optionalDependencies?: Readonly<Record<string, string>>;
}

const run = promisify(execFile);

/** Every entry point: those of package.json, and every plugin. */
const ENTRY_POINTS = [
  'mediagate',
  'mediagate/plugin',
  'mediagate/server',
  'mediagate/testing',
  'mediagate/testing/server',
  ...readdirSync(path.join(packageRoot, 'plugins'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== '_template')
    .map(({ name }) => `mediagate/plugins/${name}`),
];

/** Of which the first takes a network, and is compiled alone. */
const [links = '', pictures = '', server = '', tests = ''] = snippetsOf('docs/develop/embedding.md', 'ts');

/** In the project, and in the small package. */
const EXAMPLE = path.join('examples', 'plugin-package');

/** All that `npm install mediagate-plugin` brings, itself aside. */
const AUTHOR_PACKAGES = 40;
const AUTHOR_BYTES = 40 * 1024 * 1024;

describe('the package, installed in another project', function () {
  this.timeout(600_000);
  let installed: InstalledPackage;
  /** Into modules beside them; one run of the compiler, since most of it is reading declarations. */
  let compiled: Promise<void>;

  before(async () => {
    installed = await installPackage();
    compiled = compile(installed, {
      'entries.mts': ENTRY_POINTS.map((name, index) => `export * as entry${index} from '${name}';`).join('\n'),
      'links.mts': links,
      'pictures.mts': pictures,
      'server.mts': server,
      'tests.mts': tests,
    });
    compiled.catch(() => {});
  });

  after(() => installed?.remove());

  it('needs none of the overrides of a checkout', () => {
    const { overrides } = readJson<{ overrides: Readonly<Record<string, LockedPackage['dependencies']>> }>(
      'package.json',
    );
    const { packages } = readJson<{ packages: Readonly<Record<string, LockedPackage>> }>('package-lock.json');
    const brought = Object.entries(packages).filter(([, { dev }]) => !dev);
    const keptAway = Object.entries(overrides).flatMap(([name, replaced = {}]) => [
      name,
      ...Object.keys(replaced).filter((one) => replaced[one]?.startsWith('npm:')),
    ]);
    const asked = brought.flatMap(([place, { dependencies, optionalDependencies }]) =>
      Object.keys({ ...dependencies, ...optionalDependencies }).map((name) => ({ name, by: place || 'mediagate' })),
    );
    expect(keptAway).to.include('@huggingface/transformers');
    expect(asked.filter(({ name }) => [...keptAway, 'onnxruntime-node'].includes(name))).to.deep.equal([]);
    expect(brought.filter(([place, { name }]) => place !== '' && name !== undefined)).to.deep.equal([]);
  });

  it('contains the weights of offline_speech, under their licence, and one runtime for them', () => {
    const brought = readdirSync(path.join(installed.root, 'dist/plugins/offline_speech/weights'));
    expect(brought).to.have.members([
      'LICENSE',
      'encoder_model.onnx',
      'decoder_model_merged.onnx',
      'ort-wasm-simd-threaded.wasm',
    ]);
  });

  it('starts without the part of the launcher that compiles', async () => {
    const server = path.join(installed.root, 'server');
    expect(readdirSync(server).filter((name) => name.endsWith('.cjs'))).to.deep.equal(['run.cjs']);
    const { stdout } = await run(process.execPath, [path.join(server, 'run.cjs'), '--version']);
    expect(stdout).to.match(/^\d+\.\d+\.\d+\n$/);
  });

  it('names no source maps', async () => {
    const scripts = readdirSync(path.join(installed.root, 'dist'), { recursive: true, encoding: 'utf8' });
    const naming = [];
    for (const file of scripts.filter((name) => name.endsWith('.js'))) {
      const text = await readFile(path.join(installed.root, 'dist', file), 'utf8');
      if (/^\/\/# sourceMappingURL=/m.test(text)) naming.push(file);
    }
    expect(scripts.filter((name) => name.endsWith('.map'))).to.deep.equal([]);
    expect(naming).to.deep.equal([]);
  });

  it('compiles with the strictest settings, its declarations included, and so do the examples of embedding', () =>
    compiled);

  it('can be loaded by require as well', async () => {
    const script = `for (const name of ${JSON.stringify(ENTRY_POINTS)}) if (Object.keys(require(name)).length === 0) throw name;`;
    await run(process.execPath, ['-e', script], { cwd: installed.folder });
  });

  describe('runs the examples of embedding:', () => {
    it('images', async () => {
      await compiled;
      await run(process.execPath, ['pictures.mjs'], { cwd: installed.folder });
      const { width, height } = await sharp(await readFile(path.join(installed.folder, 'tug.png'))).metadata();
      expect({ width, height }).to.deep.equal({ width: 1024, height: 1536 });
    });

    it('the whole server', async () => {
      await compiled;
      const port = await freePort();
      const child = spawn(process.execPath, ['server.mjs'], {
        cwd: installed.folder,
        env: { PATH: process.env.PATH, PORT: String(port), BROWSER: 'off', LOG_LEVEL: 'warn' },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      try {
        const [said] = await once(child.stdout, 'data');
        const key = /sk-mg-\S+/.exec(String(said))?.[0];
        const url = `http://127.0.0.1:${port}`;
        const own = await until(() => fetch(`${url}/hello`).catch(() => undefined), 50);
        expect(await own.text()).to.equal('of my own');
        const models = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
        expect(models.status).to.equal(200);
        expect((await fetch(`${url}/nowhere`)).status).to.equal(404);
        expect((await fetch(url)).headers.get('content-type')).to.match(/^text\/html/);
        child.kill('SIGTERM');
        const [code] = await once(child, 'exit');
        expect(code).to.equal(0);
      } finally {
        child.kill('SIGKILL');
      }
    });

    it('tests', async () => {
      await compiled;
      await run(process.execPath, ['tests.mjs'], { cwd: installed.folder });
    });

    it('CommonJS', async () => {
      const [required = ''] = snippetsOf('docs/develop/embedding.md', 'js');
      const { stdout } = await run(process.execPath, ['--input-type=commonjs', '-e', required], {
        cwd: installed.folder,
      });
      expect(stdout).to.contain('vidsite');
    });
  });

  it('serves the plugins of the example package, which asks it over HTTP', async () => {
    await addPluginPackage(installed.pluginTarball, installed.folder);
    const place = await addExample(path.join(packageRoot, EXAMPLE), installed.folder);
    const { name, scripts } = readJson<ExampleManifest>('examples/plugin-package/package.json');
    expect(await runScript(place, scripts['test:http'])).to.contain('over HTTP');

    await symlink(place, path.join(installed.folder, 'node_modules', name));
    const [config = ''] = snippetsOf('docs/develop/plugins.md', 'json', '## Load it');
    await writeFile(path.join(installed.folder, 'plugins.config.json'), config);
    const { stdout } = await run(
      process.execPath,
      [path.join(installed.root, 'dist/server/cli/cli.js'), 'plugins', '--json'],
      { cwd: installed.folder, env: { PATH: process.env.PATH, BROWSER: 'off', LANTERN_KEY: 'lantern-key' } },
    );
    const entries: { id: string; state: string }[] = JSON.parse(stdout);
    expect(entries.map(({ id, state }) => `${id} ${state}`)).to.deep.equal([
      'vidsite ready',
      'reelbox ready',
      'lantern_image ready',
      'sketch_image disabled',
    ]);
  });

  describe('contains a small package for authors of plugins, which', () => {
    let author: Omit<InstalledPackage, 'pluginTarball'>;

    before(async () => {
      author = await installPluginPackage(installed.pluginTarball);
    });

    after(() => author?.remove());

    it('takes at most 40 MB with its dependencies', () => {
      const packages = path.join(author.folder, 'node_modules');
      const names = readdirSync(packages).flatMap((name) =>
        name.startsWith('@') ? readdirSync(path.join(packages, name)).map((one) => `${name}/${one}`) : name,
      );
      expect(names).to.include('ajv').and.not.include.members(['sharp']);
      expect(names.length).to.be.lessThan(AUTHOR_PACKAGES);
      expect(sizeOf(packages)).to.be.lessThan(AUTHOR_BYTES);
    });

    it('exports everything of mediagate/plugin and mediagate/testing', async () => {
      for (const [name, whole] of [
        ['mediagate-plugin', await import('mediagate/plugin')],
        ['mediagate-plugin/testing', await import('mediagate/testing')],
      ] as const) {
        const script = `console.log(JSON.stringify(Object.keys(await import('${name}'))))`;
        const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script], { cwd: author.folder });
        expect(JSON.parse(stdout)).to.have.members(Object.keys(whole));
      }
    });

    it('distinguishes temporary from permanent errors', async () => {
      const codes = ['upstream_unavailable', 'audio_unavailable', 'upstream_timeout', 'removed', 'invalid_value'];
      const { GatewayError } = await import('mediagate/plugin');
      const script = `const { GatewayError } = await import('mediagate-plugin');
        console.log(JSON.stringify(${JSON.stringify(codes)}.map((code) => new GatewayError(code, code).retryable)));`;
      const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script], { cwd: author.folder });
      expect(JSON.parse(stdout)).to.deep.equal([true, true, true, false, false]);
      expect(codes.map((code) => new GatewayError(code as 'removed', code).retryable)).to.deep.equal(
        JSON.parse(stdout),
      );
    });

    it('keeps the licence of what is bundled into it', async () => {
      const scripts = readdirSync(author.root).filter((name) => name.endsWith('.js'));
      const texts = await Promise.all(scripts.map((name) => readFile(path.join(author.root, name), 'utf8')));
      expect(texts.filter((text) => /^typebox\n\nThe MIT License/im.test(text))).to.have.length(1);
    });

    it('has the pages for authors, with working links', async () => {
      const pages = globSync('{README,docs/**/*}.md', { cwd: author.root });
      expect(pages).to.include('README.md').and.have.length.greaterThan(5);
      const broken: string[] = [];
      for (const page of pages) {
        const text = withoutCode(await readFile(path.join(author.root, page), 'utf8'));
        for (const [, link = ''] of text.matchAll(/\]\(((?![a-z]+:)[^)\s]+)\)/g)) {
          const [file = '', anchor = ''] = link.split('#');
          const target = path.join(author.root, file === '' ? page : path.join(path.dirname(page), file));
          const anchors = existsSync(target) ? ['', ...anchorsOf(await readFile(target, 'utf8'))] : [];
          if (!anchors.includes(anchor)) broken.push(`${page}: ${link}`);
        }
      }
      expect(broken).to.deep.equal([]);
    });

    it('compiles the example package and passes its tests', async () => {
      const place = await addExample(path.join(author.root, EXAMPLE), author.folder);
      const { scripts } = readJson<ExampleManifest>('examples/plugin-package/package.json');
      const output = await runScript(place, scripts.test);
      const models = ['image provider lantern_image', 'image provider ember_image', 'text provider tide_text'];
      for (const title of ['extractor reelbox', ...models]) expect(output).to.contain(title);
    });

    it('compiles with the strictest settings, its declarations included', () =>
      compile(author, {
        'entries.mts':
          "export * as plugin from 'mediagate-plugin';\nexport * as testing from 'mediagate-plugin/testing';",
      }));
  });
});

interface ExampleManifest {
  name: string;
  scripts: Readonly<Record<'test' | 'test:http', string>>;
}

/** A copy of the example package beside what a project has installed, with what it brings for its own tests. */
async function addExample(source: string, folder: string): Promise<string> {
  const place = path.join(folder, 'example');
  await cp(source, place, {
    recursive: true,
    filter: (file) => !/[\\/](?:node_modules|dist)$/.test(path.relative(source, file)),
  });
  for (const name of ['@types/mocha', 'mocha', 'sharp']) {
    const link = path.join(folder, 'node_modules', name);
    await mkdir(path.dirname(link), { recursive: true });
    if (!existsSync(link)) await symlink(path.join(packageRoot, 'node_modules', name), link);
  }
  return place;
}

/** Runs a script of the example package that compiles and tests it. @returns its output. */
async function runScript(place: string, script: string): Promise<string> {
  const [, settings = '', words = ''] = /^tsc( -p \S+)? && mocha (.*)$/.exec(script) ?? [];
  // Mocha's own limit fails tests on a busy machine.
  expect(words).to.match(/--timeout [1-9]\d{4}\b/);
  // The declarations of the packages are checked where all of them are compiled, which takes most of the time.
  const strictest = ['--exactOptionalPropertyTypes', '--skipLibCheck', '--preserveSymlinks'];
  await runCompiler(place, [...settings.split(' ').filter(Boolean), ...strictest]);
  const mocha = path.join(packageRoot, 'node_modules', 'mocha', 'bin', 'mocha.js');
  return (await run(process.execPath, [mocha, ...words.split(' ')], { cwd: place })).stdout;
}

/** Bytes on a disk with blocks of 4 kB, links followed. */
function sizeOf(folder: string): number {
  const block = 4096;
  return readdirSync(folder).reduce((sum, name) => {
    const file = path.join(folder, name);
    const stat = statSync(file);
    return sum + (stat.isDirectory() ? sizeOf(file) : Math.ceil(stat.size / block) * block);
  }, block);
}

/**
 * Compiles modules of another project.
 * @throws what the compiler says, where it says something.
 */
async function compile(
  { folder }: Pick<InstalledPackage, 'folder'>,
  modules: Readonly<Record<string, string>>,
): Promise<void> {
  const names = Object.keys(modules);
  await Promise.all(names.map((name) => writeFile(path.join(folder, name), modules[name] ?? '')));
  const strict = ['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', '--skipLibCheck', 'false'];
  const kind = ['--module', 'nodenext', '--target', 'es2023', '--preserveSymlinks'];
  await runCompiler(folder, [...strict, ...kind, ...names]);
}

async function runCompiler(folder: string, args: readonly string[]): Promise<void> {
  const compiler = path.join(packageRoot, 'node_modules', 'typescript', 'bin', 'tsc');
  // Each of several checkers would read the declarations for itself.
  await run(process.execPath, [compiler, '--checkers', '1', ...args], { cwd: folder }).catch((error) => {
    throw new Error(`A strict project does not compile:\n${error.stdout}`);
  });
}

function readJson<T>(file: string): T {
  return JSON.parse(readFileSync(path.join(packageRoot, file), 'utf8')) as T;
}
