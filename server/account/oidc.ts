import { type Clock, type Gateway, GatewayError, type Logger, type Identity as Person } from 'mediagate';
import type { Configuration } from 'openid-client';
import { createGuardedFetch } from './guarded-fetch.js';
import type { Identity, Issuer } from './identity.js';
import { providerFailure, signInFailure } from './oidc-failure.js';
import { isLoopback } from './site-address.js';

const TIMEOUT_MS = 5_000;
/** Metadata of an issuer changes rarely; signing keys are asked for anew by themselves. */
const METADATA_MS = 3_600_000;
/** Clocks differ. */
const TOLERANCE_S = 30;
const SCOPE = 'openid email profile';

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

export interface OidcClientOptions {
  identity: Identity;
  gateway: Pick<Gateway, 'httpClient'>;
  clock: Clock;
  logger: Logger;
}

interface Discovered extends Issuer {
  configuration: Configuration;
  until: number;
}

/** Nothing is loaded or asked before somebody signs in. */
export function createOidcClient({ identity, gateway, clock, logger }: OidcClientOptions): OidcClient {
  let discovered: Promise<Discovered> | undefined;

  async function discover(): Promise<Discovered> {
    const { state, reason } = identity.status();
    if (state === 'off')
      throw new GatewayError('sign_in_unavailable', `Nobody can sign in. ${reason}`, { retryable: false });
    const [issuer, oidc] = await Promise.all([identity.issuer(), import('openid-client')]);
    const url = new URL(issuer.issuer);
    // Of a stand-in the gateway knows where it is; what an operator configures on a private address, they trust themselves.
    const trustedOrigins = issuer.knownAs ? [url.origin] : [];
    const http = gateway.httpClient({ timeoutMs: TIMEOUT_MS, trustedOrigins });
    const configuration = await oidc.discovery(
      url,
      issuer.clientId,
      { client_secret: issuer.clientSecret, [oidc.clockTolerance]: TOLERANCE_S },
      issuer.clientSecret === undefined ? oidc.None() : undefined,
      {
        [oidc.customFetch]: createGuardedFetch(http),
        timeout: TIMEOUT_MS / 1_000,
        execute: [
          // The signature of the token too, although it comes from the issuer by TLS.
          oidc.enableNonRepudiationChecks,
          ...(isLoopback(url.hostname) ? [oidc.allowInsecureRequests] : []),
        ],
      },
    );
    return { ...issuer, configuration, until: clock.monotonic() + METADATA_MS };
  }

  async function ready(): Promise<Discovered> {
    try {
      const current = await discovered;
      if (current && clock.monotonic() < current.until) return current;
      discovered = discover();
      return await discovered;
    } catch (error) {
      // Told to all who waited for it, and forgotten: whoever comes next asks anew.
      discovered = undefined;
      throw providerFailure(error);
    }
  }

  async function attempt<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      const failure = signInFailure(error);
      if (failure !== error) logger.warn('a sign-in failed at the identity provider', { code: failure.code, error });
      throw failure;
    }
  }

  return {
    begin: ({ state, nonce, codeVerifier }, redirectUri) =>
      attempt(async () => {
        const [{ configuration }, oidc] = await Promise.all([ready(), import('openid-client')]);
        const url = oidc.buildAuthorizationUrl(configuration, {
          redirect_uri: redirectUri,
          scope: SCOPE,
          state,
          nonce,
          code_challenge: await oidc.calculatePKCECodeChallenge(codeVerifier),
          code_challenge_method: 'S256',
        });
        if (!/^https?:$/.test(url.protocol))
          throw providerFailure(new Error('the authorization endpoint is no web address'));
        return url;
      }),
    finish: ({ state, nonce, codeVerifier }, callback) =>
      attempt(async () => {
        const [{ configuration, knownAs }, oidc] = await Promise.all([ready(), import('openid-client')]);
        const tokens = await oidc.authorizationCodeGrant(configuration, callback, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: codeVerifier,
          idTokenExpected: true,
        });
        const claims = tokens.claims();
        if (!claims) throw new Error('the token response has no identity token');
        if (claims.iat * 1_000 > Date.now() + TOLERANCE_S * 1_000)
          throw new Error('the identity token is from the future');
        const about =
          claims.email === undefined && configuration.serverMetadata().userinfo_endpoint
            ? await oidc.fetchUserInfo(configuration, tokens.access_token, claims.sub)
            : claims;
        return {
          issuer: knownAs ?? claims.iss,
          subject: claims.sub,
          // Somebody else's address is worse than none.
          email: about.email_verified === false ? null : textOf(about.email, 320),
          name: textOf(about.name, 200),
        };
      }),
  };
}

function textOf(value: unknown, maxLength: number): string | null {
  return typeof value === 'string' && value !== '' ? value.toWellFormed().slice(0, maxLength).toWellFormed() : null;
}
