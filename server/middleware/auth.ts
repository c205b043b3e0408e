import type { IncomingMessage } from 'node:http';
import { type ApiKeyRecord, GatewayError, type Grant, isGatewayError } from 'mediagate';
import type { AuthFailures } from '../auth-failures.js';
import type { KeyTable } from '../key-table.js';
import type { Next, RequestContext } from './request-state.js';

export interface AuthOptions {
  keys: KeyTable;
  failures: AuthFailures;
  /** Page where keys are made, named in errors. */
  siteUrl?: string;
}

export interface RouteAuth {
  /** Any of several will do. Default: any good key will. */
  grant?: Grant | readonly Grant[];
  /** Whether `X-API-Key` is accepted besides `Authorization: Bearer`. Default false. */
  allowApiKeyHeader?: boolean;
}

/** Checks the key and its grant. Stands before anything that reads the body. */
export function createAuth({ keys, failures, siteUrl }: AuthOptions) {
  const whereToGet = siteUrl ? ` Keys are made at ${siteUrl}.` : '';

  return ({ grant, allowApiKeyHeader = false }: RouteAuth) => {
    const wanted = typeof grant === 'string' ? [grant] : grant;
    return async (context: RequestContext, next: Next): Promise<void> => {
      context.state.key = context.state.playedKey ?? (await verify(context));
      const { grants, rpm } = context.state.key;
      if (wanted && (!wanted.some((one) => grants.includes(one)) || rpm === 0)) {
        throw new GatewayError('route_not_allowed', `This API key is not granted this route (${wanted.join(' or ')}).`);
      }
      await next();
    };

    async function verify(context: RequestContext): Promise<ApiKeyRecord> {
      const address = context.req.socket.remoteAddress ?? '';
      try {
        const shown = shownKey(context.req, allowApiKeyHeader);
        if (shown === undefined) {
          const accepted = allowApiKeyHeader
            ? 'Authorization: Bearer <key> or X-API-Key: <key>'
            : 'Authorization: Bearer <key>';
          throw new GatewayError('missing_api_key', `No API key was sent. Send ${accepted}.${whereToGet}`);
        }
        return await keys.verify(shown);
      } catch (error) {
        const blockedFor = failures.blockedFor(address);
        if (blockedFor !== undefined) {
          throw new GatewayError('rate_limit_exceeded', 'Too many refused API keys from this address.', {
            retryAfterSeconds: blockedFor,
            cause: error,
          });
        }
        // A forgotten key is no guess, and a database that is away is not the caller's doing.
        if (isGatewayError(error) && error.code === 'invalid_api_key') failures.add(address);
        throw error;
      }
    }
  };
}

/** The key that stands behind {@link createAuth}. */
export function keyOf({ state: { key } }: RequestContext): ApiKeyRecord {
  if (!key) throw new Error('a route asked for the key before it was checked');
  return key;
}

function shownKey(request: IncomingMessage, allowApiKeyHeader: boolean): string | undefined {
  const { authorization } = request.headers;
  const header = allowApiKeyHeader ? request.headers['x-api-key'] : undefined;
  const apiKey = typeof header === 'string' && header !== '' ? header : undefined;
  if (authorization === undefined) return apiKey;
  const bearer = authorization.slice(0, 7).toLowerCase() === 'bearer ' ? authorization.slice(7).trim() : undefined;
  if (!bearer) throw new GatewayError('invalid_api_key', 'The Authorization header must read "Bearer <key>".');
  if (apiKey !== undefined && apiKey !== bearer) {
    throw new GatewayError('invalid_api_key', 'Authorization and X-API-Key name two different keys.');
  }
  return bearer;
}
