/*
 * The authorization server as part of the gateway. The library answers requests inside of the process, so that limits,
 * log lines and security headers are those of every route, and it sees the address of the site behind any proxy. Only
 * the parameters that count reach it, and of cookies only its own two. It is loaded by the first request. Agents can sign
 * in if the site has a sign-in and an address with https or on loopback. So can people at the applications of the operator,
 * for which it is an OpenID provider: who is signed in here goes on there at once, unless the application asks for a new
 * sign-in (`prompt=login`, `max_age`). With `prompt=none` no page is shown; who cannot go on at once is an error then.
 */

import type { KeyObject } from 'node:crypto';
import type { IncomingMessage, RequestListener } from 'node:http';
import type { Gateway } from 'mediagate';
import { GatewayError, isGatewayError, type Logger } from '../../core/runtime/index.js';
import type { Identity, UserRecord, Users } from '../accounts/index.js';
import { type CallAnswer, callHandler, clientSignal, type RequestContext, type SiteAddress } from '../http/index.js';
import { GRANTS, type Grant, type KeyTable, newToken } from '../keys/index.js';
import { MCP_PATH } from '../mcp/index.js';
import { freeTierTerms, type PlanTermsOptions } from '../plans/index.js';
import type { ApplicationSignIns } from './application-sign-ins.js';
import { APPLICATION_SCOPES, findApplication, readApplicationScope } from './applications.js';
import type { Artifacts } from './artifacts.js';
import { describeRedirect, isDocumentId, MetadataError } from './client-metadata.js';
import type { AgentProgram, ConnectionRecord, Connections } from './connections.js';
import { AUTHORIZE_PATH, KEYS_PATH, TOKEN_PATH, USERINFO_PATH } from './paths.js';
import type { Programs } from './programs.js';
import { type Demand, demandIn, promptOf, promptOfAgent, type SignedInHere } from './prompts.js';
import type { Provider } from './provider.js';

export const RESOURCE_METADATA_PATH = '/.well-known/oauth-protected-resource';
const OPENID_CONFIGURATION_PATH = '/.well-known/openid-configuration';
/** How long an application can use what it got for a sign-in. */
const APPLICATION_SECONDS = 15 * 60;
/** Cookies of the library. */
const COOKIES: ReadonlySet<string> = new Set(['oauth-consent', 'oauth-resume']);

/** What sign-in for agents stores. */
export interface AgentSignInStores {
  artifacts: Artifacts;
  programs: Programs;
  connections: Connections;
  applications: ApplicationSignIns;
}

export interface AuthorizationServerOptions extends PlanTermsOptions {
  agentSignIn: AgentSignInStores;
  users: Pick<Users, 'find'>;
  identity: Pick<Identity, 'status' | 'applications'>;
  gateway: Pick<Gateway, 'httpClient'>;
  keys: Pick<KeyTable, 'refresh'>;
  /** Its secret. */
  pepper: { secret: KeyObject };
  logger: Logger;
  site(): SiteAddress;
  baseUrl(): string;
  /** Whether `/mcp` exists. */
  mcpEnabled: boolean;
  /** Whether agents may sign in. */
  mcpSignIn: boolean;
}

/** A program that waits for the answer of a user. */
export interface AccessRequest {
  program: AgentProgram;
  /** Whether the program is on the machine of the user, as its address to return to says. */
  isLocal: boolean;
  /** Whether it is an app with a scheme of its own. */
  isApp: boolean;
  /** What it asks for. */
  grants: readonly Grant[];
}

