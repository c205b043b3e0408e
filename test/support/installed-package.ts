import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { packageRoot } from './package-root.js';

/** Another project in which the package was installed. */
export interface InstalledPackage {
  /** Of that project. */
  readonly folder: string;
  /** Of the package in it. */
  readonly root: string;
  remove(): Promise<void>;
}

const run = promisify(execFile);

const SOURCES = ['core', 'plugins', 'server'];
const FILES = ['.npmrc', 'LICENSE', 'README.md', 'package.json', 'plugins.config.json', 'tsconfig.json'];

/**
 * Packs a copy of the checkout as `npm run package` does, and unpacks it beside what installing it would bring: the packages
 * of the lock file that are not for development, and no other.
 */
export async function installPackage(): Promise<InstalledPackage> {
  const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-installed-'));
  const packages = path.join(folder, 'node_modules');
  const root = path.join(packages, 'mediagate');
  await mkdir(root, { recursive: true });
  await run('tar', ['-xzf', await pack(folder), '--strip-components=1', '-C', root]);
  for (const name of await broughtPackages()) {
    await mkdir(path.dirname(path.join(packages, name)), { recursive: true });
    await symlink(path.join(packageRoot, 'node_modules', name), path.join(packages, name));
  }
  return { folder, root, remove: () => rm(folder, { recursive: true, force: true }) };
}

/** @returns the tarball. */
async function pack(folder: string): Promise<string> {
  const checkout = path.join(folder, 'checkout');
  await Promise.all(
    [...SOURCES, ...FILES].map((name) =>
      cp(path.join(packageRoot, name), path.join(checkout, name), { recursive: true }),
    ),
  );
  await symlink(path.join(packageRoot, 'node_modules'), path.join(checkout, 'node_modules'));
  await run('npm', ['run', 'package', '--', '--pack-destination', folder], {
    cwd: checkout,
    env: { ...process.env, PATH: `${path.dirname(process.execPath)}${path.delimiter}${process.env.PATH}` },
  });
  await rm(checkout, { recursive: true });
  const { name, version } = JSON.parse(await readFile(path.join(packageRoot, 'package.json'), 'utf8'));
  return path.join(folder, `${name}-${version}.tgz`);
}

/** Those that are no part of another's own folder, which comes with it. */
async function broughtPackages(): Promise<string[]> {
  const { packages } = JSON.parse(await readFile(path.join(packageRoot, 'package-lock.json'), 'utf8'));
  return Object.keys(packages)
    .filter((place) => /^node_modules\/(@[^/]+\/)?[^/]+$/.test(place) && !packages[place].dev)
    .map((place) => place.replace('node_modules/', ''));
}
