import { GatewayError } from 'mediagate';
import {
  isOfPrograms,
  type Middleware,
  type Next,
  type RequestContext,
  type Route,
  readCookie,
  removeCookie,
  type SiteAddress,
  setCookie,
} from '../http/index.js';
import {
  type ApiKeyRecord,
  hashToken,
  isBrowserToken,
  isDeviceToken,
  newDeviceToken,
  newestKey,
  newToken,
} from '../keys/index.js';
import type { AccountContext } from '../server-context.js';
import type { SessionKind, Sessions, SignedIn } from './session-store.js';

declare module '../http/koa-app.js' {
  interface RequestState {
    /** Who is signed in, once somebody has asked. */
    signedIn?: Promise<SignedIn | undefined>;
  }
}

const HOUR_MS = 3_600_000;
const BROWSER = { kind: 'browser', idleMs: 12 * HOUR_MS, lifetimeMs: 7 * 24 * HOUR_MS } as const;
const DEVICE = { kind: 'device', idleMs: 12 * HOUR_MS, lifetimeMs: 12 * HOUR_MS } as const;

export interface NewDeviceSession {
  token: string;
  /** Seconds that it is good. */
  expiresIn: number;
}

/** Who is signed in with a request: a browser by its cookie, a program by a bearer token of the device flow. */
export interface SessionService {
  /** Undefined where nobody is. A request that sends a bearer token is judged by that alone. */
  find(context: RequestContext): Promise<SignedIn | undefined>;
  /** @throws GatewayError `not_signed_in`; its body then says where to sign in. */
  require(context: RequestContext): Promise<SignedIn>;
  /** Signs a browser in under a session that nobody knew before; the one it had ends. */
  startBrowser(context: RequestContext, userId: string): Promise<void>;
  startDevice(userId: string): Promise<NewDeviceSession>;
  /** Ends the session of the request, and takes the cookie back. No error where there is none. */
  end(context: RequestContext): Promise<void>;
  /** The same with all sessions of whoever is signed in, wherever they are. */
  endAll(context: RequestContext): Promise<void>;
}

export function createSessionService(sessions: Sessions, site: () => SiteAddress): SessionService {
  async function find(context: RequestContext): Promise<SignedIn | undefined> {
    const shown = shownToken(context, site());
    const found = shown && (await sessions.find(hashToken(shown.token)));
    return found && found.session.kind === shown.kind ? found : undefined;
  }

  function takeCookieBack(context: RequestContext): void {
    if (bearerOf(context) === undefined) removeCookie(context, site(), site().cookies.session);
  }

  return {
    async find(context) {
      context.state.signedIn ??= find(context);
      return context.state.signedIn;
    },
    async require(context) {
      const found = await this.find(context);
      if (found) return found;
      context.state.loginUrl = `${site().url}/signin`;
      const instead = bearerOf(context)?.startsWith('sk-') ? 'An API key signs nobody in. ' : '';
      throw new GatewayError('not_signed_in', `${instead}Sign in first: ${context.state.loginUrl}.`);
    },
    async startBrowser(context, userId) {
      const before = readCookie(context, site().cookies.session);
      const token = newToken();
      await sessions.create({ ...BROWSER, hash: hashToken(token), userId });
      if (before !== undefined && isBrowserToken(before)) await sessions.end(hashToken(before));
      const maxAgeSeconds = BROWSER.lifetimeMs / 1_000;
      setCookie(context, site(), { name: site().cookies.session, value: token, maxAgeSeconds });
    },
    async startDevice(userId) {
      const token = newDeviceToken();
      await sessions.create({ ...DEVICE, hash: hashToken(token), userId });
      return { token, expiresIn: DEVICE.lifetimeMs / 1_000 };
    },
    async end(context) {
      const shown = shownToken(context, site());
      if (shown) await sessions.end(hashToken(shown.token));
      takeCookieBack(context);
    },
    async endAll(context) {
      const userId = (await this.find(context))?.user.id;
      if (userId !== undefined) await sessions.endAllOf({ userId, actor: `user:${userId}` });
      takeCookieBack(context);
    },
  };
}

