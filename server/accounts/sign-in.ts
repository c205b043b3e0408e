import type Router from '@koa/router';
import { type Clock, GatewayError, isLoopbackHost } from 'mediagate';
import {
  type AddressOf,
  type BodyBudget,
  createAddressLimit,
  markPage,
  type Next,
  networkOwner,
  type RequestContext,
  type RequestState,
  readCookie,
  readJsonBody,
  readReturnPath,
  removeCookie,
  type SiteAddress,
  seeOther,
  setCookie,
} from '../http/index.js';
import { hashToken, isBrowserToken, newToken } from '../keys/index.js';
import type { OidcClient } from './oidc.js';
import type { SessionDesk } from './sessions.js';
import type { SignIns } from './sign-ins.js';
import type { Users } from './users.js';

/** What an attempt is kept for. */
const ATTEMPT_SECONDS = 600;
const STARTS_PER_MINUTE = 120;
const RETURNS_PER_MINUTE = 120;

export interface SignInRoutes {
  users: Users;
  signIns: SignIns;
  sessions: SessionDesk;
  oidc: OidcClient;
  clock: Clock;
  addressOf: AddressOf;
  site(): SiteAddress;
}

/** The way to the identity provider, and back. */
export function addSignInRoutes(router: Router<RequestState>, options: SignInRoutes): void {
  const { users, signIns, sessions, oidc, clock, addressOf, site } = options;
  const starts = createAddressLimit({ clock, perMinute: STARTS_PER_MINUTE, what: 'Too many sign-ins' });
  const returns = createAddressLimit({ clock, perMinute: RETURNS_PER_MINUTE, what: 'Too many sign-ins' });
  const redirectUri = () => `${site().url}/signin/callback`;

  router.get('/signin', markPage, async (context: RequestContext) => {
    const otherName = sameGatewayElsewhere(context, site());
    if (otherName) return seeOther(context, otherName);
    starts.admit(addressOf(context.req));
    const returnTo = readReturnPath(context.query.return_to, site());
    const [browser, state, nonce, codeVerifier] = [newToken(), newToken(), newToken(), newToken()];
    const target = await oidc.begin({ state, nonce, codeVerifier }, redirectUri());
    const hashes = { stateHash: hashToken(state), browserHash: hashToken(browser) };
    await signIns.begin({ ...hashes, nonce, codeVerifier, returnTo });
    setCookie(context, site(), { name: site().cookies.attempt, value: browser, maxAgeSeconds: ATTEMPT_SECONDS });
    seeOther(context, target.href);
  });

  router.get('/signin/callback', markPage, async (context: RequestContext) => {
    returns.admit(addressOf(context.req));
    const { state } = context.query;
    const browser = readCookie(context, site().cookies.attempt);
    removeCookie(context, site(), site().cookies.attempt);
    const attempt =
      typeof state === 'string' && browser !== undefined && isBrowserToken(browser)
        ? await signIns.take(hashToken(state), hashToken(browser))
        : undefined;
    if (typeof state !== 'string' || !attempt) {
      const message =
        'This sign-in is over, it began in another browser, or this one keeps no cookies of the site. Allow them, and sign in again.';
      throw new GatewayError('sign_in_failed', message);
    }
    const { nonce, codeVerifier, returnTo } = attempt;
    const callback = new URL(`${redirectUri()}?${context.querystring}`);
    const user = await users.signIn(await oidc.finish({ state, nonce, codeVerifier }, callback));
    await sessions.startBrowser(context, user.id);
    seeOther(context, site().url + returnTo);
  });
}

/**
 * `localhost` and `127.0.0.1` are one gateway, and two hosts to a browser, which would not send the cookie of one to the
 * other. So on loopback a sign-in begins under the name that it comes back to.
 */
function sameGatewayElsewhere({ req, path, querystring }: RequestContext, site: SiteAddress): string | undefined {
  const { host = '' } = req.headers;
  const asked = URL.parse(`http://${host}`);
  if (!site.loopback || !asked || asked.host === site.host || !isLoopbackHost(asked.hostname)) return undefined;
  if (asked.port !== new URL(site.url).port) return undefined;
  return `${site.url}${path}${querystring && `?${querystring}`}`;
}

const MAX_BODY_BYTES = 1_024;

export interface SignOutRoutes {
  sessions: SessionDesk;
  bodies: BodyBudget;
  addressOf: AddressOf;
  /** Lets through what the site's own pages send. */
  sameOrigin(context: RequestContext, next: Next): Promise<void>;
  site(): SiteAddress;
}

/** Ends the session that a request is made with, or all of its user. Whoever has none is as signed out as can be. */
export function addSignOutRoutes(router: Router<RequestState>, options: SignOutRoutes): void {
  const { sessions, bodies, addressOf, sameOrigin, site } = options;

  router.post('/signout', markPage, sameOrigin, async (context: RequestContext) => {
    await sessions.end(context);
    seeOther(context, `${site().url}/`);
  });

  router.post('/signout/everywhere', markPage, sameOrigin, async (context: RequestContext) => {
    await sessions.endAll(context);
    seeOther(context, `${site().url}/`);
  });

  router.delete('/api/agent/sessions', sameOrigin, async (context: RequestContext) => {
    await sessions.endAll(context);
    context.body = signedOut();
  });

  router.delete('/api/agent/session', sameOrigin, async (context: RequestContext) => {
    await sessions.end(context);
    context.body = signedOut();
  });

  router.post('/api/agent/session', sameOrigin, async (context: RequestContext) => {
    // A form of another page cannot have this type, whatever the browser tells of its origin.
    const limits = { maxBytes: MAX_BODY_BYTES, budget: bodies, owner: networkOwner(addressOf(context.req)) };
    await readJsonBody(context.req, context.res, limits);
    await sessions.end(context);
    context.body = signedOut();
  });

  function signedOut() {
    return { authenticated: false, loginUrl: `${site().url}/signin` };
  }
}

/** Stands before routes of accounts: their 401 says where to sign in. */
export function createLoginNotice(site: () => SiteAddress) {
  return (context: RequestContext, next: Next): Promise<unknown> => {
    context.state.loginUrl = `${site().url}/signin`;
    return next();
  };
}
