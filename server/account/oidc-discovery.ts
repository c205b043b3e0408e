import { type Clock, type Gateway, GatewayError, isLoopbackHost } from 'mediagate';
import type { ClientAuth, Configuration, ServerMetadata } from 'openid-client';
import { createGuardedFetch } from './guarded-fetch.js';
import type { Identity, Issuer } from './identity.js';
import { failingAs, providerFailure } from './oidc-failure.js';

const TIMEOUT_MS = 5_000;
/** Metadata of an issuer change rarely; signing keys are asked for anew by themselves. */
const METADATA_MS = 3_600_000;

export interface DiscoveredIssuer extends Issuer {
  /** What the client library knows of it. */
  configuration: Configuration;
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
    const configuration = await oidc.discovery(
      url,
      issuer.clientId,
      { [oidc.clockTolerance]: toleranceSeconds },
      clientAuth(oidc, issuer.clientSecret),
      {
        [oidc.customFetch]: createGuardedFetch(http),
        timeout: TIMEOUT_MS / 1_000,
        execute: [
          // The signature of the token too, although it comes from the issuer by TLS.
          oidc.enableNonRepudiationChecks,
          ...(isLoopbackHost(url.hostname) ? [oidc.allowInsecureRequests] : []),
        ],
      },
    );
    checkMetadata(configuration.serverMetadata());
    return { ...issuer, configuration };
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

/** @throws Error where a sign-in could not come to an end, or would lead a browser to what is no web address. */
function checkMetadata(metadata: ServerMetadata): void {
  const { authorization_endpoint: entrance = '', token_endpoint: exchange, jwks_uri: keys } = metadata;
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
