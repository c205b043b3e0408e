/*
 * Decides who may use the admin API: a key with the grant `admin` that an operator made, or the browser session of an
 * operator. Pages of orders and money also admit users with the role `billing`. Every other caller gets the 404 of a path without a route: no key, a wrong key, a key of a
 * plan, another user's session, a session of the device flow. Refused keys count towards the limit of the address, and
 * an address beyond it is no longer checked. Changes by a session must come from a page of the site.
 */

import { type Clock, isGatewayError } from '../../core/runtime/index.js';
import { bearerOf, refuseOtherSites, type SessionService } from '../accounts/index.js';
import {
  AddressLimit,
  type AddressOf,
  type Middleware,
  type RequestContext,
  type Route,
  routeNotFound,
  type ServerContext,
  type SiteAddress,
} from '../http/index.js';
import { isAdminKey, type KeyTable } from '../keys/index.js';

declare module '../http/koa-app.js' {
  interface RequestState {
    /** The operator of a request to the admin API, once verified: the actor for the audit log. */
    operator?: string;
  }
}

/** Refused keys per address and minute; further ones are not checked. */
const REFUSED_PER_MINUTE = 30;

export interface AdminAccess extends Pick<ServerContext, 'siblings'> {
  keys: Pick<KeyTable, 'verify'>;
  clock: Clock;
  addressOf: AddressOf;
  /** Default: there is no site, and keys alone are accepted. */
  site?: { sessions: Pick<SessionService, 'find'>; address(): SiteAddress };
}

/** Makes the check before a route of the admin API or of the console. */
export function createAdminGuard(access: AdminAccess): (route: Pick<Route, 'forBilling'>) => Middleware {
  const { clock, siblings, addressOf, site } = access;
  const refused = new AddressLimit({
    clock,
    siblings,
    name: 'refused admin keys',
    perMinute: REFUSED_PER_MINUTE,
    what: 'Too many refused keys',
  });
  return ({ forBilling = false }) =>
    async (context, next) => {
      const { req, state } = context;
      // Pages act with a key of their account under another path, which is never an operator's.
      if (state.playedKey) throw routeNotFound(context);
      const isKeySent = req.headers.authorization !== undefined || req.headers['x-api-key'] !== undefined;
      const operator = isKeySent
        ? await operatorOfKey(context, access, { refused, address: addressOf(req) })
        : await operatorOfSession(context, access, forBilling);
      if (operator === undefined) throw routeNotFound(context);
      if (!isKeySent && site && req.method !== 'GET' && req.method !== 'HEAD')
        refuseOtherSites(context, site.address());
      state.operator = operator;
      return next();
    };
}

async function operatorOfKey(
  context: RequestContext,
  { keys }: AdminAccess,
  { refused, address }: { refused: AddressLimit; address: string },
): Promise<string | undefined> {
  if (isBlocked(refused, address)) return undefined;
  const token = bearerOf(context);
  const other = context.req.headers['x-api-key'];
  // With two keys the caller is ambiguous.
  if (token === undefined || (other !== undefined && other !== token)) return undefined;
  try {
    const key = await keys.verify(token);
    if (!isAdminKey(key)) return undefined;
    // For the log line.
    context.state.key = key;
    return `operator:key:${key.id}`;
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    if (error.code === 'invalid_api_key') refused.add(address);
    // An operator learns that the database does not answer; for a refused key there is no route.
    if (error.code === 'upstream_unavailable') throw error;
    return undefined;
  }
}

async function operatorOfSession(
  context: RequestContext,
  { site }: AdminAccess,
  forBilling: boolean,
): Promise<string | undefined> {
  const signedIn = await site?.sessions.find(context);
  if (signedIn?.session.kind !== 'browser') return undefined;
  const { id, role } = signedIn.user;
  return role === 'operator' || (forBilling && role === 'billing') ? `${role}:${id}` : undefined;
}

function isBlocked(refused: AddressLimit, address: string): boolean {
  try {
    refused.check(address);
    return false;
  } catch {
    return true;
  }
}
