import { type Logger, type Meter, systemClock, type Tracer } from 'mediagate';
import type { Settings } from './settings/index.js';
import { openRecords, openState, type Records, type State } from './state.js';

/** Who is told of what the state does. Default: nobody. */
export interface Watching {
  tracer?: Tracer;
  meter?: Meter;
}

/** The state that the settings describe. @throws what {@link openState} throws. */
export function openStateOf(settings: Settings, logger: Logger, watching: Watching = {}): Promise<State> {
  return openState({ ...placesOf(settings), filesUrl: settings.filesUrl, clock: systemClock, logger, ...watching });
}

/** Likewise, without its files. @throws what {@link openRecords} throws. */
export function openRecordsOf(settings: Settings, logger: Logger): Promise<Records> {
  return openRecords({ ...placesOf(settings), clock: systemClock, logger });
}

function placesOf({ dataDir, databaseUrl, databasePool: databaseConnections, cacheUrl }: Settings) {
  return { dataDir, databaseUrl, databaseConnections, cacheUrl };
}
