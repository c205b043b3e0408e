/*
 * Secrets of this installation: 32 random bytes in a file of the data folder, the same at every start and for every
 * process. Two processes that create one at the same time get the same bytes, because a link fails if the name exists.
 * Access by other users of the machine is removed whenever a secret is read.
 */

import { randomBytes, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, link, lstat, open, unlink } from 'node:fs/promises';
import path from 'node:path';
import { folderNames, isSystemError, makeFolder } from '../runtime/index.js';

export const SECRET_BYTES = 32;
const OF_OTHERS = 0o077;
export const SECRET_NAME = /^[a-z0-9][a-z0-9-]{0,63}$/;

/**
 * 32 random bytes that are the same at every start, stored in `dataDir/secrets/<name>` (0600, folder 0700) and created
 * at the first call. Processes that create it at the same time get the same one.
 */
export async function loadSecret(dataDir: string, name: string): Promise<Uint8Array> {
  if (!SECRET_NAME.test(name))
    throw new Error(`"${name}" cannot name a secret: lower-case letters, digits and hyphens only.`);
  const folder = path.join(dataDir, 'secrets');
  const file = path.join(folder, name);
  const known = await readSecret(file);
  if (known) return known;
  await makeFolder(folder);
  await publish(folder, file);
  const made = await readSecret(file);
  if (!made) throw new Error(`The secret "${name}" was removed while it was created.`);
  return made;
}

async function readSecret(file: string): Promise<Uint8Array | undefined> {
  try {
    const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      await closeToOthers(handle);
      const bytes = await handle.readFile();
      if (bytes.length !== SECRET_BYTES) {
        throw new Error(
          `${file} has ${bytes.length} bytes, but a secret has ${SECRET_BYTES}. Restore it from a backup.`,
        );
      }
      return new Uint8Array(bytes);
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** Names of secrets in the data folder that other users of the machine can read or write. */
export async function secretsOfOthers(dataDir: string): Promise<string[]> {
  const folder = path.join(dataDir, 'secrets');
  const names = (await folderNames(folder)).filter((name) => SECRET_NAME.test(name));
  const open = await Promise.all(
    names.map(async (name) => ((await lstat(path.join(folder, name))).mode & OF_OTHERS) !== 0),
  );
  return names.filter((_, index) => open[index]);
}

/** Removes that access. @returns Their names. */
export async function mendSecrets(dataDir: string): Promise<string[]> {
  const names = await secretsOfOthers(dataDir);
  // Loading repairs the access of each.
  for (const name of names) await loadSecret(dataDir, name);
  return names;
}

/** A copy or a tool may have made it accessible to all users of the machine. */
async function closeToOthers(handle: FileHandle): Promise<void> {
  const { mode } = await handle.stat();
  if ((mode & OF_OTHERS) !== 0) await handle.chmod(mode & 0o700);
}

/** A link, unlike a rename, fails if the name exists: a second process uses the file of the first. */
async function publish(folder: string, file: string): Promise<void> {
  const draft = path.join(folder, `.${randomUUID()}`);
  const handle = await open(draft, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
  try {
    await handle.writeFile(randomBytes(SECRET_BYTES));
    await handle.sync();
  } finally {
    await handle.close();
  }
  try {
    await link(draft, file);
  } catch (error) {
    if (!isSystemError(error, 'EEXIST')) throw error;
  } finally {
    await unlink(draft);
  }
}
