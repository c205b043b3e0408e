import { type KeyObject, randomBytes } from 'node:crypto';
import { type Configuration, interactionPolicy, type JWK } from 'oidc-provider';
import { createMemoryAdapter } from './memory-adapter.js';
import { renderFailurePage } from './pages.js';
import type { People } from './people.js';

const SCOPE = 'openid email profile';

export interface ConfigurationOptions {
  clientId: string;
  clientSecret: string;
  redirectUri: string;
  /** Signs identity tokens: an EC key on P-256. */
  key: KeyObject;
  people: People;
}

/** One client, the code flow with PKCE, and no consent: whoever signs in has agreed. */
export function configure(options: ConfigurationOptions): Configuration {
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
