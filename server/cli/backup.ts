import path from 'node:path';
import { systemClock } from 'mediagate';
import { backUpState } from '../backup/index.js';
import { shellWord } from '../format/index.js';
import type { Settings } from '../settings/index.js';
import { grouped } from '../usage/index.js';
import { PACKAGE_VERSION } from '../version.js';
import { CommandFailure, print, requireState, withProgress } from './command.js';

export interface BackupFlags {
  secrets?: boolean;
}

/** Copies the state into a new folder. On PostgreSQL it says what to run instead. */
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
  if (filesUrl !== undefined)
    print('Of the files, those that the object store has not got yet; the others are there.\n');
  if (!secrets && settings.keyPeppers.length === 0) {
    print(
      'The secrets of DATA_DIR are not in it: without them none of its keys is good. "--secrets" takes them along.\n',
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
  return `The database is in PostgreSQL, which has its own way; nothing was copied. Run\n  ${dump}\nand give it the password by PGPASSWORD or ~/.pgpass. ${files}`;
}

function withoutPassword(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  url.password = '';
  url.searchParams.delete('password');
  return url.href;
}
