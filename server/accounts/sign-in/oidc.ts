/*
 * Sign-in with OpenID Connect: the code flow with PKCE, at the issuer that identity.ts names. The client library is loaded at the first sign-in, and metadata is fetched
 * at most once an hour. All requests go through the gateway's guarded HTTP client with a timeout of 5 s and at most 1
 * MiB. Errors quote nothing of the provider, since its messages may contain codes and tokens.
 */

import type { Gateway } from 'mediagate';
import type { ClientAuth, Configuration, CustomFetch, ServerMetadata } from 'openid-client';
import type { HttpClient } from '../../../core/contracts/index.js';
import { isLoopbackHost } from '../../../core/net/index.js';
import { type Clock, GatewayError, isGatewayError } from '../../../core/runtime/index.js';
import type { Identity as Person } from '../users.js';
import type { Identity, Issuer } from './identity.js';
import { IssuerKeys } from './oidc-keys.js';

/** Tolerated clock difference. */
const TOLERANCE_SECONDS = 30;
const SCOPE = 'openid email profile';
const MAX_EMAIL = 320;
const MAX_NAME = 200;

/** The values that a callback is checked against; new for each sign-in. */
export interface SignInSecrets {
  state: string;
  nonce: string;
  codeVerifier: string;
}

/**
 * OpenID Connect's code flow with PKCE. Every method throws GatewayError `sign_in_unavailable`, `sign_in_failed`.
 * Nothing is loaded or requested before the first sign-in.
 */
export class OidcClient {
  readonly #discovery: Discovery;

  constructor(options: Omit<DiscoveryOptions, 'toleranceSeconds'>) {
    this.#discovery = new Discovery({ ...options, toleranceSeconds: TOLERANCE_SECONDS });
  }

