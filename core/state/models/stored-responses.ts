/** Where a response of `/v1/responses` was made, so that it is found again there, by its own account alone. */
export interface StoredResponse {
  /** As the upstream named it. */
  id: string;
  accountId: string;
  model: string;
  /** `TextReply.upstream` of the call that made it. */
  upstream: string;
  /** Milliseconds since 1970. Kept 30 days. */
  createdAt: number;
}

/** Every call but `remember` and `flushInTime` throws GatewayError `upstream_unavailable` where the database does not answer. */
export interface StoredResponses {
  /** Never throws and never waits; written with others within 100 ms. `find` of this process sees it at once. */
  remember(response: StoredResponse): void;
  /** Resolves when all that is to be remembered is durable, or the database has been away for 2.4 s. */
  flushInTime(): Promise<void>;
  /** Undefined where there is none, or none of this account. */
  find(id: string, accountId: string): Promise<StoredResponse | undefined>;
  /** Two accounts may have one of the same name, of two upstreams. */
  forget(id: string, accountId: string): Promise<void>;
}
