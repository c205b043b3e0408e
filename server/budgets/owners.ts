/*
 * Budgets beside those of plans: of a key, of an account, and of a group of keys, such as a team. Each is an amount for
 * a period, and an owner may have several. The row of a key lists the ids of all budgets that it is counted for, so
 * that a request reads no owner. Budgets change in transactions that lock the owner and, on PostgreSQL, a named lock,
 * so that a key that is made meanwhile gets the budgets of its owners. A budget with the same unit and period keeps its
 * usage when its amount changes. Every change writes an audit row.
 */

import {
  type Database,
  type DatabaseClock,
  type Engine,
  type Kysely,
  lockNamed,
  type Selectable,
  shareNamed,
  sql,
  storable,
  type Tables,
  type Transaction,
} from '../../core/database/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import { writeAudit } from '../audit/index.js';
import {
  type ApiKeyRecord,
  type ApiKeyRow,
  insertKey,
  type KeyChange,
  keyAt,
  lockKey,
  lockKeys,
  toKeyRecord,
  updateKey,
} from '../keys/index.js';
import { thresholdsOf, type UsedThreshold } from './alerts.js';
import { type BudgetAmount, limitsOfAmount } from './amounts.js';
import { amountOf, atTime, toBudgetRow, toBudgetState } from './budgets.js';
import {
  auditSubject,
  type BudgetOwner,
  budgetIdsOf,
  budgetsOf,
  describeGroup,
  groupOwner,
  inOrder,
  isSameKind,
  knownBudgets,
  listedBudgets,
  newBudget,
  noGroup,
  renderAll,
  requireAccount,
  writeBudgets,
} from './owner-rows.js';
import type { Budget, BudgetRow, BudgetState, KeyGroupsTable } from './tables.js';

/** Held while budgets of owners change, and shared while keys are made, so that a new key has the budgets of its owners. */
const OWNERS_LOCK = 'budget-owners';

/** Until the transaction ends, no budgets of owners change. On SQLite, transactions run one after the other. */
export async function holdBudgetOwners(transaction: Transaction<Tables>, engine: Engine): Promise<void> {
  if (engine === 'postgres') await transaction.executeQuery(shareNamed(OWNERS_LOCK));
}

export interface BudgetChange extends BudgetOwner {
  /** All budgets of the owner from now on. One with the unit and period of an earlier one keeps its usage. */
  budgets: readonly BudgetAmount[];
  /** Actor for the audit log: `operator:ann`. */
  actor: string;
  note?: string;
}

/** What is left out stays as it is. */
export interface WholeKeyChange {
  id: string;
  /** The site account whose valid key it must be. Default: it may be any key. */
  accountId?: string;
  properties?: KeyChange;
  /** Null: out of its group. */
  groupName?: string | null;
  /** All of its own budgets from now on. */
  budgets?: readonly BudgetAmount[];
  /** Actor for the audit log: `operator:ann`. */
  actor: string;
  note?: string;
}

export interface KeyCreation {
  /** `budgetId` names the budget of its plan. */
  record: ApiKeyRecord;
  /** The budget of its plan, if that is new. */
  planBudget?: Budget;
  /** End of its plan, which its own end cannot exceed. Null: the plan does not end. */
  planExpiresAt: number | null;
  /** Its own budgets. */
  budgets: readonly BudgetAmount[];
  /** Actor for the audit log: `operator:ann`. */
  actor: string;
}

/** A threshold that a budget of a key, an account or a group has reached. */
export type NearlyUsed = Pick<BudgetState, 'scope' | 'subject' | 'accountId'> & Omit<UsedThreshold, 'stored'>;

/** The condition of a partial index, word by word. */
const SHARED = sql.raw<boolean>(`scope in ('key', 'account', 'group')`);
const ALMOST_USED = sql.raw<boolean>(`("requestsUsed" * 100 >= "requestLimit" * 80
  or "tokensUsed" * 100 >= "tokenLimit" * 80 or "tokensUsedToday" * 100 >= "dailyTokenLimit" * 80
  or "costUsed" * 100 >= "costLimit" * 80)`);

/** Every method throws GatewayError `upstream_unavailable` within 2.5 s if the database does not answer. */
export class Budgets {
  readonly #database: Database;
  readonly #times: DatabaseClock;

  constructor(database: Database, times: DatabaseClock) {
    this.#database = database;
    this.#times = times;
  }

  async create(budget: Budget): Promise<void> {
    await this.#database.run((queries) => queries.insertInto('budgets').values(toBudgetRow(budget)).execute());
  }

