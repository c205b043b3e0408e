/*
 * The rows of budgets that keys, accounts and groups own: which ones an owner has, new ones, and the list of budgets in
 * the row of a key. All of them run in transactions that hold the owner; owners.ts says which.
 */

import { randomUUID } from 'node:crypto';
import {
  type Database,
  isStorable,
  type Kysely,
  storable,
  type Tables,
  type Transaction,
} from '../../core/database/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import type { ApiKeyRow } from '../keys/index.js';
import { type BudgetAmount, limitsOfAmount, parseBudget, renderBudget } from './amounts.js';
import { amountOf, toBudgetRow } from './budgets.js';
import type { BudgetRow } from './tables.js';

/** Who has budgets: a key by its id, an account by its id, a group by its name. */
export interface BudgetOwner {
  scope: 'key' | 'account' | 'group';
  subject: string;
}

export function newBudget(
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

/**
 * Makes the budgets of a new key.
 * @param budgets As {@link parseBudget} reads them.
 * @returns Their ids.
 */
export async function addKeyBudgets(
  transaction: Transaction<Tables>,
  keyId: string,
  budgets: readonly string[],
  made: { accountId: string; createdAt: number },
): Promise<readonly string[]> {
  const rows = budgets.map((text) => {
    const amount = parseBudget(text);
    if (!amount) throw new Error(`${text} is no budget`);
    return newBudget({ scope: 'key', subject: keyId }, amount, made);
  });
  if (rows.length > 0) await transaction.insertInto('budgets').values(rows).execute();
  return rows.map(({ id }) => id);
}

/** A mistyped account would have a budget that limits nothing. @throws GatewayError */
export async function requireAccount(transaction: Transaction<Tables>, id: string): Promise<void> {
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

export function inOrder(queries: Kysely<Tables>) {
  return queries.selectFrom('budgets').selectAll().orderBy('createdAt').orderBy('id');
}

export function budgetsOf(queries: Kysely<Tables>, { scope, subject }: BudgetOwner) {
  return inOrder(queries)
    .where('subject', '=', isStorable(subject) ? subject : '')
    .where('scope', '=', scope);
}

/** The budgets of an owner, locked. A key may have those of the one that it replaced. */
export async function knownBudgets(
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

export function listedBudgets({ furtherBudgets }: Pick<ApiKeyRow, 'furtherBudgets'>): string[] {
  return furtherBudgets === null ? [] : (JSON.parse(furtherBudgets) as string[]);
}

export async function writeBudgets(
  transaction: Transaction<Tables>,
  key: ApiKeyRow,
  { ids, at, groupName = key.groupName }: { ids: readonly string[]; at: number; groupName?: string | null },
): Promise<ApiKeyRow> {
  const written = { furtherBudgets: ids.length === 0 ? null : JSON.stringify(ids), groupName, changedAt: at };
  await transaction.updateTable('api_keys').set(written).where('id', '=', key.id).execute();
  return { ...key, ...written };
}

export function isSameKind(one: BudgetAmount | undefined, other: BudgetAmount): boolean {
  return one?.unit === other.unit && one.resets === other.resets && one.currency === other.currency;
}

export function groupOwner(name: string): BudgetOwner {
  return { scope: 'group', subject: name };
}

export function auditSubject({ scope, subject }: BudgetOwner): string {
  return scope === 'group' ? `group:${subject}` : subject;
}

export function describeGroup(name: string | null): string {
  return `group ${name ?? 'none'}`;
}

export function renderAll(rows: readonly BudgetRow[]): string {
  const amounts = rows.map(amountOf).filter((amount) => amount !== undefined);
  return amounts.length === 0 ? 'no budget' : amounts.map(renderBudget).sort().join(', ');
}

export function noGroup(name: string): GatewayError {
  const message = `There is no group ${storable(name, 100)}. "mediagate groups create" creates one.`;
  return new GatewayError('invalid_value', message, { param: 'group' });
}
