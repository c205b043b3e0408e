import { mkdir, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { GatewayError, isSystemError } from './errors.js';

/** Names of everything in a folder; none where there is no folder. */
export async function folderNames(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return [];
    throw error;
  }
}

/**
 * Makes the data folder, or one in it, and those above it, for this user alone. Node's own recursive `mkdir` never ends where
 * a folder that is there takes no other, as in /proc.
 * @throws GatewayError `invalid_value` where it cannot be made.
 */
export async function makeFolder(folder: string): Promise<void> {
  try {
    await makeAll(path.resolve(folder));
  } catch (error) {
    const why = error instanceof Error && 'code' in error ? ` (${error.code})` : '';
    const message = `The folder ${folder} cannot be made${why}. Set DATA_DIR to a folder that this user may write.`;
    throw new GatewayError('invalid_value', message, { param: 'DATA_DIR', cause: error });
  }
}

async function makeAll(folder: string): Promise<void> {
  if (await isFolder(folder)) return;
  const parent = path.dirname(folder);
  if (parent !== folder) await makeAll(parent);
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    // Another process was quicker, or a file has its name.
    if (!(await isFolder(folder))) throw error;
  }
}

async function isFolder(name: string): Promise<boolean> {
  try {
    return (await stat(name)).isDirectory();
  } catch (error) {
    if (isSystemError(error, 'ENOENT', 'ENOTDIR')) return false;
    throw error;
  }
}
