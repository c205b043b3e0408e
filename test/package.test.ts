import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
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

describe('the package, as another project has it', () => {
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
});

function readJson<T>(file: string): T {
  return JSON.parse(readFileSync(path.join(packageRoot, file), 'utf8')) as T;
}
