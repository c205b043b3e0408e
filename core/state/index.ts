import type { Cache, Clock, Logger, Storage } from '../contracts/services.js';
import type { ApiKeys } from './api-keys.js';
import type { Jobs } from './jobs.js';
import type { Windows } from './windows.js';

export interface StateSettings {
  /** Folder of everything embedded: the SQLite file, files, secrets. Made (0700) where absent. */
  dataDir: string;
  /** `postgres://…` moves the SQL state there. Default: SQLite in dataDir. */
  databaseUrl?: string;
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
  /** Milliseconds after which a job whose worker shows no life is given to another. Default 15,000. Given by tests. */
  jobLeaseMs?: number;
  logger: Logger;
}

/** Everything the gateway remembers. */
export interface State {
  readonly engine: 'sqlite' | 'postgres';
  readonly keys: ApiKeys;
  readonly windows: Windows;
  readonly jobs: Jobs;
  readonly cache: Cache;
  readonly files: Storage;
  /** Resolves when the database answers within 2 s; throws GatewayError `upstream_unavailable` otherwise. */
  ping(): Promise<void>;
  /** Resolves where the folder or the object store of files answers; the store is asked at most every 15 s. */
  pingFiles(): Promise<void>;
  /** Stops the workers of jobs, finishes what was begun, then lets go of databases and sockets. Idempotent. */
  close(): Promise<void>;
}

/**
 * Opens the state and brings its schema up to date; safe while other processes use or open the same state.
 * @throws GatewayError `invalid_value` for a setting that cannot be used, `upstream_unavailable` where the database does
 * not answer or its file cannot be opened.
 */
export async function openState(settings: StateSettings): Promise<State> {
  const { openDrivers } = await import('./open.js');
  return openDrivers(settings);
}
