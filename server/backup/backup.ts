import { chmod, mkdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Clock } from '../../core/contracts/index.js';
import { DATABASE_FILE, examineSqlite, openSqliteSource, type Progress } from '../../core/database/index.js';
import { folderNames, GatewayError, isSystemError } from '../../core/runtime/index.js';
import {
  copyWithDigest,
  digestOf,
  FILE_NAME,
  type FileDigest,
  SECRET_NAME,
  syncFolder,
} from '../../core/storage/index.js';
import {
  type BackupManifest,
  FILES_FOLDER,
  MANIFEST_FILE,
  SECRETS_FOLDER,
  SUMS_FILE,
  writeSums,
} from './backup-contents.js';

export type { Progress };

export interface BackupOptions {
  /** The data folder. */
  dataDir: string;
  /** Where the backup is to be; must not be there. */
  folder: string;
  /** Of this program; noted down. */
  release: string;
  /** Whether the secrets of the data folder are to be in it. */
  secrets: boolean;
  clock: Clock;
  signal: AbortSignal;
  report(progress: Progress): void;
}

export interface BackupReport extends BackupManifest {
  /** Of everything in it. */
  bytes: number;
}

/**
 * Copies the state of a data folder, of SQLite and the disk, while a gateway serves and writes. Files come first, then the
 * database as it is at one instant, then the files that came meanwhile: so each file that a row names is there, also the
 * input image of a job that ended before its turn to be copied. The folder has its name once everything in it is synced.
 * @throws GatewayError `invalid_value` for folders that cannot be used, `internal_error` where the database is damaged;
 * errors of the system.
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
    throw refuse(`The backup would be in the data folder ${dataDir}, and be lost with it.`);
  }
  if (await exists(folder)) throw refuse(`${folder} is there already; a backup overwrites nothing.`);
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
