/*
 * The whole state of the gateway as one interface: accounts, keys, limits, budgets, usage, jobs, files and cache.
 * `openState` opens and migrates it; the drivers behind it depend on the settings and are loaded only then. Several
 * processes may open the same state. `openRecords` opens the part in SQL alone, for commands that need no files. The
 * CLI, the server and tests use this interface, and every method states how long it waits for an unavailable database.
 */

import type { Logger } from '../core/contracts/index.js';
import { systemClock } from '../core/runtime/index.js';
import type { openDrivers, openRecordDrivers, StateSettings } from './open-drivers.js';
import { loadIdentitySecrets, type Settings } from './settings/index.js';

export type { StateSettings } from './open-drivers.js';

/**
 * The whole state of the gateway. `ping` resolves if the database answers within 2 s, and throws GatewayError
 * `upstream_unavailable` otherwise. An object store is asked at most every 15 s. `close` stops the job workers, finishes
 * running work, writes settlements, then closes databases and sockets; it is idempotent.
 */
export interface State extends Awaited<ReturnType<typeof openDrivers>> {}

/** The part of the state that is in SQL. */
export interface Records extends Awaited<ReturnType<typeof openRecordDrivers>> {}

/**
 * Opens the state and migrates its schema; safe while other processes use or open the same state.
 * @throws GatewayError `invalid_value` for an invalid setting, `upstream_unavailable` if the database does not answer
 *   or its file cannot be opened.
 */
export async function openState(settings: StateSettings): Promise<State> {
  const { openDrivers } = await import('./open-drivers.js');
  return openDrivers(settings);
}

/**
 * Opens the state without its files: on PostgreSQL nothing is created in the data folder.
 * @throws GatewayError as {@link openState}.
 */
export async function openRecords(settings: Omit<StateSettings, 'filesUrl'>): Promise<Records> {
  const { openRecordDrivers } = await import('./open-drivers.js');
  return openRecordDrivers(settings);
}

/** Receivers of the state's events, and prices. Default: none. */
export type Watching = Pick<StateSettings, 'tracer' | 'meter' | 'prices' | 'siblings'>;

/** Opens the state by the settings. @throws what {@link openState} throws. */
export function openStateOf(settings: Settings, logger: Logger, watching: Watching = {}): Promise<State> {
  const { filesUrl, budgetWebhookUrl } = settings;
  const budgetAlerts = budgetWebhookUrl !== undefined;
  return openState({ ...locationsOf(settings), filesUrl, budgetAlerts, clock: systemClock, logger, ...watching });
}

/** Likewise, without its files. @throws what {@link openRecords} throws. */
export function openRecordsOf(settings: Settings, logger: Logger): Promise<Records> {
  return openRecords({ ...locationsOf(settings), clock: systemClock, logger });
}

/** Where the state is, and what every process that opens it needs to know. */
function locationsOf(settings: Settings) {
  const { dataDir, databaseUrl, databasePool: databaseConnections, cacheUrl, abortCharge } = settings;
  const logRetention = { days: settings.requestLogDays, rowsPerKey: settings.requestLogRows };
  const identitySecrets = () => loadIdentitySecrets(settings);
  return { dataDir, databaseUrl, databaseConnections, cacheUrl, abortCharge, logRetention, identitySecrets };
}
