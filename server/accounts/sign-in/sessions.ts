/*
 * Sessions of browsers (a cookie) and of programs (a bearer token of the device flow). Only the hash of the secret is
 * stored. A session ends after 12 hours without a request, and after 7 days (browser) or 12 hours (program) in any
 * case; its use is written at most once a minute. A user has at most 50 sessions. The guard checks the session first
 * and then that the request comes from a page of the site. Pages call the API under `/api/play/v1`, where the internal
 * key of the account applies, so no page contains a key.
 */

import {
  type Database,
  type DatabaseClock,
  deleteExpired,
  type Selectable,
  type Tables,
  type Transaction,
} from '../../../core/database/index.js';
import { GatewayError } from '../../../core/runtime/index.js';
import { writeAudit } from '../../audit/index.js';
import {
  type BodyBudget,
  type Middleware,
  type Next,
  type RequestContext,
  type Route,
  readCookie,
  removeCookie,
  type ServerContext,
  type SiteAddress,
  setCookie,
} from '../../http/index.js';
import {
  type ApiKeys,
  hashToken,
  InternalKeys,
  isBrowserToken,
  isDeviceToken,
  type KeyTable,
  newDeviceToken,
  newToken,
} from '../../keys/index.js';
import { freeTierTerms, type PlanTerms, type PlanTermsOptions } from '../../plans/index.js';
import { lockAccount, lockAccountOf, refuseSuspended } from '../account-plans.js';
import type { SessionKind, SessionsTable, UserRecord } from '../tables.js';
import { selectUsers, type UserChange } from '../users.js';

declare module '../../http/koa-app.js' {
  interface RequestState {
    /** The signed-in user, once resolved. */
    signedIn?: Promise<SignedIn | undefined>;
  }
}

const HOUR_MS = 3_600_000;
const BROWSER = { kind: 'browser', idleMs: 12 * HOUR_MS, lifetimeMs: 7 * 24 * HOUR_MS } as const;
const DEVICE = { kind: 'device', idleMs: 12 * HOUR_MS, lifetimeMs: 12 * HOUR_MS } as const;

export interface NewDeviceSession {
  token: string;
  /** Lifetime in seconds. */
  expiresIn: number;
}

/** What routes of signed-in users work with. */
export interface AccountServices extends ServerContext {
  sessions: SessionService;
  /** The public address of the site. */
  site(): SiteAddress;
  /** Budget of bodies of callers without a key or a session. */
  publicBodies: BodyBudget;
}

/** The session of a request: of a browser by its cookie, of a program by a bearer token of the device flow. */
export class SessionService {
  readonly #sessions: Sessions;
  readonly #site: () => SiteAddress;

  constructor(sessions: Sessions, site: () => SiteAddress) {
    this.#sessions = sessions;
    this.#site = site;
  }

  /** Undefined without a session. If a request has a bearer token, only that counts. */
  async find(context: RequestContext): Promise<SignedIn | undefined> {
    context.state.signedIn ??= this.#find(context);
    return context.state.signedIn;
  }

  /** @throws GatewayError `not_signed_in`; its body contains the sign-in address. */
  async require(context: RequestContext): Promise<SignedIn> {
    const found = await this.find(context);
    if (found) return found;
    context.state.loginUrl = `${this.#site().url}/signin`;
    const instead = bearerOf(context)?.startsWith('sk-') ? 'An API key cannot sign in a user. ' : '';
    throw new GatewayError('not_signed_in', `${instead}Sign in first: ${context.state.loginUrl}.`);
  }

