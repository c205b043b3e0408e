/** A SQLite file that has the whole schema and no rows: to copy it takes a tenth of what the migrations take. */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { systemClock } from 'mediagate';
import { createRecordingLogger } from 'mediagate/testing';
import { openState } from '../../../server/state.js';

const NAME = 'state.sqlite';

let made: Promise<Buffer> | undefined;

/** Puts the file into a data folder that is empty, for the state that is opened there next. */
export async function placeMigratedFile(dataDir: string): Promise<void> {
  made ??= make();
  await writeFile(path.join(dataDir, NAME), await made, { mode: 0o600 });
}

/** Once in a process. */
async function make(): Promise<Buffer> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'mediagate-schema-'));
  try {
    const state = await openState({ dataDir, clock: systemClock, logger: createRecordingLogger() });
    await state.close();
    return await readFile(path.join(dataDir, NAME));
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}
