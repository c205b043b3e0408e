/** An identity provider that may lie, fail or hang as its script asks. */

import { generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

type Json = Record<string, unknown>;

/** What the issuer does differently from an honest one. Each is asked when its turn comes. */
export interface IssuerScript {
  metadata?(honest: Json): Json;
  /** Claims of the identity token. */
  claims?(honest: Json): Json;
  /** Header of the identity token; `alg: none` leaves the signature out. */
  header?(honest: Json): Json;
  /** Signs with a key that it does not publish. */
  foreignKey?: boolean;
  /** Parameters that it sends the browser back with. */
  callback?(honest: Json): Json;
  /** Body of the token endpoint; with a `status` beside it where it is no 200. */
  token?(honest: Json): Json;
  tokenStatus?: number;
  userinfo?(honest: Json): Json;
  /** Path that is never answered. */
  silentAt?: string;
}

/** An OpenID Connect provider on loopback, honest as long as its script is empty. It signs everybody in at once. */
export interface ScriptedIssuer {
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Requests so far: method and path. */
  readonly requests: readonly string[];
  /** Bodies that the token endpoint got. */
  readonly exchanges: readonly URLSearchParams[];
  /** Authorization headers that it got with them; empty where there was none. */
  readonly credentials: readonly string[];
  script: IssuerScript;
  /** Signs with a new key from now on, and publishes that alone. */
  rotateKeys(): void;
  close(): Promise<void>;
}

const CLIENT_SECRET = 'the-secret-of-the-client-of-the-scripted-issuer';

/** @param issuerPath What the address of the issuer has after its origin, as some providers have. Default: nothing. */
export async function startScriptedIssuer(issuerPath = ''): Promise<ScriptedIssuer> {
  let own = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  let keyNumber = 1;
  const foreign = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const requests: string[] = [];
  const exchanges: URLSearchParams[] = [];
  const credentials: string[] = [];
  const nonces = new Map<string, string>();
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const origin = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
  const url = origin + issuerPath;
  const metadataPath = `${issuerPath.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const issuer: ScriptedIssuer = {
    url,
    clientId: 'gateway',
    clientSecret: CLIENT_SECRET,
    requests,
    exchanges,
    credentials,
    script: {},
    rotateKeys() {
      own = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      keyNumber += 1;
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', origin);
    requests.push(`${request.method} ${pathname}`);
    const { script } = issuer;
    if (script.silentAt === pathname) return;
    if (pathname === metadataPath) return send(response, metadata());
    if (pathname === '/jwks') {
      return send(response, {
        keys: [{ ...own.publicKey.export({ format: 'jwk' }), kid: keyId(), alg: 'ES256', use: 'sig' }],
      });
    }
    if (pathname === '/authorize') {
      const code = `code-${randomUUID()}`;
      nonces.set(code, searchParams.get('nonce') ?? '');
      const honest = { code, state: searchParams.get('state'), iss: url };
      const target = new URL(searchParams.get('redirect_uri') ?? '');
      for (const [name, value] of Object.entries(script.callback?.(honest) ?? honest)) {
        target.searchParams.set(name, String(value));
      }
      response.writeHead(302, { Location: target.href }).end();
      return;
    }
    if (pathname === '/token') {
      const fields = new URLSearchParams(await textOf(request));
      exchanges.push(fields);
      credentials.push(request.headers.authorization ?? '');
      const honest = {
        access_token: `access-${randomUUID()}`,
        token_type: 'Bearer',
        expires_in: 300,
        id_token: identityToken(nonces.get(fields.get('code') ?? '') ?? ''),
      };
      return send(response, script.token?.(honest) ?? honest, script.tokenStatus);
    }
    if (pathname === '/userinfo') {
      const honest = { sub: 'subject-1', email: 'ann@example.com', email_verified: true, name: 'Ann' };
      return send(response, script.userinfo?.(honest) ?? honest);
    }
    send(response, { error: 'not_found' }, 404);
  }

  function metadata(): Json {
    const honest = {
      issuer: url,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      jwks_uri: `${origin}/jwks`,
      userinfo_endpoint: `${origin}/userinfo`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256'],
      authorization_response_iss_parameter_supported: true,
      code_challenge_methods_supported: ['S256'],
    };
    return issuer.script.metadata?.(honest) ?? honest;
  }

  function identityToken(nonce: string): string {
    const { script } = issuer;
    const now = Math.floor(Date.now() / 1_000);
    const honest = { iss: url, aud: issuer.clientId, sub: 'subject-1', nonce, iat: now, exp: now + 300 };
    const honestHeader = { alg: 'ES256', kid: keyId() };
    const header: Json = script.header?.(honestHeader) ?? honestHeader;
    const payload = `${encode(header)}.${encode(script.claims?.(honest) ?? honest)}`;
    const key: KeyObject = (script.foreignKey ? foreign : own).privateKey;
    const signature =
      header.alg === 'none' ? '' : sign('sha256', Buffer.from(payload), { key, dsaEncoding: 'ieee-p1363' });
    return `${payload}.${signature === '' ? '' : signature.toString('base64url')}`;
  }

  function keyId(): string {
    return `key-${keyNumber}`;
  }

  return issuer;
}

function encode(value: Json): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function send(response: ServerResponse, body: Json, status = 200): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}
