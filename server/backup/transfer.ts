import { mkdir, mkdtemp, realpath, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Clock, Logger } from '../../core/contracts/index.js';
import {
  DATABASE_FILE,
  examineSqlite,
  MIGRATION_STATEMENT_MS,
  openDatabase,
  openSqliteSource,
  type SqliteContents,
} from '../../core/database/index.js';
import { GatewayError, isSystemError } from '../../core/runtime/index.js';
import { digestOf, openFiles } from '../../core/storage/index.js';
import { migrations } from '../migrations/index.js';
import type { Progress } from './backup.js';
import { FILES_FOLDER, isBackup, readSums } from './backup-contents.js';
import { type FileTransfer, transferFiles } from './transfer-files.js';
import { refuseRows, transferTables } from './transfer-tables.js';

export interface ImportOptions {
  /** A data folder, a backup, or a file of SQLite. */
  from: string;
  /** Of a PostgreSQL that has no rows yet; see StateSettings, as the next two. */
  databaseUrl: string;
  dataDir: string;
  filesUrl?: string;
  clock: Clock;
  logger: Logger;
  signal: AbortSignal;
  report(progress: Progress): void;
}

export interface ImportReport {
  /** Rows of each table. */
  tables: Readonly<Record<string, number>>;
  /** Undefined where there were none to be copied: the data folder is the same, or a file was given. */
  files?: FileTransfer;
  /** Under which peppers keys were hashed. */
  peppers: SqliteContents['peppers'];
}

interface Source {
  database: string;
  files?: string;
  isBackup: boolean;
}

/**
 * Brings a state out of SQLite into PostgreSQL. What is read is a copy of the database, brought to this release's schema;
 * the source stays as it is, and nobody else may have it open. First the files are copied, then all rows in one
 * transaction: what is cut off has brought no row, and can be begun again.
 * @throws GatewayError `invalid_value` for a source or a target that cannot be used, `internal_error` for damage,
 * `upstream_unavailable`; errors of the system.
 */
export async function importSqlite(options: ImportOptions): Promise<ImportReport> {
  const { databaseUrl, dataDir, signal, report } = options;
  const source = await findSource(options.from, signal);
  const held = await openSqliteSource(source.database, { alone: !source.isBackup });
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    const scratch = await mkdtemp(path.join(dataDir, '.import-'));
    try {
      const copy = path.join(scratch, DATABASE_FILE);
      await held.copyTo(copy, report, signal);
      const { peppers } = await examineSqlite(copy);
      const from = await openDatabase({ dataDir: scratch, migrations });
      try {
        const to = await openDatabase({ dataDir, databaseUrl, migrations, statementMs: MIGRATION_STATEMENT_MS });
        try {
          await to.run(refuseRows, { patienceMs: MIGRATION_STATEMENT_MS });
          const files = await bringFiles(source, options);
          const tables = await transferTables({ from, to, signal, report });
          return { tables, peppers, ...(files && { files }) };
        } finally {
          await to.close();
        }
      } finally {
        await from.close();
      }
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  } finally {
    held.close();
  }
}

async function bringFiles(source: Source, options: ImportOptions): Promise<FileTransfer | undefined> {
  const { dataDir, filesUrl, clock, logger, signal, report } = options;
  if (source.files === undefined) return undefined;
  const files = await openFiles({ dataDir, filesUrl, clock, logger });
  try {
    // A gateway with an object store brings there what its own folder has.
    if (source.files === (await realpath(path.join(dataDir, FILES_FOLDER)))) return undefined;
    return await transferFiles({ folder: source.files, files, now: clock.now(), signal, report });
  } finally {
    await files.close();
  }
}

async function findSource(from: string, signal: AbortSignal): Promise<Source> {
  const place = path.resolve(from);
  if ((await kindOf(place)) === 'file') return { database: place, isBackup: false };
  const database = path.join(place, DATABASE_FILE);
  if ((await kindOf(database)) !== 'file') throw refuse(`${place} is neither a data folder nor a backup.`);
  const folder = path.join(place, FILES_FOLDER);
  const files = (await kindOf(folder)) === 'folder' ? await realpath(folder) : undefined;
  const backup = await isBackup(place);
  if (backup && (await digestOf(database, signal))?.sha256 !== (await readSums(place)).get(DATABASE_FILE)) {
    throw new GatewayError('internal_error', `The backup is damaged: ${database} is not what was backed up.`);
  }
  return { database, isBackup: backup, ...(files !== undefined && { files }) };
}

async function kindOf(place: string): Promise<'file' | 'folder' | undefined> {
  try {
    const stats = await stat(place);
    return stats.isDirectory() ? 'folder' : 'file';
  } catch (error) {
    if (isSystemError(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
}

function refuse(message: string): GatewayError {
  return new GatewayError('invalid_value', message, { param: 'from' });
}
