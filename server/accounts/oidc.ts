import {
  type Clock,
  type Gateway,
  GatewayError,
  type HttpClient,
  isGatewayError,
  isLoopbackHost,
  type OpenIdentityProvider,
} from 'mediagate';
import type { ClientAuth, Configuration, CustomFetch, ServerMetadata } from 'openid-client';
import type { SiteAddress } from '../http/index.js';
import { createIssuerKeys } from './oidc-keys.js';
import type { Identity as Person } from './users.js';

declare module '../http/server-context.js' {
  interface AccountDependencies {
    identity: Identity;
  }
}

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

const TIMEOUT_MS = 5_000;
/** Metadata of an issuer change rarely; for signing keys see oidc-keys.ts. */
const METADATA_MS = 3_600_000;

export interface DiscoveredIssuer extends Issuer {
  /** What the client library knows of it, for one sign-in. */
  configure(): Configuration;
}

export interface DiscoveryOptions {
  identity: Identity;
  gateway: Pick<Gateway, 'httpClient'>;
  clock: Clock;
  /** Seconds that clocks may differ. */
  toleranceSeconds: number;
}

/**
 * Makes a function that tells the issuer as its own metadata describe it. It is asked once an hour at the most, by as many
 * as wait for it at once, and not before somebody signs in. It throws GatewayError `sign_in_unavailable`.
 */
export function createDiscovery({ identity, gateway, clock, toleranceSeconds }: DiscoveryOptions) {
  let asked: { answer: Promise<DiscoveredIssuer>; until: number } | undefined;

  async function discover(): Promise<DiscoveredIssuer> {
    const { state, reason } = identity.status();
    if (state === 'off') {
      throw new GatewayError('sign_in_unavailable', `Nobody can sign in. ${reason}`, { retryable: false });
    }
    const [issuer, oidc] = await Promise.all([identity.issuer(), import('openid-client')]);
    const url = new URL(issuer.issuer);
    // The operator named the issuer. Endpoints that its metadata place elsewhere pass the guard.
    const http = gateway.httpClient({ timeoutMs: TIMEOUT_MS, trustedOrigins: [url.origin] });
    const guarded = createGuardedFetch(http);
    const client = { [oidc.clockTolerance]: toleranceSeconds };
    const auth = clientAuth(oidc, issuer.clientSecret);
    const isInsecure = isLoopbackHost(url.hostname);
    const discovered = await oidc.discovery(url, issuer.clientId, client, auth, {
      [oidc.customFetch]: guarded,
      timeout: TIMEOUT_MS / 1_000,
      execute: isInsecure ? [oidc.allowInsecureRequests] : [],
    });
    const metadata = discovered.serverMetadata();
    const keys = createIssuerKeys(guarded, { clock, url: checkMetadata(metadata) });
    return {
      ...issuer,
      configure() {
        // One for each sign-in: the library keeps keys by configuration, and those are kept here.
        const configuration = new oidc.Configuration(metadata, issuer.clientId, client, auth);
        configuration[oidc.customFetch] = keys.fetch();
        configuration.timeout = TIMEOUT_MS / 1_000;
        // The signature of the token too, although it comes from the issuer by TLS.
        oidc.enableNonRepudiationChecks(configuration);
        if (isInsecure) oidc.allowInsecureRequests(configuration);
        return configuration;
      },
    };
  }

  return (): Promise<DiscoveredIssuer> => {
    if (asked && clock.monotonic() < asked.until) return asked.answer;
    const asking = { answer: failingAs(providerFailure, discover), until: clock.monotonic() + METADATA_MS };
    asked = asking;
    // Told to all who wait for it, and forgotten: whoever comes next asks anew.
    asking.answer.catch(() => {
      if (asked === asking) asked = undefined;
    });
    return asking.answer;
  };
}

