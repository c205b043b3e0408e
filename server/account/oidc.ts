import { type Clock, type Gateway, GatewayError, type Identity as Person } from 'mediagate';
import type { ClientAuth, Configuration, ServerMetadata } from 'openid-client';
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
}

interface Discovered extends Issuer {
  configuration: Configuration;
}

/** Nothing is loaded or asked before somebody signs in. */
export function createOidcClient({ identity, gateway, clock }: OidcClientOptions): OidcClient {
  let asked: { answer: Promise<Discovered>; until: number } | undefined;

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
      { [oidc.clockTolerance]: TOLERANCE_S },
      clientAuth(oidc, issuer.clientSecret),
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
    checkMetadata(configuration.serverMetadata());
    return { ...issuer, configuration };
  }

  function ready(): Promise<Discovered> {
    if (asked && clock.monotonic() < asked.until) return asked.answer;
    const asking = { answer: failingAs(providerFailure, discover), until: clock.monotonic() + METADATA_MS };
    asked = asking;
    // Told to all who wait for it, and forgotten: whoever comes next asks anew.
    asking.answer.catch(() => {
      if (asked === asking) asked = undefined;
    });
    return asking.answer;
  }

  return {
    begin: ({ state, nonce, codeVerifier }, redirectUri) =>
      failingAs(providerFailure, async () => {
        const [{ configuration }, oidc] = await Promise.all([ready(), import('openid-client')]);
        return oidc.buildAuthorizationUrl(configuration, {
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

/** @throws Error where a sign-in could not come to an end, or would lead a browser to what is no web address. */
function checkMetadata({
  authorization_endpoint: entrance = '',
  token_endpoint: exchange,
  jwks_uri: keys,
}: ServerMetadata) {
  if (!/^https?:\/\//i.test(entrance)) throw new Error('the issuer names no authorization endpoint');
  if (!exchange || !keys) throw new Error('the issuer names no token endpoint, or no keys');
}

/** What the issuer understands; what it says nothing about is, by the standard, Basic. */
function clientAuth(oidc: typeof import('openid-client'), secret: string | undefined): ClientAuth {
  if (secret === undefined) return oidc.None();
  const [basic, post] = [oidc.ClientSecretBasic(secret), oidc.ClientSecretPost(secret)];
  return (issuer, ...request) =>
    issuer.token_endpoint_auth_methods_supported?.includes('client_secret_post')
      ? post(issuer, ...request)
      : basic(issuer, ...request);
}

async function failingAs<Result>(
  describe: (error: unknown) => GatewayError,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw describe(error);
  }
}

function textOf(value: unknown, maxLength: number): string | null {
  return typeof value === 'string' && value !== '' ? value.toWellFormed().slice(0, maxLength).toWellFormed() : null;
}
