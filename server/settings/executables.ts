import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { BrowserExecutable } from 'mediagate';
import { findPackagedChromium, unpackChromium } from './packaged-chromium.js';
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
  /** Looked at alone where given. */
  configured?: string;
  /** The PATH variable. */
  searchPath?: string;
}

/** A Chromium or Chrome, perhaps still packed. */
export interface FoundChromium {
  /** What it is and where, for people. */
  description: string;
  /** Gets it ready to run. @throws Error where that fails. */
  prepare(): Promise<BrowserExecutable>;
}

/**
 * The Chromium or Chrome to use: the configured one alone, else the packaged one, which is the one that releases are tested
 * with, else the system's; undefined where there is none.
 */
export async function findChromium(search: ExecutableSearch, dataDir: string): Promise<FoundChromium | undefined> {
  const packaged = search.configured === undefined ? findPackagedChromium() : undefined;
  if (packaged) {
    return {
      description: `Chromium ${packaged.version}, which npm has brought along; unpacked at its first use`,
      prepare: () => unpackChromium(packaged, dataDir),
    };
  }
  const file = await findSystemChromium(search);
  return file === undefined ? undefined : { description: file, prepare: async () => ({ path: file }) };
}

/** The configured one alone, else the system's. */
export function findSystemChromium(search: ExecutableSearch): Promise<string | undefined> {
  return find(search, CHROMIUM_NAMES, CHROMIUM_PATHS[process.platform] ?? []);
}

/** @throws SettingsError where BROWSER_PATH or FFMPEG_PATH names nothing that can be executed: it would be missed much later. */
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

/** The ffmpeg to use: the system's, else the one that npm has brought along; undefined where there is none. */
export function findFfmpeg(search: ExecutableSearch): Promise<string | undefined> {
  return find(search, ['ffmpeg'], shippedFfmpegs());
}

/** Packages with an ffmpeg for this machine; optional, so that either may be missing. */
function shippedFfmpegs(): string[] {
  const machine = `${process.platform}-${process.arch}`;
  const { resolve } = createRequire(import.meta.url);
  return [`@ffmpeg-binary/${machine}`, `@ffmpeg-installer/${machine}`].flatMap((name) => {
    try {
      const folder = path.dirname(resolve(`${name}/package.json`));
      return [path.join(folder, `ffmpeg${EXTENSION}`)];
    } catch {
      // Not installed.
      return [];
    }
  });
}

async function find(
  { configured, searchPath = '' }: ExecutableSearch,
  names: readonly string[],
  places: readonly string[],
): Promise<string | undefined> {
  if (configured !== undefined) return (await isExecutable(configured)) ? configured : undefined;
  const folders = searchPath.split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  const candidates = names.flatMap((name) => folders.map((folder) => path.join(folder, name + EXTENSION)));
  for (const candidate of [...candidates, ...places]) {
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
    // Not there, or not ours to run: either way not the one.
    return false;
  }
}
