/*
 * Lists folders that may be missing, and creates the data folder for this user only. An error names the setting to
 * change. Node's own recursive `mkdir` is not used, because it never ends in folders that accept no others.
 */

import { mkdir, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { GatewayError, isSystemError } from './errors.js';

/** Names of everything in a folder; empty if the folder does not exist. */
export async function folderNames(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return [];
    throw error;
  }
}

/**
 * Creates the data folder, or a subfolder, and its parents, for this user only. Node's own recursive `mkdir` never ends
 * if an existing folder accepts no other, as in /proc.
 * @throws GatewayError `invalid_value` if it cannot be created.
 */
export async function makeFolder(folder: string): Promise<void> {
  try {
    await makeAll(path.resolve(folder));
  } catch (error) {
    const why = error instanceof Error && 'code' in error ? ` (${error.code})` : '';
    const message = `The folder ${folder} cannot be created${why}. Set DATA_DIR to a folder that this user may write.`;
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
    // Another process was faster, or a file has this name.
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
