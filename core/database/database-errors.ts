/*
 * Separates conditions of the database's environment from faults of a query. A lock, a full or read-only disk, a lost
 * connection or a cancelled statement becomes `upstream_unavailable`, which callers may retry; every other error stays
 * unchanged. The tables list the codes of SQLite, PostgreSQL, the system and the driver. Failures to open or migrate a
 * database name its host and port, the reason and the remedy, never its user or password.
 */

import { GatewayError, isGatewayError } from '../runtime/index.js';
import type { SchemaStatus } from './schema-migration.js';

/** Locked, full, unreadable, impossible to open: conditions of the machine, not of the query. */
const SQLITE_UNAVAILABLE = /^SQLITE_(BUSY|LOCKED|FULL|IOERR|CANTOPEN|READONLY|NOMEM|PROTOCOL)/;

/**
 * SQLSTATEs with the same meaning on PostgreSQL (its manual, appendix "Error Codes"): connection lost or refused (08,
 * except 28000), out of resources (53), operator intervention (57P), statement or lock wait cancelled, deadlock,
 * standby.
 */
const POSTGRES_UNAVAILABLE = /^(08...|53...|57P..|57014|55P03|40001|40P01|25006)$/;

const NETWORK_UNAVAILABLE: ReadonlySet<string> = new Set([
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

/** Errors of pg without a code. */
const POSTGRES_UNAVAILABLE_WORDS =
  /^(timeout exceeded when trying to connect|Query read timeout|Connection terminated|Client has encountered a connection error|Client was closed)/;

/** The database is temporarily unavailable; the same call may succeed later. */
export function databaseUnavailable(cause?: unknown): GatewayError {
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

/** Whether a statement on PostgreSQL gave up waiting for a lock. */
export function isServerLock(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === '55P03' || error.code === '40P01');
}

/**
 * Converts failures of the database's environment to `upstream_unavailable`; any other error is a fault and stays
 * unchanged.
 */
export function translateDatabaseError(error: unknown): unknown {
  if (isGatewayError(error) || !(error instanceof Error)) return error;
  if (error instanceof AggregateError && error.errors.length > 0) {
    return isUnavailable(error) || error.errors.every((one) => one instanceof Error && isUnavailable(one))
      ? databaseUnavailable(error)
      : error;
  }
  if (isReadOnly(error)) {
    return new GatewayError('upstream_unavailable', 'The database is read-only.', { cause: error });
  }
  if (isFull(error)) {
    const message = 'The disk of the database is full, so nothing can be stored. The operator must free space.';
    return new GatewayError('upstream_unavailable', message, { cause: error });
  }
  return isUnavailable(error) ? databaseUnavailable(error) : error;
}

/** The codes of SQLite and PostgreSQL for a full disk. */
const FULL = /^(SQLITE_FULL|53100)$/;

function isFull(error: Error): boolean {
  return 'code' in error && typeof error.code === 'string' && FULL.test(error.code);
}

function isReadOnly(error: Error): boolean {
  return 'code' in error && typeof error.code === 'string' && /^(25006|SQLITE_READONLY)/.test(error.code);
}

function isUnavailable(error: Error): boolean {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return (
    SQLITE_UNAVAILABLE.test(code) ||
    POSTGRES_UNAVAILABLE.test(code) ||
    NETWORK_UNAVAILABLE.has(code) ||
    POSTGRES_UNAVAILABLE_WORDS.test(error.message)
  );
}

const DEFAULT_PORT = '5432';

/** Reasons for a failed connection: SQLSTATEs, system codes, and messages of pg without a code. */
const OPENING_REASONS: readonly (readonly [RegExp, string])[] = [
  [/^ECONNREFUSED$/, 'connection refused'],
  [/^(ENOTFOUND|EAI_AGAIN)$/, 'host name not found'],
  [/^(EHOSTUNREACH|ENETUNREACH)$/, 'no route to the host'],
  [/^(ENOENT|EACCES)$/, 'the socket cannot be opened'],
  [
    /^ETIMEDOUT$|^timeout exceeded when trying|^Connection terminated due to connection timeout/,
    'it did not answer in time',
  ],
  [/^28P01$|password must be a string/, 'wrong password'],
  [/^28000$/, 'user or client address refused'],
  [/^3D000$/, 'no database with that name'],
  [/^42501$/, 'the user lacks a privilege'],
  [/^53300$/, 'too many connections'],
  [/^57P0[123]$/, 'it is starting or stopping'],
  [/^ECONNRESET$|^Connection terminated unexpectedly/, 'it closed the connection'],
  [/does not support SSL/, 'it does not support TLS'],
];

/**
 * Why a database server could not be opened, with its host and port, and never its user or password. An error that is
 * not about the connection stays unchanged.
 */
export function describeOpeningFailure(error: unknown, databaseUrl: string): unknown {
  if (isGatewayError(error)) return error;
  const signs = signsOf(error);
  const reason = OPENING_REASONS.find(([pattern]) => signs.some((sign) => pattern.test(sign)))?.[1];
  if (reason === undefined) return error;
  const message = `The database that DATABASE_URL names, at ${addressOf(databaseUrl)}, cannot be used: ${reason}.`;
  return new GatewayError('upstream_unavailable', message, { cause: error });
}

/** Codes and messages of an error, of the errors it contains, and of its causes. */
function signsOf(error: unknown): string[] {
  if (!(error instanceof Error)) return [];
  const code = 'code' in error && typeof error.code === 'string' ? [error.code] : [];
  const held = error instanceof AggregateError ? error.errors.flatMap(signsOf) : [];
  return [...code, error.message, ...held, ...signsOf(error.cause)];
}

/** Host and port, as pg reads them. */
function addressOf(databaseUrl: string): string {
  const url = URL.parse(databaseUrl);
  const host = url?.searchParams.get('host') ?? (url?.hostname || 'localhost');
  return host.startsWith('/') ? host : `${host}:${url?.searchParams.get('port') ?? (url?.port || DEFAULT_PORT)}`;
}

/** SQLSTATEs and codes of SQLite, with the operator's remedy. */
const MIGRATION_REASONS: readonly (readonly [RegExp, string])[] = [
  [FULL, 'its disk is full'],
  [
    /^42501$/,
    'its user may not create or change tables. Run "mediagate migrate" with a DATABASE_URL of a user who may, and start again',
  ],
];

/** Why a schema could not be migrated. An error that is not about the database's environment stays unchanged. */
export function describeMigrationFailure(error: unknown, { done, pending }: SchemaStatus): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const reason = isServerLock(error)
    ? 'other sessions, such as a dump, lock its tables'
    : MIGRATION_REASONS.find(([pattern]) => pattern.test(code))?.[1];
  if (reason === undefined) return error;
  const [latest, wanted] = [done.at(-1), pending.at(-1)];
  const state = latest === undefined ? 'is empty' : `is at ${latest}`;
  const message = `The database ${state} and was left there; the migration to ${wanted} failed: ${reason}.`;
  return new GatewayError('upstream_unavailable', message, { cause: error });
}
