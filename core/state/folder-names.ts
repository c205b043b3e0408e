import { readdir } from 'node:fs/promises';
import { isSystemError } from '../system-error.js';

/** Names of everything in a folder; none where there is no folder. */
export async function folderNames(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return [];
    throw error;
  }
}
