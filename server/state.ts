import { systemClock } from 'mediagate';
import type {
  BackgroundResponses,
  Cache,
  Clock,
  Logger,
  Meter,
  Storage,
  StoredResponses,
  Tracer,
} from '../core/contracts/index.js';
import type { Instances } from '../core/database/index.js';
import type { AccountKeys, Accounts, DeviceGrants, Sessions, SignIns, Users } from './accounts/index.js';
import type { Audit } from './audit/index.js';
import type { IdempotentResponses } from './idempotency/index.js';
import type { Windows } from './limits/index.js';
import type { Orders } from './payments/index.js';
import type { Settings } from './settings/index.js';
import type { Admissions, Budgets, ProductJobs, UsageLog } from './usage/index.js';
import type { Webhooks } from './webhooks/index.js';

export interface StateSettings {
  /** Folder of everything embedded: the SQLite file, files, secrets. Made (0700) where absent. */
  dataDir: string;
  /** `postgres://…` moves the SQL state there. Default: SQLite in dataDir. */
  databaseUrl?: string;
  /** Connections to PostgreSQL at most, besides the one that listens. Default 10. */
  databaseConnections?: number;
  /**
   * `s3://KEY:SECRET@host[:port]/bucket[/prefix][?region=…&tls=off]` moves files there; `dataDir/files` keeps what that store
   * has not got yet. Default: all of them are in `dataDir/files`.
   */
  filesUrl?: string;
  /** `redis://…` or `rediss://…` moves the cache there. Default: the SQL database. */
  cacheUrl?: string;
  clock: Clock;
  /**
   * What the rolling windows and the times of jobs go by. Default: `clock` on SQLite; on PostgreSQL the clock of the
   * database, the one clock that all nodes share. Given by tests, which move it.
   */
  windowClock?: Clock;
  /**
   * Milliseconds without a heartbeat after which a process counts as dead: then its jobs, reservations and idempotency keys are
   * released. Default 15,000. Given by tests.
   */
  processLeaseMs?: number;
  /**
   * Milliseconds after which nodes look by themselves for jobs, and for ends of jobs, that they did not hear of. Default: 1,000 on
   * SQLite, where other processes say nothing; on PostgreSQL 5,000, and 1,000 for ends. Given by tests.
   */
  jobPollMs?: number;
  /** Milliseconds until a caller is told that the database did not answer. Default 2,400. Given by tests. */
  databasePatienceMs?: number;
  logger: Logger;
  /** Default: there are no traces. */
  tracer?: Tracer;
  /** Default: nobody counts. */
  meter?: Meter;
}

/** What the gateway remembers of people: who they are, that they are signed in, what they bought. */
export interface AccountState {
  readonly users: Users;
  readonly accounts: Accounts;
  readonly sessions: Sessions;
  readonly signIns: SignIns;
  readonly deviceGrants: DeviceGrants;
  readonly orders: Orders;
  readonly audit: Audit;
}

/** Everything the gateway remembers. */
export interface State extends AccountState {
  readonly engine: 'sqlite' | 'postgres';
  readonly keys: AccountKeys;
  readonly windows: Windows;
  readonly admissions: Admissions;
  readonly budgets: Budgets;
  readonly usage: UsageLog;
  readonly storedResponses: StoredResponses;
  readonly backgroundResponses: BackgroundResponses;
  readonly idempotentResponses: IdempotentResponses;
  readonly jobs: ProductJobs;
  readonly webhooks: Webhooks;
  readonly cache: Cache;
  readonly instances: Instances;
  readonly files: Storage;
  /** Resolves when the database answers within 2 s; throws GatewayError `upstream_unavailable` otherwise. */
  ping(): Promise<void>;
  /** Resolves where what keeps the files answers; an object store is asked at most every 15 s. */
  pingFiles(): Promise<void>;
  /** Files that an object store has not got yet; 0 where there is none. */
  filesAwaiting(): Promise<number>;
  /** Resolves where the cache answers in time. */
  pingCache(): Promise<void>;
  /** Stops the workers of jobs, finishes what was begun, writes what was settled, then lets go of databases and sockets. Idempotent. */
  close(): Promise<void>;
}

/** What of the state is rows. */
export type Records = Omit<State, 'files' | 'pingFiles' | 'filesAwaiting'>;

/**
 * Opens the state and brings its schema up to date; safe while other processes use or open the same state.
 * @throws GatewayError `invalid_value` for a setting that cannot be used, `upstream_unavailable` where the database does
 * not answer or its file cannot be opened.
 */
export async function openState(settings: StateSettings): Promise<State> {
  const { openDrivers } = await import('./open-drivers.js');
  return openDrivers(settings);
}

/**
 * Opens the state without its files: on PostgreSQL nothing is made in the data folder.
 * @throws GatewayError as {@link openState}.
 */
export async function openRecords(settings: Omit<StateSettings, 'filesUrl'>): Promise<Records> {
  const { openRecordDrivers } = await import('./open-drivers.js');
  return openRecordDrivers(settings);
}

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
