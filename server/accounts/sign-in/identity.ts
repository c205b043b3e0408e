/*
 * How people sign in: with the OpenID Connect provider of the settings, else with passkeys, else with the provider of a
 * plugin for development, which works only on loopback. Browsers bind passkeys to a host name and offer them over https
 * or on localhost alone, so at an IP address or over plain http there are none, and the status says why. With passkeys,
 * the gateway is its own OpenID provider (`server/identity`), which the manifest names.
 */

import { isIP } from 'node:net';
import type { Gateway } from 'mediagate';
import { field, type OpenIdentityProvider, Type } from '../../../core/contracts/index.js';
import { isLoopbackHost } from '../../../core/net/index.js';
import { Nullable, type SiteAddress, Text } from '../../http/index.js';

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

/** An application of the operator, as `SIGN_IN_APPS` names it. */
export interface SignInApp {
  /** Its client id. */
  name: string;
  redirectUris: readonly string[];
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
  settings: IdentitySettings;
  site(): SiteAddress;
}

interface IdentitySettings {
  host: string;
  oidcIssuer?: string;
  oidcClientId?: string;
  oidcClientSecret?: string;
  signInApps?: readonly SignInApp[];
}

/** The identity provider in use. The issuer of the settings; otherwise, the one that a plugin contributes. */
export class Identity {
  readonly #gateway: Pick<Gateway, 'identityProvider'>;
  readonly #settings: IdentitySettings;
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

  /** Applications that sign people in with the accounts of this gateway. */
  get applications(): readonly SignInApp[] {
    return this.#settings.signInApps ?? [];
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

/** Addresses of the gateway's own OpenID provider. */
export interface OpenidAddresses {
  issuer: string;
  configurationUrl: string;
  authorizationUrl: string;
  tokenUrl: string;
  userinfoUrl: string;
  keysUrl: string;
}

/** How people sign in, for the manifest: at the provider, or with passkeys at the gateway as provider. */
export function describeSignIn({ oidc, provider, passkeys }: SignInStatus, openid: OpenidAddresses | undefined) {
  const common = { protocol: 'OpenID Connect', openid: openid ?? null };
  if (oidc === 'off' && passkeys.state === 'ready') {
    const passwordPolicy =
      'There are no passwords, and no program may ask for one: people sign in with passkeys, on the pages of this site alone.';
    const own = openid && new URL(openid.issuer).host;
    return { provider: own ?? passkeys.host ?? null, method: 'passkey', passwordPolicy, ...common };
  }
  const passwordPolicy =
    'The service never sees a password of the identity provider, and no program may ask for it: people sign in on the pages of the provider alone.';
  return { provider: provider ?? null, method: 'provider', passwordPolicy, ...common };
}

/** `auth` of the manifest. */
export const SIGN_IN_FIELDS = {
  provider: field(Nullable(Text), 'The identity provider: with passkeys the host of this site. Null without one.'),
  protocol: field(Text, 'Its protocol.', 'OpenID Connect'),
  method: field(
    Text,
    '`provider`: people sign in on pages of the provider. `passkey`: on the pages of this site.',
    'passkey',
  ),
  openid: field(
    Nullable(
      Type.Object({
        issuer: field(Text, 'Issuer of its identity tokens.'),
        configurationUrl: field(Text, 'Address of its metadata (OpenID Connect Discovery).'),
        authorizationUrl: field(Text, 'Address to which applications send a browser.'),
        tokenUrl: field(Text, 'Address of tokens.'),
        userinfoUrl: field(Text, 'Address that says who the user is.'),
        keysUrl: field(Text, 'Address of the keys that sign identity tokens.'),
      }),
    ),
    'The OpenID provider of this gateway, for applications that its operator registered. Null if it is none.',
  ),
  available: field(Type.Boolean(), 'Whether users can sign in now.'),
  loginUrl: field(Text, 'Address of the sign-in.'),
  unauthenticatedInstruction: field(Text, 'What a program should tell a user who is not signed in.'),
  passwordPolicy: field(Text, 'Who may ask for a password.'),
  deviceFlow: field(
    Type.Object({
      authorizationUrl: field(Text, 'Address that starts the device flow.'),
      tokenUrl: field(Text, 'Address to poll.'),
      verificationUrl: field(Text, 'Page where the user enters the code.'),
    }),
    'The device flow (RFC 8628).',
  ),
};
