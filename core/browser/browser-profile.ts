import { randomUUID } from 'node:crypto';
import { lstat, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isProcessRunning } from '../runtime/index.js';

/**
 * The process that made a folder is in its name, and which start of it: a container gives each start the same id. A folder
 * without its process is nobody's.
 */
const FOLDER = /^mediagate-browser-(\d+)-/;
const OWN = `mediagate-browser-${process.pid}-${randomUUID().slice(0, 8)}-`;

/** What Chrome asks for on behalf of the page, and has no argument to switch off. The headless shell reads none of it. */
const PREFERENCES = {
  // After a connection that fails it would look for the sign-in page of a public network, and open it.
  alternate_error_pages: { enabled: false },
  safebrowsing: { enabled: false },
  search: { suggest_enabled: false },
} as const;

/** Makes a folder for one run of a browser, in the system's folder for temporary files, for this user's eyes only. */
export async function createProfile(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), OWN));
  await mkdir(path.join(folder, 'Default'));
  await writeFile(path.join(folder, 'Default', 'Preferences'), JSON.stringify(PREFERENCES));
  return folder;
}

/** What a browser wrote last may come while the folder is being emptied. */
export async function removeProfile(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
}

/** Removes profiles of gateways that were killed. Best effort: what cannot be removed now is met again at the next start. */
export async function removeLeftProfiles(): Promise<void> {
  const names = await readdir(tmpdir()).catch(() => []);
  for (const name of names) {
    const pid = Number(FOLDER.exec(name)?.[1]);
    if (!Number.isSafeInteger(pid)) continue;
    if (pid === process.pid ? name.startsWith(OWN) : isProcessRunning(pid)) continue;
    const folder = path.join(tmpdir(), name);
    const { uid } = await lstat(folder).catch(() => ({ uid: -1 }));
    // The folder for temporary files is everybody's; what another user planted there is left alone.
    if (uid === process.getuid?.()) await removeProfile(folder).catch(() => {});
  }
}
