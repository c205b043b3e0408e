/** Which group of routes a key may use. */
export type Grant = 'images' | 'extract' | 'text' | 'audio';

/** A key as stored: no secret in it, only its keyed hash. Times in milliseconds since 1970. */
export interface ApiKeyRecord {
  /** Public part of the key: 8 characters. */
  id: string;
  name: string;
  /** HMAC-SHA-256 of the whole key under the pepper of `pepperVersion`, 32 bytes in lower-case hex. */
  hash: string;
  pepperVersion: number;
  grants: readonly Grant[];
  /** Requests per minute and route family; null is unlimited, 0 refuses. */
  rpm: number | null;
  accountId: string;
  /** Of the catalogue; null where the key was made without a plan. */
  planId: string | null;
  /** What model requests are counted against; null is unlimited. */
  budgetId: string | null;
  /** Ids of the models it may use; null is all. */
  models: readonly string[] | null;
  createdAt: number;
  expiresAt: number | null;
  revokedAt: number | null;
  lastUsedAt: number | null;
}

/** Every call throws GatewayError `upstream_unavailable` within 2.5 s where the database does not answer. */
export interface ApiKeys {
  /** Throws where the id is taken. */
  insert(record: ApiKeyRecord): Promise<void>;
  /** Oldest first. */
  list(): Promise<readonly ApiKeyRecord[]>;
  find(id: string): Promise<ApiKeyRecord | undefined>;
  /** Changed at or after `since` (created, revoked, altered): how a node keeps its table in memory up to date. */
  changedSince(since: number): Promise<readonly ApiKeyRecord[]>;
  /** False where there is no such key or it was revoked before. */
  revoke(id: string, at: number): Promise<boolean>;
  /** Key id → when it was last used; several at once. An earlier time than the one known changes nothing. */
  touch(uses: ReadonlyMap<string, number>): Promise<void>;
}
