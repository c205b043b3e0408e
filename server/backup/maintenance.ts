/*
 * Maintenance of a state without a gateway: reading and migrating the schema, backup, restore and import into
 * PostgreSQL. Each part is loaded only when its function is called.
 */

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

/** Location of the SQL state. */
export type DatabaseLocation = Pick<StateSettings, 'dataDir' | 'databaseUrl'>;

/** Whether a state exists there; assumed for a server. Read only. */
export async function isStateThere({ dataDir, databaseUrl }: DatabaseLocation): Promise<boolean> {
  return databaseUrl !== undefined || isThere(path.join(dataDir, DATABASE_FILE));
}

/**
 * The applied migrations of the database. Read only.
 * @throws GatewayError `invalid_value` for an invalid URL or schema, `upstream_unavailable`.
 */
export async function readSchema(location: DatabaseLocation): Promise<SchemaStatus> {
  if (!(await isStateThere(location))) return allPending(migrations);
  return withSchema(location, (queries) => readSchemaStatus(queries, migrations));
}

/**
 * Settings in which the gateway processes that use the database differ. Read only.
 * @throws GatewayError as {@link readSchema}.
 */
export async function readDifferences(location: DatabaseLocation): Promise<readonly string[]> {
  return withSchema(location, differencesAmong);
}

/** The result of {@link migrateState}, and the current schema. */
export interface MigrationReport extends SchemaStatus {
  ran: readonly string[];
}

/**
 * Migrates the schema, as opening the state does, and reports the result. Safe beside processes that do the same.
 * @param logger Logs if it has to wait for other sessions. Default: none.
 * @throws GatewayError as {@link readSchema}.
 */
export async function migrateState(location: DatabaseLocation, logger?: Logger): Promise<MigrationReport> {
  return withSchema(location, async (queries) => ({
    ran: await migrate(queries, migrations, logger),
    ...(await readSchemaStatus(queries, migrations)),
  }));
}

/**
 * Copies a data folder, in SQLite and on the disk, into a new folder while a gateway serves and writes. If it rejects,
 * the new folder is removed.
 * @throws GatewayError `invalid_value` for unusable folders, `internal_error` if the database is damaged,
 *   `upstream_unavailable`; errors of the system; the reason of the signal.
 */
export async function backUpState(options: BackupOptions): Promise<BackupReport> {
  const { createBackup } = await import('./backup.js');
  return createBackup(options);
}

/**
 * Restores such a copy into an empty data folder, after checking all of it.
 * @throws GatewayError `invalid_value` for unusable folders or a schema of a newer release, `internal_error` if the
 *   backup is damaged; errors of the system; the reason of the signal.
 */
export async function restoreState(options: RestoreOptions): Promise<RestoreReport> {
  const { restoreBackup } = await import('./backup-restore.js');
  return restoreBackup(options);
}

/**
 * Imports a state from SQLite into an empty PostgreSQL, all rows in one transaction; the source is not changed.
 * @throws GatewayError `invalid_value` for an unusable source or target, `internal_error` for damage and for rows that
 *   do not fit, `upstream_unavailable`; errors of the system; the reason of the signal.
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
