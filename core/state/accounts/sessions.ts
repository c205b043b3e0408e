import type { UserChange, UserRecord } from './users.js';

/** `browser`: sent as a cookie by itself. `device`: a bearer token that a program sends on purpose. */
export type SessionKind = 'browser' | 'device';

/** Somebody who is signed in. Times are milliseconds since 1970. */
export interface SessionRecord {
  /** SHA-256 of the secret in lower-case hex; the secret itself is nowhere. */
  hash: string;
  userId: string;
  kind: SessionKind;
  createdAt: number;
  /** When it ends as things stand: by its idle time or its lifetime, whichever is sooner. */
  expiresAt: number;
}

export interface NewSession {
  /** SHA-256 of the secret in lower-case hex. */
  hash: string;
  userId: string;
  kind: SessionKind;
  /** Milliseconds without a request after which it ends. */
  idleMs: number;
  /** Milliseconds after which it ends in any case. */
  lifetimeMs: number;
}

export interface SignedIn {
  session: SessionRecord;
  user: UserRecord;
}

/** Every call throws GatewayError `upstream_unavailable` within 2.5 s where the database does not answer. */
export interface Sessions {
  /**
   * Of the sessions of a user, 50 at most go on: the one that was seen longest ago ends for a new one.
   * @throws GatewayError `account_suspended`, `user_not_found`.
   */
  create(session: NewSession): Promise<SessionRecord>;
  /**
   * The session and its user. Undefined where there is none, or it has ended. Counts as a sign of life, which is written
   * down once a minute at most.
   */
  find(hash: string): Promise<SignedIn | undefined>;
  /** False where there was none any more. */
  end(hash: string): Promise<boolean>;
  /**
   * Ends those of a user, and what their devices wait for; their keys go on. How many sessions there were; where there were
   * any, it writes the audit row `user.signed-out`.
   * @throws GatewayError `user_not_found`.
   */
  endAllOf(end: UserChange): Promise<number>;
}
