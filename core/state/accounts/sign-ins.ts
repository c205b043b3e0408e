/** A sign-in that has begun: what its callback is checked against. */
export interface SignInAttempt {
  /** SHA-256 of the `state` parameter in lower-case hex. */
  stateHash: string;
  /** SHA-256 of what the browser that began it holds in a cookie. */
  browserHash: string;
  nonce: string;
  /** Of PKCE. */
  codeVerifier: string;
  /** Own path to go on to. */
  returnTo: string;
}

/** Every call throws GatewayError `upstream_unavailable` within 2.5 s where the database does not answer. */
export interface SignIns {
  /** Good for 10 minutes. The latest 20,000 are kept. */
  begin(attempt: SignInAttempt): Promise<void>;
  /** Gives an attempt out once, and only to the browser that began it; undefined otherwise, and when it is too old. */
  take(stateHash: string, browserHash: string): Promise<SignInAttempt | undefined>;
}
