import { access } from 'node:fs/promises';
import path from 'node:path';
import type { Logger } from '../../core/contracts/index.js';
import {
  allPending,
  DATABASE_FILE,
  differencesAmong,
  migrate,
  readSchemaStatus,
  type SchemaStatus,
  withSchema,
} from '../../core/database/index.js';
import { isSystemError } from '../../core/runtime/index.js';
import { migrations } from '../migrations.js';
import type { StateSettings } from '../state.js';
import type { BackupOptions, BackupReport } from './backup.js';
import type { RestoreOptions, RestoreReport } from './backup-restore.js';
import type { ImportOptions, ImportReport } from './transfer.js';

export type { SchemaStatus } from '../../core/database/index.js';
export type { BackupOptions, BackupReport, Progress } from './backup.js';
export type { RestoreOptions, RestoreReport } from './backup-restore.js';
export type { ImportOptions, ImportReport } from './transfer.js';

/** Where the SQL state is. */
export type DatabasePlace = Pick<StateSettings, 'dataDir' | 'databaseUrl'>;

/** Whether a state was begun there; of a server it is taken for granted. Changes nothing, and makes none. */
export async function isStateThere({ dataDir, databaseUrl }: DatabasePlace): Promise<boolean> {
  return databaseUrl !== undefined || isThere(path.join(dataDir, DATABASE_FILE));
}

/**
 * Which migrations the database has had. Changes nothing, and makes none.
 * @throws GatewayError `invalid_value` for a URL or a schema that cannot be used, `upstream_unavailable`.
 */
export async function readSchema(place: DatabasePlace): Promise<SchemaStatus> {
  if (!(await isStateThere(place))) return allPending(migrations);
  return withSchema(place, (queries) => readSchemaStatus(queries, migrations));
}

/**
 * Settings in which the gateway processes that use the database differ. Changes nothing.
 * @throws GatewayError as {@link readSchema}.
 */
export async function readDifferences(place: DatabasePlace): Promise<readonly string[]> {
  return withSchema(place, differencesAmong);
}

/** What a call of {@link migrateState} did, and what the schema is since. */
export interface MigrationReport extends SchemaStatus {
  ran: readonly string[];
}

/**
 * Brings the schema up to date, as opening the state does, and says what it did. Safe beside processes that do the same.
 * @param logger Is told where it has to wait for other sessions. Default: nobody.
 * @throws GatewayError as {@link readSchema}.
 */
export async function migrateState(place: DatabasePlace, logger?: Logger): Promise<MigrationReport> {
  return withSchema(place, async (queries) => ({
    ran: await migrate(queries, migrations, logger),
    ...(await readSchemaStatus(queries, migrations)),
  }));
}

/**
 * Copies what a data folder keeps, in SQLite and on the disk, into a new folder while a gateway serves and writes. Where it
 * rejects, nothing is left of it.
 * @throws GatewayError `invalid_value` for folders that cannot be used, `internal_error` where the database is damaged,
 * `upstream_unavailable`; errors of the system; the reason of the signal.
 */
export async function backUpState(options: BackupOptions): Promise<BackupReport> {
  const { createBackup } = await import('./backup.js');
  return createBackup(options);
}

/**
 * Puts such a copy into an empty data folder, once all of it was checked.
 * @throws GatewayError `invalid_value` for folders that cannot be used or a schema of a newer release, `internal_error` where
 * the backup is damaged; errors of the system; the reason of the signal.
 */
export async function restoreState(options: RestoreOptions): Promise<RestoreReport> {
  const { restoreBackup } = await import('./backup-restore.js');
  return restoreBackup(options);
}

/**
 * Brings a state out of SQLite into an empty PostgreSQL, all rows in one transaction; the source stays as it is.
 * @throws GatewayError `invalid_value` for a source or a target that cannot be used, `internal_error` for damage and for rows
 * that do not fit, `upstream_unavailable`; errors of the system; the reason of the signal.
 */
export async function importState(options: ImportOptions): Promise<ImportReport> {
  const { importSqlite } = await import('./transfer.js');
  return importSqlite(options);
}

async function isThere(file: string): Promise<boolean> {
  try {
    await access(file);
    return true;
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return false;
    throw error;
  }
}