/** As RFC 6750 allows it in a quoted parameter of a header. */
function quotable(text: string): string {
  return text.replace(/["\\]|[^\x20-\x7e]/g, "'");
}

type Params = Record<string, string | undefined>;

/** Parameters of a request for access that reach the library. */
const PARAMETERS = ['client_id', 'redirect_uri', 'response_type', 'state', 'code_challenge', 'code_challenge_method'];

export class AuthorizationServer {
  readonly #options: AuthorizationServerOptions;
  #opened: { issuer: string; provider: Promise<{ provider: Provider; handler: RequestListener }> } | undefined;

  constructor(options: AuthorizationServerOptions) {
    this.#options = options;
  }

  /** Whether agents can sign in. */
  isAvailable(): boolean {
    const { mcpEnabled, mcpSignIn } = this.#options;
    return mcpEnabled && mcpSignIn && this.#canSignIn();
  }

  /** Whether it is the OpenID provider of this gateway: of its passkeys, or of applications of the operator. */
  isProvider(): boolean {
    const { identity } = this.#options;
    const { oidc, passkeys } = identity.status();
    return this.#canSignIn() && (identity.applications.length > 0 || (oidc === 'off' && passkeys.state === 'ready'));
  }

  /** Whether a client id is that of an application of the operator. */
  isApplication(id: string): boolean {
    return this.#application(id) !== undefined;
  }

  /** Addresses of the OpenID provider, for the manifest. Undefined if it is none. */
  describeProvider() {
    if (!this.isProvider()) return undefined;
    const { url } = this.#options.site();
    return {
      issuer: url,
      configurationUrl: `${url}${OPENID_CONFIGURATION_PATH}`,
      authorizationUrl: url + AUTHORIZE_PATH,
      tokenUrl: url + TOKEN_PATH,
      userinfoUrl: url + USERINFO_PATH,
      keysUrl: url + KEYS_PATH,
    };
  }

  /** @throws GatewayError `agent_sign_in_unavailable`. */
  checkAvailable(): void {
    if (this.isAvailable()) return;
    throw new GatewayError('agent_sign_in_unavailable', 'Agents cannot sign in here. Use an API key as bearer token.');
  }

  /** Checks that agents or applications can sign in. @throws GatewayError `agent_sign_in_unavailable`. */
  checkOpen(): void {
    if (!this.isProvider()) this.checkAvailable();
  }

  /** The address that tokens are for. */
  resource(): string {
    return this.#options.baseUrl() + MCP_PATH;
  }

  /** The value of `WWW-Authenticate` for a request to `/mcp` that is refused. @param reason Why its key or token was. */
  challenge({ headers }: IncomingMessage, reason: string): string {
    const metadata = `${this.#options.baseUrl()}${RESOURCE_METADATA_PATH}${MCP_PATH}`;
    const error =
      headers.authorization === undefined ? '' : `, error="invalid_token", error_description="${quotable(reason)}"`;
    return `Bearer resource_metadata="${metadata}", scope="${GRANTS.join(' ')}"${error}`;
  }

  /** Metadata of `/mcp` (RFC 9728). */
  describeResource() {
    const { site } = this.#options;
    return {
      resource: this.resource(),
      authorization_servers: [site().url],
      scopes_supported: [...GRANTS],
      bearer_methods_supported: ['header'],
      resource_documentation: `${site().url}/docs`,
    };
  }

  /** Metadata of the authorization server (RFC 8414), also in the place where OpenID clients look. */
  async describe(context: RequestContext): Promise<object> {
    const { json } = await this.#call(context, { method: 'GET', path: context.path });
    const { claims_supported: _claims, claim_types_supported: _types, ...rest } = json as Record<string, unknown>;
    const common = { ...rest, response_modes_supported: ['query'], client_id_metadata_document_supported: true };
    const method = 'token_endpoint_auth_methods_supported';
    if (context.path !== OPENID_CONFIGURATION_PATH)
      return { ...common, scopes_supported: [...GRANTS], [method]: ['none'] };
    return {
      ...common,
      scopes_supported: [...APPLICATION_SCOPES, ...GRANTS],
      [method]: ['client_secret_basic', 'client_secret_post', 'none'],
      prompt_values_supported: ['none', 'login'],
      claims_supported: ['sub', 'name', 'email', 'auth_time', 'iss', 'aud', 'exp', 'iat'],
    };
  }

  /**
   * Begins a request for access.
   * @param here Who is signed in at the site, for requests of applications.
   * @throws GatewayError `agent_request_invalid`, if the browser cannot be sent back to the program.
   */
  async begin(context: RequestContext, here?: SignedInHere): Promise<CallAnswer> {
    const sent = new URLSearchParams(context.querystring);
    const [clientId, ...more] = sent.getAll('client_id');
    if (clientId === undefined || more.length > 0) throw invalidRequest('client_id must be sent once.');
    const isApplication = this.isApplication(clientId);
    const passed = new URLSearchParams();
    for (const name of [...PARAMETERS, isApplication ? 'nonce' : 'resource'])
      for (const value of sent.getAll(name)) passed.append(name, value);
    const now = () => this.#options.agentSignIn.applications.now();
    const asked = isApplication ? await promptOf(sent, here, now) : promptOfAgent(sent);
    for (const [name, value] of asked) passed.set(name, value);
    const scope = isApplication ? readApplicationScope(sent.get('scope')) : readScope(sent.get('scope'));
    passed.set('scope', scope.join(' '));
    if (!isApplication) await this.#checkProgram(clientId);
    return this.#call(context, { method: 'GET', path: `${context.path}?${passed}` });
  }

  /** @throws GatewayError `agent_request_invalid`, `agent_sign_in_unavailable`. */
  async #checkProgram(clientId: string): Promise<void> {
    this.checkAvailable();
    const known = await this.#resolve(clientId);
    if (!known)
      throw invalidRequest('This program is not registered here, or was not used for too long: connect it again.');
  }

  /** Continues a request that a user has answered. */
  resume(context: RequestContext): Promise<CallAnswer> {
    return this.#call(context, { method: 'GET', path: context.path });
  }

  /** Who the user of an access token is, as the library answers it. */
  describeUser(context: RequestContext, authorization: string | undefined): Promise<CallAnswer> {
    return this.#call(context, { method: 'GET', path: USERINFO_PATH, authorization });
  }

  /** Passes a form or a JSON object to the library. */
  post(context: RequestContext, type: string, bytes: Buffer): Promise<CallAnswer> {
    return this.#call(context, { method: 'POST', path: context.path, type, bytes });
  }

  /** The request for access that this browser has begun. @throws GatewayError `agent_request_invalid`. */
  async find(context: RequestContext, uid: string): Promise<AccessRequest> {
    const { provider } = await this.#open();
    const { params } = await this.#interaction(provider, context, uid);
    const { client_id: clientId, redirect_uri: redirectUri, scope } = params as Params;
    const metadata = await this.#options.agentSignIn.programs.find(clientId ?? '');
    if (!metadata || clientId === undefined || redirectUri === undefined) throw expired();
    const { host: redirectHost, isLocal, isApp } = describeRedirect(redirectUri);
    const host = isDocumentId(clientId) ? new URL(clientId).host : null;
    const name = String(metadata.client_name || host || redirectHost);
    return { program: { clientId, name, host, redirectHost }, isLocal, isApp, grants: readScope(scope ?? null) };
  }

  /** What the application whose request this browser has begun asks of the sign-in. Undefined for agents, and without one. */
  async demandOf(context: RequestContext, uid: string): Promise<Demand | undefined> {
    const { provider } = await this.#open();
    const found = await this.#interaction(provider, context, uid).catch((error: unknown) => {
      // The page after the sign-in says that the request has expired.
      if (isGatewayError(error)) return undefined;
      throw error;
    });
    const params = (found?.params ?? {}) as Params;
    return this.isApplication(params.client_id ?? '') ? demandIn(params) : undefined;
  }

  /** Sends the browser back to the application, whose user would have to sign in on a page. @returns The path to go on at. */
  async refuseSilently(context: RequestContext): Promise<string> {
    const { provider } = await this.#open();
    const refusal = { error: 'login_required', error_description: 'The user is not signed in, or not recently.' };
    return pathOf(await provider.interactionResult(context.req, context.res, refusal));
  }

  /**
   * Signs a user in at the application whose request this browser has begun.
   * @returns The path at which the browser goes on. Undefined if the request is that of an agent.
   * @throws GatewayError `agent_request_invalid`.
   */
  async signIn(context: RequestContext, uid: string, here: SignedInHere): Promise<string | undefined> {
    const { provider } = await this.#open();
    const { client_id: clientId = '', scope } = (await this.#interaction(provider, context, uid)).params as Params;
    if (!this.isApplication(clientId)) return undefined;
    const { id: accountId } = here.user;
    const grant = new provider.Grant({ accountId, clientId });
    const grantId = newToken();
    Object.assign(grant, { jti: grantId, expiresIn: APPLICATION_SECONDS });
    grant.addOIDCScope(readApplicationScope(scope ?? null).join(' '));
    await grant.save();
    await this.#options.agentSignIn.applications.signedIn(clientId, accountId);
    const ts = Math.floor(here.signedInAt / 1_000);
    const result = { login: { accountId, remember: false, ts }, consent: { grantId } };
    return pathOf(await provider.interactionResult(context.req, context.res, result));
  }

  /**
   * Answers the request of this browser for a user.
   * @param grants What the user allows. Undefined: the user refuses.
   * @returns The path at which the browser goes on.
   * @throws GatewayError `agent_request_invalid`, `account_suspended`.
   */
  async answer(
    context: RequestContext,
    uid: string,
    { user, grants }: { user: UserRecord; grants: readonly Grant[] | undefined },
  ): Promise<string> {
    const { provider } = await this.#open();
    const { req, res } = context;
    const { program, grants: asked } = await this.find(context, uid);
    if (!grants || grants.length === 0) {
      const refusal = { error: 'access_denied', error_description: 'The user refused.' };
      return pathOf(await provider.interactionResult(req, res, refusal));
    }
    const grantId = newToken();
    const { agentSignIn, keys } = this.#options;
    const { id: userId, accountId } = user;
    const otherwise = freeTierTerms(this.#options);
    await agentSignIn.connections.create({ userId, accountId, grantId, program, grants, otherwise });
    await keys.refresh();
    const grant = new provider.Grant({ accountId: userId, clientId: program.clientId });
    grant.jti = grantId;
    grant.addOIDCScope(grants.join(' '));
    grant.addResourceScope(this.resource(), grants.join(' '));
    // Otherwise the library would ask for the rest again.
    const rest = asked.filter((one) => !grants.includes(one)).join(' ');
    if (rest !== '') {
      grant.rejectOIDCScope(rest);
      grant.rejectResourceScope(this.resource(), rest);
    }
    await grant.save();
    const result = { login: { accountId: userId, remember: false }, consent: { grantId } };
    return pathOf(await provider.interactionResult(req, res, result));
  }

  /** Connections of a user. */
  connections(userId: string): Promise<readonly ConnectionRecord[]> {
    return this.#options.agentSignIn.connections.list(userId);
  }

  /** Ends a connection of a user, with its running jobs. False if there is none. */
  async disconnect(id: string, userId: string): Promise<boolean> {
    const isEnded = await this.#options.agentSignIn.connections.end(id, userId);
    await this.#options.keys.refresh();
    return isEnded;
  }

  #canSignIn(): boolean {
    const { secure, loopback } = this.#options.site();
    return (secure || loopback) && this.#options.identity.status().state !== 'off';
  }

  #application(id: string) {
    const { identity, pepper } = this.#options;
    return findApplication({ applications: identity.applications, secret: pepper.secret }, id);
  }

  async #resolve(clientId: string) {
    const { agentSignIn, gateway } = this.#options;
    try {
      return await agentSignIn.programs.resolve(gateway, clientId);
    } catch (error) {
      if (error instanceof MetadataError) throw invalidRequest(error.message);
      throw error;
    }
  }

  async #interaction(provider: Provider, { req, res }: RequestContext, uid: string) {
    const found = await provider.interactionDetails(req, res).catch((error: { expose?: boolean }) => {
      if (error.expose) throw expired();
      throw error;
    });
    if (found.uid !== uid || found.result) throw expired();
    return found;
  }

  async #call(context: RequestContext, { method, path, type, bytes, authorization }: LibraryCall): Promise<CallAnswer> {
    const { handler } = await this.#open();
    const { req, res, state } = context;
    const { host, protocol } = new URL(this.#options.site().url);
    const cookies = (req.headers.cookie ?? '').split('; ').filter((one) => COOKIES.has(one.split('=')[0] ?? ''));
    const headers = {
      host,
      'x-forwarded-host': host,
      'x-forwarded-proto': protocol.slice(0, -1),
      'x-request-id': state.requestId,
      accept: 'application/json',
      ...(type !== undefined && { 'content-type': type }),
      ...(authorization !== undefined && { authorization }),
      ...(cookies.length > 0 && { cookie: cookies.join('; ') }),
    };
    const answer = await callHandler(
      handler,
      { method, path, headers, bytes },
      { from: req, signal: clientSignal(res) },
    );
    if (answer.status >= 500) throw new GatewayError('internal_error', 'The authorization server failed.');
    const set = [answer.headers['set-cookie'] ?? []].flat().map(String);
    for (const cookie of set) if (COOKIES.has(cookie.split('=')[0] ?? '')) context.append('Set-Cookie', cookie);
    return answer;
  }

  /** Opens the library at the first request, and again if the address of the site has changed. */
  #open(): Promise<{ provider: Provider; handler: RequestListener }> {
    const { site, agentSignIn, users, keys, logger, pepper } = this.#options;
    const issuer = site().url;
    if (this.#opened?.issuer === issuer) return this.#opened.provider;
    const open = async () => {
      const { createProvider } = await import('./provider.js');
      const provider = createProvider({
        issuer,
        resource: () => this.resource(),
        secret: pepper.secret,
        ...agentSignIn,
        application: (id) => this.#application(id),
        async activeUser(userId) {
          const user = await users.find(userId);
          return user?.suspendedAt === null ? user : undefined;
        },
        ended: () => keys.refresh(),
        logger,
      });
      return { provider, handler: provider.callback() };
    };
    const opened = { issuer, provider: open() };
    this.#opened = opened;
    return opened.provider;
  }
}

interface LibraryCall {
  method: string;
  path: string;
  type?: string;
  bytes?: Buffer;
  authorization?: string | undefined;
}

/** The grants that a program asks for, all if it names none. */
function readScope(scope: string | null): readonly Grant[] {
  const named = new Set(scope?.split(' '));
  const known = GRANTS.filter((grant) => named.has(grant));
  return known.length > 0 ? known : GRANTS;
}

function pathOf(address: string): string {
  return new URL(address).pathname;
}

function invalidRequest(message: string): GatewayError {
  return new GatewayError('agent_request_invalid', message);
}

function expired(): GatewayError {
  return invalidRequest(
    'This request has expired, began in another browser, or was answered. Connect the program again.',
  );
}