/**
 * The token of a request that has no authority but the one that its sender put there: browsers add no bearer token by
 * themselves. (Basic they do add, so what a proxy before the site asks for changes nothing here.)
 */
export function bearerOf({ req }: RequestContext): string | undefined {
  const { authorization } = req.headers;
  return authorization && /^bearer( |$)/i.test(authorization) ? authorization.slice(7).trim() : undefined;
}

export interface ShownToken {
  kind: SessionKind;
  token: string;
}

/** What a request would be signed in by; whether it is good is another question. */
export function shownToken(context: RequestContext, site: SiteAddress): ShownToken | undefined {
  const bearer = bearerOf(context);
  if (bearer !== undefined) return isDeviceToken(bearer) ? { kind: 'device', token: bearer } : undefined;
  const token = readCookie(context, site.cookies.session) ?? '';
  return isBrowserToken(token) ? { kind: 'browser', token } : undefined;
}

/**
 * Checks requests of routes that act for the user who is signed in. The session is checked before the origin: a program
 * without a session is told to sign in. Pages lead visitors without a session to the sign-in by themselves.
 */
export function createSessionGuard(sessions: SessionService, site: () => SiteAddress) {
  return ({ method, format, sessionOptional = format === 'page' }: Route): Middleware =>
    async (context, next) => {
      if (!sessionOptional) await sessions.require(context);
      if (method !== 'GET') checkOrigin(context, site());
      return next();
    };
}

/**
 * Lets a browser's request through only from the site's own pages. Requests with a bearer token pass: no page elsewhere can
 * make a browser add one.
 * @throws GatewayError `cross_site_request`.
 */
function checkOrigin(context: RequestContext, site: SiteAddress): void {
  if (bearerOf(context) !== undefined || isFromOwnPage(context, site)) return;
  const message = `This must be sent from a page of ${site.origin}: Origin or Sec-Fetch-Site says otherwise, or both are missing.`;
  throw new GatewayError('cross_site_request', message);
}

function isFromOwnPage({ req: { headers } }: RequestContext, { origin }: SiteAddress): boolean {
  const { 'sec-fetch-site': relation, origin: from } = headers;
  // Browsers that know Sec-Fetch-Site may hide the origin of a form as "null".
  if (relation !== undefined)
    return relation === 'same-origin' && (from === undefined || from === 'null' || from === origin);
  return from === origin;
}

const PREFIX = '/api/play';

/**
 * Everything under `/v1` once more under `/api/play/v1`, for the site's own pages: whoever is signed in is let in as the
 * newest good key of their account, and whatever holds for that key holds there. So no key is ever in a page.
 */
export function createPlay({ account: { state, site }, sessions, keys, clock }: AccountContext): Middleware {
  async function keyOfAccount(accountId: string): Promise<ApiKeyRecord> {
    const newest = await newestKey(state.keys, accountId, clock.now());
    if (newest) return keys.admit(newest);
    const message = `This account has no API key that is good, and whatever is asked for here is asked for with one. Make one at ${site().url}/dashboard.`;
    throw new GatewayError('no_active_key', message);
  }

  async function play(context: RequestContext, next: Next): Promise<unknown> {
    if (bearerOf(context) !== undefined || context.req.headers['x-api-key'] !== undefined) {
      const message = `${PREFIX} is for pages of the site. Programs send their API key to the same path without it.`;
      throw new GatewayError('route_not_allowed', message);
    }
    checkOrigin(context, site());
    const { user } = await sessions.require(context);
    context.state.playedKey = await keyOfAccount(user.accountId);
    context.path = context.path.slice(PREFIX.length);
    return next();
  }

  return (context: RequestContext, next: Next): Promise<unknown> =>
    isOfPrograms(context.req) || !context.path.startsWith(`${PREFIX}/v1/`) ? next() : play(context, next);
}
