/*
 * How people sign in: with the OpenID Connect provider of the settings, else with passkeys, else with the provider of a
 * plugin for development, which works only on loopback. Browsers bind passkeys to a host name and offer them over https
 * or on localhost alone, so at an IP address or over plain http there are none, and the status says why.
 */

import { isIP } from 'node:net';
import type { Gateway } from 'mediagate';
import type { OpenIdentityProvider } from '../../core/contracts/index.js';
import { isLoopbackHost } from '../../core/net/index.js';
import type { SiteAddress } from '../http/index.js';

/** Status of the sign-in, for `/health`, `doctor` and the banner. */
export interface SignInStatus {
  /** Whether people can sign in at all. */
  state: 'ready' | 'off';
  /** Whether they can with the provider. */
  oidc: 'ready' | 'off';
  /** Host of the issuer, or id of the plugin instance; undefined if there is neither. */
  provider?: string;
  /** Whether it only replaces an issuer that is not configured. */
  standIn: boolean;
  /** Why the provider is off; safe to show. */
  reason?: string;
  passkeys: PasskeyStatus;
}

/** Whether people can sign in with passkeys. */
export interface PasskeyStatus {
  state: 'ready' | 'off';
  /** Host name that passkeys are bound to, if they are ready. */
  host?: string;
  /** Why they are off; safe to show. */
  reason?: string;
}

/** An issuer for sign-ins. */
export interface Issuer {
  issuer: string;
  clientId: string;
  clientSecret?: string;
  /** Stable issuer name of users, if the issuer's address changes. Default: the issuer of the token. */
  knownAs?: string;
}

export interface IdentityOptions {
  gateway: Pick<Gateway, 'identityProvider'>;
  settings: { host: string; oidcIssuer?: string; oidcClientId?: string; oidcClientSecret?: string };
  site(): SiteAddress;
}

/** The identity provider in use. The issuer of the settings; otherwise, the one that a plugin contributes. */
export class Identity {
  readonly #gateway: Pick<Gateway, 'identityProvider'>;
  readonly #settings: { host: string; oidcIssuer?: string; oidcClientId?: string; oidcClientSecret?: string };
  readonly #site: () => SiteAddress;
  readonly #oidcIssuer: string | undefined;
  readonly #clientId: string;
  readonly #clientSecret: string | undefined;
  #opened: Promise<OpenIdentityProvider> | undefined;

  constructor({ gateway, settings, site }: IdentityOptions) {
    this.#gateway = gateway;
    this.#settings = settings;
    this.#site = site;
    const { oidcIssuer, oidcClientId: clientId = '', oidcClientSecret: clientSecret } = settings;
    this.#oidcIssuer = oidcIssuer;
    this.#clientId = clientId;
    this.#clientSecret = clientSecret;
  }

  status(): SignInStatus {
    const found = this.#gateway.identityProvider();
    const provider = this.#oidcIssuer ? new URL(this.#oidcIssuer).host : found?.entry;
    const standIn = !this.#oidcIssuer && (found?.standIn ?? false);
    const reason = this.#whyOff();
    const passkeys = passkeysAt(this.#site(), this.#oidcIssuer);
    const oidc = reason ? 'off' : 'ready';
    const state = oidc === 'ready' ? oidc : passkeys.state;
    return { state, oidc, standIn, ...(provider && { provider }), ...(reason && { reason }), passkeys };
  }

  /** @throws Error if the provider does not start; call it only if `oidc` of {@link status} is `ready`. */
  async issuer(): Promise<Issuer> {
    if (this.#oidcIssuer)
      return { issuer: this.#oidcIssuer, clientId: this.#clientId, clientSecret: this.#clientSecret };
    this.#opened ??= this.#open();
    const { issuer, clientId: id, clientSecret: secret } = await this.#opened;
    const knownAs = `urn:mediagate:identity:${this.#gateway.identityProvider()?.entry}`;
    return { issuer, clientId: id, clientSecret: secret, knownAs };
  }

  /** Ends a provider that was started here. Idempotent. */
  async close(): Promise<void> {
    // A provider that did not start needs no closing.
    const provider = await this.#opened?.catch(() => undefined);
    await provider?.close();
  }

  #open(): Promise<OpenIdentityProvider> {
    const found = this.#gateway.identityProvider();
    if (!found) throw new Error('no identity provider is ready');
    const opening = found.provider.open({ redirectUri: `${this.#site().url}/signin/callback` });
    // The next caller tries again.
    opening.catch(() => {
      this.#opened = undefined;
    });
    return opening;
  }

  #whyOff(): string | undefined {
    const { secure, loopback } = this.#site();
    if (!secure && !loopback) return 'SITE_URL must be https unless it is a loopback address.';
    if (this.#oidcIssuer) return undefined;
    const found = this.#gateway.identityProvider();
    if (!found) return 'No identity provider is configured. Set OIDC_ISSUER.';
    if (!found.standIn || (loopback && isLoopbackHost(this.#settings.host))) return undefined;
    return `${found.entry} lets anyone sign in as anyone, so it works only while HOST and SITE_URL are loopback addresses. Set OIDC_ISSUER to use another provider.`;
  }
}

/** @param issuer The provider of the settings: with one, it decides who signs in. */
function passkeysAt({ url, secure }: SiteAddress, issuer: string | undefined): PasskeyStatus {
  if (issuer !== undefined) return { state: 'off', reason: 'OIDC_ISSUER names an identity provider.' };
  const { hostname, port } = new URL(url);
  const isLocal = hostname === 'localhost' || hostname.endsWith('.localhost');
  const isAddress = isIP(hostname.replace(/^\[|\]$/g, '')) !== 0;
  if (!isAddress && (secure || isLocal)) return { state: 'ready', host: hostname };
  const why = isAddress ? 'and this site has an IP address' : 'and this site is not https';
  const local = isLoopbackHost(hostname) ? `, or to http://localhost${port && `:${port}`} on this machine` : '';
  const remedy = `Set BASE_URL to https:// and a host name${local}.`;
  return { state: 'off', reason: `Browsers offer passkeys only at a host name over https, ${why}. ${remedy}` };
}