  /** Where to redirect the browser. */
  begin({ state, nonce, codeVerifier }: SignInSecrets, redirectUri: string, isAgain = false): Promise<URL> {
    return failingAs(providerFailure, async () => {
      const [{ configure }, oidc] = await Promise.all([this.#discovery.issuer(), import('openid-client')]);
      return oidc.buildAuthorizationUrl(configure(), {
        redirect_uri: redirectUri,
        scope: SCOPE,
        state,
        nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
        ...(isAgain && { prompt: 'login' }),
      });
    });
  }

  /** The user who has returned. @param callback Address that the browser returned to, under SITE_URL. */
  finish({ state, nonce, codeVerifier }: SignInSecrets, callback: URL): Promise<Person> {
    return failingAs(signInFailure, async () => {
      const [{ configure, knownAs }, oidc] = await Promise.all([this.#discovery.issuer(), import('openid-client')]);
      const configuration = configure();
      const tokens = await oidc.authorizationCodeGrant(configuration, callback, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: codeVerifier,
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      if (!claims) throw new Error('the token response has no identity token');
      // The library only checks the end of a token.
      if (claims.iat > Date.now() / 1_000 + TOLERANCE_SECONDS) throw new Error('the identity token is from the future');
      const asksFurther = claims.email === undefined && configuration.serverMetadata().userinfo_endpoint;
      const about = asksFurther ? await oidc.fetchUserInfo(configuration, tokens.access_token, claims.sub) : claims;
      return {
        issuer: knownAs ?? claims.iss,
        subject: claims.sub,
        // An unverified address could belong to another person.
        email: mayBeTheirs(about.email_verified) ? readText(about.email, MAX_EMAIL) : null,
        name: readText(about.name, MAX_NAME),
      };
    });
  }
}

/** If a provider sends no such claim, all its addresses are verified; some send it as text. */
function mayBeTheirs(verified: unknown): boolean {
  return verified === undefined || verified === true || verified === 'true';
}

function readText(value: unknown, maxLength: number): string | null {
  // Cutting may split a surrogate pair.
  return typeof value === 'string' && value !== '' ? value.slice(0, maxLength).toWellFormed() : null;
}

const TIMEOUT_MS = 5_000;
/** Metadata of an issuer rarely change; for signing keys see `IssuerKeys`. */
const METADATA_MS = 3_600_000;

export interface DiscoveredIssuer extends Issuer {
  /** The client library's configuration, for one sign-in. */
  configure(): Configuration;
}

export interface DiscoveryOptions {
  identity: Identity;
  gateway: Pick<Gateway, 'httpClient'>;
  clock: Clock;
  /** Tolerated clock difference in seconds. */
  toleranceSeconds: number;
}

/** The issuer's metadata. */
class Discovery {
  readonly #options: DiscoveryOptions;
  #asked: { answer: Promise<DiscoveredIssuer>; until: number } | undefined;

  constructor(options: DiscoveryOptions) {
    this.#options = options;
  }

  /**
   * Fetches the metadata at most once an hour, shared by concurrent callers, and not before the first sign-in.
   * @throws GatewayError `sign_in_unavailable`.
   */
  issuer(): Promise<DiscoveredIssuer> {
    const now = this.#options.clock.monotonic();
    if (this.#asked && now < this.#asked.until) return this.#asked.answer;
    const asking = { answer: failingAs(providerFailure, () => this.#discover()), until: now + METADATA_MS };
    this.#asked = asking;
    // All waiting callers get the error, which is not cached: the next caller tries again.
    asking.answer.catch(() => {
      if (this.#asked === asking) this.#asked = undefined;
    });
    return asking.answer;
  }

  async #discover(): Promise<DiscoveredIssuer> {
    const { identity, gateway, clock, toleranceSeconds } = this.#options;
    const { oidc: state, reason } = identity.status();
    if (state === 'off') {
      throw new GatewayError('sign_in_unavailable', `Sign-in is not available. ${reason}`, { retryable: false });
    }
    const [issuer, oidc] = await Promise.all([identity.issuer(), import('openid-client')]);
    const url = new URL(issuer.issuer);
    // The operator configured the issuer. Endpoints elsewhere in its metadata are allowed by the guard.
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
    const keys = new IssuerKeys(guarded, { clock, url: checkMetadata(metadata) });
    return {
      ...issuer,
      configure() {
        // One per sign-in: the library caches keys per configuration, and they are cached here instead.
        const configuration = new oidc.Configuration(metadata, issuer.clientId, client, auth);
        configuration[oidc.customFetch] = keys.fetch();
        configuration.timeout = TIMEOUT_MS / 1_000;
        // Checks the signature of the token too, although it comes from the issuer by TLS.
        oidc.enableNonRepudiationChecks(configuration);
        if (isInsecure) oidc.allowInsecureRequests(configuration);
        return configuration;
      },
    };
  }
}

/**
 * Address of its keys.
 * @throws Error if a sign-in could not complete, or would redirect a browser to an address that is no http or https
 *   URL.
 */
function checkMetadata(metadata: ServerMetadata): string {
  const { authorization_endpoint: entrance = '', token_endpoint: exchange, jwks_uri: keys } = metadata;
  if (!/^https?:\/\//i.test(entrance)) throw new Error('the issuer names no authorization endpoint');
  if (!exchange || !keys) throw new Error('the issuer has no token endpoint or no keys');
  return URL.parse(keys)?.href ?? keys;
}

/** The authentication method of the issuer; Basic is the standard's default. */
function clientAuth(oidc: typeof import('openid-client'), secret: string | undefined): ClientAuth {
  if (secret === undefined) return oidc.None();
  const [basic, post] = [oidc.ClientSecretBasic(secret), oidc.ClientSecretPost(secret)];
  return (issuer, ...request) =>
    issuer.token_endpoint_auth_methods_supported?.includes('client_secret_post')
      ? post(issuer, ...request)
      : basic(issuer, ...request);
}

/** OAuth errors of the provider itself, or about this gateway's registration: not caused by the user. */
const PROVIDER_TROUBLE = new Set(['server_error', 'temporarily_unavailable', 'invalid_client', 'unauthorized_client']);
/** Codes of the client library for missing or invalid answers of a provider. */
const NO_ANSWER = new Set([
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
  'OAUTH_PARSE_ERROR',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
]);

/** The user's error message. It quotes nothing of the provider: its messages may contain codes and tokens. */
export function signInFailure(error: unknown): GatewayError {
  if (isGatewayError(error) && error.code.startsWith('sign_in_')) return error;
  if (oauthErrorOf(error) === 'access_denied') {
    return new GatewayError('sign_in_failed', 'The identity provider refused to sign you in.');
  }
  if (isTrouble(error)) return providerFailure(error);
  return new GatewayError(
    'sign_in_failed',
    'The answer of the identity provider could not be verified. Sign in again.',
    {
      cause: error,
    },
  );
}

/** The provider failed. */
export function providerFailure(cause: unknown): GatewayError {
  if (isGatewayError(cause) && cause.code === 'sign_in_unavailable') return cause;
  const message = 'The identity provider gave no valid answer. Try again soon.';
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

/** The `error` parameter of RFC 6749 in a response. */
function oauthErrorOf(error: unknown): string | undefined {
  return error instanceof Error && 'error' in error && typeof error.error === 'string' ? error.error : undefined;
}

const MAX_BYTES = 1024 * 1024;

/** The HTTP client of the OpenID Connect library: the gateway's own, with guard, deadline and limit. */
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

/** Response accepts no body for these statuses. */
function bodyless(status: number): boolean {
  return status === 204 || status === 205 || status === 304;
}
