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
import { requireState, startSpinner, withLogger, withProgress } from './command.js';
import type { OptionsOf } from './define-command.js';
import type { backUp, migrate } from './gateway/gateway-commands.js';
import { CommandFailure } from './mistakes.js';
import type { Outcome } from './output.js';

/** Copies the state into a new folder. On PostgreSQL it names the command to run instead. */
export async function backupCommand(
  settings: Settings,
  folder: string,
  { secrets = false }: OptionsOf<typeof backUp>,
): Promise<Outcome> {
  if (settings.databaseUrl !== undefined)
    throw new CommandFailure(adviceFor(settings, settings.databaseUrl, folder), 2);
  await requireState(settings);
  const { dataDir, filesUrl } = settings;
  const { tables, files, bytes } = await withProgress((lengthy) =>
    backUpState({ dataDir, folder, release: PACKAGE_VERSION, secrets, clock: systemClock, ...lengthy }),
  );
  const size = `${grouped(bytes / 1024 / 1024)} MiB`;
  const lines = [`${path.resolve(folder)}: ${rowsIn(tables)} rows, ${grouped(files.count)} files, ${size}.`];
  if (filesUrl !== undefined) lines.push('Only files that are not in the object store yet are in the backup.');
  if (!secrets && settings.keyPeppers.length === 0) {
    lines.push(
      'The secrets of DATA_DIR are not included. Without them no API key of the backup is valid. Use --secrets to include them.',
    );
  }
  return { text: lines.join('\n') };
}

function rowsIn(tables: Readonly<Record<string, number>>): string {
  return grouped(Object.values(tables).reduce((sum, count) => sum + count, 0));
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
export async function restoreCommand(settings: Settings, folder: string): Promise<Outcome> {
  const { dataDir, databaseUrl } = settings;
  if (databaseUrl !== undefined) {
    const message = 'A backup is restored into SQLite. Unset DATABASE_URL, or copy the state with "mediagate import".';
    throw new CommandFailure(message, 2);
  }
  const { manifest, schema, peppers } = await withProgress((lengthy) => restoreState({ folder, dataDir, ...lengthy }));
  const { tables, files, madeAt } = manifest;
  const lines = [`${dataDir}: ${rowsIn(tables)} rows, ${grouped(files.count)} files, as of ${madeAt}.`];
  if (schema.pending.length > 0) lines.push(`The next start migrates it from ${schema.done.at(-1)}.`);
  return { text: [...lines, ...(await warningsOf(settings, peppers))].join('\n') };
}

/** Keys that were hashed with a pepper that is not configured would all be refused. */
async function warningsOf(
  settings: Settings,
  peppers: readonly { version: number; keys: number }[],
): Promise<string[]> {
  const known = (await findPeppers(settings)).map(({ version }) => version);
  const refused = peppers.filter(({ version }) => !known.includes(version)).reduce((sum, { keys }) => sum + keys, 0);
  if (refused === 0) return [];
  return [
    `${grouped(refused)} of its keys need the secret of the gateway that made them: before the next start set KEY_PEPPER as it was there, or put its DATA_DIR/secrets into ${settings.dataDir}.`,
  ];
}

/** Imports a state from SQLite into the empty PostgreSQL of the settings. */
export async function importCommand(settings: Settings, { from }: { from: string }): Promise<Outcome> {
  const { dataDir, databaseUrl, filesUrl } = settings;
  if (databaseUrl === undefined) {
    throw new CommandFailure('Set DATABASE_URL to the PostgreSQL database that receives the state.', 2);
  }
  const { tables, files, peppers } = await withLogger(settings, (logger) =>
    withProgress((lengthy) =>
      importState({ from, databaseUrl, dataDir, filesUrl, clock: systemClock, logger, ...lengthy }),
    ),
  );
  const rows = Object.entries(tables).map(([name, count]) => [name, grouped(count)]);
  const lines = [
    renderTable(['TABLE', 'ROWS'], rows),
    'All rows were copied; both counts are equal.',
    files ? `${grouped(files.copied)} files were copied.` : 'No files were copied; those in DATA_DIR stay there.',
  ];
  if (files && files.unreadable > 0) lines.push(`${grouped(files.unreadable)} files are damaged and were left out.`);
  return { text: [...lines, ...(await warningsOf(settings, peppers))].join('\n') };
}

/** Migrates the schema, or reports what is pending. Exit code 1 if `check` finds pending migrations. */
export async function migrateCommand(settings: Settings, { check }: OptionsOf<typeof migrate>): Promise<Outcome> {
  if (check) {
    const status = await readSchema(settings);
    const lines = status.pending.map((name) => `to be done: ${name}`);
    return { text: [...lines, describe(status)].join('\n'), exitCode: status.pending.length > 0 ? 1 : 0 };
  }
  const spinner = startSpinner('migrating');
  try {
    const report = await withLogger(settings, (logger) => migrateState(settings, logger));
    return { text: [...report.ran.map((name) => `done: ${name}`), describe(report)].join('\n') };
  } finally {
    spinner?.stop();
  }
}

function describe({ done, pending, newer }: SchemaStatus): string {
  const latest = done.at(-1);
  if (pending.length > 0) {
    const found = latest === undefined ? 'The database has no schema' : `The database is at ${latest}`;
    return `${found}; "mediagate migrate" or the next start migrates it.`;
  }
  const ahead = newer.length > 0 ? ', which a newer release created and this one can use' : '';
  return `The database is up to date, at ${latest}${ahead}.`;
}
