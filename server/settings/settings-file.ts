/*
 * Settings that last: the file `mediagate.env`, in the data folder or else in the working folder, with a line
 * `NAME=value` for each setting. Every command reads it before the settings. A variable of the shell wins over the file,
 * and an empty one counts as not set, as everywhere. The file holds secrets, so others must neither read nor write it. A
 * reload by SIGHUP reads it again: the supervisor starts new workers with the variables of the shell alone.
 */

import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { parseEnv } from 'node:util';
import { SettingsError } from './settings.js';
import { DOT_ENV_ADVICE, hasDotEnv } from './settings-help.js';

export const SETTINGS_FILE = 'mediagate.env';

/** Bytes of the file at most; all settings together take some thousands. */
const MAX_BYTES = 65_536;
/** Bits of a file's mode by which others than its owner and its group may read it, or others than its owner may write it. */
const OPEN_TO_OTHERS = 0o026;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** The file whose settings are in use. */
export interface SettingsFile {
  path: string;
  /** Variables that come from it; those that the shell sets are not among them. */
  names: readonly string[];
  /** A second file, which is not read; undefined if there is none. */
  unread?: string;
}

let used: SettingsFile | undefined;

/** The file of the last {@link loadSettingsFile}; undefined if there is none. */
export function usedSettingsFile(): SettingsFile | undefined {
  return used;
}

/**
 * Adds the variables of the file to `environment`, where it does not set them. Without a file nothing changes.
 * @throws SettingsError if the file is open to others, too large, unreadable, or sets what it cannot set.
 */
export function loadSettingsFile(environment: NodeJS.ProcessEnv): void {
  used = undefined;
  const [file, unread] = candidates(environment).filter((one) => existsSync(one));
  if (file === undefined) return;
  const values = readChecked(file);
  if ('DATA_DIR' in values && path.dirname(file) === dataFolder(environment))
    throw new SettingsError(`DATA_DIR cannot be set in ${file}, since the file was found there. Set it in the shell.`);
  const names = Object.keys(values).filter((name) => !environment[name]?.trim());
  for (const name of names) environment[name] = values[name];
  used = { path: file, names, ...(unread !== undefined && { unread }) };
}

/**
 * The text of a settings file with one setting changed in its line, or added at the end; an empty value removes it.
 * Comments and other lines stay.
 * @throws SettingsError if no quotes can hold the value.
 */
export function setInText(text: string, name: string, value: string): string {
  const lines = text.split('\n');
  const isOfName = (line: string) => new RegExp(`^\\s*(?:export\\s+)?${name}\\s*=`).test(line);
  const at = lines.findIndex(isOfName);
  const others = lines.filter((line, index) => index === at || !isOfName(line));
  if (value === '') return others.filter((line) => !isOfName(line)).join('\n');
  const line = `${name}=${quoted(name, value)}`;
  if (at >= 0) others[others.findIndex(isOfName)] = line;
  else others.splice(others.at(-1) === '' ? -1 : others.length, 0, line);
  return at >= 0 || text.endsWith('\n') ? others.join('\n') : `${others.join('\n')}\n`;
}

function quoted(name: string, value: string): string {
  if (/^[\w.,:/@%+-]+$/.test(value)) return value;
  const quotes = ["'", '"', '`'].find((mark) => !value.includes(mark) && !(mark === '"' && value.includes('\\')));
  if (quotes === undefined || /[\r\n]/.test(value))
    throw new SettingsError(`${name} must be one line with at most two kinds of quotes.`);
  return quotes + value + quotes;
}

/** Files that look like those of this program's settings, but are not read. */
export function findUnreadFiles(): { detail: string; advice: string }[] {
  return [
    ...(hasDotEnv() ? [{ detail: 'The .env file in this folder is not read.', advice: DOT_ENV_ADVICE }] : []),
    ...(used?.unread === undefined
      ? []
      : [{ detail: `${used.unread} is not read, since ${used.path} is.`, advice: 'Keep the settings in one file.' }]),
  ];
}

/** `environment` as the shell gave it: without the variables of the file. */
export function withoutSettingsFile(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const names = new Set(used?.names);
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !names.has(name)));
}

/** Where the file may be; the first one is used. */
function candidates(environment: NodeJS.ProcessEnv): string[] {
  const folders = new Set([dataFolder(environment), process.cwd()]);
  return [...folders].map((folder) => path.join(folder, SETTINGS_FILE));
}

function dataFolder(environment: NodeJS.ProcessEnv): string {
  return path.resolve(environment.DATA_DIR?.trim() || 'data');
}

function readChecked(file: string): NodeJS.Dict<string> {
  const { mode, size } = statSync(file);
  if (process.platform !== 'win32' && (mode & OPEN_TO_OTHERS) !== 0)
    throw new SettingsError(`${file} holds secrets and is open to others. Run: chmod 600 ${file}`);
  if (size > MAX_BYTES) throw new SettingsError(`${file} has ${size} bytes; ${MAX_BYTES} are accepted.`);
  const values = parseEnv(readText(file));
  const wrong = Object.keys(values).find((name) => !VARIABLE.test(name));
  if (wrong !== undefined) throw new SettingsError(`${file} has a line that is not of the form NAME=value.`);
  return values;
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new SettingsError(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}
