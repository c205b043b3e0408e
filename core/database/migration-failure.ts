import { GatewayError } from '../runtime/index.js';
import { isServerLock } from './database-errors.js';
import type { SchemaStatus } from './schema-migration.js';

/** SQLSTATEs and codes of SQLite, and what an operator does about them. */
const REASONS: readonly (readonly [RegExp, string])[] = [
  [/^(SQLITE_FULL|53100)$/, 'there is no room left on its disk'],
  [
    /^42501$/,
    'its user may not make or change tables. Run "mediagate migrate" with the DATABASE_URL of one who may, and start again',
  ],
];

/**
 * Why a schema could not be brought up to date. Whatever has another reason than the database's surroundings stays as it is.
 */
export function describeMigrationFailure(error: unknown, { done, pending }: SchemaStatus): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const reason = isServerLock(error)
    ? 'other sessions have kept its tables busy, as a dump does'
    : REASONS.find(([pattern]) => pattern.test(code))?.[1];
  if (reason === undefined) return error;
  const [latest, wanted] = [done.at(-1), pending.at(-1)];
  const place = latest === undefined ? 'is empty' : `is at ${latest}`;
  const message = `The database ${place} and was left so; it could not be brought to ${wanted}: ${reason}.`;
  return new GatewayError('upstream_unavailable', message, { cause: error });
}
