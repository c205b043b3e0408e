import { type Logger, openState, type State, systemClock } from 'mediagate';
import type { Settings } from './settings.js';

/** The state that the settings describe. @throws what {@link openState} throws. */
export function openStateOf(settings: Settings, logger: Logger): Promise<State> {
  const { dataDir, databaseUrl, filesUrl, cacheUrl } = settings;
  return openState({ dataDir, databaseUrl, filesUrl, cacheUrl, clock: systemClock, logger });
}
