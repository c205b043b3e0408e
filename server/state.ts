/*
 * The whole state of the gateway as one interface: accounts, keys, limits, budgets, usage, jobs, files and cache.
 * `openState` opens and migrates it; the drivers behind it depend on the settings and are loaded only then. Several
 * processes may open the same state. `openRecords` opens the part in SQL alone, for commands that need no files. The
 * CLI, the server and tests use this interface, and every method states how long it waits for an unavailable database.
 */

import type { BackgroundResponses, Cache, Clock, Logger, Meter, Storage, Tracer } from '../core/contracts/index.js';
import type { Instances } from '../core/database/index.js';
import { type Siblings, systemClock } from '../core/runtime/index.js';
import type { Accounts, DeviceGrants, IdentitySecrets, Sessions, SignIns, Users } from './accounts/index.js';
import type { Audit } from './audit/index.js';
import type { BudgetAlerts, BudgetOwners, Budgets } from './budgets/index.js';
import type { IdempotentResponses } from './idempotency/index.js';
import type { ApiKeys } from './keys/index.js';
import type { RateLimits } from './limits/index.js';
import type { ClosableStoredResponses } from './models/index.js';
import type { Orders } from './payments/index.js';
import type { Erasures, PersonalExport } from './personal-data/index.js';
import type { PlanTerms } from './plans/index.js';
import type { Prices } from './prices/index.js';
import { loadIdentitySecrets, type Settings } from './settings/index.js';
import type { Admissions, ProductJobs, UsageLog } from './usage/index.js';
import type { Webhooks } from './webhooks/index.js';

export interface StateSettings {
  /** Folder of all local state: the SQLite file, files, secrets. Created (0700) if missing. */
  dataDir: string;
  /** `postgres://…` stores the SQL state there. Default: SQLite in dataDir. */
  databaseUrl?: string;
  /** Maximum connections to PostgreSQL, besides the listening one. Default 10. */
  databaseConnections?: number;
  /**
   * `s3://KEY:SECRET@host[:port]/bucket[/prefix][?region=…&tls=off]` stores files there; `dataDir/files` holds those
   * that are not uploaded yet. Default: all of them are in `dataDir/files`.
   */
  filesUrl?: string;
  /** `redis://…` or `rediss://…` stores the cache there. Default: the SQL database. */
  cacheUrl?: string;
  clock: Clock;
  /**
   * Clock of the rate limits and of job times. Default: `clock` on SQLite; on PostgreSQL the clock of the database,
   * which all nodes share. Set by tests, which move it.
   */
  rateLimitClock?: Clock;
  /**
   * Milliseconds without a heartbeat after which a process counts as dead: then its jobs, reservations and idempotency
   * keys are released. Default 15,000. Set by tests.
   */
  processLeaseMs?: number;
  /**
   * Milliseconds between two polls for jobs and for completed jobs, in case of lost notifications. Default: 1,000 on
   * SQLite, where other processes send none; on PostgreSQL 5,000, and 1,000 for completed jobs. Set by tests.
   */
  jobPollMs?: number;
  /** What a request of a dead process costs. Default `used`. */
  abortCharge?: 'used' | 'reserved';
  /** Milliseconds until a caller gets an error because the database did not answer. Default 2,400. Set by tests. */
  databaseTimeoutMs?: number;
  /** Prices of what this process settles. Default: none, and no cost is known. */
  prices?: Prices;
  /** Secrets of the hashes of erased identities, newest first. Default: the one of key hashes in `dataDir`. */
  identitySecrets?: IdentitySecrets;
  /** Whether alerts of budgets are written, for a process that delivers them. Default false. */
  budgetAlerts?: boolean;
  logger: Logger;
  /** Other processes of this machine on the same state. Default: none that can be told anything. */
  siblings?: Siblings;
  /** Default: no tracing. */
  tracer?: Tracer;
  /** Default: no metrics. */
  meter?: Meter;
}

/** User data: identities, sessions, orders. */
export interface AccountState {
  readonly users: Users;
  readonly accounts: Accounts;
  readonly sessions: Sessions;
  readonly signIns: SignIns;
  readonly deviceGrants: DeviceGrants;
  readonly orders: Orders;
  readonly audit: Audit;
}

/** The whole state of the gateway. */
export interface State extends AccountState {
  readonly engine: 'sqlite' | 'postgres';
  readonly keys: ApiKeys<PlanTerms>;
  readonly rateLimits: RateLimits;
  readonly admissions: Admissions;
  readonly budgets: Budgets & BudgetOwners;
  readonly budgetAlerts: BudgetAlerts;
  readonly usage: UsageLog;
  readonly storedResponses: ClosableStoredResponses;
  readonly backgroundResponses: BackgroundResponses;
  readonly idempotentResponses: IdempotentResponses;
  readonly jobs: ProductJobs;
  readonly webhooks: Webhooks;
  readonly erasures: Erasures;
  readonly personalExport: PersonalExport;
  readonly cache: Cache;
  readonly instances: Instances;
  readonly files: Storage;
  /** Resolves if the database answers within 2 s; throws GatewayError `upstream_unavailable` otherwise. */
  ping(): Promise<void>;
  /** Resolves if the file storage answers; an object store is asked at most every 15 s. */
  pingFiles(): Promise<void>;
  /** Files that are not uploaded to an object store yet; 0 without one. */
  filesAwaiting(): Promise<number>;
  /** Resolves if the cache answers in time. */
  pingCache(): Promise<void>;
  /**
   * Stops the job workers, finishes running work, writes settlements, then closes databases and sockets. Idempotent.
   */
  close(): Promise<void>;
}

/** The part of the state that is in SQL. */
export type Records = Omit<State, 'files' | 'pingFiles' | 'filesAwaiting'>;

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
  const identitySecrets = () => loadIdentitySecrets(settings);
  return { dataDir, databaseUrl, databaseConnections, cacheUrl, abortCharge, identitySecrets };
}
