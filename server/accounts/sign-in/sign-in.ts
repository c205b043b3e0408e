/*
 * The routes that sign users in and out, and the stored attempts to sign in. An attempt keeps the PKCE verifier, the
 * nonce and the hashes of `state` and of a cookie for 10 minutes; the callback takes it once, and only from the browser
 * that began it. The latest 20,000 attempts are stored, and an address may start 120 a minute. On loopback, a sign-in
 * moves to the host name of its callback first, because browsers do not send the cookie of `localhost` to `127.0.0.1`.
 * Signing out without a session is no error.
 */

import { Type } from '../../../core/contracts/index.js';
import {
  type Database,
  type DatabaseClock,
  deleteBeyond,
  deleteExpired,
  type ExpiringTable,
} from '../../../core/database/index.js';
import { isLoopbackHost } from '../../../core/net/index.js';
import { GatewayError } from '../../../core/runtime/index.js';
import {
  AddressLimit,
  defineRoute,
  networkOwner,
  type RequestContext,
  type Route,
  readCookie,
  readJsonBody,
  readReturnPath,
  removeCookie,
  type SiteAddress,
  seeOther,
  setCookie,
} from '../../http/index.js';
import { hashToken, isBrowserToken, newToken } from '../../keys/index.js';
import { asItStands, SessionSchema } from '../setup.js';
import type { Users } from '../users.js';
import type { Identity } from './identity.js';
import { OidcClient } from './oidc.js';
import type { AccountServices } from './sessions.js';

/** Seconds that an attempt is kept. */
const ATTEMPT_SECONDS = 600;
const STARTS_PER_MINUTE = 120;
const RETURNS_PER_MINUTE = 120;

interface SignInServices extends AccountServices {
  users: Users;
  signIns: SignIns;
  identity: Identity;
}

/** The redirect to the identity provider, and the callback. */
export function signInRoutes(services: SignInServices): Route[] {
  const { users, signIns, identity, site, sessions, gateway, clock, siblings, logger, addressOf } = services;
  const oidc = new OidcClient({ identity, gateway, clock });
  const limit = { clock, siblings, what: 'Too many sign-ins' };
  const starts = new AddressLimit({ ...limit, name: 'sign-ins', perMinute: STARTS_PER_MINUTE });
  const returns = new AddressLimit({ ...limit, name: 'returns', perMinute: RETURNS_PER_MINUTE });
  const redirectUri = () => `${site().url}/signin/callback`;

  async function begin(context: RequestContext): Promise<void> {
    const otherName = sameGatewayElsewhere(context, site());
    if (otherName) return seeOther(context, otherName);
    starts.admit(addressOf(context.req));
    const returnTo = readReturnPath(context.query.return_to, site());
    const { oidc: provider, passkeys } = identity.status();
    // Passkeys need a page, and every other place leads to this address.
    if (provider === 'off' && passkeys.state === 'ready')
      return seeOther(context, `${site().url}/login?return_to=${encodeURIComponent(returnTo)}`);
    const [browser, state, nonce, codeVerifier] = [newToken(), newToken(), newToken(), newToken()];
    const target = await oidc.begin({ state, nonce, codeVerifier }, redirectUri(), context.query.again === '1');
    const hashes = { stateHash: hashToken(state), browserHash: hashToken(browser) };
    await signIns.begin({ ...hashes, nonce, codeVerifier, returnTo });
    setCookie(context, site(), { name: site().cookies.attempt, value: browser, maxAgeSeconds: ATTEMPT_SECONDS });
    seeOther(context, target.href);
  }

  async function finish(context: RequestContext): Promise<void> {
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
        'This sign-in has expired, was started in another browser, or the browser blocks cookies of this site. Allow cookies and sign in again.';
      throw new GatewayError('sign_in_failed', message);
    }
    const { nonce, codeVerifier, returnTo } = attempt;
    const callback = new URL(`${redirectUri()}?${context.querystring}`);
    // The development provider works on this machine only, so its first user is who started the gateway.
    const firstIsOperator = identity.status().standIn;
    const user = await users.signIn(await oidc.finish({ state, nonce, codeVerifier }, callback), { firstIsOperator });
    if (user.becameOperator)
      logger.info(`${user.id} signed in first, with the development provider, and is the operator: every grant`);
    await sessions.startBrowser(context, user.id);
    seeOther(context, site().url + returnTo);
  }

  const common = {
    method: 'GET',
    grant: 'none',
    format: 'page',
    tag: 'Pages',
    answers: { 303: { description: 'To the next step.' } },
    errors: ['sign_in_failed', 'sign_in_unavailable'],
  } as const;
  return [
    defineRoute({
      ...common,
      path: '/signin',
      endpoint: 'login',
      summary: 'Sign in',
      description:
        'Redirects to the identity provider, or to the page with passkeys. `?return_to=` is the page of the site to return to; `?again=1` asks for a new sign-in there.',
      handler: begin,
    }),
    defineRoute({
      ...common,
      path: '/signin/callback',
      summary: 'Sign-in callback',
      description: 'The address that the identity provider redirects to after a sign-in.',
      handler: finish,
    }),
  ];
}

/**
 * `localhost` and `127.0.0.1` are one gateway, but two hosts to a browser, which would not send the cookie of one to
 * the other. So on loopback a sign-in begins under the host name of its callback.
 */
