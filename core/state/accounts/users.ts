/** A person as an identity provider knows them. Times are milliseconds since 1970. */
export interface UserRecord {
  /** `user_` and 128 random bits. */
  id: string;
  /** What their keys, jobs, orders and budgets belong to. */
  accountId: string;
  /** Of the identity provider, exactly as its tokens say it. */
  issuer: string;
  /** Who they are there; unique with the issuer. */
  subject: string;
  /** As the provider said at the latest sign-in; not an identity. At most 320 characters. */
  email: string | null;
  /** At most 200 characters. */
  name: string | null;
  createdAt: number;
  lastSignInAt: number;
  suspendedAt: number | null;
}

export interface Identity {
  /** At most 2,048 characters; `subject` 255. */
  issuer: string;
  subject: string;
  email: string | null;
  name: string | null;
}

export interface UserPage {
  /** At most this many. */
  limit: number;
  /** Those made before this one, by its id. Default: from the newest on. */
  before?: string;
}

/** Something that is done to a user. */
export interface UserChange {
  userId: string;
  /** Who does it, for the audit: `operator:ann`. */
  actor: string;
  /** Why, in the words of whoever does it. */
  note?: string;
}

/** Every call throws GatewayError `upstream_unavailable` within 2.5 s where the database does not answer. */
export interface Users {
  /**
   * The user of this issuer and subject, with email and name as the provider says them now; made with an account of their
   * own where they come for the first time.
   * @throws GatewayError `account_suspended`, `invalid_value` where issuer or subject cannot be kept.
   */
  signIn(identity: Identity): Promise<UserRecord>;
  find(id: string): Promise<UserRecord | undefined>;
  findByAccount(accountId: string): Promise<UserRecord | undefined>;
  /** Those whose provider gave this address, in whatever case; newest first. */
  findByEmail(email: string): Promise<readonly UserRecord[]>;
  /** Newest first. */
  list(page: UserPage): Promise<readonly UserRecord[]>;
  /**
   * Ends their sessions and what devices wait for; their keys answer `account_suspended` once nodes have read the change.
   * False where they were suspended before. Writes the audit row `user.suspended`.
   * @throws GatewayError `user_not_found`.
   */
  suspend(suspension: UserChange): Promise<boolean>;
  /** Their keys work again; they sign in anew. False where they were not suspended. Audit row `user.resumed`. */
  resume(suspension: UserChange): Promise<boolean>;
}
