/** The packed package, installed in a folder of its own. */

import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { packageRoot } from '../package-root.js';

/** Another project in which the package was installed. */
export interface InstalledPackage {
  /** Of that project. */
  readonly folder: string;
  /** Of the package in it. */
  readonly root: string;
  /** The small package for authors of plugins, not installed yet. */
  readonly pluginTarball: string;
  remove(): Promise<void>;
}

const run = promisify(execFile);

const SOURCES = ['core', 'docs', 'examples', 'plugins', 'server'];
const FILES = ['.npmrc', 'LICENSE', 'README.md', 'package.json', 'plugins.config.json', 'tsconfig.json'];

/**
 * Packs a copy of the checkout as `npm run package` does, and unpacks it beside what installing it would bring: the packages
 * of the lock file that are not for development, and no other.
 */
export async function installPackage(): Promise<InstalledPackage> {
  const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-installed-'));
  const packages = path.join(folder, 'node_modules');
  const root = path.join(packages, 'mediagate');
  const { main, plugin } = await pack(folder);
  await unpack(main, root);
  await linkPackages(packages, await broughtPackages());
  return { folder, root, pluginTarball: plugin, remove: () => rm(folder, { recursive: true, force: true }) };
}

/** Another project in which the small package for authors was installed, with what it depends on and nothing else. */
export async function installPluginPackage(tarball: string): Promise<Omit<InstalledPackage, 'pluginTarball'>> {
  const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-author-'));
  const packages = path.join(folder, 'node_modules');
  const root = await addPluginPackage(tarball, folder);
  const { dependencies } = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8'));
  await linkPackages(packages, await closureOf(Object.keys(dependencies)));
  return { folder, root, remove: () => rm(folder, { recursive: true, force: true }) };
}

/** Adds the small package to a project that has what it depends on. @returns its folder. */
export async function addPluginPackage(tarball: string, folder: string): Promise<string> {
  const root = path.join(folder, 'node_modules', 'mediagate-plugin');
  await unpack(tarball, root);
  return root;
}

async function unpack(tarball: string, root: string): Promise<void> {
  await mkdir(root, { recursive: true });
  await run('tar', ['-xzf', tarball, '--strip-components=1', '-C', root]);
}

async function linkPackages(packages: string, names: readonly string[]): Promise<void> {
  for (const name of names) {
    await mkdir(path.dirname(path.join(packages, name)), { recursive: true });
    await symlink(path.join(packageRoot, 'node_modules', name), path.join(packages, name));
  }
}

/** @returns the tarballs. */
async function pack(folder: string): Promise<{ main: string; plugin: string }> {
  const checkout = path.join(folder, 'checkout');
  await Promise.all(
    [...SOURCES, ...FILES].map((name) =>
      cp(path.join(packageRoot, name), path.join(checkout, name), { recursive: true }),
    ),
  );
  await symlink(path.join(packageRoot, 'node_modules'), path.join(checkout, 'node_modules'));
  await run('npm', ['run', 'package'], {
    cwd: checkout,
    env: {
      ...process.env,
      PATH: `${path.dirname(process.execPath)}${path.delimiter}${process.env.PATH}`,
      npm_config_pack_destination: folder,
    },
  });
  await rm(checkout, { recursive: true });
  const { name, version } = JSON.parse(await readFile(path.join(packageRoot, 'package.json'), 'utf8'));
  const tarball = (of: string) => path.join(folder, `${of}-${version}.tgz`);
  return { main: tarball(name), plugin: tarball(`${name}-plugin`) };
}

/** Packages that these need, themselves included, as the lock file has them. */
async function closureOf(names: readonly string[]): Promise<string[]> {
  const { packages } = await readLock();
  const reached = new Set(names);
  for (const name of reached) {
    for (const other of Object.keys(packages[`node_modules/${name}`]?.dependencies ?? {})) {
      // One in its own folder comes with it.
      if (!packages[`node_modules/${name}/node_modules/${other}`]) reached.add(other);
    }
  }
  return [...reached];
}

/** Packages of the lock file by their folder. */
interface LockFile {
  packages: Readonly<Record<string, { dev?: boolean; dependencies?: Readonly<Record<string, string>> }>>;
}

async function readLock(): Promise<LockFile> {
  return JSON.parse(await readFile(path.join(packageRoot, 'package-lock.json'), 'utf8'));
}

/** Those that are no part of another's own folder, which comes with it. */
async function broughtPackages(): Promise<string[]> {
  const { packages } = await readLock();
  return Object.keys(packages)
    .filter((place) => /^node_modules\/(@[^/]+\/)?[^/]+$/.test(place) && !packages[place]?.dev)
    .map((place) => place.replace('node_modules/', ''));
}
