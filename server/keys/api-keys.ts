import {
  createListStatement,
  type Database,
  type DatabaseClock,
  isStorable,
  type Kysely,
  type Migrations,
  type Selectable,
  sql,
  sqlMigration,
  type Tables,
} from '../../core/database/index.js';
import type { Grant } from '../http/index.js';
import { keyAt } from './keys.js';

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
    return row.followingPlans === null ? record : keyAt(record, await times.read(queries));
  }

  return {
    async insert(record) {
      const row = { ...toKeyRow(record), changedAt: times.now };
      await database.run((queries) => queries.insertInto('api_keys').values(row).execute());
    },
    async list() {
      const records: ApiKeyRecord[] = [];
      let at = 0;
      // In pages, each of which is read in time, and between which this process does something else.
      for (let full = true; full; ) {
        const after = records.at(-1)?.id ?? '';
        const rows = await database.run(async (queries) => {
          at = await times.read(queries);
          return queries.selectFrom('api_keys').selectAll().where('id', '>', after).orderBy('id').limit(PAGE).execute();
        });
        for (const row of rows) records.push(toKeyRecord(row));
        full = rows.length === PAGE;
      }
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
        queries.selectFrom('api_keys').selectAll().where('changedAt', '>=', since).orderBy('changedAt').execute(),
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
      const change = { revokedAt: at, changedAt: times.now };
      const { numUpdatedRows } = await database.run((queries) => {
        const keys = queries.updateTable('api_keys').set(change).where('id', '=', id).where('revokedAt', 'is', null);
        const owned = accountId === undefined ? keys : keys.where('accountId', '=', accountId);
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

export type ApiKeyRow = Selectable<ApiKeysTable>;

export function toKeyRow(record: ApiKeyRecord): Omit<ApiKeyRow, 'changedAt' | 'planExpiresAt' | 'followingPlans'> {
  const { grants, models, followingPlans: _followingPlans, ...columns } = record;
  return { ...columns, grants: JSON.stringify(grants), models: models && JSON.stringify(models) };
}

export function toKeyRecord(row: ApiKeyRow): ApiKeyRecord {
  const { grants, models, changedAt: _changedAt, planExpiresAt, followingPlans, ...columns } = row;
  return {
    ...columns,
    grants: JSON.parse(grants) as Grant[],
    models: models === null ? null : (JSON.parse(models) as string[]),
    expiresAt: soonerOf(row.expiresAt, planExpiresAt),
    ...(followingPlans !== null && { followingPlans: followingOf(row) }),
  };
}

/** Of two ends; null is never. */
export function soonerOf(left: number | null, right: number | null): number | null {
  return left === null || right === null ? (left ?? right) : Math.min(left, right);
}

export function isValidRow(row: ApiKeyRow, now: number): boolean {
  const { revokedAt, expiresAt } = keyAt(toKeyRecord(row), now);
  return revokedAt === null && (expiresAt === null || expiresAt > now);
}

function followingOf(row: ApiKeyRow): KeyPlan[] {
  return decodeFollowing(row).map((plan) => ({ ...plan, expiresAt: soonerOf(row.expiresAt, plan.expiresAt) }));
}

/** Of an account, oldest first. */
export function keysOf(queries: Kysely<Tables>, accountId: string): Promise<ApiKeyRow[]> {
  return queries
    .selectFrom('api_keys')
    .selectAll()
    .where('accountId', '=', accountId)
    .orderBy('createdAt')
    .orderBy('id')
    .execute();
}

/** The statement that writes down when keys were last used, for any number of them: id and time of each, in one order. */
export function createUseStatement({ engine, queries }: Pick<Database, 'engine' | 'queries'>) {
  const lock = engine === 'postgres' ? sql`order by api_keys.id for no key update of api_keys` : sql``;
  return createListStatement((length) => {
    const uses = sql.join(Array.from({ length }, () => sql`(${''}, cast(${0} as bigint))`));
    return sql`with
      used (id, at) as (values ${uses}),
      later as (
        select api_keys.id, used.at from api_keys join used on used.id = api_keys.id
        where api_keys."lastUsedAt" is null or api_keys."lastUsedAt" < used.at ${lock})
      update api_keys set "lastUsedAt" = later.at from later where api_keys.id = later.id`.compile(queries);
  });
}

/*
 * Rows of accounts and keys hold the running plan in columns, and those that come after its end as JSON. So a plan that comes
 * back needs no write: each reader of a row computes which plan it is.
 */

type PlanColumns = Pick<
  ApiKeysTable,
  'planId' | 'rpm' | 'models' | 'imageDailyLimit' | 'budgetId' | 'planExpiresAt' | 'followingPlans'
> & { grants: string | null };

export function decodeFollowing({ followingPlans: plans }: Pick<PlanColumns, 'followingPlans'>): readonly KeyPlan[] {
  return plans === null ? [] : (JSON.parse(plans) as KeyPlan[]);
}

/** The row of an account with the plan that it has at that time. */
export function accountAt<Row extends PlanColumns>(row: Row, at: number): Row {
  if (row.followingPlans === null || row.planExpiresAt === null || row.planExpiresAt > at) return row;
  const [plan, ...rest] = decodeFollowing(row);
  if (!plan) return row;
  const columns: PlanColumns = {
    planId: plan.planId,
    grants: JSON.stringify(plan.grants),
    rpm: plan.rpm,
    models: plan.models && JSON.stringify(plan.models),
    imageDailyLimit: plan.imageDailyLimit,
    budgetId: plan.budgetId,
    planExpiresAt: plan.expiresAt,
    followingPlans: rest.length === 0 ? null : JSON.stringify(rest),
  };
  return accountAt({ ...row, ...columns }, at);
}

declare module '../../core/database/tables.js' {
  interface Tables {
    api_keys: ApiKeysTable;
  }
}

export interface ApiKeysTable {
  id: string;
  name: string;
  hash: string;
  pepperVersion: number;
  /** JSON array. */
  grants: string;
  rpm: number | null;
  accountId: string;
  createdAt: number;
  /** Its own; the key is good until then and no longer than its plan. */
  expiresAt: number | null;
  revokedAt: number | null;
  lastUsedAt: number | null;
  changedAt: number;
  planId: string | null;
  budgetId: string | null;
  /** JSON array of model ids; null is all. */
  models: string | null;
  imageDailyLimit: number | null;
  planExpiresAt: number | null;
  /** JSON array of KeyPlan: what comes back at that end, one after the other. */
  followingPlans: string | null;
  suspendedAt: number | null;
  replacedBy: string | null;
}

/** The table of the API keys. */
export const keyMigrations: Migrations = {
  '0001-keys': sqlMigration(
    `create table api_keys (
      id text primary key, name text not null, hash text not null, "pepperVersion" integer not null, grants text not null,
      rpm integer, "accountId" text not null, "createdAt" bigint not null, "expiresAt" bigint, "revokedAt" bigint,
      "lastUsedAt" bigint, "changedAt" bigint not null, "planId" text, "budgetId" text, models text, "imageDailyLimit" integer,
      "planExpiresAt" bigint, "followingPlans" text, "suspendedAt" bigint, "replacedBy" text)`,
    `create index api_keys_account on api_keys ("accountId", "createdAt", id)`,
    `create index api_keys_changed_at on api_keys ("changedAt")`,
  ),
};
