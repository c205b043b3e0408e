import { type Gateway, isLoopbackHost, type OpenIdentityProvider } from 'mediagate';
import type { SiteAddress } from '../http/index.js';
import type { Settings } from '../settings/index.js';

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
  settings: Pick<Settings, 'host' | 'oidcIssuer' | 'oidcClientId' | 'oidcClientSecret'>;
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
