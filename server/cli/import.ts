import { systemClock } from 'mediagate';
import { importState } from '../backup/index.js';
import { renderTable } from '../format/index.js';
import type { Settings } from '../settings/index.js';
import { grouped } from '../usage/index.js';
import { CommandFailure, openCommandLogger, print, withProgress } from './command.js';
import { warnOfPeppers } from './restore.js';

/** Brings a state out of SQLite into the empty PostgreSQL of the settings. */
export async function importCommand(settings: Settings, { from }: { from: string }): Promise<number> {
  const { dataDir, databaseUrl, filesUrl } = settings;
  if (databaseUrl === undefined) {
    throw new CommandFailure('Set DATABASE_URL to the PostgreSQL that the state is to be brought into.', 2);
  }
  const logger = openCommandLogger(settings);
  try {
    const { tables, files, peppers } = await withProgress((lengthy) =>
      importState({ from, databaseUrl, dataDir, filesUrl, clock: systemClock, logger, ...lengthy }),
    );
    const rows = Object.entries(tables).map(([name, count]) => [name, grouped(count)]);
    print(`${renderTable(['TABLE', 'ROWS'], rows)}\nAll of them arrived, counted on both sides.\n`);
    if (files) print(`${grouped(files.copied)} files were copied.\n`);
    else print('No files were copied: those of DATA_DIR stay where they are.\n');
    if (files && files.unreadable > 0) print(`${grouped(files.unreadable)} files are damaged and were left out.\n`);
    await warnOfPeppers(settings, peppers);
    return 0;
  } finally {
    await logger.close();
  }
}