/** Where its keys are. @throws Error where a sign-in could not come to an end, or would lead a browser to what is no web address. */
function checkMetadata(metadata: ServerMetadata): string {
  const { authorization_endpoint: entrance = '', token_endpoint: exchange, jwks_uri: keys } = metadata;
  if (!/^https?:\/\//i.test(entrance)) throw new Error('the issuer names no authorization endpoint');
  if (!exchange || !keys) throw new Error('the issuer names no token endpoint, or no keys');
  return URL.parse(keys)?.href ?? keys;
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

/** Errors of OAuth that say the provider is in trouble, or does not know this gateway: nothing the person did. */
const PROVIDER_TROUBLE = new Set(['server_error', 'temporarily_unavailable', 'invalid_client', 'unauthorized_client']);
/** Codes of the client library for what never arrived, or came as no answer of a provider. */
const NO_ANSWER = new Set([
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
  'OAUTH_PARSE_ERROR',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
]);

/** What the person is told of a failure. Nothing of the provider's own words: they may hold codes and tokens. */
export function signInFailure(error: unknown): GatewayError {
  if (isGatewayError(error) && error.code.startsWith('sign_in_')) return error;
  if (oauthErrorOf(error) === 'access_denied') {
    return new GatewayError('sign_in_failed', 'The identity provider was told not to sign you in.');
  }
  if (isTrouble(error)) return providerFailure(error);
  return new GatewayError(
    'sign_in_failed',
    'What the identity provider answered could not be verified. Sign in again.',
    {
      cause: error,
    },
  );
}

/** The provider did not do its part. */
export function providerFailure(cause: unknown): GatewayError {
  if (isGatewayError(cause) && cause.code === 'sign_in_unavailable') return cause;
  const message = 'The identity provider does not answer as it should. Try again soon.';
  return new GatewayError('sign_in_unavailable', message, { cause });
}

export async function failingAs<Result>(
  describe: (error: unknown) => GatewayError,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw describe(error);
  }
}

function isTrouble(error: unknown): boolean {
  if (PROVIDER_TROUBLE.has(oauthErrorOf(error) ?? '')) return true;
  for (let reason: unknown = error; reason instanceof Error; reason = reason.cause) {
    if (isGatewayError(reason)) return true;
    if ('code' in reason && NO_ANSWER.has(String(reason.code))) return true;
  }
  return false;
}

/** The `error` parameter of RFC 6749 that a response carried. */
function oauthErrorOf(error: unknown): string | undefined {
  return error instanceof Error && 'error' in error && typeof error.error === 'string' ? error.error : undefined;
}

const MAX_BYTES = 1024 * 1024;

/** What the OpenID Connect client sends its requests with: the gateway's own way out, guard, deadline and cap included. */
export function createGuardedFetch(http: HttpClient): CustomFetch {
  return async (url, { method, headers, body, signal }) => {
    const answer = await http.request({
      url,
      method: method as 'GET' | 'POST',
      headers,
      ...(body != null && { body: textOf(body) }),
      signal: signal ?? undefined,
      maxBytes: MAX_BYTES,
    });
    const type = answer.headers['content-type'];
    const challenge = answer.headers['www-authenticate'];
    return new Response(bodyless(answer.status) ? null : Buffer.from(answer.body), {
      status: answer.status,
      headers: { ...(type && { 'content-type': type }), ...(challenge && { 'www-authenticate': challenge }) },
    });
  };
}

function textOf(body: unknown): string {
  if (typeof body === 'string' || body instanceof URLSearchParams) return body.toString();
  throw new TypeError('the OpenID Connect client sent a body that is no text');
}

/** Response refuses a body for these. */
function bodyless(status: number): boolean {
  return status === 204 || status === 205 || status === 304;
}

/** How sign-in stands; what `/health`, `doctor` and the banner show. */
export interface SignInStatus {
  state: 'ready' | 'off';
  /** Host of the issuer, or id of the plugin entry; undefined where there is neither. */
  provider?: string;
  /** Whether it only stands for an issuer that is not configured. */
  standIn: boolean;
  /** Why it is off, in words safe to show. */
  reason?: string;
}

/** An issuer to sign in with. */
export interface Issuer {
  issuer: string;
  clientId: string;
  clientSecret?: string;
  /** What users are kept under where the issuer has another address each time. Default: the issuer of the token. */
  knownAs?: string;
}

/** Which identity provider people sign in with. */
export interface Identity {
  status(): SignInStatus;
  /** @throws Error where the provider does not start; to be called where {@link status} is `ready`. */
  issuer(): Promise<Issuer>;
  /** Ends a provider that was started here. Idempotent. */
  close(): Promise<void>;
}

export interface IdentityOptions {
  gateway: Pick<Gateway, 'identityProvider'>;
  settings: { host: string; oidcIssuer?: string; oidcClientId?: string; oidcClientSecret?: string };
  site(): SiteAddress;
}

/** The issuer of the settings; without one, what a plugin contributes. */
export function createIdentity({ gateway, settings, site }: IdentityOptions): Identity {
  const { oidcIssuer, oidcClientId: clientId = '', oidcClientSecret: clientSecret } = settings;
  let opened: Promise<OpenIdentityProvider> | undefined;

  function open(): Promise<OpenIdentityProvider> {
    const found = gateway.identityProvider();
    if (!found) throw new Error('no identity provider is ready');
    const opening = found.provider.open({ redirectUri: `${site().url}/signin/callback` });
    // Whoever comes next tries again.
    opening.catch(() => {
      opened = undefined;
    });
    return opening;
  }

  return {
    status() {
      const found = gateway.identityProvider();
      const provider = oidcIssuer ? new URL(oidcIssuer).host : found?.entry;
      const standIn = !oidcIssuer && (found?.standIn ?? false);
      const reason = whyOff();
      return { state: reason ? 'off' : 'ready', standIn, ...(provider && { provider }), ...(reason && { reason }) };
    },
    async issuer() {
      if (oidcIssuer) return { issuer: oidcIssuer, clientId, clientSecret };
      opened ??= open();
      const { issuer, clientId: id, clientSecret: secret } = await opened;
      const knownAs = `urn:mediagate:identity:${gateway.identityProvider()?.entry}`;
      return { issuer, clientId: id, clientSecret: secret, knownAs };
    },
    async close() {
      // What did not open needs no closing.
      const provider = await opened?.catch(() => undefined);
      await provider?.close();
    },
  };

  function whyOff(): string | undefined {
    const { secure, loopback } = site();
    if (!secure && !loopback) return 'SITE_URL must be https where it is not on a loopback address.';
    if (oidcIssuer) return undefined;
    const found = gateway.identityProvider();
    if (!found) return 'No identity provider is configured: OIDC_ISSUER names one.';
    if (!found.standIn || (loopback && isLoopbackHost(settings.host))) return undefined;
    return `${found.entry} lets anyone sign in as anyone, so it serves only while HOST and SITE_URL are loopback addresses. OIDC_ISSUER names another.`;
  }
}
