import type { State } from 'mediagate';
import { openStateOf } from '../open-state.js';
import type { Settings } from '../settings.js';
import { openCommandLogger } from './command-logger.js';

/** Opens the state for one command. */
export async function withState<Result>(settings: Settings, work: (state: State) => Promise<Result>): Promise<Result> {
  const logger = openCommandLogger(settings);
  try {
    const state = await openStateOf(settings, logger);
    try {
      return await work(state);
    } finally {
      await state.close();
    }
  } finally {
    await logger.close();
  }
}
