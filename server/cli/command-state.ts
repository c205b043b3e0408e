import { isStateThere } from '../backup/index.js';
import { openRecordsOf } from '../open-state.js';
import type { Settings } from '../settings/index.js';
import type { Records } from '../state.js';
import { openCommandLogger } from './command-logger.js';
import { CommandFailure } from './output.js';

/** Opens the state for one command, without its files. @throws CommandFailure as {@link requireState}. */
export async function withState<Result>(
  settings: Settings,
  work: (state: Records) => Promise<Result>,
): Promise<Result> {
  await requireState(settings);
  return withNewState(settings, work);
}

/** As {@link withState}, for a command that may begin a state: where there is none yet, it is made. */
export async function withNewState<Result>(
  settings: Settings,
  work: (state: Records) => Promise<Result>,
): Promise<Result> {
  const logger = openCommandLogger(settings);
  try {
    const state = await openRecordsOf(settings, logger);
    try {
      return await work(state);
    } finally {
      await state.close();
    }
  } finally {
    await logger.close();
  }
}

/** An empty state that was made by the way would answer for the one that a mistyped folder hides. @throws CommandFailure */
export async function requireState(settings: Settings): Promise<void> {
  if (await isStateThere(settings)) return;
  throw new CommandFailure(`There is no database in ${settings.dataDir}; DATA_DIR names the data folder.`, 2);
}