function sameGatewayElsewhere({ req, path, querystring }: RequestContext, site: SiteAddress): string | undefined {
  const { host = '' } = req.headers;
  const asked = URL.parse(`http://${host}`);
  if (!site.loopback || !asked || asked.host === site.host || !isLoopbackHost(asked.hostname)) return undefined;
  if (asked.port !== new URL(site.url).port) return undefined;
  return `${site.url}${path}${querystring && `?${querystring}`}`;
}

const MAX_BODY_BYTES = 1_024;

/** The browser deletes what pages kept in it, such as chats. Browsers obey it on https and on the own machine. */
function leaveNothing({ res }: RequestContext): void {
  res.setHeader('Clear-Site-Data', '"storage"');
}

/** Ends the session of a request, or all sessions of its user. No error without a session. */
export function signOutRoutes({ site, sessions, publicBodies, addressOf }: AccountServices): Route[] {
  const signedOut = () => ({ authenticated: false, loginUrl: `${site().url}/signin` });

  const form = {
    method: 'POST',
    grant: 'session',
    format: 'page',
    tag: 'Pages',
    body: { type: 'application/x-www-form-urlencoded', schema: Type.Object({}) },
    answers: { 200: { description: 'A page that says so.', type: 'text/html' }, 303: { description: 'Done.' } },
  } as const;
  const common = {
    grant: 'session',
    sessionOptional: true,
    tag: 'Account',
    answers: asItStands(SessionSchema),
  } as const;
  return [
    defineRoute({
      ...form,
      path: '/signout',
      summary: 'Sign out (form)',
      description: 'Ends the session, for forms of the site.',
      async handler(context) {
        await sessions.end(context);
        leaveNothing(context);
        seeOther(context, `${site().url}/`);
      },
    }),
    defineRoute({
      ...form,
      path: '/signout/everywhere',
      summary: 'Sign out everywhere (form)',
      description: 'Ends all sessions of the user, for forms of the site.',
      async handler(context) {
        await sessions.endAll(context);
        leaveNothing(context);
        seeOther(context, `${site().url}/`);
      },
    }),
    defineRoute({
      ...common,
      method: 'DELETE',
      path: '/api/agent/sessions',
      endpoint: 'sessions',
      summary: 'Sign out everywhere',
      description: 'Ends all sessions of the user. API keys keep working.',
      async handler(context) {
        await sessions.endAll(context);
        context.body = signedOut();
      },
    }),
    defineRoute({
      ...common,
      method: 'DELETE',
      path: '/api/agent/session',
      endpoint: 'session',
      summary: 'Sign out',
      description: 'Ends the session.',
      async handler(context) {
        await sessions.end(context);
        context.body = signedOut();
      },
    }),
    defineRoute({
      ...common,
      method: 'POST',
      path: '/api/agent/session',
      endpoint: 'session',
      summary: 'Sign out (POST)',
      description: 'Ends the session, for clients that cannot send DELETE. The body is a JSON object.',
      body: { schema: Type.Object({}) },
      async handler(context) {
        // A form of another site cannot have this content type, with any origin that the browser sends.
        const limits = { maxBytes: MAX_BODY_BYTES, budget: publicBodies, owner: networkOwner(addressOf(context.req)) };
        await readJsonBody(context.req, context.res, limits);
        await sessions.end(context);
        context.body = signedOut();
      },
    }),
  ];
}

/** A pending sign-in: the values that its callback is checked against. */
export interface SignInAttempt {
  /** SHA-256 of the `state` parameter in lower-case hex. */
  stateHash: string;
  /** SHA-256 of the browser's cookie. */
  browserHash: string;
  nonce: string;
  /** PKCE verifier. */
  codeVerifier: string;
  /** Path of the site to continue at. */
  returnTo: string;
}

const GOOD_MS = 10 * 60_000;
const MAX = 20_000;

/** Every method throws GatewayError `upstream_unavailable` within 2.5 s if the database does not answer. */
export class SignIns {
  readonly #database: Database;
  readonly #times: DatabaseClock;
  readonly #table: ExpiringTable;

  constructor(database: Database, times: DatabaseClock) {
    this.#database = database;
    this.#times = times;
    this.#table = { engine: this.#database.engine, table: 'sign_ins', key: 'stateHash' };
  }

  /** Valid for 10 minutes. The latest 20,000 are kept. */
  async begin({ stateHash, browserHash, nonce, codeVerifier, returnTo }: SignInAttempt): Promise<void> {
    await this.#database.run(async (queries) => {
      const at = await this.#times.read(queries);
      await deleteExpired(queries, this.#table, at);
      await deleteBeyond(queries, this.#table, MAX);
      await queries
        .insertInto('sign_ins')
        .values({
          stateHash,
          browserHash,
          nonce,
          codeVerifier,
          returnTo,
          expiresAt: at + GOOD_MS,
        })
        .execute();
    });
  }

  /** Returns an attempt once, and only to the browser that began it; undefined otherwise, and if it has expired. */
  async take(stateHash: string, browserHash: string): Promise<SignInAttempt | undefined> {
    return this.#database.run((queries) =>
      queries
        .deleteFrom('sign_ins')
        .where('stateHash', '=', stateHash)
        .where('browserHash', '=', browserHash)
        .where('expiresAt', '>', this.#times.now)
        .returning(['stateHash', 'browserHash', 'nonce', 'codeVerifier', 'returnTo'])
        .executeTakeFirst(),
    );
  }
}
