/** An agent that signs in by the address of the endpoint alone, with the protocol's own client, and the browser of its user. */

import { createHash, randomBytes } from 'node:crypto';
import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type {
  OAuthClientInformationMixed,
  OAuthClientMetadata,
  OAuthTokens,
} from '@modelcontextprotocol/sdk/shared/auth.js';
import type { BrowserSession, PageAnswer } from '../../support/accounts/browser-session.js';
import type { ListeningApp } from '../http/listening-app.js';

type App = Pick<ListeningApp, 'url' | 'request'>;

/** A program registers one port, and listens on another. */
export const REGISTERED = 'http://localhost:3118/callback';
export const CALLBACK = 'http://localhost:41999/callback';

/** What a client of the protocol remembers. */
export class Memory implements OAuthClientProvider {
  readonly redirectUrl: string;
  readonly clientMetadataUrl?: string;
  client?: OAuthClientInformationMixed;
  stored?: OAuthTokens;
  verifier = '';
  /** Where the browser was sent. */
  sentTo?: URL;

  constructor({ redirectUrl = REGISTERED, documentUrl }: { redirectUrl?: string; documentUrl?: string } = {}) {
    this.redirectUrl = redirectUrl;
    if (documentUrl !== undefined) this.clientMetadataUrl = documentUrl;
  }

  get clientMetadata(): OAuthClientMetadata {
    return { redirect_uris: [this.redirectUrl], client_name: 'Shipyard agent', token_endpoint_auth_method: 'none' };
  }

  clientInformation = () => this.client;
  saveClientInformation(client: OAuthClientInformationMixed): void {
    this.client = client;
  }
  tokens = () => this.stored;
  saveTokens(tokens: OAuthTokens): void {
    this.stored = tokens;
  }
  codeVerifier = () => this.verifier;
  saveCodeVerifier(verifier: string): void {
    this.verifier = verifier;
  }
  redirectToAuthorization(url: URL): void {
    this.sentTo = url;
  }
  state = () => 'state of the agent';
}

export interface Agent {
  memory: Memory;
  client: Client;
}

/** Connects an agent: its user allows it in the browser. */
export async function connectAgent(app: App, browser: BrowserSession, memory = new Memory()): Promise<Agent> {
  const first = transportTo(app, memory);
  const begun = new Client({ name: 'test', version: '1.0.0' });
  const refused = await begun.connect(first).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(refused instanceof UnauthorizedError) || !memory.sentTo) throw refused ?? new Error('nobody was asked');
  const back = await answerIn(browser, memory.sentTo.href, 'allow');
  await first.finishAuth(back.searchParams.get('code') ?? '');
  return { memory, client: await connectAgain(app, memory) };
}

/** A client with the tokens that are remembered. */
export async function connectAgain(app: App, memory: Memory): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(transportTo(app, memory));
  return client;
}

// biome-ignore lint/suspicious/noExplicitAny: the SDK is compiled without exact optional properties
function transportTo({ url }: App, authProvider: Memory): any {
  return new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { authProvider });
}

/** The form of a page of a request, and the rights that it offers. */
export function formOf({ text }: Pick<PageAnswer, 'text'>): { action: string; token: string; rights: string[] } {
  const [, action = ''] = /<form class="stack" method="post" action="([^"]+)"/.exec(text) ?? [];
  const [, token = ''] = /name="form_token" value="([^"]+)"/.exec(text) ?? [];
  const rights = [...text.matchAll(/type="checkbox" name="(may_\w+)" checked/g)].map(([, name = '']) => name);
  return { action, token, rights };
}

/**
 * Answers a request for access in the browser of a user who is signed in.
 * @param chosen Rights that stay ticked. Default: all.
 * @returns Where the browser is sent back to.
 */
export async function answerIn(
  browser: BrowserSession,
  address: string,
  answer: 'allow' | 'deny',
  chosen?: readonly string[],
): Promise<URL> {
  const page = await browser.open(address);
  const { action, token, rights } = formOf(page);
  if (action === '') throw new Error(`no form: ${page.status} ${page.text.slice(0, 2_000)}`);
  const { origin } = new URL(address);
  const done = await browser.send(origin + action, { form: { form_token: token, answer, ...allOf(chosen ?? rights) } });
  const path = done.headers.get('refresh')?.split('url=')[1];
  if (path === undefined) throw new Error(`no way back: ${done.status} ${done.text.slice(0, 2_000)}`);
  const { location, status, text } = await browser.send(origin + path);
  if (location === undefined) throw new Error(`no redirect: ${status} ${text.slice(0, 2_000)}`);
  return new URL(location);
}

const allOf = (rights: readonly string[]) => Object.fromEntries(rights.map((name) => [name, 'on']));

/** Registers a program. @returns Its id. */
export async function register(app: App, uris: readonly string[] = [REGISTERED], more = {}): Promise<string> {
  const { status, json, text } = await app.request('/oauth/register', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: uris, client_name: 'Shipyard agent', ...more }),
  });
  if (status !== 201) throw new Error(`not registered: ${status} ${text}`);
  return json.client_id;
}

/** A request for access, as a program builds it by hand. */
export function requestFor(app: App, clientId: string, changes: Record<string, string | undefined> = {}) {
  const verifier = randomBytes(32).toString('base64url');
  const fields = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: CALLBACK,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    state: 'state of the agent',
    resource: `${app.url}/mcp`,
    ...changes,
  };
  const sent = Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return { verifier, address: `${app.url}/oauth/authorize?${new URLSearchParams(sent)}` };
}

/** Sends a form to the endpoint of tokens, or to that of revocation. */
export function postForm(app: App, path: '/oauth/token' | '/oauth/revoke', fields: Record<string, string>) {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  return app.request(path, { method: 'POST', headers, body: new URLSearchParams(fields).toString() });
}

export interface Access {
  clientId: string;
  code: string;
  verifier: string;
  // biome-ignore lint/suspicious/noExplicitAny: what the endpoint answers
  tokens: any;
}

/** A program that a user allows gets its tokens by hand. @param known Id of the program. Default: it registers itself. */
export async function gainAccess(app: App, browser: BrowserSession, known?: string): Promise<Access> {
  const clientId = known ?? (await register(app));
  const { address, verifier } = requestFor(app, clientId);
  const back = await answerIn(browser, address, 'allow');
  const code = back.searchParams.get('code') ?? '';
  const answer = await redeem(app, { clientId, code, verifier });
  if (answer.status !== 200) throw new Error(`no tokens: ${answer.text}`);
  return { clientId, code, verifier, tokens: answer.json };
}

export const redeem = (
  app: App,
  { clientId, code, verifier }: Omit<Access, 'tokens'>,
  changes: Record<string, string> = {},
) =>
  postForm(app, '/oauth/token', {
    grant_type: 'authorization_code',
    client_id: clientId,
    code,
    code_verifier: verifier,
    redirect_uri: CALLBACK,
    ...changes,
  });

export const refresh = (app: App, clientId: string, token: string, changes: Record<string, string> = {}) =>
  postForm(app, '/oauth/token', {
    grant_type: 'refresh_token',
    client_id: clientId,
    refresh_token: token,
    ...changes,
  });

/** Lists the tools with a token, as a request of its own. */
export function listTools(app: App, token: string | undefined, more: Record<string, string> = {}) {
  const authorization: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return app.request('/mcp', {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json', ...authorization, ...more },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
  });
}
