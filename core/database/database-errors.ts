import { GatewayError, isGatewayError } from '../runtime/index.js';

/** Locked, full, unreadable, not to be opened: conditions of the machine, not of the query. */
const SQLITE_AWAY = /^SQLITE_(BUSY|LOCKED|FULL|IOERR|CANTOPEN|READONLY|NOMEM|PROTOCOL)/;

/**
 * SQLSTATEs that say the same of PostgreSQL (its manual, appendix "Error Codes"): connection lost or refused (08, 28000
 * excepted), resources spent (53), operator at work (57P), statement or lock wait cancelled, deadlock, standby.
 */
const POSTGRES_AWAY = /^(08...|53...|57P..|57014|55P03|40001|40P01|25006)$/;

const NETWORK_AWAY: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EPIPE',
  'ETIMEDOUT',
]);

/** Errors of pg that carry no code. */
const POSTGRES_AWAY_WORDS =
  /^(timeout exceeded when trying to connect|Query read timeout|Connection terminated|Client has encountered a connection error|Client was closed)/;

/** The database cannot be used right now; the same call may succeed later. */
export function databaseAway(cause?: unknown): GatewayError {
  return new GatewayError('upstream_unavailable', 'The database did not answer.', { cause });
}

/** Whether another process holds the lock of a SQLite database. */
export function isSqliteLock(error: unknown): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    /^SQLITE_(BUSY|LOCKED)/.test(error.code)
  );
}

/** Whether others hold what a statement on PostgreSQL needs, and it did not wait any longer. */
export function isServerLock(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === '55P03' || error.code === '40P01');
}

/** Turns failures of the database's surroundings into `upstream_unavailable`; anything else is a fault and stays as it is. */
export function translateDatabaseError(error: unknown): unknown {
  if (isGatewayError(error) || !(error instanceof Error)) return error;
  if (error instanceof AggregateError && error.errors.length > 0) {
    return isAway(error) || error.errors.every((one) => one instanceof Error && isAway(one))
      ? databaseAway(error)
      : error;
  }
  if (isReadOnly(error)) {
    return new GatewayError('upstream_unavailable', 'The database takes no writes: it is read-only.', { cause: error });
  }
  return isAway(error) ? databaseAway(error) : error;
}

function isReadOnly(error: Error): boolean {
  return 'code' in error && typeof error.code === 'string' && /^(25006|SQLITE_READONLY)/.test(error.code);
}

function isAway(error: Error): boolean {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return (
    SQLITE_AWAY.test(code) ||
    POSTGRES_AWAY.test(code) ||
    NETWORK_AWAY.has(code) ||
    POSTGRES_AWAY_WORDS.test(error.message)
  );
}
