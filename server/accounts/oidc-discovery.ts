import { type Clock, type Gateway, GatewayError, isLoopbackHost } from 'mediagate';
import type { ClientAuth, Configuration, ServerMetadata } from 'openid-client';
import { createGuardedFetch } from './guarded-fetch.js';
import type { Identity, Issuer } from './identity.js';
import { failingAs, providerFailure } from './oidc-failure.js';
import { createIssuerKeys } from './oidc-keys.js';

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
