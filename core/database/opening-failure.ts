import { GatewayError, isGatewayError } from '../runtime/index.js';

const DEFAULT_PORT = '5432';

/** What a server or the network says to whoever wants to connect: SQLSTATEs, codes of the system, words of pg where it has no code. */
const REASONS: readonly (readonly [RegExp, string])[] = [
  [/^ECONNREFUSED$/, 'nothing listens there (connection refused)'],
  [/^(ENOTFOUND|EAI_AGAIN)$/, 'no host of this name was found'],
  [/^(EHOSTUNREACH|ENETUNREACH)$/, 'there is no way to that host'],
  [/^(ENOENT|EACCES)$/, 'its socket cannot be opened'],
  [
    /^ETIMEDOUT$|^timeout exceeded when trying|^Connection terminated due to connection timeout/,
    'it did not answer in time',
  ],
  [/^28P01$|password must be a string/, 'it refuses the password'],
  [/^28000$/, 'it refuses the user, or connections from here'],
  [/^3D000$/, 'it has no database of that name'],
  [/^42501$/, 'the user may not do there what is needed'],
  [/^53300$/, 'it has no connection left'],
  [/^57P0[123]$/, 'it is starting or stopping'],
  [/^ECONNRESET$|^Connection terminated unexpectedly/, 'it closed the connection'],
  [/does not support SSL/, 'it speaks no TLS'],
];

/**
 * Why a database on a server could not be opened, with its host and port, and never its user or password. Whatever has another
 * reason than the way to the server stays as it is.
 */
export function describeOpeningFailure(error: unknown, databaseUrl: string): unknown {
  if (isGatewayError(error)) return error;
  const signs = signsOf(error);
  const reason = REASONS.find(([pattern]) => signs.some((sign) => pattern.test(sign)))?.[1];
  if (reason === undefined) return error;
  const message = `The database that DATABASE_URL names, at ${placeOf(databaseUrl)}, cannot be used: ${reason}.`;
  return new GatewayError('upstream_unavailable', message, { cause: error });
}

/** Codes and messages of an error, of those that it holds and of those that caused it. */
function signsOf(error: unknown): string[] {
  if (!(error instanceof Error)) return [];
  const code = 'code' in error && typeof error.code === 'string' ? [error.code] : [];
  const held = error instanceof AggregateError ? error.errors.flatMap(signsOf) : [];
  return [...code, error.message, ...held, ...signsOf(error.cause)];
}

/** Host and port, as pg reads them. */
function placeOf(databaseUrl: string): string {
  const url = URL.parse(databaseUrl);
  const host = url?.searchParams.get('host') ?? (url?.hostname || 'localhost');
  return host.startsWith('/') ? host : `${host}:${url?.searchParams.get('port') ?? (url?.port || DEFAULT_PORT)}`;
}
