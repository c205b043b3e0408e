/*
 * API keys in SQL: making, finding, changing, rotating and revoking them, each in one transaction with its audit row.
 * Revoking a key also cancels its jobs. Times of last use are written for many keys at once, in the order of ids, so
 * that nodes do not deadlock. Listing all keys reads pages, so that this process continues other work between two.
 */

import {
  beginsWith,
  createListScript,
  type Database,
  type DatabaseClock,
  type Engine,
  isStorable,
  type Kysely,
  runScript,
  sql,
  type Tables,
  type Transaction,
} from '../../core/database/index.js';
import type { JobAdministration } from '../../core/jobs/index.js';
import { writeAudit } from '../audit/index.js';
import {
  type AgentKeyIssue,
  findInternalKey,
  type InternalKeyIssue,
  issueAgentKey,
  issueInternalKey,
  issueKey,
  type KeyIssue,
  type KeyOwners,
  type KeyRotation,
  rotateKey,
} from './key-issue.js';
import { type ApiKeyRecord, type ApiKeyRow, insertKey, keyAt, keysOf, toKeyRecord } from './key-rows.js';
import { type KeyUpdate, updateKey } from './key-updates.js';
import { namedKeyId } from './keys.js';

const PAGE = 5_000;

export interface ApiKeysOptions<Terms> {
  database: Database;
  times: DatabaseClock;
  jobs: Pick<JobAdministration, 'cancelAll'>;
  owners: KeyOwners<Terms>;
  /** Milliseconds for which entries of the usage log refer to a key. */
  entriesRetentionMs: number;
}

/**
 * Every method throws GatewayError `upstream_unavailable` within 2.5 s if the database does not answer. `Terms` are the
 * terms of a plan.
 */
export class ApiKeys<Terms = unknown> {
  readonly #options: ApiKeysOptions<Terms>;
  readonly #database: Database;
  readonly #times: DatabaseClock;
  readonly #jobs: ApiKeysOptions<Terms>['jobs'];
  readonly #writeUses: ReturnType<typeof createUseStatement>;

  constructor(options: ApiKeysOptions<Terms>) {
    this.#options = options;
    this.#database = options.database;
    this.#times = options.times;
    this.#jobs = options.jobs;
    this.#writeUses = createUseStatement(options.database);
  }

  /**
   * Throws if the id exists.
   * @param planExpiresAt End of its plan, which its own end cannot exceed. Default: the plan does not end.
   * @param actor For the audit row `key.created`. Default: no row.
   */
  async insert(record: ApiKeyRecord, planExpiresAt: number | null = null, actor?: string): Promise<void> {
    await this.#database.transaction(async (transaction) => {
      await insertKey(transaction, { record, planExpiresAt, changedAt: this.#times.now });
      if (actor === undefined) return;
      const at = await this.#times.read(transaction);
      await writeAudit(transaction, { subject: record.id, at, actor, action: 'key.created' });
    });
  }

  /**
   * Makes a key with the plan of its account.
   * @throws GatewayError `too_many_keys`, `account_not_found`, `account_suspended`.
   */
  issue(issue: KeyIssue<Terms>): Promise<ApiKeyRecord> {
    return this.#database.transaction((transaction) => issueKey(transaction, this.#options, issue));
  }

  /**
   * The internal key of a site account, which is made if there is none. See internal-key.ts.
   * @throws GatewayError `account_not_found`, `account_suspended`.
   */
  issueInternal(issue: InternalKeyIssue<Terms>): Promise<ApiKeyRecord> {
    return this.#database.transaction((transaction) => issueInternalKey(transaction, this.#options, issue));
  }

