import { type Logger, type Meter, openState, type State, systemClock, type Tracer } from 'mediagate';
import type { Settings } from './settings.js';

/** Who is told of what the state does. Default: nobody. */
export interface Watching {
  tracer?: Tracer;
  meter?: Meter;
}

/** The state that the settings describe. @throws what {@link openState} throws. */
export function openStateOf(settings: Settings, logger: Logger, watching: Watching = {}): Promise<State> {
  const { dataDir, databaseUrl, databasePool: databaseConnections, filesUrl, cacheUrl } = settings;
  const urls = { databaseUrl, databaseConnections, filesUrl, cacheUrl };
  return openState({ dataDir, ...urls, clock: systemClock, logger, ...watching });
}