  /** Signs a browser in with a new session; its previous one ends. */
  async startBrowser(context: RequestContext, userId: string): Promise<void> {
    const before = readCookie(context, this.#site().cookies.session);
    const token = newToken();
    await this.#sessions.create({ ...BROWSER, hash: hashToken(token), userId });
    if (before !== undefined && isBrowserToken(before)) await this.#sessions.end(hashToken(before));
    const maxAgeSeconds = BROWSER.lifetimeMs / 1_000;
    setCookie(context, this.#site(), { name: this.#site().cookies.session, value: token, maxAgeSeconds });
  }

  async startDevice(userId: string): Promise<NewDeviceSession> {
    const token = newDeviceToken();
    await this.#sessions.create({ ...DEVICE, hash: hashToken(token), userId });
    return { token, expiresIn: DEVICE.lifetimeMs / 1_000 };
  }

  /** Ends the session of the request, and deletes the cookie. No error without a session. */
  async end(context: RequestContext): Promise<void> {
    const token = tokenOf(context, this.#site());
    if (token) await this.#sessions.end(hashToken(token.token));
    this.#takeCookieBack(context);
  }

  /** Ends all sessions of the user, on all devices. */
  async endAll(context: RequestContext): Promise<void> {
    const userId = (await this.find(context))?.user.id;
    if (userId !== undefined) await this.#sessions.endAllOf({ userId, actor: `user:${userId}` });
    this.#takeCookieBack(context);
  }

  async #find(context: RequestContext): Promise<SignedIn | undefined> {
    const token = tokenOf(context, this.#site());
    const found = token && (await this.#sessions.find(hashToken(token.token)));
    return found && found.session.kind === token.kind ? found : undefined;
  }

  #takeCookieBack(context: RequestContext): void {
    if (bearerOf(context) === undefined) removeCookie(context, this.#site(), this.#site().cookies.session);
  }
}

/**
 * The bearer token of a request. Browsers never add one by themselves. (They do add Basic, so a password prompt of a
 * proxy in front of the site has no effect here.)
 */
export function bearerOf({ req }: RequestContext): string | undefined {
  const { authorization } = req.headers;
  return authorization && /^bearer( |$)/i.test(authorization) ? authorization.slice(7).trim() : undefined;
}

export interface SessionToken {
  kind: SessionKind;
  token: string;
}

/** The token that a request presents, valid or not. */
export function tokenOf(context: RequestContext, site: SiteAddress): SessionToken | undefined {
  const bearer = bearerOf(context);
  if (bearer !== undefined) return isDeviceToken(bearer) ? { kind: 'device', token: bearer } : undefined;
  const token = readCookie(context, site.cookies.session) ?? '';
  return isBrowserToken(token) ? { kind: 'browser', token } : undefined;
}

/**
 * Checks requests of routes that act for the signed-in user. The session is checked before the origin, so that a
 * program without a session gets the sign-in error. Pages redirect visitors without a session to the sign-in.
 */
export function createSessionGuard(sessions: SessionService, site: () => SiteAddress) {
  return ({ method, format, sessionOptional = format === 'page' }: Route): Middleware =>
    async (context, next) => {
      if (!sessionOptional) await sessions.require(context);
      if (method !== 'GET') refuseOtherSites(context, site());
      return next();
    };
}

/**
 * Accepts a browser's request only from the site's own pages. Requests with a bearer token pass: other pages cannot
 * make a browser add one.
 * @throws GatewayError `cross_site_request`.
 */
export function refuseOtherSites(context: RequestContext, site: SiteAddress): void {
  if (bearerOf(context) !== undefined || isFromOwnPage(context, site)) return;
  const message = `This must be sent from a page of ${site.origin}: the Origin or Sec-Fetch-Site header names another site, or both are missing.`;
  throw new GatewayError('cross_site_request', message);
}

function isFromOwnPage({ req: { headers } }: RequestContext, { origin }: SiteAddress): boolean {
  const { 'sec-fetch-site': relation, origin: from } = headers;
  // Browsers that support Sec-Fetch-Site may send a form's origin as "null".
  if (relation !== undefined)
    return relation === 'same-origin' && (from === undefined || from === 'null' || from === origin);
  return from === origin;
}

const PREFIX = '/api/play';

interface PlayServices extends AccountServices, PlanTermsOptions {
  accountKeys: Pick<ApiKeys<PlanTerms>, 'findInternal' | 'issueInternal'>;
  keys: KeyTable;
}

/**
 * Serves everything under `/v1` also under `/api/play/v1`, for the site's own pages: a signed-in user acts with the
 * internal key of the account, and the account's limits apply. So no page ever contains a key. It runs after the routes,
 * so that only requests without a route pass it.
 * @param route Finds the route under `/v1`.
 */
export function createPlay(services: PlayServices, route: Middleware): Middleware {
  const { accountKeys, site, sessions, keys, clock } = services;
  const freeTier = () => freeTierTerms(services);
  const internalKeys = new InternalKeys({ keys: accountKeys, table: keys, freeTier, clock });

  async function play(context: RequestContext, next: Next): Promise<unknown> {
    if (bearerOf(context) !== undefined || context.req.headers['x-api-key'] !== undefined) {
      const message = `${PREFIX} is only for pages of the site. Programs call the same path without it and send their API key.`;
      throw new GatewayError('route_not_allowed', message);
    }
    refuseOtherSites(context, site());
    const { user } = await sessions.require(context);
    context.state.playedKey = await internalKeys.admit(user.accountId);
    context.path = context.path.slice(PREFIX.length);
    return route(context, next);
  }

  return (context: RequestContext, next: Next): Promise<unknown> =>
    context.path.startsWith(`${PREFIX}/v1/`) ? play(context, next) : next();
}

/** A session. Times are milliseconds since 1970. */
export interface SessionRecord {
  /** SHA-256 of the secret in lower-case hex; the secret itself is not stored. */
  hash: string;
  userId: string;
  kind: SessionKind;
  createdAt: number;
  /** Its current end: the earlier of its idle time and its lifetime. */
  expiresAt: number;
}

export interface NewSession {
  /** SHA-256 of the secret in lower-case hex. */
  hash: string;
  userId: string;
  kind: SessionKind;
  /** Milliseconds without a request after which it ends. */
  idleMs: number;
  /** Milliseconds after which it ends in any case. */
  lifetimeMs: number;
}

export interface SignedIn {
  session: SessionRecord;
  user: UserRecord;
}

type SessionRow = Selectable<SessionsTable>;

const MAX_OF_USER = 50;
const TOUCH_MS = 60_000;

/** Every method throws GatewayError `upstream_unavailable` within 2.5 s if the database does not answer. */
export class Sessions {
  readonly #database: Database;
  readonly #times: DatabaseClock;

  constructor(database: Database, times: DatabaseClock) {
    this.#database = database;
    this.#times = times;
  }

  /**
   * A user has at most 50 sessions: a new one ends the least recently used.
   * @throws GatewayError `account_suspended`, `user_not_found`.
   */
  create({ hash, userId, kind, idleMs, lifetimeMs }: NewSession): Promise<SessionRecord> {
    return this.#database.transaction(async (transaction) => {
      const user = await selectUsers(transaction).where('users.id', '=', userId).executeTakeFirst();
      if (!user) throw new GatewayError('user_not_found', 'There is no such user.');
      refuseSuspended(await lockAccount(transaction, this.#database.engine, user.accountId));
      const at = await this.#times.read(transaction);
      await deleteExpired(transaction, { engine: this.#database.engine, table: 'sessions', key: 'hash' }, at);
      await endLongestUnseen(transaction, userId);
      const row: SessionRow = {
        hash,
        userId,
        kind,
        createdAt: at,
        lastSeenAt: at,
        idleMs,
        endsAt: at + lifetimeMs,
        expiresAt: at + Math.min(idleMs, lifetimeMs),
      };
      await transaction.insertInto('sessions').values(row).execute();
      return toSession(row);
    });
  }

  /**
   * The session and its user. Undefined if there is none, or it has ended. Extends the idle time, which is written at
   * most once a minute.
   */
  async find(hash: string): Promise<SignedIn | undefined> {
    return this.#database.run(async (queries) => {
      const row = await queries
        .selectFrom('sessions')
        .selectAll()
        .select(this.#times.now.as('now'))
        .where('hash', '=', hash)
        .executeTakeFirst();
      if (!row || row.expiresAt <= row.now) return undefined;
      const user = await selectUsers(queries).where('users.id', '=', row.userId).executeTakeFirst();
      if (!user || user.suspendedAt !== null) return undefined;
      if (row.now - row.lastSeenAt < TOUCH_MS) return { session: toSession(row), user };
      const seen = { lastSeenAt: row.now, expiresAt: Math.min(row.endsAt, row.now + row.idleMs) };
      await queries.updateTable('sessions').set(seen).where('hash', '=', hash).execute();
      return { session: toSession({ ...row, ...seen }), user };
    });
  }

  /** False if there was none. */
  async end(hash: string): Promise<boolean> {
    const { numDeletedRows } = await this.#database.run((queries) =>
      queries.deleteFrom('sessions').where('hash', '=', hash).executeTakeFirstOrThrow(),
    );
    return numDeletedRows > 0n;
  }

  /**
   * Ends the sessions and pending device grants of a user; API keys stay valid. Returns the number of sessions; if
   * there were any, it writes the audit row `user.signed-out`.
   * @throws GatewayError `user_not_found`.
   */
  endAllOf({ userId, actor, note }: UserChange): Promise<number> {
    return this.#database.transaction(async (transaction) => {
      await lockAccountOf(transaction, this.#database.engine, userId);
      await transaction.deleteFrom('device_grants').where('userId', '=', userId).execute();
      const ended = transaction.deleteFrom('sessions').where('userId', '=', userId);
      const count = Number((await ended.executeTakeFirstOrThrow()).numDeletedRows);
      if (count === 0) return 0;
      const at = await this.#times.read(transaction);
      await writeAudit(transaction, { subject: userId, at, actor, action: 'user.signed-out', note });
      return count;
    });
  }
}

/** Makes room for a new session. */
async function endLongestUnseen(transaction: Transaction<Tables>, userId: string): Promise<void> {
  await transaction
    .deleteFrom('sessions')
    .where('hash', 'in', (old) =>
      old
        .selectFrom('sessions')
        .select('hash')
        .where('userId', '=', userId)
        .orderBy('lastSeenAt', 'desc')
        .orderBy('hash')
        .limit(MAX_OF_USER)
        .offset(MAX_OF_USER - 1),
    )
    .execute();
}

function toSession(row: SessionRow): SessionRecord {
  return {
    hash: row.hash,
    userId: row.userId,
    kind: row.kind,
    createdAt: row.createdAt,
    expiresAt: row.expiresAt,
  };
}
