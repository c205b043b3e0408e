import { migrateState, readSchema, type SchemaStatus } from '../backup/index.js';
import type { Settings } from '../settings/index.js';
import { openCommandLogger, print, startSpinner } from './command.js';

export interface MigrateOptions {
  check?: boolean;
}

/** Brings the schema up to date, or says what that would take. Exit code 1 where `check` finds something to be done. */
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
    const found = latest === undefined ? 'There is no schema yet' : `The database is at ${latest}`;
    return `${found}; "mediagate migrate" or the next start brings it up to date.\n`;
  }
  const ahead = newer.length > 0 ? ', which a newer release has brought it to and this one can use' : '';
  return `The database is up to date, at ${latest}${ahead}.\n`;
}
