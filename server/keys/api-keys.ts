/*
 * The table of API keys in SQL, with the conversion between rows and records. A row has the key's hash, never the key,
 * and the current plan of its account in columns; later plans are JSON, and each reader computes the plan of the
 * moment, so a plan that resumes needs no write. Every change sets `changedAt` by the database's clock, by which nodes
 * find changes. Revoking a key and cancelling its jobs is one transaction. Times of last use are written for many keys
 * at once, in the order of ids, so that nodes do not deadlock.
 */

import type { JobPriority } from '../../core/contracts/index.js';
import {
  createListScript,
  type Database,
  type DatabaseClock,
  isStorable,
  type Kysely,
  type Migrations,
  runScript,
  type Selectable,
  sql,
  sqlMigration,
  type Tables,
  type Transaction,
} from '../../core/database/index.js';
import type { JobAdministration } from '../../core/jobs/index.js';
import { writeAudit } from '../audit/index.js';
import type { Grant } from '../http/index.js';
import { keyAt } from './keys.js';

export type { Grant };

/**
 * A route group, or a permission within the text routes: ids of things in the operator's account at the model vendor,
 * and tools and service tiers that cost more than tokens. Keys without a plan need neither permission.
 */
export type KeyGrant = Grant | 'vendor_ids' | 'paid_tools';

/** The plan of a key. */
export type KeyPlan = Pick<
  ApiKeyRecord,
  'grants' | 'rpm' | 'planId' | 'budgetId' | 'models' | 'imageDailyLimit' | 'expiresAt'
>;

/** A key as stored: without its secret, only its keyed hash. Times are milliseconds since 1970. */
export interface ApiKeyRecord {
  /** Public part of the key: 8 characters. */
  id: string;
  name: string;
  /** HMAC-SHA-256 of the whole key with the pepper of `pepperVersion`, 32 bytes in lower-case hex. */
  hash: string;
  pepperVersion: number;
  grants: readonly KeyGrant[];
  /** Requests per minute and route family; null is unlimited, 0 refuses. */
  rpm: number | null;
  accountId: string;
  /** Plan of the catalogue; null if the key was made without a plan. */
  planId: string | null;
  /** Budget of its plan, that model requests are counted against; null is unlimited. */
  budgetId: string | null;
  /** Its own budgets, and those of its account and group. Default: none. */
  furtherBudgets?: readonly string[];
  /** Group of keys that share budgets. Default: none. */
  groupName?: string;
  /** Order of its jobs among those of its account. Default `normal`. */
  priority?: JobPriority;
  /** Ids of the allowed models; null is all. */
  models: readonly string[] | null;
  /** Images per UTC day; null is the gateway's setting. */
  imageDailyLimit: number | null;
  createdAt: number;
  /** The earlier of its own end and that of its plan. */
  expiresAt: number | null;
  /** Plans that resume after that end, one after the other. Default: none. */
  followingPlans?: readonly KeyPlan[];
  revokedAt: number | null;
  /** Whether its queued jobs were left to its account when it was revoked. Default: false, they were cancelled. */
  keepsJobs?: boolean;
  /** When the user of its account was suspended: then it answers `account_suspended`. */
  suspendedAt: number | null;
  /** Id of the key that replaced it in a rotation. */
  replacedBy: string | null;
  lastUsedAt: number | null;
}

/** A key to be stored, with the properties of the account's plan. */
export type NewKeyRecord = Pick<ApiKeyRecord, 'id' | 'name' | 'hash' | 'pepperVersion'>;

/** Every method throws GatewayError `upstream_unavailable` within 2.5 s if the database does not answer. */
export interface ApiKeys {
  /**
   * Throws if the id exists.
   * @param planExpiresAt End of its plan, which its own end cannot exceed. Default: the plan does not end.
   * @param actor For the audit row `key.created`. Default: no row.
   */
  insert(record: ApiKeyRecord, planExpiresAt?: number | null, actor?: string): Promise<void>;
  /** Oldest first. */
  list(): Promise<readonly ApiKeyRecord[]>;
  find(id: string): Promise<ApiKeyRecord | undefined>;
  /** Changed at or after `since` (created, revoked, altered): how a node keeps its table in memory up to date. */
  changedSince(since: number): Promise<readonly ApiKeyRecord[]>;
  /** The time of the change marks: one clock for all nodes. */
  now(): Promise<number>;
  /**
   * All keys of an account, oldest first. Of the invalid ones that the usage log no longer needs, only the 20 latest
   * survive the next creation.
   */
  listOf(accountId: string): Promise<readonly ApiKeyRecord[]>;
  /**
   * Cancels the queued and running jobs that were submitted with the key, in the same transaction; with `keepsJobs` they
   * are left to its account. False if there is no such key, if it belongs to another account than a given one, or if it
   * was revoked before.
   * @param actor For the audit row `key.revoked`. Default: no row.
   */
  revoke(id: string, at: number, accountId?: string, keepsJobs?: boolean, actor?: string): Promise<boolean>;
  /**
   * Cancels the jobs of a key that {@link endsJobs}: those that a node accepted before it read of the key's end.
   */
  endJobs(key: ApiKeyRecord): Promise<void>;
  /** Key id → time of last use; several at once. An earlier time than the stored one has no effect. */
  touch(uses: ReadonlyMap<string, number>): Promise<void>;
}

