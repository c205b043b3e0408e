/*
 * The commands that back up, restore, import and migrate the state. A state in PostgreSQL is not copied; the output
 * names the `pg_dump` command instead, without the password. Restore and import need an empty target. Both warn if keys
 * were hashed with a pepper that is not configured here, as all of them would be refused. `migrate --check` changes
 * nothing and exits with 1 if migrations are pending.
 */

import path from 'node:path';
import { systemClock } from '../../core/runtime/index.js';
import {
  backUpState,
  importState,
  migrateState,
  readSchema,
  restoreState,
  type SchemaStatus,
} from '../backup/index.js';
import { renderTable, shellWord } from '../format/index.js';
import { findPeppers, type Settings } from '../settings/index.js';
import { grouped } from '../usage/index.js';
import { PACKAGE_VERSION } from '../version.js';
import { CommandFailure, openCommandLogger, print, requireState, startSpinner, withProgress } from './command.js';

export interface BackupFlags {
  secrets?: boolean;
}

/** Copies the state into a new folder. On PostgreSQL it names the command to run instead. */
export async function backupCommand(
  settings: Settings,
  folder: string,
  { secrets = false }: BackupFlags,
): Promise<number> {
  if (settings.databaseUrl !== undefined)
    throw new CommandFailure(adviceFor(settings, settings.databaseUrl, folder), 2);
  await requireState(settings);
  const { dataDir, filesUrl } = settings;
  const report = await withProgress((lengthy) =>
    backUpState({ dataDir, folder, release: PACKAGE_VERSION, secrets, clock: systemClock, ...lengthy }),
  );
  const rows = Object.values(report.tables).reduce((sum, count) => sum + count, 0);
  const size = `${grouped(report.bytes / 1024 / 1024)} MiB`;
  print(`${path.resolve(folder)}: ${grouped(rows)} rows, ${grouped(report.files.count)} files, ${size}.\n`);
  if (filesUrl !== undefined) print('Only files that are not in the object store yet are in the backup.\n');
  if (!secrets && settings.keyPeppers.length === 0) {
    print(
      'The secrets of DATA_DIR are not included. Without them no API key of the backup is valid. Use --secrets to include them.\n',
    );
  }
  return 0;
}

function adviceFor({ dataDir, filesUrl }: Settings, databaseUrl: string, folder: string): string {
  const dump = `pg_dump --format=custom --no-owner --file=${shellWord(`${folder}.dump`)} ${shellWord(withoutPassword(databaseUrl))}`;
  const files =
    filesUrl === undefined
      ? `Copy ${path.join(dataDir, 'files')} of every node before it and after it.`
      : 'The files are in the object store.';
  return `The database is in PostgreSQL; nothing was copied. Run\n  ${dump}\nand set the password in PGPASSWORD or ~/.pgpass. ${files}`;
}

function withoutPassword(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  url.password = '';
  url.searchParams.delete('password');
  return url.href;
}

/** Restores a backup into the empty data folder of the settings. */
export async function restoreCommand(settings: Settings, folder: string): Promise<number> {
  const { dataDir, databaseUrl } = settings;
  if (databaseUrl !== undefined) {
    const message = 'A backup is restored into SQLite. Unset DATABASE_URL, or copy the state with "mediagate import".';
    throw new CommandFailure(message, 2);
  }
  const { manifest, schema, peppers } = await withProgress((lengthy) => restoreState({ folder, dataDir, ...lengthy }));
  const rows = Object.values(manifest.tables).reduce((sum, count) => sum + count, 0);
  print(`${dataDir}: ${grouped(rows)} rows, ${grouped(manifest.files.count)} files, as of ${manifest.madeAt}.\n`);
  if (schema.pending.length > 0) print(`The next start migrates it from ${schema.done.at(-1)}.\n`);
  await warnOfPeppers(settings, peppers);
  return 0;
}

/** Keys that were hashed with a pepper that is not configured would all be refused. */
export async function warnOfPeppers(
  settings: Settings,
  peppers: readonly { version: number; keys: number }[],
): Promise<void> {
  const known = (await findPeppers(settings)).map(({ version }) => version);
  const refused = peppers.filter(({ version }) => !known.includes(version)).reduce((sum, { keys }) => sum + keys, 0);
  if (refused === 0) return;
  print(
    `${grouped(refused)} of its keys need the secret of the gateway that made them: before the next start set KEY_PEPPER as it was there, or put its DATA_DIR/secrets into ${settings.dataDir}.\n`,
  );
}

/** Imports a state from SQLite into the empty PostgreSQL of the settings. */
export async function importCommand(settings: Settings, { from }: { from: string }): Promise<number> {
  const { dataDir, databaseUrl, filesUrl } = settings;
  if (databaseUrl === undefined) {
    throw new CommandFailure('Set DATABASE_URL to the PostgreSQL database that receives the state.', 2);
  }
  const logger = openCommandLogger(settings);
  try {
    const { tables, files, peppers } = await withProgress((lengthy) =>
      importState({ from, databaseUrl, dataDir, filesUrl, clock: systemClock, logger, ...lengthy }),
    );
    const rows = Object.entries(tables).map(([name, count]) => [name, grouped(count)]);
    print(`${renderTable(['TABLE', 'ROWS'], rows)}\nAll rows were copied; both counts are equal.\n`);
    if (files) print(`${grouped(files.copied)} files were copied.\n`);
    else print('No files were copied; those in DATA_DIR stay there.\n');
    if (files && files.unreadable > 0) print(`${grouped(files.unreadable)} files are damaged and were left out.\n`);
    await warnOfPeppers(settings, peppers);
    return 0;
  } finally {
    await logger.close();
  }
}

export interface MigrateOptions {
  check?: boolean;
}

/** Migrates the schema, or reports what is pending. Exit code 1 if `check` finds pending migrations. */
export async function migrateCommand(settings: Settings, { check }: MigrateOptions): Promise<number> {
  if (check) {
    const status = await readSchema(settings);
    print(status.pending.map((name) => `to be done: ${name}\n`).join('') + describe(status));
    return status.pending.length > 0 ? 1 : 0;
  }
  const spinner = startSpinner('migrating');
  try {
    const report = await migrateState(settings, openCommandLogger(settings));
    spinner?.stop();
    print(report.ran.map((name) => `done: ${name}\n`).join('') + describe(report));
    return 0;
  } finally {
    spinner?.stop();
  }
}

function describe({ done, pending, newer }: SchemaStatus): string {
  const latest = done.at(-1);
  if (pending.length > 0) {
    const found = latest === undefined ? 'The database has no schema' : `The database is at ${latest}`;
    return `${found}; "mediagate migrate" or the next start migrates it.\n`;
  }
  const ahead = newer.length > 0 ? ', which a newer release created and this one can use' : '';
  return `The database is up to date, at ${latest}${ahead}.\n`;
}
