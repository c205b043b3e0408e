/*
 * Budgets beside those of plans: of a key, of an account, and of a group of keys, such as a team. Each is an amount for
 * a period, and an owner may have several. The row of a key lists the ids of all budgets that it is counted for, so
 * that a request reads no owner. Budgets change in transactions that lock the owner and, on PostgreSQL, a named lock,
 * so that a key that is made meanwhile gets the budgets of its owners. A budget with the same unit and period keeps its
 * usage when its amount changes. Every change writes an audit row.
 */

import { randomUUID } from 'node:crypto';
import {
  type Database,
  type DatabaseClock,
  type Engine,
  isStorable,
  type Kysely,
  lockNamed,
  type Selectable,
  shareNamed,
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
  toKeyRecord,
  updateKey,
} from '../keys/index.js';
import { type BudgetAmount, limitsOfAmount, renderBudget } from './amounts.js';
import { amountOf, atTime, toBudgetRow, toBudgetState } from './budgets.js';
import type { Budget, BudgetRow, BudgetState, KeyGroupsTable } from './tables.js';

/** Held while budgets of owners change, and shared while keys are made, so that a new key has the budgets of its owners. */
const OWNERS_LOCK = 'budget-owners';

/** Until the transaction ends, no budgets of owners change. On SQLite, transactions run one after the other. */
export async function holdBudgetOwners(transaction: Transaction<Tables>, engine: Engine): Promise<void> {
  if (engine === 'postgres') await transaction.executeQuery(shareNamed(OWNERS_LOCK));
}

