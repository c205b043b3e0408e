/*
 * Runs the OpenID Connect provider of development on a free port of 127.0.0.1, with the code flow, PKCE and one client.
 * It starts only if the site itself has a loopback address, because every person can sign in with any address. Keys and
 * the client secret are new at each start. Accounts, and sessions with codes, are two lists in memory of at most 1,000
 * entries. Requests with another `Host` are refused, so that no website elsewhere can use it through a DNS name. Each
 * sign-in shows the form.
 */

import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { LRUCache } from 'lru-cache';
import {
  isLoopbackHost,
  type Logger,
  type OpenIdentityProvider,
  type OpenIdentityProviderCall,
} from 'mediagate/plugin';
import {
  type Adapter,
  type AdapterPayload,
  type Configuration,
  type FindAccount,
  interactionPolicy,
  type JWK,
  Provider,
} from 'oidc-provider';
import { renderFailurePage, renderSignInPage } from './pages.js';

const { createServer } = process.getBuiltinModule('node:http');
const CLIENT_ID = 'mediagate';

/** Serves on a free port of 127.0.0.1, with keys and a client secret that nobody had before. */
export async function openProvider(
  { redirectUri }: OpenIdentityProviderCall,
  logger: Logger,
): Promise<OpenIdentityProvider> {
  if (!isLoopbackHost(new URL(redirectUri).hostname)) {
    throw new Error(
      'the development identity provider lets anyone sign in, so it works only for sites on loopback addresses',
    );
  }
  const clientSecret = randomBytes(32).toString('base64url');
  const { privateKey: key } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const people = createPeople();
  const server = createServer({ requestTimeout: 10_000 });
  const issuer = await listen(server);
  const provider = new Provider(issuer, configure({ clientId: CLIENT_ID, clientSecret, redirectUri, key, people }));
  provider.on('server_error', (_context, error) => logger.warn('the development provider failed', { error }));
  const answerProtocol = provider.callback();

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // A page elsewhere may have its name point here; what it asks for then bears that name.
    if (request.headers.host !== new URL(issuer).host) return refuse(response, 421, 'Wrong host.');
    if (!request.url?.startsWith('/interaction/')) return answerProtocol(request, response);
    try {
      await answerSignInPage(request, response, { provider, people, redirectUri });
    } catch (error) {
      logger.debug('a sign-in at the development provider was refused', { error });
      refuse(response, 400, 'This sign-in has expired or was started in another browser. Go back and start again.');
    }
  }

  server.on('request', (request, response) => void answer(request, response));
  let closing: Promise<unknown> | undefined;
  return {
    issuer,
    clientId: CLIENT_ID,
    clientSecret,
    async close() {
      closing ??= closeServer(server);
      await closing;
    },
  };
}

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the listener has no port');
  return `http://127.0.0.1:${address.port}`;
}

function closeServer(server: Server): Promise<unknown> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  return closed;
}

function refuse(response: ServerResponse, status: number, reason: string): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(status, { 'Content-Type': 'text/html; charset=utf-8', Connection: 'close' });
  response.end(renderFailurePage(reason));
}

const SCOPE = 'openid email profile';

interface ConfigurationOptions {
  clientId: string;
  clientSecret: string;
  redirectUri: string;
  /** Signs identity tokens: an EC key on P-256. */
  key: KeyObject;
  people: People;
}

