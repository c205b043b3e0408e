/** Says who somebody is, in the words of OpenID Connect. What configures an issuer needs no plugin: it is a setting. */
export interface IdentityProvider {
  /**
   * Starts to serve. Called at most once at a time, when somebody is about to sign in.
   * @throws Error where it cannot serve those addresses; the message is safe to show.
   */
  open(call: OpenIdentityProviderCall): Promise<OpenIdentityProvider>;
}

export interface OpenIdentityProviderCall {
  /** Absolute address that sign-ins come back to; no other one is accepted. */
  redirectUri: string;
}

/** An issuer that serves, and the one client it knows. */
export interface OpenIdentityProvider {
  /** Absolute URL without a trailing slash; its `.well-known/openid-configuration` answers. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Lets go of its sockets. Idempotent. */
  close(): Promise<void>;
}