  async find(id: string): Promise<BudgetState | undefined> {
    const [found] = await this.#read((queries) =>
      queries.selectFrom('budgets').selectAll().where('id', '=', id).execute(),
    );
    return found;
  }

  /** Budgets of a key, account or group, oldest first. */
  of(owner: BudgetOwner): Promise<readonly BudgetState[]> {
    return this.#read((queries) => budgetsOf(queries, owner).execute());
  }

  /** What a key is counted for beside its plan: its own budgets, and those of its account and group. */
  ofKey({ furtherBudgets = [] }: Pick<ApiKeyRecord, 'furtherBudgets'>): Promise<readonly BudgetState[]> {
    return this.list(furtherBudgets);
  }

  /** Those of these ids that exist, oldest first. */
  list(ids: readonly string[]): Promise<readonly BudgetState[]> {
    return ids.length === 0
      ? Promise.resolve([])
      : this.#read((queries) =>
          inOrder(queries)
            .where('id', 'in', [...new Set(ids)])
            .execute(),
        );
  }

  /** All budgets of keys, accounts and groups. */
  all(): Promise<readonly BudgetState[]> {
    return this.#read((queries) => inOrder(queries).where(SHARED).execute());
  }

  /** Budgets of keys, accounts and groups of which 80 % or more is used in their period; at most so many. */
  async nearlyUsed(max: number): Promise<readonly NearlyUsed[]> {
    return this.#database.run(async (queries) => {
      const now = await this.#times.read(queries);
      const rows = await queries
        .selectFrom('budgets')
        .selectAll()
        .where(SHARED)
        .where(ALMOST_USED)
        .limit(max)
        .execute();
      return rows.flatMap(({ scope, subject, accountId, ...row }) =>
        thresholdsOf(atTime({ scope, subject, accountId, ...row }, now), now).map((used) => {
          return { scope, subject, accountId, ...used };
        }),
      );
    });
  }

  /**
   * Makes a key with its budgets, and with those of its account and group, in one transaction.
   * @throws GatewayError `invalid_value` if there is no such group.
   */
  createKey({ record, planBudget, planExpiresAt, budgets, actor }: KeyCreation): Promise<ApiKeyRecord> {
    return this.#database.transaction(async (transaction) => {
      await holdBudgetOwners(transaction, this.#database.engine);
      const { id, accountId, groupName, createdAt } = record;
      const owners: BudgetOwner[] = [{ scope: 'account', subject: accountId }];
      if (groupName !== undefined) {
        const groups = transaction.selectFrom('key_groups').select('name').where('name', '=', groupName);
        if (!(await groups.executeTakeFirst())) throw noGroup(groupName);
        owners.push(groupOwner(groupName));
      }
      const own = budgets.map((amount) => newBudget({ scope: 'key', subject: id }, amount, { accountId, createdAt }));
      const made = planBudget ? [toBudgetRow(planBudget), ...own] : own;
      if (made.length > 0) await transaction.insertInto('budgets').values(made).execute();
      const ids = [...own.map((budget) => budget.id), ...(await budgetIdsOf(transaction, owners))];
      const whole = ids.length === 0 ? record : { ...record, furtherBudgets: ids };
      await insertKey(transaction, { record: whole, planExpiresAt, changedAt: this.#times.now });
      const at = await this.#times.read(transaction);
      await writeAudit(transaction, { subject: id, at, actor, action: 'key.created' });
      return whole;
    });
  }

  /**
   * Replaces the budgets of an owner, and writes an audit row.
   * @throws GatewayError `key_not_found`, `invalid_value` if there is no such group or the key was revoked.
   */
  change(change: BudgetChange): Promise<readonly BudgetState[]> {
    return this.#changing((transaction) => this.#changeBudgets(transaction, change));
  }

  /** Changes a key in one transaction: all of it, or nothing. @throws GatewayError as `change` and `ApiKeys.update`. */
  changeKey({ id, accountId, properties, groupName, budgets, ...by }: WholeKeyChange): Promise<ApiKeyRecord> {
    const { engine } = this.#database;
    return this.#changing(async (transaction) => {
      if (accountId !== undefined) {
        // In the order of all changes of an account, so that two of them do not deadlock.
        await this.#lockAccount(transaction, accountId);
        await lockKeys(transaction, engine, accountId);
      }
      if (properties) {
        const update = { id, accountId, change: properties, ...by };
        await updateKey(transaction, { engine, times: this.#times }, update);
      }
      if (groupName !== undefined) await this.#moveKey(transaction, { id, groupName, ...by });
      if (budgets) await this.#changeBudgets(transaction, { scope: 'key', subject: id, budgets, ...by });
      const [row, at] = [await this.#lockValid(transaction, id), await this.#times.read(transaction)];
      return keyAt(toKeyRecord(row), at);
    });
  }

  /** Makes a group with its budgets. Default: none. @throws GatewayError `invalid_value` if the group exists. */
  createGroup(name: string, first?: Omit<BudgetChange, keyof BudgetOwner>): Promise<readonly BudgetState[]> {
    return this.#changing(async (transaction) => {
      const group = { name, createdAt: await this.#times.read(transaction), membersSee: null };
      const insert = transaction
        .insertInto('key_groups')
        .values(group)
        .onConflict((conflict) => conflict.doNothing());
      if ((await insert.returning('name').execute()).length === 0)
        throw new GatewayError('invalid_value', `There is a group ${name} already.`, { param: 'name' });
      return first ? this.#changeBudgets(transaction, { ...first, ...groupOwner(name) }) : [];
    });
  }

  /**
   * Deletes a group and its budgets, and writes an audit row. Its keys leave it, and keep their other budgets.
   * @param options.releaseKeys Whether it may have keys that are not revoked.
   * @throws GatewayError `invalid_value` if there is no such group, or it has keys.
   */
  deleteGroup({
    name,
    releaseKeys,
    actor,
    note,
  }: {
    name: string;
    releaseKeys: boolean;
    actor: string;
    note?: string;
  }): Promise<void> {
    return this.#changing(async (transaction) => {
      const keys = await this.#lockOwner(transaction, groupOwner(name));
      const used = keys.filter(({ revokedAt }) => revokedAt === null).length;
      if (used > 0 && !releaseKeys) {
        const message = `The group ${name} has ${used === 1 ? '1 key' : `${used} keys`}.`;
        throw new GatewayError('invalid_value', message, { param: 'name' });
      }
      const at = await this.#times.read(transaction);
      const removed = await budgetIdsOf(transaction, [groupOwner(name)]);
      for (const key of keys) {
        const ids = listedBudgets(key).filter((id) => !removed.includes(id));
        await writeBudgets(transaction, key, { ids, at, groupName: null });
      }
      if (removed.length > 0) await transaction.deleteFrom('budgets').where('id', 'in', removed).execute();
      await transaction.deleteFrom('key_groups').where('name', '=', name).execute();
      const states = { from: describeGroup(name), to: describeGroup(null) };
      const subject = auditSubject(groupOwner(name));
      await writeAudit(transaction, { subject, at, actor, action: 'group.deleted', ...states, note });
    });
  }

  /**
   * Lets users with a key of a group see its keys, or no longer, and writes an audit row.
   * @throws GatewayError `invalid_value` if there is no such group.
   */
  showGroup({ name, isShown, ...by }: { name: string; isShown: boolean; actor: string; note?: string }): Promise<void> {
    return this.#changing(async (transaction) => {
      await this.#lockGroup(transaction, name);
      const at = await this.#times.read(transaction);
      const membersSee = isShown ? 1 : 0;
      await transaction.updateTable('key_groups').set({ membersSee }).where('name', '=', name).execute();
      const action = isShown ? 'group.shown' : 'group.hidden';
      await writeAudit(transaction, { subject: auditSubject(groupOwner(name)), at, action, ...by });
    });
  }

  /** By name. */
  groups(): Promise<readonly KeyGroupsTable[]> {
    return this.#database.run((queries) => queries.selectFrom('key_groups').selectAll().orderBy('name').execute());
  }

  #read(find: (queries: Kysely<Tables>) => Promise<Selectable<BudgetRow>[]>) {
    return this.#database.run(async (queries) => {
      const [rows, at] = [await find(queries), await this.#times.read(queries)];
      return rows.map((row) => toBudgetState(atTime(row, at)));
    });
  }

  /** Runs a transaction during which no keys are made and no other budgets of owners change. */
  #changing<Result>(work: (transaction: Transaction<Tables>) => Promise<Result>): Promise<Result> {
    return this.#database.transaction(async (transaction) => {
      if (this.#database.engine === 'postgres') await transaction.executeQuery(lockNamed(OWNERS_LOCK));
      return work(transaction);
    });
  }

  /** Locks the owner until the end of the transaction, and finds the keys that it has, in the order of their ids. */
  async #lockOwner(transaction: Transaction<Tables>, owner: BudgetOwner): Promise<ApiKeyRow[]> {
    const { scope, subject } = owner;
    const postgres = this.#database.engine === 'postgres';
    if (scope === 'group') await this.#lockGroup(transaction, subject);
    if (scope === 'account') await this.#lockAccount(transaction, subject);
    const key = scope === 'key' ? await this.#lockValid(transaction, subject) : undefined;
    const all = transaction.selectFrom('api_keys').selectAll().orderBy('id');
    const keys = all.where((eb) => {
      if (scope === 'group') return eb('groupName', '=', subject);
      if (scope === 'account') return eb('accountId', '=', subject);
      // A key and the one that it replaces share their budget.
      return eb.or([eb('id', 'in', [subject, key?.replacedBy ?? subject]), eb('replacedBy', '=', subject)]);
    });
    return (postgres ? keys.forUpdate() : keys).execute();
  }

  async #lockValid(transaction: Transaction<Tables>, id: string): Promise<ApiKeyRow> {
    const key = await lockKey(transaction, this.#database.engine, id);
    if (!key) throw new GatewayError('key_not_found', `There is no key with the id ${storable(id, 100)}.`);
    if (key.revokedAt === null) return key;
    throw new GatewayError('invalid_value', `Key ${id} is revoked and cannot be changed.`, { param: 'id' });
  }

  /** Accounts that only name operators' keys have no row. */
  async #lockAccount(transaction: Transaction<Tables>, id: string): Promise<void> {
    const accounts = transaction.selectFrom('accounts').select('id').where('id', '=', id);
    await (this.#database.engine === 'postgres' ? accounts.forUpdate() : accounts).execute();
  }

  async #lockGroup(transaction: Transaction<Tables>, name: string): Promise<void> {
    const groups = transaction.selectFrom('key_groups').select('name').where('name', '=', name);
    const group = await (this.#database.engine === 'postgres' ? groups.forUpdate() : groups).executeTakeFirst();
    if (!group) throw noGroup(name);
  }

  /** @returns the budgets of the owner, as they are from now on. */
  async #changeBudgets(
    transaction: Transaction<Tables>,
    { budgets: wanted, actor, note, ...owner }: BudgetChange,
  ): Promise<readonly BudgetState[]> {
    const keys = await this.#lockOwner(transaction, owner);
    const at = await this.#times.read(transaction);
    const known = await knownBudgets(transaction, this.#database.engine, owner, keys);
    if (owner.scope === 'account' && keys.length === 0 && known.length === 0) {
      await requireAccount(transaction, owner.subject);
    }
    const rest = [...known];
    const current: BudgetRow[] = [];
    const accountId = owner.scope === 'group' ? '' : (keys[0]?.accountId ?? owner.subject);
    const subject = owner.scope === 'key' ? (known[0]?.subject ?? owner.subject) : owner.subject;
    for (const amount of wanted) {
      const same = rest.findIndex((row) => isSameKind(amountOf(row), amount));
      const [row] = same < 0 ? [] : rest.splice(same, 1);
      if (row) {
        const limits = limitsOfAmount(amount);
        await transaction.updateTable('budgets').set(limits).where('id', '=', row.id).execute();
        current.push({ ...row, ...limits });
      } else {
        const made = newBudget({ scope: owner.scope, subject }, amount, { accountId, createdAt: at });
        await transaction.insertInto('budgets').values(made).execute();
        current.push(made);
      }
    }
    const removed = rest.map(({ id }) => id);
    if (removed.length > 0) await transaction.deleteFrom('budgets').where('id', 'in', removed).execute();
    const ids = current.map(({ id }) => id);
    for (const key of keys) {
      const others = listedBudgets(key).filter((id) => !removed.includes(id) && !ids.includes(id));
      await writeBudgets(transaction, key, { ids: [...others, ...ids], at });
    }
    const states = { from: renderAll(known), to: renderAll(current) };
    const line = { subject: auditSubject(owner), at, actor, action: 'budget.changed', ...states } as const;
    await writeAudit(transaction, { ...line, note });
    return current.map((row) => toBudgetState(atTime(row, at)));
  }

  /** Moves a key into a group, or out of its group. */
  async #moveKey(
    transaction: Transaction<Tables>,
    { id, groupName, actor, note }: { id: string; groupName: string | null; actor: string; note?: string },
  ): Promise<void> {
    if (groupName !== null) await this.#lockGroup(transaction, groupName);
    const key = await this.#lockValid(transaction, id);
    const at = await this.#times.read(transaction);
    const left = key.groupName === null ? [] : await budgetIdsOf(transaction, [groupOwner(key.groupName)]);
    const entered = groupName === null ? [] : await budgetIdsOf(transaction, [groupOwner(groupName)]);
    const ids = [...listedBudgets(key).filter((each) => !left.includes(each)), ...entered];
    await writeBudgets(transaction, key, { ids, at, groupName });
    const states = { from: describeGroup(key.groupName), to: describeGroup(groupName) };
    await writeAudit(transaction, { subject: id, at, actor, action: 'key.updated', ...states, note });
  }
}
