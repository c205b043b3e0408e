/*
 * Copies the state of a data folder (SQLite, files, secrets if requested) while a gateway serves and writes. Files come
 * first, then the database as it is at one instant, then files added meanwhile, so that each file that a row names is
 * there. A backup is a folder: `state.sqlite`, `files/`, `secrets/`, `manifest.json`, and `SHA256SUMS`, which lists all
 * of it in the form that `sha256sum --check` reads. It gets its name once everything in it is synced to the disk; until
 * then, and after a failure, there is no folder with that name.
 */

import { chmod, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type Clock, type Static, Type } from '../../core/contracts/index.js';
import { DATABASE_FILE, examineSqlite, openSqliteSource, type Progress } from '../../core/database/index.js';
import { createValidator, folderNames, GatewayError, isSystemError } from '../../core/runtime/index.js';
import {
  copyWithDigest,
  digestOf,
  FILE_NAME,
  type FileDigest,
  SECRET_NAME,
  syncFolder,
} from '../../core/storage/index.js';

export type { Progress };

export interface BackupOptions {
  /** The data folder. */
  dataDir: string;
  /** Folder of the backup; must not exist. */
  folder: string;
  /** Version of this program, for the manifest. */
  release: string;
  /** Whether to include the secrets of the data folder. */
  secrets: boolean;
  clock: Clock;
  signal: AbortSignal;
  report(progress: Progress): void;
}

export interface BackupReport extends BackupManifest {
  /** Total bytes. */
  bytes: number;
}

/**
 * Copies the state of a data folder, of SQLite and the disk, while a gateway serves and writes. Files come first, then
 * the database as it is at one instant, then files added meanwhile: so each file that a row names is there, including
 * the input image of a job that ended before it was copied. The folder gets its name once everything in it is synced.
 * @throws GatewayError `invalid_value` for unusable folders, `internal_error` if the database is damaged; errors of the
 *   system.
 */
export async function createBackup(options: BackupOptions): Promise<BackupReport> {
  const folder = path.resolve(options.folder);
  await checkFolder(folder, options.dataDir);
  const draft = `${folder}.part-${process.pid}`;
  try {
    await mkdir(path.dirname(folder), { recursive: true });
    await mkdir(draft, { mode: 0o700 });
    const report = await fill(draft, options);
    await rename(draft, folder);
    await syncFolder(path.dirname(folder));
    return report;
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw error;
  }
}

async function fill(draft: string, options: BackupOptions): Promise<BackupReport> {
  const { dataDir, clock, release, secrets, signal, report } = options;
  const digests = new Map<string, FileDigest>();
  const copyAll = async (kind: typeof FILES_FOLDER | typeof SECRETS_FOLDER, name: RegExp) => {
    const from = path.join(dataDir, kind);
    await mkdir(path.join(draft, kind), { recursive: true, mode: 0o700 });
    const names = (await folderNames(from)).filter((one) => name.test(one) && !digests.has(`${kind}/${one}`));
    for (const [index, one] of names.entries()) {
      report({ step: kind, done: index, of: names.length });
      const digest = await copyWithDigest(path.join(from, one), path.join(draft, kind, one), signal);
      if (digest) digests.set(`${kind}/${one}`, digest);
    }
    await syncFolder(path.join(draft, kind));
  };

  const madeAt = new Date(clock.now()).toISOString();
  await copyAll(FILES_FOLDER, FILE_NAME);
  const source = await openSqliteSource(path.join(dataDir, DATABASE_FILE));
  try {
    source.begin();
    await copyAll(FILES_FOLDER, FILE_NAME);
    await source.copyTo(path.join(draft, DATABASE_FILE), report, signal);
  } finally {
    source.close();
  }
  const files = { count: digests.size, bytes: bytesOf(digests) };
  if (secrets) await copyAll(SECRETS_FOLDER, SECRET_NAME);

  report({ step: 'check', done: 0 });
  const database = path.join(draft, DATABASE_FILE);
  await chmod(database, 0o600);
  const { tables, migrations } = await examineSqlite(database);
  const manifest: BackupManifest = { format: 1, madeAt, release, migrations: [...migrations], tables, files, secrets };
  await writeFile(path.join(draft, MANIFEST_FILE), `${JSON.stringify(manifest, null, 2)}\n`, {
    mode: 0o600,
    flush: true,
  });
  for (const name of [DATABASE_FILE, MANIFEST_FILE]) {
    const digest = await digestOf(path.join(draft, name), signal);
    if (digest) digests.set(name, digest);
  }
  await writeFile(path.join(draft, SUMS_FILE), writeSums(digests), { mode: 0o600, flush: true });
  await syncFolder(draft);
  return { ...manifest, bytes: bytesOf(digests) };
}

