import { createDiscovery, type DiscoveryOptions } from './oidc-discovery.js';
import { failingAs, providerFailure, signInFailure } from './oidc-failure.js';
import type { Identity as Person } from './users.js';

/** Clocks differ. */
const TOLERANCE_SECONDS = 30;
const SCOPE = 'openid email profile';
const MAX_EMAIL = 320;
const MAX_NAME = 200;

/** What a sign-in that has begun is checked against; made anew for each. */
export interface SignInSecrets {
  state: string;
  nonce: string;
  codeVerifier: string;
}

/** OpenID Connect's code flow with PKCE. Every method throws GatewayError `sign_in_unavailable`, `sign_in_failed`. */
export interface OidcClient {
  /** Where to send the browser. */
  begin(secrets: SignInSecrets, redirectUri: string): Promise<URL>;
  /** Who has come back. @param callback Address that the browser came back to, as SITE_URL has it. */
  finish(secrets: SignInSecrets, callback: URL): Promise<Person>;
}

/** Nothing is loaded or asked before somebody signs in. */
export function createOidcClient(options: Omit<DiscoveryOptions, 'toleranceSeconds'>): OidcClient {
  const discover = createDiscovery({ ...options, toleranceSeconds: TOLERANCE_SECONDS });

  return {
    begin: ({ state, nonce, codeVerifier }, redirectUri) =>
      failingAs(providerFailure, async () => {
        const [{ configure }, oidc] = await Promise.all([discover(), import('openid-client')]);
        return oidc.buildAuthorizationUrl(configure(), {
          redirect_uri: redirectUri,
          scope: SCOPE,
          state,
          nonce,
          code_challenge: await oidc.calculatePKCECodeChallenge(codeVerifier),
          code_challenge_method: 'S256',
        });
      }),
    finish: ({ state, nonce, codeVerifier }, callback) =>
      failingAs(signInFailure, async () => {
        const [{ configure, knownAs }, oidc] = await Promise.all([discover(), import('openid-client')]);
        const configuration = configure();
        const tokens = await oidc.authorizationCodeGrant(configuration, callback, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: codeVerifier,
          idTokenExpected: true,
        });
        const claims = tokens.claims();
        if (!claims) throw new Error('the token response has no identity token');
        // The library looks at the end of a token alone.
        if (claims.iat > Date.now() / 1_000 + TOLERANCE_SECONDS)
          throw new Error('the identity token is from the future');
        const asksFurther = claims.email === undefined && configuration.serverMetadata().userinfo_endpoint;
        const about = asksFurther ? await oidc.fetchUserInfo(configuration, tokens.access_token, claims.sub) : claims;
        return {
          issuer: knownAs ?? claims.iss,
          subject: claims.sub,
          // Somebody else's address is worse than none.
          email: mayBeTheirs(about.email_verified) ? readText(about.email, MAX_EMAIL) : null,
          name: readText(about.name, MAX_NAME),
        };
      }),
  };
}

/** Where a provider says nothing of it, all its addresses are; some say it in text. */
function mayBeTheirs(verified: unknown): boolean {
  return verified === undefined || verified === true || verified === 'true';
}

function readText(value: unknown, maxLength: number): string | null {
  // Cutting may part a surrogate pair.
  return typeof value === 'string' && value !== '' ? value.slice(0, maxLength).toWellFormed() : null;
}
