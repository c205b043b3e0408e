import type { DatabaseClock } from '../../core/database/index.js';
import { type Database, isStorable, type Kysely, type Tables } from '../../core/database/index.js';
import type { Grant } from '../http/index.js';
import { type ApiKeyRow, keysOf, toKeyRecord, toKeyRow } from './api-key-rows.js';
import { createUseStatement } from './api-key-uses.js';
import { keyAt } from './plan-following.js';

export type { Grant };

/** The plan of a key. */
export type KeyPlan = Pick<
  ApiKeyRecord,
  'grants' | 'rpm' | 'planId' | 'budgetId' | 'models' | 'imageDailyLimit' | 'expiresAt'
>;

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
  /** Images of one day by UTC; null is whatever the gateway is set to. */
  imageDailyLimit: number | null;
  createdAt: number;
  /** Its own end or that of its plan, whichever is sooner. */
  expiresAt: number | null;
  /** Plans that come back at that end, one after the other. Default: none. */
  followingPlans?: readonly KeyPlan[];
  revokedAt: number | null;
  /** Since when the user of its account is suspended: it answers `account_suspended`. */
  suspendedAt: number | null;
  /** Id of the key that it was rotated to. */
  replacedBy: string | null;
  lastUsedAt: number | null;
}

/** A key that is to be stored: what the account's plan gives comes with it. */
export type NewKeyRecord = Pick<ApiKeyRecord, 'id' | 'name' | 'hash' | 'pepperVersion'>;

/** Every call throws GatewayError `upstream_unavailable` within 2.5 s where the database does not answer. */
export interface ApiKeys {
  /** Throws where the id is taken. */
  insert(record: ApiKeyRecord): Promise<void>;
  /** Oldest first. */
  list(): Promise<readonly ApiKeyRecord[]>;
  find(id: string): Promise<ApiKeyRecord | undefined>;
  /** Changed at or after `since` (created, revoked, altered): how a node keeps its table in memory up to date. */
  changedSince(since: number): Promise<readonly ApiKeyRecord[]>;
  /** The time that changes are noted by: one clock for all nodes. */
  now(): Promise<number>;
  /**
   * All of an account, oldest first. Of those that are no longer good and that the ledger does not need any more, the 20
   * latest are kept once another is made.
   */
  listOf(accountId: string): Promise<readonly ApiKeyRecord[]>;
  /** False where there is no such key, or none of that account where one is given, or it was revoked before. */
  revoke(id: string, at: number, accountId?: string): Promise<boolean>;
  /** Key id → when it was last used; several at once. An earlier time than the one known changes nothing. */
  touch(uses: ReadonlyMap<string, number>): Promise<void>;
}

const PAGE = 5_000;

/** API keys in SQL. Those that go by the plan of their account are made by server/accounts/key-issue.ts. */
export function createApiKeys(database: Database, times: DatabaseClock): ApiKeys {
  const writeUses = createUseStatement(database);

  /** With the plan that its account has now. The time is read only for a key whose plan another one follows. */
  async function currentRecord(queries: Kysely<Tables>, row: ApiKeyRow): Promise<ApiKeyRecord> {
    const record = toKeyRecord(row);
    return row.following_plans === null ? record : keyAt(record, await times.read(queries));
  }

  return {
    async insert(record) {
      const row = { ...toKeyRow(record), changed_at: times.now };
      await database.run((queries) => queries.insertInto('api_keys').values(row).execute());
    },
    async list() {
      const records: ApiKeyRecord[] = [];
      // In pages, each of which is read in time, and between which this process does something else.
      for (let full = true; full; ) {
        const after = records.at(-1)?.id ?? '';
        const rows = await database.run((queries) =>
          queries.selectFrom('api_keys').selectAll().where('id', '>', after).orderBy('id').limit(PAGE).execute(),
        );
        for (const row of rows) records.push(toKeyRecord(row));
        full = rows.length === PAGE;
      }
      const at = await database.run((queries) => times.read(queries));
      return records
        .map((record) => keyAt(record, at))
        .sort((left, right) => left.createdAt - right.createdAt || (left.id < right.id ? -1 : 1));
    },
    async find(id) {
      if (!isStorable(id)) return undefined;
      return database.run(async (queries) => {
        const row = await queries.selectFrom('api_keys').selectAll().where('id', '=', id).executeTakeFirst();
        return row && currentRecord(queries, row);
      });
    },
    async changedSince(since) {
      const rows = await database.run((queries) =>
        queries.selectFrom('api_keys').selectAll().where('changed_at', '>=', since).orderBy('changed_at').execute(),
      );
      return rows.map(toKeyRecord);
    },
    async listOf(accountId) {
      return database.run(async (queries) => {
        const rows = await keysOf(queries, accountId);
        return Promise.all(rows.map((row) => currentRecord(queries, row)));
      });
    },
    now: () => database.run((queries) => times.read(queries)),
    async revoke(id, at, accountId) {
      if (!isStorable(id)) return false;
      const change = { revoked_at: at, changed_at: times.now };
      const { numUpdatedRows } = await database.run((queries) => {
        const keys = queries.updateTable('api_keys').set(change).where('id', '=', id).where('revoked_at', 'is', null);
        const owned = accountId === undefined ? keys : keys.where('account_id', '=', accountId);
        return owned.executeTakeFirstOrThrow();
      });
      return numUpdatedRows > 0n;
    },
    async touch(uses) {
      if (uses.size === 0) return;
      // Nodes lock the rows in one order, so that two that write at once do not wait for each other in a ring.
      const ordered = [...uses].sort(([left], [right]) => (left < right ? -1 : 1));
      await database.transaction(async (transaction) => {
        await writeUses(transaction, ordered);
      });
    },
  };
}
