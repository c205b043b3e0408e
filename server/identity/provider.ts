/*
 * The authorization server and OpenID provider, by the library: the only file that imports it. Programs of agents use
 * codes with PKCE (S256), have no secret, and get opaque tokens for one address, `/mcp`. Each of their requests is answered
 * by a person on a page of the site: the library has no session of its own, so a browser alone is never enough. An access
 * token lasts 15 minutes. A refresh token is replaced at each use and lasts 30 days without one; a second use of a code or a
 * refresh token ends the connection. Applications of the operator have a secret besides, and get an identity token and an
 * access token for userinfo alone. Nothing is in memory that another node would need.
 */

import { createECDH, hkdfSync, type KeyObject, type webcrypto } from 'node:crypto';
import {
  type Adapter,
  type AdapterPayload,
  type Configuration,
  errors,
  interactionPolicy,
  Provider,
} from 'oidc-provider';
import type { Logger } from '../../core/runtime/index.js';
import type { UserRecord } from '../accounts/index.js';
import { GRANTS, newAgentToken } from '../keys/index.js';
import { APPLICATION_SCOPES } from './applications.js';
import type { ArtifactModel, Artifacts, Payload } from './artifacts.js';
import type { ClientMetadata } from './client-metadata.js';
import { CONNECTION_SECONDS, type Connections } from './connections.js';
import {
  AUTHORIZE_PATH,
  CONSENT_PATH,
  KEYS_PATH,
  REGISTER_PATH,
  REVOKE_PATH,
  TOKEN_PATH,
  USERINFO_PATH,
} from './paths.js';
import type { Programs } from './programs.js';
import { OWN_FIELDS } from './prompts.js';

/** Seconds that a request for access waits for its user. */
const REQUEST_SECONDS = 600;
const CODE_SECONDS = 60;
const ACCESS_SECONDS = 15 * 60;
const REFRESH_SECONDS = 30 * 24 * 3_600;

export interface ProviderOptions {
  /** Public address of the site. */
  issuer: string;
  /** The address that tokens are for. */
  resource(): string;
  /** The keys that sign identity tokens follow from it, on all nodes the same. */
  secret: KeyObject;
  artifacts: Artifacts;
  programs: Programs;
  connections: Connections;
  /** An application of the operator. */
  application(id: string): ClientMetadata | undefined;
  /** The user, who exists and may sign in. */
  activeUser(userId: string): Promise<UserRecord | undefined>;
  /** After a connection has ended. */
  ended(): Promise<void>;
  logger: Logger;
}

export type { Provider } from 'oidc-provider';

export function createProvider(options: ProviderOptions): Provider {
  const provider = new Provider(options.issuer, configure(options));
  // The addresses that it makes are those of the issuer, behind any proxy.
  provider.proxy = true;
  provider.on('server_error', (_context, error) => options.logger.error('the authorization server failed', { error }));
  nameTokens(provider);
  return provider;
}

/** Tokens have a prefix, for people and for scanners. */
function nameTokens({ AccessToken, RefreshToken }: Provider): void {
  const models = [
    [AccessToken, 'access'],
    [RefreshToken, 'refresh'],
  ] as const;
  for (const [{ prototype }, kind] of models) {
    const generateTokenId = function (this: { format?: string }): string {
      // The library's own function sets it, too.
      this.format = 'opaque';
      return newAgentToken(kind);
    };
    Object.assign(prototype, { generateTokenId });
  }
}

