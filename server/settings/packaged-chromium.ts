import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { access, readdir, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { promisify } from 'node:util';
import type { BrowserExecutable } from 'mediagate';
import { unpackFile, unpackFolder } from './unpack.js';

/** A Chromium that npm has brought along, packed. */
export interface PackagedChromium {
  version: string;
  /** Folder of the packed files. */
  folder: string;
}

const PACKAGE = '@sparticuz/chromium';
/** It is built for this system alone, and for this loader (not for musl). */
const LOADER = '/lib64/ld-linux-x86-64.so.2';
const TRIAL_MS = 20_000;

/** Undefined where it is not installed, or not made for this machine. */
export function findPackagedChromium(): PackagedChromium | undefined {
  if (process.platform !== 'linux' || process.arch !== 'x64' || !existsSync(LOADER)) return undefined;
  try {
    const root = path.dirname(path.dirname(createRequire(import.meta.url).resolve(PACKAGE)));
    const { version }: { version: string } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
    return { version, folder: path.join(root, 'bin') };
  } catch {
    // Not installed.
    return undefined;
  }
}

/**
 * Unpacks it into `dataDir/browser/VERSION`, once for all processes that share the folder, and returns it ready to run.
 * The package's own code is not used: it takes whatever lies under a fixed name in the system's folder for temporary
 * files, and its arguments switch off what keeps sites apart.
 * @throws Error where it cannot be unpacked or does not run here.
 */
export async function unpackChromium(
  { version, folder }: PackagedChromium,
  dataDir: string,
): Promise<BrowserExecutable> {
  const home = path.join(dataDir, 'browser', version);
  const executable = path.join(home, 'chromium');
  const isNew = !(await exists(executable));
  if (isNew) await unpackFile(path.join(folder, 'chromium.br'), executable, { mode: 0o755 });
  const whole = await findLibraries(executable, folder, path.join(home, 'lib'));
  if (isNew) await removeOlder(path.dirname(home), version);
  return whole;
}

async function findLibraries(executable: string, folder: string, libraryFolder: string): Promise<BrowserExecutable> {
  try {
    await tryOut({ path: executable });
    return { path: executable };
  } catch {
    // Small systems lack some of its libraries, which come with it; the system's own are better kept up to date.
    if (!(await exists(libraryFolder))) await unpackFolder(path.join(folder, 'al2023.tar.br'), libraryFolder);
    const whole = { path: executable, libraryFolder };
    await tryOut(whole);
    return whole;
  }
}

async function tryOut({ path: file, libraryFolder }: BrowserExecutable): Promise<void> {
  const env = libraryFolder === undefined ? {} : { LD_LIBRARY_PATH: libraryFolder };
  await promisify(execFile)(file, ['--version'], { timeout: TRIAL_MS, env });
}

/** What an upgrade leaves behind is some 200 MB. */
async function removeOlder(folder: string, version: string): Promise<void> {
  const others = (await readdir(folder)).filter((name) => name !== version);
  await Promise.all(others.map((name) => rm(path.join(folder, name), { recursive: true, force: true })));
}

function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
