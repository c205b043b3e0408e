/*
 * Restores a backup into an empty data folder. Everything is copied to temporary names, compared with its digest and
 * checked (the database, its row counts and schema, the length of secrets) before anything is renamed; the database
 * comes last, so an interrupted restore leaves no state that a gateway would start with. The remains of an interrupted
 * restore are removed by the next one. Files that the list of digests does not name are ignored, and the list cannot
 * name a path outside of the backup.
 */

import { randomUUID } from 'node:crypto';
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import {
  DATABASE_FILE,
  examineSqlite,
  readSchemaStatus,
  type SchemaStatus,
  type SqliteContents,
  withSchema,
} from '../../core/database/index.js';
import { folderNames, GatewayError, makeFolder } from '../../core/runtime/index.js';
import { copyWithDigest, digestOf, SECRET_BYTES, syncFolder } from '../../core/storage/index.js';
import { migrations } from '../migrations.js';
import {
  type BackupManifest,
  FILES_FOLDER,
  MANIFEST_FILE,
  type Progress,
  readManifest,
  readSums,
  SECRETS_FOLDER,
} from './backup.js';

export interface RestoreOptions {
  /** The backup. */
  folder: string;
  /** Created if missing; may contain nothing but secrets. */
  dataDir: string;
  signal: AbortSignal;
  report(progress: Progress): void;
}

export interface RestoreReport {
  manifest: BackupManifest;
  schema: SchemaStatus;
  /** Peppers that the keys were hashed with. */
  peppers: SqliteContents['peppers'];
}

const DRAFT = '.restore-';
/** The folder of a mounted disk. */
const OF_DISK = 'lost+found';

/**
 * Restores a backup into an empty data folder. Everything is copied to temporary names, compared with its digest and
 * checked before any of it is renamed, the database last.
 * @throws GatewayError `invalid_value` for unusable folders or a schema of a newer release, `internal_error` if the
 *   backup is damaged; errors of the system.
 */
export async function restoreBackup({ folder, dataDir, signal, report }: RestoreOptions): Promise<RestoreReport> {
  const manifest = await readManifest(folder);
  const sums = await readSums(folder);
  const holdsSecrets = [...sums.keys()].some((name) => name.startsWith(`${SECRETS_FOLDER}/`));
  const left = await checkEmpty(dataDir, holdsSecrets);
  const draft = path.join(dataDir, `${DRAFT}${randomUUID()}`);
  for (const name of left) await rm(path.join(dataDir, name), { recursive: true });
  await makeFolder(dataDir);
  try {
    for (const kind of ['', FILES_FOLDER, ...(holdsSecrets ? [SECRETS_FOLDER] : [])]) {
      await mkdir(path.join(draft, kind), { recursive: true, mode: 0o700 });
    }
    let done = 0;
    for (const [name, sum] of sums) {
      report({ step: 'files', done, of: sums.size });
      const source = path.join(folder, name);
      const isStorable = name !== MANIFEST_FILE;
      const digest = await (isStorable
        ? copyWithDigest(source, path.join(draft, name), signal)
        : digestOf(source, signal));
      if (digest?.sha256 !== sum) throw damaged(`${source} is ${digest ? 'changed since the backup' : 'missing'}`);
      if (name.startsWith(`${SECRETS_FOLDER}/`)) await checkSecret(path.join(draft, name));
      done += 1;
    }
    report({ step: 'check', done: 0 });
    const { tables, peppers } = await examineSqlite(path.join(draft, DATABASE_FILE));
    if (!isSame(tables, manifest.tables)) throw damaged('its tables do not have the rows that its manifest lists');
    const schema = await withSchema({ dataDir: draft }, (queries) => readSchemaStatus(queries, migrations));
    signal.throwIfAborted();
    await moveIntoPlace(draft, dataDir, holdsSecrets);
    return { manifest, schema, peppers };
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** The digest proves that the copy is correct; the gateway must also be able to start with it. */
async function checkSecret(file: string): Promise<void> {
  const { size } = await stat(file);
  if (size !== SECRET_BYTES) {
    throw damaged(`${SECRETS_FOLDER}/${path.basename(file)} has ${size} bytes, but a secret has ${SECRET_BYTES}`);
  }
}

async function moveIntoPlace(draft: string, dataDir: string, holdsSecrets: boolean): Promise<void> {
  const names = [...(holdsSecrets ? [SECRETS_FOLDER] : []), FILES_FOLDER, DATABASE_FILE];
  for (const name of names) {
    await syncFolder(path.join(draft, name === DATABASE_FILE ? '' : name));
    await rename(path.join(draft, name), path.join(dataDir, name));
  }
  await syncFolder(dataDir);
}

/** @returns The remains of an interrupted restore, which must be removed. */
async function checkEmpty(dataDir: string, holdsSecrets: boolean): Promise<string[]> {
  const names = await folderNames(dataDir);
  const left = names.filter((name) => name.startsWith(DRAFT));
  const allowed = [...left, OF_DISK, ...(holdsSecrets ? [] : [SECRETS_FOLDER])];
  const other = names.find((name) => !allowed.includes(name));
  if (other === undefined) return left;
  const bare = holdsSecrets ? 'empty' : 'empty or contain only secrets';
  const message = `The data folder ${dataDir} must be ${bare}; it has ${other}.`;
  throw new GatewayError('invalid_value', message, { param: 'dataDir' });
}

function isSame(one: Readonly<Record<string, number>>, other: Readonly<Record<string, number>>): boolean {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].every((name) => one[name] === other[name]);
}

function damaged(what: string): GatewayError {
  return new GatewayError('internal_error', `The backup is damaged: ${what}.`);
}