/** Who has budgets: a key by its id, an account by its id, a group by its name. */
export interface BudgetOwner {
  scope: 'key' | 'account' | 'group';
  subject: string;
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

/** Every method throws GatewayError `upstream_unavailable` within 2.5 s if the database does not answer. */
export interface BudgetOwners {
  /** Budgets of a key, account or group, oldest first. */
  of(owner: BudgetOwner): Promise<readonly BudgetState[]>;
  /** What a key is counted for beside its plan: its own budgets, and those of its account and group. */
  ofKey(key: Pick<ApiKeyRecord, 'furtherBudgets'>): Promise<readonly BudgetState[]>;
  /** All budgets of keys, accounts and groups. */
  all(): Promise<readonly BudgetState[]>;
  /**
   * Makes a key with its budgets, and with those of its account and group, in one transaction.
   * @throws GatewayError `invalid_value` if there is no such group.
   */
  createKey(creation: KeyCreation): Promise<ApiKeyRecord>;
  /**
   * Replaces the budgets of an owner, and writes an audit row.
   * @throws GatewayError `key_not_found`, `invalid_value` if there is no such group or the key was revoked.
   */
  change(change: BudgetChange): Promise<readonly BudgetState[]>;
  /** Changes a key in one transaction: all of it, or nothing. @throws GatewayError as `change` and `ApiKeys.update`. */
  changeKey(change: WholeKeyChange): Promise<ApiKeyRecord>;
  /** Makes a group with its budgets. Default: none. @throws GatewayError `invalid_value` if the group exists. */
  createGroup(name: string, first?: Omit<BudgetChange, keyof BudgetOwner>): Promise<readonly BudgetState[]>;
  /**
   * Deletes a group and its budgets, and writes an audit row. Its keys leave it, and keep their other budgets.
   * @param options.releaseKeys Whether it may have keys that are not revoked.
   * @throws GatewayError `invalid_value` if there is no such group, or it has keys.
   */
  deleteGroup(options: { name: string; releaseKeys: boolean; actor: string; note?: string }): Promise<void>;
  /** By name. */
  groups(): Promise<readonly KeyGroupsTable[]>;
}

export function createBudgetOwners(database: Database, times: DatabaseClock): BudgetOwners {
  const { engine } = database;
  const read = (find: (queries: Kysely<Tables>) => Promise<Selectable<BudgetRow>[]>) =>
    database.run(async (queries) => {
      const [rows, at] = [await find(queries), await times.read(queries)];
      return rows.map((row) => toBudgetState(atTime(row, at)));
    });

  /** Runs a transaction during which no keys are made and no other budgets of owners change. */
  function changing<Result>(work: (transaction: Transaction<Tables>) => Promise<Result>): Promise<Result> {
    return database.transaction(async (transaction) => {
      if (engine === 'postgres') await transaction.executeQuery(lockNamed(OWNERS_LOCK));
      return work(transaction);
    });
  }

  /** Locks the owner until the end of the transaction, and finds the keys that it has, in the order of their ids. */
  async function lockOwner(transaction: Transaction<Tables>, owner: BudgetOwner): Promise<ApiKeyRow[]> {
    const { scope, subject } = owner;
    const postgres = engine === 'postgres';
    if (scope === 'group') await lockGroup(transaction, subject);
    if (scope === 'account') {
      // Accounts that only name operators' keys have no row.
      const accounts = transaction.selectFrom('accounts').select('id').where('id', '=', subject);
      await (postgres ? accounts.forUpdate() : accounts).execute();
    }
    const key = scope === 'key' ? await lockValid(transaction, subject) : undefined;
    const all = transaction.selectFrom('api_keys').selectAll().orderBy('id');
    const keys = all.where((eb) => {
      if (scope === 'group') return eb('groupName', '=', subject);
      if (scope === 'account') return eb('accountId', '=', subject);
      // A key and the one that it replaces share their budget.
      return eb.or([eb('id', 'in', [subject, key?.replacedBy ?? subject]), eb('replacedBy', '=', subject)]);
    });
    return (postgres ? keys.forUpdate() : keys).execute();
  }

  async function lockValid(transaction: Transaction<Tables>, id: string): Promise<ApiKeyRow> {
    const key = await lockKey(transaction, engine, id);
    if (!key) throw new GatewayError('key_not_found', `There is no key with the id ${storable(id, 100)}.`);
    if (key.revokedAt === null) return key;
    throw new GatewayError('invalid_value', `Key ${id} is revoked and cannot be changed.`, { param: 'id' });
  }

  async function lockGroup(transaction: Transaction<Tables>, name: string): Promise<void> {
    const groups = transaction.selectFrom('key_groups').select('name').where('name', '=', name);
    const group = await (engine === 'postgres' ? groups.forUpdate() : groups).executeTakeFirst();
    if (!group) throw noGroup(name);
  }

  /** @returns the budgets of the owner, as they are from now on. */
  async function changeBudgets(
    transaction: Transaction<Tables>,
    { budgets: wanted, actor, note, ...owner }: BudgetChange,
  ): Promise<readonly BudgetState[]> {
    const keys = await lockOwner(transaction, owner);
    const at = await times.read(transaction);
    const known = await knownBudgets(transaction, engine, owner, keys);
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
  async function moveKey(
    transaction: Transaction<Tables>,
    { id, groupName, actor, note }: { id: string; groupName: string | null; actor: string; note?: string },
  ): Promise<void> {
    if (groupName !== null) await lockGroup(transaction, groupName);
    const key = await lockValid(transaction, id);
    const at = await times.read(transaction);
    const left = key.groupName === null ? [] : await budgetIdsOf(transaction, [groupOwner(key.groupName)]);
    const entered = groupName === null ? [] : await budgetIdsOf(transaction, [groupOwner(groupName)]);
    const ids = [...listedBudgets(key).filter((each) => !left.includes(each)), ...entered];
    await writeBudgets(transaction, key, { ids, at, groupName });
    const states = { from: describeGroup(key.groupName), to: describeGroup(groupName) };
    await writeAudit(transaction, { subject: id, at, actor, action: 'key.updated', ...states, note });
  }

  return {
    of: (owner) => read((queries) => budgetsOf(queries, owner).execute()),
    ofKey: ({ furtherBudgets = [] }) =>
      furtherBudgets.length === 0
        ? Promise.resolve([])
        : read((queries) => inOrder(queries).where('id', 'in', furtherBudgets).execute()),
    all: () => read((queries) => inOrder(queries).where('scope', '!=', 'plan').execute()),

    createKey: ({ record, planBudget, planExpiresAt, budgets, actor }) =>
      database.transaction(async (transaction) => {
        await holdBudgetOwners(transaction, engine);
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
        await insertKey(transaction, { record: whole, planExpiresAt, changedAt: times.now });
        const at = await times.read(transaction);
        await writeAudit(transaction, { subject: id, at, actor, action: 'key.created' });
        return whole;
      }),

    change: (change) => changing((transaction) => changeBudgets(transaction, change)),

    changeKey: ({ id, properties, groupName, budgets, ...by }) =>
      changing(async (transaction) => {
        if (properties) await updateKey(transaction, { engine, times }, { id, change: properties, ...by });
        if (groupName !== undefined) await moveKey(transaction, { id, groupName, ...by });
        if (budgets) await changeBudgets(transaction, { scope: 'key', subject: id, budgets, ...by });
        const [row, at] = [await lockValid(transaction, id), await times.read(transaction)];
        return keyAt(toKeyRecord(row), at);
      }),

    createGroup: (name, first) =>
      changing(async (transaction) => {
        const group = { name, createdAt: await times.read(transaction) };
        const insert = transaction
          .insertInto('key_groups')
          .values(group)
          .onConflict((conflict) => conflict.doNothing());
        if ((await insert.returning('name').execute()).length === 0)
          throw new GatewayError('invalid_value', `There is a group ${name} already.`, { param: 'name' });
        return first ? changeBudgets(transaction, { ...first, ...groupOwner(name) }) : [];
      }),

    deleteGroup: ({ name, releaseKeys, actor, note }) =>
      changing(async (transaction) => {
        const keys = await lockOwner(transaction, groupOwner(name));
        const used = keys.filter(({ revokedAt }) => revokedAt === null).length;
        if (used > 0 && !releaseKeys) {
          const message = `The group ${name} has ${used === 1 ? '1 key' : `${used} keys`}.`;
          throw new GatewayError('invalid_value', message, { param: 'name' });
        }
        const at = await times.read(transaction);
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
      }),

    groups: () => database.run((queries) => queries.selectFrom('key_groups').selectAll().orderBy('name').execute()),
  };
}

function newBudget(
  owner: BudgetOwner,
  amount: BudgetAmount,
  made: { accountId: string; createdAt: number },
): BudgetRow {
  const { scope, subject } = owner;
  const limits = limitsOfAmount(amount);
  return toBudgetRow({
    ...made,
    ...limits,
    scope,
    subject,
    id: `budget_${randomUUID()}`,
    planId: null,
    expiresAt: null,
  });
}

/** A mistyped account would have a budget that limits nothing. @throws GatewayError */
async function requireAccount(transaction: Transaction<Tables>, id: string): Promise<void> {
  const accounts = transaction.selectFrom('accounts').select('id').where('id', '=', id);
  if (await accounts.executeTakeFirst()) return;
  throw new GatewayError('invalid_value', `There is no account ${storable(id, 100)}.`, { param: 'account' });
}

/** Ids of the budgets of some owners. */
export async function budgetIdsOf(queries: Kysely<Tables>, owners: readonly BudgetOwner[]): Promise<string[]> {
  const ids: string[] = [];
  for (const owner of owners) {
    for (const { id } of await budgetsOf(queries, owner).execute()) ids.push(id);
  }
  return ids;
}

function inOrder(queries: Kysely<Tables>) {
  return queries.selectFrom('budgets').selectAll().orderBy('createdAt').orderBy('id');
}

function budgetsOf(queries: Kysely<Tables>, { scope, subject }: BudgetOwner) {
  return inOrder(queries)
    .where('subject', '=', isStorable(subject) ? subject : '')
    .where('scope', '=', scope);
}

/** The budgets of an owner, locked. A key may have those of the one that it replaced. */
async function knownBudgets(
  transaction: Transaction<Tables>,
  engine: Database['engine'],
  { scope, subject }: BudgetOwner,
  keys: readonly ApiKeyRow[],
): Promise<BudgetRow[]> {
  const listed = keys.filter(({ id }) => id === subject).flatMap(listedBudgets);
  const ofKey = inOrder(transaction)
    .where('scope', '=', 'key')
    .where('id', 'in', listed.length === 0 ? [''] : listed);
  const rows = scope === 'key' ? ofKey : budgetsOf(transaction, { scope, subject });
  return (engine === 'postgres' ? rows.forUpdate() : rows).execute();
}

function listedBudgets({ furtherBudgets }: Pick<ApiKeyRow, 'furtherBudgets'>): string[] {
  return furtherBudgets === null ? [] : (JSON.parse(furtherBudgets) as string[]);
}

async function writeBudgets(
  transaction: Transaction<Tables>,
  key: ApiKeyRow,
  { ids, at, groupName = key.groupName }: { ids: readonly string[]; at: number; groupName?: string | null },
): Promise<ApiKeyRow> {
  const written = { furtherBudgets: ids.length === 0 ? null : JSON.stringify(ids), groupName, changedAt: at };
  await transaction.updateTable('api_keys').set(written).where('id', '=', key.id).execute();
  return { ...key, ...written };
}

function isSameKind(one: BudgetAmount | undefined, other: BudgetAmount): boolean {
  return one?.unit === other.unit && one.resets === other.resets && one.currency === other.currency;
}

function groupOwner(name: string): BudgetOwner {
  return { scope: 'group', subject: name };
}

function auditSubject({ scope, subject }: BudgetOwner): string {
  return scope === 'group' ? `group:${subject}` : subject;
}

function describeGroup(name: string | null): string {
  return `group ${name ?? 'none'}`;
}

function renderAll(rows: readonly BudgetRow[]): string {
  const amounts = rows.map(amountOf).filter((amount) => amount !== undefined);
  return amounts.length === 0 ? 'no budget' : amounts.map(renderBudget).sort().join(', ');
}

function noGroup(name: string): GatewayError {
  const message = `There is no group ${storable(name, 100)}. "mediagate groups create" creates one.`;
  return new GatewayError('invalid_value', message, { param: 'group' });
}