const PAGE = 5_000;

/** API keys in SQL. Keys that follow the plan of their account are made by server/accounts/key-issue.ts. */
export function createApiKeys(
  database: Database,
  times: DatabaseClock,
  jobs: Pick<JobAdministration, 'cancelAll'>,
): ApiKeys {
  const writeUses = createUseStatement(database);

  /** With the current plan of its account. The time is read only for a key with a following plan. */
  async function currentRecord(queries: Kysely<Tables>, row: ApiKeyRow): Promise<ApiKeyRecord> {
    const record = toKeyRecord(row);
    return row.followingPlans === null ? record : keyAt(record, await times.read(queries));
  }

  return {
    async insert(record, planExpiresAt = null, actor) {
      await database.transaction(async (transaction) => {
        await insertKey(transaction, { record, planExpiresAt, changedAt: times.now });
        if (actor === undefined) return;
        const at = await times.read(transaction);
        await writeAudit(transaction, { subject: record.id, at, actor, action: 'key.created' });
      });
    },
    async list() {
      const records: ApiKeyRecord[] = [];
      let at = 0;
      // Read in pages, and this process continues other work between two pages.
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
    async revoke(id, at, accountId, keepsJobs = false, actor) {
      if (!isStorable(id)) return false;
      const change = { revokedAt: at, keepsJobs: keepsJobs ? 1 : null, changedAt: times.now };
      const wake = await database.transaction(async (transaction) => {
        const keys = transaction
          .updateTable('api_keys')
          .set(change)
          .where('id', '=', id)
          .where('revokedAt', 'is', null);
        const owned = accountId === undefined ? keys : keys.where('accountId', '=', accountId);
        const revoked = await owned.returning('accountId').executeTakeFirst();
        if (!revoked) return undefined;
        if (actor !== undefined) {
          const line = { subject: id, at: await times.read(transaction), actor, action: 'key.revoked' } as const;
          await writeAudit(transaction, line);
        }
        if (keepsJobs) return () => undefined;
        return jobs.cancelAll(transaction, { owner: revoked.accountId, keyId: id });
      });
      wake?.();
      return wake !== undefined;
    },
    async endJobs({ id, accountId }) {
      const cancel = { owner: accountId, keyId: id };
      const wake = await database.transaction((transaction) => jobs.cancelAll(transaction, cancel));
      wake();
    },
    async touch(uses) {
      if (uses.size === 0) return;
      // All nodes lock the rows in one order, so that two writers do not deadlock.
      const ordered = Array.from(uses, ([id, at]) => ({ id, at })).sort((left, right) => (left.id < right.id ? -1 : 1));
      await database.transaction((transaction) => runScript(transaction, writeUses(ordered)));
    },
  };
}

/** Throws if the id exists. */
export async function insertKey(
  transaction: Transaction<Tables>,
  { record, ...columns }: { record: ApiKeyRecord; planExpiresAt: number | null; changedAt: DatabaseClock['now'] },
): Promise<void> {
  await transaction
    .insertInto('api_keys')
    .values({ ...toKeyRow(record), ...columns })
    .execute();
}

export type ApiKeyRow = Selectable<ApiKeysTable>;

export function toKeyRow(record: ApiKeyRecord): Omit<ApiKeyRow, 'changedAt' | 'planExpiresAt' | 'followingPlans'> {
  const {
    grants,
    models,
    keepsJobs,
    followingPlans: _followingPlans,
    furtherBudgets,
    groupName,
    priority,
    ...columns
  } = record;
  const lists = {
    grants: JSON.stringify(grants),
    models: models && JSON.stringify(models),
    furtherBudgets: furtherBudgets ? JSON.stringify(furtherBudgets) : null,
  };
  const own = { groupName: groupName ?? null, priority: priority ?? null };
  return { ...columns, ...lists, ...own, keepsJobs: keepsJobs ? 1 : null };
}

export function toKeyRecord(row: ApiKeyRow): ApiKeyRecord {
  const { grants, models, keepsJobs, changedAt: _changedAt, planExpiresAt, followingPlans, ...rest } = row;
  const { furtherBudgets, groupName, priority, ...columns } = rest;
  return {
    ...columns,
    grants: JSON.parse(grants) as KeyGrant[],
    models: models === null ? null : (JSON.parse(models) as string[]),
    expiresAt: soonerOf(row.expiresAt, planExpiresAt),
    ...(followingPlans !== null && { followingPlans: followingOf(row) }),
    ...(furtherBudgets !== null && { furtherBudgets: JSON.parse(furtherBudgets) as string[] }),
    ...(groupName !== null && { groupName }),
    ...(priority !== null && { priority }),
    ...(keepsJobs !== null && { keepsJobs: true }),
  };
}

/** Whether the end of the key ends its jobs as well. A rotated key that ends leaves them to its account. */
export function endsJobs({ revokedAt, suspendedAt, keepsJobs = false }: ApiKeyRecord): boolean {
  return suspendedAt !== null || (revokedAt !== null && !keepsJobs);
}

/** The earlier of two ends; null is never. */
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

/** Keys of an account, oldest first. */
export function keysOf(queries: Kysely<Tables>, accountId: string): Promise<ApiKeyRow[]> {
  return queries
    .selectFrom('api_keys')
    .selectAll()
    .where('accountId', '=', accountId)
    .orderBy('createdAt')
    .orderBy('id')
    .execute();
}

interface KeyUse {
  id: string;
  /** Milliseconds since 1970. */
  at: number;
}

/** The statement that writes when keys were last used, for any number of them, in one order. */
function createUseStatement({ engine, queries }: Pick<Database, 'engine' | 'queries'>) {
  const lock = engine === 'postgres' ? sql`order by api_keys.id for no key update of api_keys` : sql``;
  return createListScript((keys: readonly KeyUse[]) => {
    const uses = sql.join(keys.map(({ id, at }) => sql`(${id}, cast(${at} as bigint))`));
    return sql`with
      used (id, at) as (values ${uses}),
      later as (
        select api_keys.id, used.at from api_keys join used on used.id = api_keys.id
        where api_keys."lastUsedAt" is null or api_keys."lastUsedAt" < used.at ${lock})
      update api_keys set "lastUsedAt" = later.at from later where api_keys.id = later.id`.compile(queries);
  });
}

/*
 * Rows of accounts and keys have the current plan in columns, and later plans as JSON. So resuming a plan needs no
 * write: each reader of a row computes the plan.
 */

type PlanColumns = Pick<
  ApiKeysTable,
  'planId' | 'rpm' | 'models' | 'imageDailyLimit' | 'budgetId' | 'planExpiresAt' | 'followingPlans'
> & { grants: string | null };

export function decodeFollowing({ followingPlans: plans }: Pick<PlanColumns, 'followingPlans'>): readonly KeyPlan[] {
  return plans === null ? [] : (JSON.parse(plans) as KeyPlan[]);
}

/** The row of an account with its plan at that time. */
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
  /** Its own end; the key is valid until then and no longer than its plan. */
  expiresAt: number | null;
  revokedAt: number | null;
  lastUsedAt: number | null;
  changedAt: number;
  planId: string | null;
  budgetId: string | null;
  /** JSON array of ids: the budgets of the key itself, its account and its group. */
  furtherBudgets: string | null;
  groupName: string | null;
  priority: JobPriority | null;
  /** JSON array of model ids; null is all. */
  models: string | null;
  imageDailyLimit: number | null;
  planExpiresAt: number | null;
  /** JSON array of KeyPlan: the plans that follow that end, one after the other. */
  followingPlans: string | null;
  suspendedAt: number | null;
  replacedBy: string | null;
  /** 1 if its queued jobs were left to its account when it was revoked. */
  keepsJobs: number | null;
}

/** The table of the API keys. */
export const keyMigrations: Migrations = {
  '0001-keys': sqlMigration(
    `create table api_keys (
      id text primary key, name text not null, hash text not null, "pepperVersion" integer not null, grants text not null,
      rpm integer, "accountId" text not null, "createdAt" bigint not null, "expiresAt" bigint, "revokedAt" bigint,
      "lastUsedAt" bigint, "changedAt" bigint not null, "planId" text, "budgetId" text, models text, "imageDailyLimit" integer,
      "planExpiresAt" bigint, "followingPlans" text, "suspendedAt" bigint, "replacedBy" text, "keepsJobs" integer,
      "furtherBudgets" text, "groupName" text, priority text)`,
    `create index api_keys_account on api_keys ("accountId", "createdAt", id)`,
    `create index api_keys_group on api_keys ("groupName")`,
    `create index api_keys_changed_at on api_keys ("changedAt")`,
  ),
};
