import { restoreState } from '../backup/index.js';
import type { Settings } from '../settings/index.js';
import { findPeppers } from '../settings/index.js';
import { grouped } from '../usage/index.js';
import { CommandFailure, print, withProgress } from './command.js';

/** Puts a backup into the empty data folder of the settings. */
export async function restoreCommand(settings: Settings, folder: string): Promise<number> {
  const { dataDir, databaseUrl } = settings;
  if (databaseUrl !== undefined) {
    const message = 'A backup goes into SQLite. Leave DATABASE_URL out, or bring it there with "mediagate import".';
    throw new CommandFailure(message, 2);
  }
  const { manifest, schema, peppers } = await withProgress((lengthy) => restoreState({ folder, dataDir, ...lengthy }));
  const rows = Object.values(manifest.tables).reduce((sum, count) => sum + count, 0);
  print(`${dataDir}: ${grouped(rows)} rows, ${grouped(manifest.files.count)} files, as of ${manifest.madeAt}.\n`);
  if (schema.pending.length > 0) print(`The next start migrates it from ${schema.done.at(-1)}.\n`);
  await warnOfPeppers(settings, peppers);
  return 0;
}

/** Keys that were hashed under a secret which these settings do not have would all be refused. */
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