function bytesOf(digests: ReadonlyMap<string, FileDigest>): number {
  return [...digests.values()].reduce((sum, { bytes }) => sum + bytes, 0);
}

async function checkFolder(folder: string, dataDir: string): Promise<void> {
  if (folder === dataDir || folder.startsWith(dataDir + path.sep)) {
    throw refuse(`The backup must not be inside the data folder ${dataDir}: it would be lost with it.`);
  }
  if (await exists(folder)) throw refuse(`${folder} exists already; a backup overwrites nothing.`);
  if (!(await exists(path.join(dataDir, DATABASE_FILE)))) throw refuse(`There is no ${DATABASE_FILE} in ${dataDir}.`);
}

async function exists(file: string): Promise<boolean> {
  try {
    await stat(file);
    return true;
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return false;
    throw error;
  }
}

function refuse(message: string): GatewayError {
  return new GatewayError('invalid_value', message, { param: 'folder' });
}

export const MANIFEST_FILE = 'manifest.json';
export const SUMS_FILE = 'SHA256SUMS';
export const FILES_FOLDER = 'files';
export const SECRETS_FOLDER = 'secrets';

const Manifest = Type.Object({
  format: Type.Literal(1),
  /** ISO 8601. */
  madeAt: Type.String(),
  /** Version of the program that made it. */
  release: Type.String(),
  migrations: Type.Array(Type.String()),
  /** Rows of each table. */
  tables: Type.Record(Type.String(), Type.Integer({ minimum: 0 })),
  files: Type.Object({ count: Type.Integer({ minimum: 0 }), bytes: Type.Integer({ minimum: 0 }) }),
  secrets: Type.Boolean(),
});

/** The manifest of a backup. */
export type BackupManifest = Static<typeof Manifest>;

const manifests = createValidator(Manifest);

/** Whether the folder has the manifest of a backup. */
export async function isBackup(folder: string): Promise<boolean> {
  try {
    return (await stat(path.join(folder, MANIFEST_FILE))).isFile();
  } catch (error) {
    if (isSystemError(error, 'ENOENT', 'ENOTDIR')) return false;
    throw error;
  }
}

/** @throws GatewayError `invalid_value` if the folder is no backup, or has a form that this release does not know. */
export async function readManifest(folder: string): Promise<BackupManifest> {
  const text = await readText(folder, MANIFEST_FILE);
  const checked = manifests.check(parse(text));
  if (checked.ok) return checked.value;
  throw refuseContents(`${path.join(folder, MANIFEST_FILE)} cannot be read by this release.`);
}

export function writeSums(digests: ReadonlyMap<string, FileDigest>): string {
  return [...digests].map(([name, { sha256 }]) => `${sha256}  ${name}\n`).join('');
}

/**
 * SHA-256 of everything in the backup, by its path in the folder.
 * @throws GatewayError `invalid_value` if the list is missing, or contains a path that no backup has.
 */
export async function readSums(folder: string): Promise<Map<string, string>> {
  const text = await readText(folder, SUMS_FILE);
  const sums = new Map<string, string>();
  for (const line of text.split('\n').filter(Boolean)) {
    const [, sum, name] = /^([0-9a-f]{64}) {2}(.+)$/.exec(line) ?? [];
    // The list must not decide where files are written to.
    if (sum === undefined || name === undefined || !isPartOfBackup(name)) {
      throw refuseContents(`${path.join(folder, SUMS_FILE)} has an invalid line.`);
    }
    sums.set(name, sum);
  }
  for (const name of [DATABASE_FILE, MANIFEST_FILE]) {
    if (!sums.has(name)) throw refuseContents(`${path.join(folder, SUMS_FILE)} does not name ${name}.`);
  }
  return sums;
}

function isPartOfBackup(name: string): boolean {
  if (name === DATABASE_FILE || name === MANIFEST_FILE) return true;
  const [folder, file = '', ...more] = name.split('/');
  if (more.length > 0) return false;
  if (folder === FILES_FOLDER) return FILE_NAME.test(file);
  return folder === SECRETS_FOLDER && SECRET_NAME.test(file);
}

async function readText(folder: string, name: string): Promise<string> {
  try {
    return await readFile(path.join(folder, name), 'utf8');
  } catch (error) {
    if (isSystemError(error, 'ENOENT', 'ENOTDIR'))
      throw refuseContents(`${folder} is not a backup: it has no ${name}.`, error);
    throw error;
  }
}

function refuseContents(message: string, cause?: unknown): GatewayError {
  return new GatewayError('invalid_value', message, { param: 'folder', cause });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Undefined is an invalid manifest, too.
    return undefined;
  }
}
