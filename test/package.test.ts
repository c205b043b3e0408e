import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { type InstalledPackage, installPackage } from './support/installed-package.js';
import { packageRoot } from './support/package-root.js';

interface LockedPackage {
  /** Where it stands in for another one. */
  name?: string;
  dev?: boolean;
  dependencies?: Readonly<Record<string, string>>;
  optionalDependencies?: Readonly<Record<string, string>>;
}

const manifest = readJson<{
  dependencies: Readonly<Record<string, string>>;
  overrides: Readonly<Record<string, Readonly<Record<string, string>>>>;
}>('package.json');

const run = promisify(execFile);

/** Every entry point: those of package.json, and every plugin. */
const ENTRY_POINTS = [
  'mediagate',
  'mediagate/server',
  'mediagate/testing',
  ...readdirSync(path.join(packageRoot, 'plugins'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== '_template')
    .map(({ name }) => `mediagate/plugins/${name}`),
];

describe('the package, as another project has it', function () {
  this.timeout(240_000);
  let installed: InstalledPackage;

  before(async () => {
    installed = await installPackage();
  });

  after(() => installed?.remove());

  it('depends on nothing that is only bearable with the overrides, which hold in a checkout alone', () => {
    const { packages } = readJson<{ packages: Readonly<Record<string, LockedPackage>> }>('package-lock.json');
    const brought = Object.entries(packages).filter(([, { dev }]) => !dev);
    const keptAway = Object.entries(manifest.overrides).flatMap(([name, replaced]) => [
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

  it('brings what offline_speech hears with, under its licence', () => {
    const brought = readdirSync(path.join(installed.root, 'dist/plugins/offline_speech/weights'));
    expect(brought).to.have.members(['LICENSE', 'encoder_model.onnx', 'decoder_model_merged.onnx']);
  });

  it('names no source maps, since it has none', async () => {
    const scripts = readdirSync(path.join(installed.root, 'dist'), { recursive: true, encoding: 'utf8' });
    const naming = [];
    for (const file of scripts.filter((name) => name.endsWith('.js'))) {
      const text = await readFile(path.join(installed.root, 'dist', file), 'utf8');
      if (/^\/\/# sourceMappingURL=/m.test(text)) naming.push(file);
    }
    expect(scripts.filter((name) => name.endsWith('.map'))).to.deep.equal([]);
    expect(naming).to.deep.equal([]);
  });

  it('compiles with the strictest settings, its declarations included', async () => {
    const text = ENTRY_POINTS.map((name, index) => `export * as entry${index} from '${name}';`).join('\n');
    await compile(installed, 'entries.mts', text);
  });

  it('is to be had by require as well', async () => {
    const script = `for (const name of ${JSON.stringify(ENTRY_POINTS)}) if (Object.keys(require(name)).length === 0) throw name;`;
    await run(process.execPath, ['-e', script], { cwd: installed.folder });
  });
});

/** @throws what the compiler says, where it says something. */
async function compile({ folder }: InstalledPackage, name: string, text: string): Promise<void> {
  await writeFile(path.join(folder, name), text);
  const strict = ['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', '--skipLibCheck', 'false'];
  const modules = ['--module', 'nodenext', '--target', 'es2023', '--noEmit', '--preserveSymlinks'];
  const compiler = path.join(packageRoot, 'node_modules', 'typescript', 'bin', 'tsc');
  await run(process.execPath, [compiler, ...strict, ...modules, name], { cwd: folder }).catch((error) => {
    throw new Error(`${name} does not compile:\n${error.stdout}`);
  });
}

function readJson<T>(file: string): T {
  return JSON.parse(readFileSync(path.join(packageRoot, file), 'utf8')) as T;
}