  /**
   * Makes a key without a secret for a connected agent.
   * @param save Stores the connection in the same transaction.
   * @throws GatewayError `account_not_found`, `account_suspended`.
   */
  issueForAgent(
    issue: AgentKeyIssue<Terms>,
    save: (transaction: Transaction<Tables>, key: ApiKeyRecord) => Promise<void>,
  ): Promise<ApiKeyRecord> {
    return this.#database.transaction(async (transaction) => {
      const key = await issueAgentKey(transaction, this.#options, issue);
      await save(transaction, key);
      return key;
    });
  }

  /** The internal key of an account, valid or not. Undefined if there is none. */
  findInternal(accountId: string): Promise<ApiKeyRecord | undefined> {
    return this.#database.run(async (queries) => {
      const row = await findInternalKey(queries, accountId);
      return row && this.#currentRecord(queries, row);
    });
  }

  /**
   * Makes a key with all properties of the old one, which may be an operator's. The old key stays valid for the overlap,
   * as do those of earlier rotations. All share one budget.
   * @throws GatewayError `key_not_found` if the account has no such key or it is no longer valid, `key_replaced`,
   *   `account_suspended`, `too_many_keys` if a site account has ten replaced keys that still work.
   */
  rotate(rotation: KeyRotation): Promise<ApiKeyRecord> {
    return this.#database.transaction((transaction) => rotateKey(transaction, this.#options, rotation));
  }

  /**
   * Changes a key and writes the audit row `key.updated`. Every node has it with its next refresh. A key without an end
   * of its own (`expiresAt: null`) still ends with its plan.
   * @throws GatewayError `key_not_found`; `invalid_value` if it was revoked, or if its new end is later than that of its
   *   plan.
   */
  update(update: KeyUpdate): Promise<ApiKeyRecord> {
    const { engine } = this.#database;
    return this.#database.transaction((transaction) => updateKey(transaction, { engine, times: this.#times }, update));
  }

  /** Those of all accounts, with the internal ones, oldest first. */
  async list(): Promise<readonly ApiKeyRecord[]> {
    const records: ApiKeyRecord[] = [];
    let at = 0;
    for (let full = true; full; ) {
      const after = records.at(-1)?.id ?? '';
      const rows = await this.#database.run(async (queries) => {
        at = await this.#times.read(queries);
        return queries.selectFrom('api_keys').selectAll().where('id', '>', after).orderBy('id').limit(PAGE).execute();
      });
      for (const row of rows) records.push(toKeyRecord(row));
      full = rows.length === PAGE;
    }
    return records
      .map((record) => keyAt(record, at))
      .sort((left, right) => left.createdAt - right.createdAt || (left.id < right.id ? -1 : 1));
  }

  /** Those of all accounts, newest first; without the internal ones. */
  async page({ limit, after, accountId, group, search }: KeyPage): Promise<readonly ApiKeyRecord[]> {
    if (!isStorable(`${after?.id}${accountId}${group}${search}`)) return [];
    const { engine } = this.#database;
    return this.#database.run(async (queries) => {
      const rows = await queries
        .selectFrom('api_keys')
        .selectAll()
        .where(sql<boolean>`internal is null`)
        .$if(accountId !== undefined, (some) => some.where('accountId', '=', accountId as string))
        .$if(group !== undefined, (some) => some.where('groupName', '=', group as string))
        .$if(search !== undefined, (some) => some.where('id', 'in', matching(engine, search as string)))
        .$if(after !== undefined, (some) => some.where(sql<boolean>`("createdAt", id) < (${after?.at}, ${after?.id})`))
        .orderBy('createdAt', 'desc')
        .orderBy('id', 'desc')
        .limit(limit)
        .execute();
      const at = await this.#times.read(queries);
      return rows.map((row) => keyAt(toKeyRecord(row), at));
    });
  }

  /** Name of a group → its keys that are not revoked. */
  async countByGroup(): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#database.run((queries) =>
      queries
        .selectFrom('api_keys')
        .select(({ fn }) => ['groupName', fn.countAll<number | string>().as('count')])
        .where('groupName', 'is not', null)
        .where('revokedAt', 'is', null)
        .groupBy('groupName')
        .execute(),
    );
    return new Map(rows.map(({ groupName, count }) => [groupName ?? '', Number(count)]));
  }

  /** Keys of groups that are not revoked, newest first, without those of pages and agents. */
  ofGroups(names: readonly string[], limit: number): Promise<readonly ApiKeyRecord[]> {
    if (names.length === 0) return Promise.resolve([]);
    return this.#database.run(async (queries) => {
      const rows = await queries
        .selectFrom('api_keys')
        .selectAll()
        .where('groupName', 'in', names)
        .where('revokedAt', 'is', null)
        .where('internal', 'is', null)
        .orderBy('createdAt', 'desc')
        .orderBy('id')
        .limit(limit)
        .execute();
      return Promise.all(rows.map((row) => this.#currentRecord(queries, row)));
    });
  }

  async find(id: string): Promise<ApiKeyRecord | undefined> {
    if (!isStorable(id)) return undefined;
    return this.#database.run(async (queries) => {
      const row = await queries.selectFrom('api_keys').selectAll().where('id', '=', id).executeTakeFirst();
      return row && this.#currentRecord(queries, row);
    });
  }

  /** Changed at or after `since` (created, revoked, altered): how a node keeps its table in memory up to date. */
  async changedSince(since: number): Promise<readonly ApiKeyRecord[]> {
    const rows = await this.#database.run((queries) =>
      queries.selectFrom('api_keys').selectAll().where('changedAt', '>=', since).orderBy('changedAt').execute(),
    );
    return rows.map(toKeyRecord);
  }

  /**
   * The keys of an account, oldest first. Of the invalid ones that the usage log no longer needs, only the 20 latest
   * survive the next creation.
   * @param withInternal Whether the internal key is one of them, as for lists of usage. Default false.
   */
  listOf(accountId: string, withInternal = false): Promise<readonly ApiKeyRecord[]> {
    return this.#database.run(async (queries) => {
      const rows = (await keysOf(queries, accountId)).filter(({ internal }) => withInternal || internal === null);
      return Promise.all(rows.map((row) => this.#currentRecord(queries, row)));
    });
  }

  /** The time of the change marks: one clock for all nodes. */
  now(): Promise<number> {
    return this.#database.run((queries) => this.#times.read(queries));
  }

  /**
   * Cancels the queued and running jobs that were submitted with the key, in the same transaction; with `keepsJobs` they
   * are left to its account. False if there is no such key, if it belongs to another account than a given one, or if it
   * was revoked before.
   * @param actor For the audit row `key.revoked`. Default: no row.
   */
  async revoke(id: string, at: number, accountId?: string, keepsJobs = false, actor?: string): Promise<boolean> {
    if (!isStorable(id)) return false;
    const change = { revokedAt: at, keepsJobs: keepsJobs ? 1 : null, changedAt: this.#times.now };
    const wake = await this.#database.transaction(async (transaction) => {
      const keys = transaction.updateTable('api_keys').set(change).where('id', '=', id).where('revokedAt', 'is', null);
      const owned = accountId === undefined ? keys : keys.where('accountId', '=', accountId);
      const revoked = await owned.returning('accountId').executeTakeFirst();
      if (!revoked) return undefined;
      if (actor !== undefined) {
        const line = { subject: id, at: await this.#times.read(transaction), actor, action: 'key.revoked' } as const;
        await writeAudit(transaction, line);
      }
      if (keepsJobs) return () => undefined;
      return this.#jobs.cancelAll(transaction, { owner: revoked.accountId, keyId: id });
    });
    wake?.();
    return wake !== undefined;
  }

  /** Cancels the jobs of a key whose end ends its jobs: those that a node accepted before it read of the key's end. */
  async endJobs({ id, accountId }: ApiKeyRecord): Promise<void> {
    const cancel = { owner: accountId, keyId: id };
    const wake = await this.#database.transaction((transaction) => this.#jobs.cancelAll(transaction, cancel));
    wake();
  }

  /** Key id → time of last use; several at once. An earlier time than the stored one has no effect. */
  async touch(uses: ReadonlyMap<string, number>): Promise<void> {
    if (uses.size === 0) return;
    // All nodes lock the rows in one order, so that two writers do not deadlock.
    const ordered = Array.from(uses, ([id, at]) => ({ id, at })).sort((left, right) => (left.id < right.id ? -1 : 1));
    await this.#database.transaction((transaction) => runScript(transaction, this.#writeUses(ordered)));
  }

  /** With the current plan of its account. The time is read only for a key with a following plan. */
  async #currentRecord(queries: Kysely<Tables>, row: ApiKeyRow): Promise<ApiKeyRecord> {
    const record = toKeyRecord(row);
    return record.followingPlans === undefined ? record : keyAt(record, await this.#times.read(queries));
  }
}

/** Which keys are listed. */
export interface KeyPage {
  /** Maximum number of keys. */
  limit: number;
  /** Keys created before this place. Default: from the newest on. */
  after?: { at: number; id: string };
  accountId?: string;
  group?: string;
  /** The id of a key, or the beginning of its name in any letters; of names, the first 1,000 matches count. */
  search?: string;
}

function matching(engine: Engine, search: string) {
  const named = sql`select id from api_keys where ${beginsWith(engine, 'name', search)} limit 1000`;
  const one = sql`select id from api_keys where id = ${namedKeyId(search) ?? ''}`;
  return sql<string>`(${one} union all select id from (${named}) as named)`;
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
