/*
 * The middleware that verifies the API key of a request and its grant, before the body is read. A key comes as `Bearer`
 * token, on some routes also in `X-API-Key`; two different keys in one request are refused. Too many refused keys block
 * an address; a missing key is no guess and does not count. A call inside of the process may name a key without a
 * secret. Without a grant for the route, or with 0 requests a minute,
 * a key gets `route_not_allowed`. The file also reads the rate limits of a key, by route family, without consuming any.
 */

import type { IncomingMessage } from 'node:http';
import { GatewayError, isGatewayError } from '../../core/runtime/index.js';
import {
  type AddressLimit,
  type AddressOf,
  innerKeyIdOf,
  type Middleware,
  type Next,
  type PollGuard,
  type RequestContext,
} from '../http/index.js';
import type { RateLimitFamily, RateLimitResult, RateLimits } from '../limits/index.js';
import { type ApiKeyRecord, GRANTS, type Grant, isPlanKey, rateLimitOf } from './key-rows.js';
import type { KeyTable } from './key-table.js';

declare module '../http/koa-app.js' {
  interface RequestState {
    /** The API key of the request, once it is verified. */
    key?: ApiKeyRecord;
    /** The key of a signed-in user, for requests from the playground; set once the session is verified. */
    playedKey?: ApiKeyRecord;
  }
}

export interface AuthOptions {
  keys: KeyTable;
  failures: AddressLimit;
  addressOf: AddressOf;
  /** URL of the page where keys are made, named in errors. */
  siteUrl?: string;
}

/** Verifies tokens that stand for a key. Undefined if the text is no such token. */
export type VerifyToken = (text: string) => Promise<ApiKeyRecord> | undefined;

export interface RouteAuth {
  /** One of several is enough. */
  grant: Grant | readonly Grant[] | 'any';
  /**
   * Whether `X-API-Key` is accepted besides `Authorization: Bearer`; in Anthropic's format it always is. Default false.
   */
  apiKeyHeader?: boolean;
  /** What a key without the grant may do instead. Default: nothing. */
  advice?(grants: readonly string[]): string | undefined;
  /** Tokens that are accepted besides keys. Default: none. */
  verifyToken?: VerifyToken | undefined;
}

/** Checks the key and its grant, before the body is read. */
export function createAuth({ keys, failures, addressOf, siteUrl }: AuthOptions) {
  const whereToGet = siteUrl ? ` Create a key at ${siteUrl}.` : '';

  function refuse({ req: request }: RequestContext, error: unknown): never {
    const address = addressOf(request);
    failures.check(address, error);
    // A missing key is no guess, and an unavailable database is not the caller's fault.
    if (isGatewayError(error) && error.code === 'invalid_api_key') failures.add(address);
    throw error;
  }

  return ({ grant, apiKeyHeader = false, advice, verifyToken }: RouteAuth): Middleware => {
    const wanted = grant === 'any' ? undefined : typeof grant === 'string' ? [grant] : grant;
    // A key that was used before is known at once. No promise is made for it.
    return (context: RequestContext, next: Next): Promise<unknown> => {
      const key = context.state.playedKey ?? verify(context);
      return key instanceof Promise ? key.then((found) => letIn(context, found, next)) : letIn(context, key, next);
    };

    function letIn(context: RequestContext, key: ApiKeyRecord, next: Next): Promise<unknown> {
      context.state.key = key;
      if (!isPlanKey(key)) context.state.vendorLimits = key.rpm === null ? 'all' : 'named';
      const { grants, rpm } = key;
      if (wanted && !wanted.some((one) => grants.includes(one))) {
        const more = advice?.(grants);
        const message = `This API key is not granted this route (${wanted.join(' or ')}).`;
        throw new GatewayError('route_not_allowed', more === undefined ? message : `${message} ${more}`);
      }
      if (wanted && rpm === 0)
        throw new GatewayError('route_not_allowed', 'This API key may make 0 requests a minute.');
      return next();
    }

    function verify(context: RequestContext): ApiKeyRecord | Promise<ApiKeyRecord> {
      try {
        const found = find(context);
        return found instanceof Promise ? found.catch((error: unknown) => refuse(context, error)) : found;
      } catch (error) {
        return refuse(context, error);
      }
    }

    function find(context: RequestContext): ApiKeyRecord | Promise<ApiKeyRecord> {
      const isHeaderAllowed = apiKeyHeader || context.state.anthropic === true;
      const innerKeyId = innerKeyIdOf(context.req);
      if (innerKeyId !== undefined) return keys.admitId(innerKeyId);
      const token = sentKey(context.req, isHeaderAllowed);
      if (token === undefined) {
        const accepted = isHeaderAllowed
          ? 'Authorization: Bearer <key> or X-API-Key: <key>'
          : 'Authorization: Bearer <key>';
        throw new GatewayError('missing_api_key', `No API key was sent. Send ${accepted}.${whereToGet}`);
      }
      return verifyToken?.(token) ?? keys.verify(token);
    }
  };
}

/** The key that {@link createAuth} verified. */
export function keyOf({ state: { key } }: RequestContext): ApiKeyRecord {
  if (!key) throw new Error('a route asked for the key before it was checked');
  return key;
}

/** The key of a request that polls. @throws GatewayError `rate_limit_exceeded` if it polls without a pause. */
export function pollingKeyOf(context: RequestContext, polls: PollGuard): ApiKeyRecord {
  const key = keyOf(context);
  polls.admit(key.id);
  return key;
}

function sentKey(request: IncomingMessage, allowApiKeyHeader: boolean): string | undefined {
  const { authorization } = request.headers;
  const header = request.headers['x-api-key'];
  const apiKey = typeof header === 'string' && header !== '' ? header : undefined;
  if (authorization === undefined) return allowApiKeyHeader ? apiKey : undefined;
  const bearer = authorization.slice(0, 7).toLowerCase() === 'bearer ' ? authorization.slice(7).trim() : undefined;
  if (!bearer) throw new GatewayError('invalid_api_key', 'The Authorization header must read "Bearer <key>".');
  // Even if the second header has no effect: with two keys the caller is ambiguous.
  if (apiKey !== undefined && apiKey !== bearer) {
    throw new GatewayError('invalid_api_key', 'Authorization and X-API-Key name two different keys.');
  }
  return bearer;
}

/** Grants are named after what the operator allows, families after the routes that share a window. */
const FAMILIES: Readonly<Record<Grant, RateLimitFamily>> = {
  images: 'image',
  extract: 'link_data',
  text: 'model',
  audio: 'model',
};

/** The rate limits of a key, by family. Undefined if it has none. Consumes nothing. */
export type KeyRateLimits = Readonly<Record<string, RateLimitResult>>;

export async function readRateLimits(rateLimits: RateLimits, key: ApiKeyRecord): Promise<KeyRateLimits | undefined> {
  if (key.rpm === null) return undefined;
  const families = [...new Set(GRANTS.filter((grant) => key.grants.includes(grant)).map((grant) => FAMILIES[grant]))];
  const results: Record<string, RateLimitResult> = {};
  for (const family of families) {
    const request = rateLimitOf(key, family);
    if (request) results[family] = await rateLimits.peek(request);
  }
  return results;
}