function configure({ resource, secret, activeUser, ...stored }: ProviderOptions): Configuration {
  const server = () => ({ scope: GRANTS.join(' '), audience: resource(), accessTokenFormat: 'opaque' as const });
  return {
    adapter: (model) => createAdapter(model, stored),
    scopes: [...APPLICATION_SCOPES, ...GRANTS],
    claims: { openid: ['sub'], profile: ['name'], email: ['email'] },
    // Many applications read the name in the identity token alone.
    conformIdTokenClaims: false,
    responseTypes: ['code'],
    // Those beside the protocol are set by the gateway alone.
    extraParams: [...OWN_FIELDS],
    pkce: { required: () => true },
    clientAuthMethods: ['none', 'client_secret_post'],
    clientDefaults: { token_endpoint_auth_method: 'none', id_token_signed_response_alg: 'EdDSA' },
    enabledJWA: { idTokenSigningAlgValues: ['ES256', 'EdDSA'] },
    jwks: { keys: [applicationKey(secret), signingKey(secret)] },
    features: {
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      userinfo: { enabled: true },
      revocation: { enabled: true, allowedPolicy: (_context, client, token) => token.clientId === client.clientId },
      registration: { enabled: true, issueRegistrationAccessToken: false },
      resourceIndicators: {
        enabled: true,
        // Tokens of applications are for userinfo alone.
        defaultResource: (_context, client) => (client.clientAuthMethod === 'none' ? resource() : (undefined as never)),
        useGrantedResource: () => true,
        getResourceServerInfo(_context, indicator, client) {
          if (indicator === resource() && client.clientAuthMethod === 'none') return server();
          throw new errors.InvalidTarget(`tokens are only for ${resource()}`);
        },
      },
    },
    routes: {
      authorization: AUTHORIZE_PATH,
      token: TOKEN_PATH,
      registration: REGISTER_PATH,
      revocation: REVOKE_PATH,
      jwks: KEYS_PATH,
      userinfo: USERINFO_PATH,
    },
    cookies: {
      names: { session: 'oauth-session', interaction: 'oauth-consent', resume: 'oauth-resume' },
    },
    interactions: { url: (_context, { uid }) => `${CONSENT_PATH}/${uid}`, policy: alwaysAsk() },
    expiresWithSession: () => false,
    issueRefreshToken: (_context, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: true,
    revokeGrantPolicy: () => true,
    // Requests of other origins are checked before the library gets them.
    clientBasedCORS: () => true,
    ttl: {
      AccessToken: ACCESS_SECONDS,
      AuthorizationCode: CODE_SECONDS,
      Grant: CONNECTION_SECONDS,
      IdToken: ACCESS_SECONDS,
      Interaction: REQUEST_SECONDS,
      RefreshToken: REFRESH_SECONDS,
      Session: REQUEST_SECONDS,
    },
    async findAccount(_context, userId) {
      const user = await activeUser(userId);
      if (!user) return undefined;
      const { name, email } = user;
      const claims = { sub: userId, ...(name !== null && { name }), ...(email !== null && { email }) };
      return { accountId: userId, claims: () => claims };
    },
    // A grant is that of one answer of the user, never an earlier one.
    loadExistingGrant({ oidc: { result, provider } }) {
      const id = result?.consent?.grantId;
      return id === undefined ? undefined : provider.Grant.find(id);
    },
    renderError(context, { error, error_description: description }) {
      context.type = 'json';
      context.body = { error, error_description: description };
    },
  };
}

/** A user answers each request, also in a browser that was used before. */
function alwaysAsk(): interactionPolicy.DefaultPolicy {
  const { base, Check } = interactionPolicy;
  const policy = base();
  const check = new Check('always', 'the user is asked each time', ({ oidc }) =>
    oidc.result?.login ? Check.NO_NEED_TO_PROMPT : Check.REQUEST_PROMPT,
  );
  policy.get('login')?.checks.add(check);
  return policy;
}

/** Signs the identity tokens of applications: most of their libraries know ES256. */
function applicationKey(secret: KeyObject): webcrypto.JsonWebKey & { kty: 'EC' } {
  const curve = createECDH('prime256v1');
  for (let tried = 0; ; tried += 1) {
    const seed = Buffer.from(hkdfSync('sha256', secret, '', `mediagate identity tokens ${tried}`, 32));
    try {
      curve.setPrivateKey(seed);
      break;
    } catch {
      // One of 2^32 seeds is no key of the curve.
    }
  }
  const point = curve.getPublicKey();
  const [x, y, d] = [point.subarray(1, 33), point.subarray(33), curve.getPrivateKey()].map((part) =>
    Buffer.concat([Buffer.alloc(32 - part.length), part]).toString('base64url'),
  );
  return { kty: 'EC', crv: 'P-256', x, y, d, alg: 'ES256', use: 'sig' } as never;
}

/** DER of an Ed25519 private key, before its 32 bytes. */
const ED25519 = Buffer.from('302e020100300506032b657004220420', 'hex');

function signingKey(secret: KeyObject): webcrypto.JsonWebKey & { kty: 'OKP' } {
  const seed = Buffer.from(hkdfSync('sha256', secret, '', 'mediagate authorization server', 32));
  const { createPrivateKey } = process.getBuiltinModule('node:crypto');
  const key = createPrivateKey({ key: Buffer.concat([ED25519, seed]), format: 'der', type: 'pkcs8' });
  return { ...key.export({ format: 'jwk' }), kty: 'OKP', alg: 'EdDSA', use: 'sig' } as never;
}

const STORED: ReadonlySet<string> = new Set([
  'Interaction',
  'Grant',
  'AuthorizationCode',
  'AccessToken',
  'RefreshToken',
] satisfies ArtifactModel[]);

type Stored = Pick<ProviderOptions, 'issuer' | 'artifacts' | 'programs' | 'application' | 'connections' | 'ended'>;

function createAdapter(name: string, stored: Stored): Adapter {
  if (name === 'Client') return clientAdapter(stored);
  return STORED.has(name) ? artifactAdapter(name as ArtifactModel, stored) : NOTHING;
}

/** Sessions of the library: those of the site take their place. */
const NOTHING: Adapter = {
  upsert: async () => undefined,
  find: async () => undefined,
  findByUid: async () => undefined,
  findByUserCode: async () => undefined,
  consume: async () => undefined,
  destroy: async () => undefined,
  revokeByGrantId: async () => undefined,
};

function clientAdapter({ programs, application }: Stored): Adapter {
  return {
    ...NOTHING,
    upsert: (id, payload) => programs.save(id, payload),
    find: async (id) => (application(id) ?? (await programs.find(id))) as AdapterPayload | undefined,
  };
}

function artifactAdapter(model: ArtifactModel, { issuer, artifacts, connections, ended }: Stored): Adapter {
  const endGrant = async (grantId: string) => {
    await connections.endGrant(grantId);
    await ended();
  };
  return {
    ...NOTHING,
    upsert: (id, payload, seconds = REQUEST_SECONDS) => artifacts.save(model, id, payload as Payload, seconds),
    async find(id) {
      const found = await artifacts.find(model, id);
      if (!found) return undefined;
      const { payload, isConsumed } = found;
      const more = model === 'Interaction' ? { returnTo: `${issuer}${AUTHORIZE_PATH}/${id}` } : {};
      return { ...payload, ...more, jti: id, ...(isConsumed && { consumed: true }) } as AdapterPayload;
    },
    async consume(id) {
      if (await artifacts.consume(model, id)) return;
      // Another request was faster, or it was used before.
      const grantId = (await artifacts.find(model, id))?.payload.grantId;
      if (typeof grantId === 'string') await endGrant(grantId);
      throw new errors.InvalidGrant('it was used before');
    },
    destroy: (id) => (model === 'Grant' ? endGrant(id) : artifacts.delete(model, id)),
    // Everything of a grant ends with the grant, which the library deletes as well.
  };
}