/** One client, the code flow with PKCE, and no consent page. */
function configure(options: ConfigurationOptions): Configuration {
  const { clientId, clientSecret, redirectUri, key, people } = options;
  return {
    adapter: createMemoryAdapter(),
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: [redirectUri],
        response_types: ['code'],
        grant_types: ['authorization_code'],
        token_endpoint_auth_method: 'client_secret_basic',
        id_token_signed_response_alg: 'ES256',
      },
    ],
    jwks: { keys: [{ ...(key.export({ format: 'jwk' }) as JWK), alg: 'ES256', use: 'sig' }] },
    cookies: { keys: [randomBytes(32).toString('base64url')] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    scopes: SCOPE.split(' '),
    responseTypes: ['code'],
    pkce: { required: () => true },
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    features: {
      devInteractions: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      resourceIndicators: { enabled: false },
    },
    ttl: { AccessToken: 300, AuthorizationCode: 60, Grant: 3_600, IdToken: 300, Interaction: 3_600, Session: 3_600 },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}`, policy: alwaysAsk() },
    findAccount: people.find,
    async loadExistingGrant({ oidc }) {
      const grant = new oidc.provider.Grant({ clientId, accountId: oidc.session?.accountId });
      grant.addOIDCScope(SCOPE);
      await grant.save();
      return grant;
    },
    renderError(context, { error, error_description: description }) {
      context.type = 'html';
      context.body = renderFailurePage(description ?? error);
    },
  };
}

/** Who signs in again may want to be somebody else, which is what it is there for. */
function alwaysAsk(): interactionPolicy.DefaultPolicy {
  const { base, Check } = interactionPolicy;
  const policy = base();
  policy
    .get('login')
    ?.checks.add(
      new Check('always', 'everybody is asked', ({ oidc }) =>
        oidc.result?.login ? Check.NO_NEED_TO_PROMPT : Check.REQUEST_PROMPT,
      ),
    );
  return policy;
}

const MAX_PEOPLE = 1_000;

type People = ReturnType<typeof createPeople>;

/** The person who signed in, identified by the email address in lower case. */
function createPeople() {
  const names = new LRUCache<string, string>({ max: MAX_PEOPLE });
  return {
    /** Their id; undefined where the address is none. */
    add(email: string, name: string): string | undefined {
      const subject = email.trim().toLowerCase();
      if (!/^[^\s@]{1,64}@[^\s@]{1,135}$/.test(subject)) return undefined;
      names.set(subject, name.trim().slice(0, 100) || nameOf(subject));
      return subject;
    },
    find: ((_context, subject) => ({
      accountId: subject,
      claims: () => ({
        sub: subject,
        email: subject,
        email_verified: true,
        name: names.get(subject) ?? nameOf(subject),
      }),
    })) satisfies FindAccount,
  };
}

function nameOf(email: string): string {
  return email.slice(0, email.indexOf('@'));
}

const MAX_ENTRIES = 1_000;
const DEFAULT_SECONDS = 3_600;

/** What one provider remembers; with the provider it is gone. */
function createMemoryAdapter(): (model: string) => Adapter {
  const entries = new LRUCache<string, AdapterPayload>({ max: MAX_ENTRIES });
  const search = (model: string, fits: (payload: AdapterPayload) => boolean) => {
    for (const [key, payload] of entries.entries()) if (key.startsWith(`${model}:`) && fits(payload)) return payload;
    return undefined;
  };

  return (model) => ({
    async upsert(id, payload, expiresIn = DEFAULT_SECONDS) {
      entries.set(`${model}:${id}`, payload, { ttl: expiresIn * 1_000 });
    },
    async find(id) {
      return entries.get(`${model}:${id}`);
    },
    async findByUid(uid) {
      return search(model, (payload) => payload.uid === uid);
    },
    async findByUserCode(userCode) {
      return search(model, (payload) => payload.userCode === userCode);
    },
    async consume(id) {
      const payload = entries.get(`${model}:${id}`);
      if (payload) payload.consumed = Math.floor(Date.now() / 1_000);
    },
    async destroy(id) {
      entries.delete(`${model}:${id}`);
    },
    async revokeByGrantId(grantId) {
      for (const [key, payload] of [...entries.entries()]) if (payload.grantId === grantId) entries.delete(key);
    },
  });
}

const MAX_FORM_BYTES = 4_096;

interface SignInPageOptions {
  provider: Provider;
  people: People;
  /** Where the form leads in the end; browsers check that a form may lead there. */
  redirectUri: string;
}

/**
 * Shows the page, or takes what was filled in. Only the browser that holds the cookie of this sign-in gets it.
 * @throws Error of the provider where there is no such sign-in.
 */
async function answerSignInPage(
  request: IncomingMessage,
  response: ServerResponse,
  { provider, people, redirectUri }: SignInPageOptions,
): Promise<void> {
  const { session } = await provider.interactionDetails(request, response);
  if (request.method !== 'POST') return sendPage(response, 200, redirectUri);
  const form = new URLSearchParams(await readForm(request));
  if (form.get('action') === 'refuse') {
    const refusal = { error: 'access_denied', error_description: 'The person refused to sign in.' };
    return provider.interactionFinished(request, response, refusal);
  }
  const accountId = people.add(form.get('email') ?? '', form.get('name') ?? '');
  if (accountId === undefined) return sendPage(response, 400, redirectUri, 'This is not an email address.');
  const next = await provider.interactionResult(request, response, { login: { accountId, remember: false } });
  if (session && session.accountId !== accountId) await forgetPerson(provider, session.uid);
  response.writeHead(303, { Location: next, 'Content-Length': 0 });
  response.end();
}

/** Ends the sign-in of the person before, which the provider would ask about on a page of its own. */
async function forgetPerson(provider: Provider, uid: string): Promise<void> {
  const session = await provider.Session.findByUid(uid);
  if (session?.accountId === undefined) return;
  delete session.accountId;
  delete session.authorizations;
  await session.persist();
}

function sendPage(response: ServerResponse, status: number, redirectUri: string, problem?: string): void {
  const { origin } = new URL(redirectUri);
  response.writeHead(status, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': `default-src 'none'; style-src 'unsafe-inline'; form-action 'self' ${origin}; frame-ancestors 'none'; base-uri 'none'`,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  });
  response.end(renderSignInPage(problem));
}

async function readForm(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_FORM_BYTES) throw new Error('the form is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
