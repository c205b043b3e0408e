/*
 * The prepaid balance of an account: who may have one, and what its keys may use with it. The balance is a budget, and
 * its row in the account and in each key says what it allows, as the plans file had it at the latest top-up. All of it
 * changes under the lock of the account. An erased account keeps its balance as bookkeeping, on hold.
 */

import { type Database, isStorable, type Kysely, sql, type Tables } from '../../core/database/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import { writeAudit } from '../audit/index.js';
import {
  amountIn,
  type BudgetRow,
  freeOf,
  MAX_BALANCE,
  openBalance,
  putIn,
  resumeBalance,
  takeOut,
} from '../budgets/index.js';
import { decodeBalance, type KeyBalance, lockKeys } from '../keys/index.js';
import { decimal } from '../ledger/index.js';
import type { TopUpTerms } from '../plans/index.js';
import { type AccountRow, lockAccount, type PlanChange } from './account-plans.js';
import type { AccountsOptions } from './accounts.js';

/** A prepaid balance. Amounts are millionths of its currency. */
export interface BalanceState {
  accountId: string;
  id: string;
  currency: string;
  amount: number;
  /** Reserved for running requests. */
  reserved: number;
  free: number;
  /** Since when it pays nothing, because usage went beyond a reservation; null if it pays. */
  heldAt: number | null;
}

/** All balances of a currency together. Amounts are millionths of it. */
export interface BalanceSum {
  currency: string;
  balances: number;
  amount: number;
  reserved: number;
  /** How many of them are on hold. */
  held: number;
}

/** More are not added up: a look must not wait for it. */
const MOST_SUMMED = 1_000;

/** Which accounts may top up: none, those that an operator chose, or all. */
export type BalanceEligibility = 'off' | 'chosen' | 'all';

export function mayTopUp({ topsUp }: Pick<AccountRow, 'topsUp'>, eligibility: BalanceEligibility): boolean {
  if (eligibility === 'off') return false;
  return topsUp === null ? eligibility === 'all' : topsUp === 1;
}

/** Puts a paid top-up into the balance of the account, which is opened at the first one. */
export async function topUpAccount(change: PlanChange, code: string, terms: TopUpTerms): Promise<BudgetRow> {
  const { credit, currency, lowBelow } = terms;
  const balanceId = await openFor(change, terms);
  const occasion = { reference: code, note: terms.planId };
  const row = await putIn({ ...change, balanceId, kind: 'top_up', amount: credit, lowBelow, occasion });
  if (row.currency !== currency) throw wrongCurrency(row.currency, currency);
  return row;
}

/** Takes a refunded top-up back: at most what is free. @returns What was taken, in millionths. */
export async function takeBackTopUp(change: PlanChange, code: string, terms: TopUpTerms): Promise<number> {
  const balance = decodeBalance(change.account);
  if (!balance) return 0;
  const occasion = { reference: code, note: terms.planId };
  const { taken } = await takeOut({
    ...change,
    ...{ balanceId: balance.id, kind: 'refund', amount: terms.credit, occasion },
  });
  return taken;
}

/** @returns The id of the balance. */
async function openFor(change: PlanChange, { grants, rpm, models, currency }: TopUpTerms): Promise<string> {
  const { transaction, engine, account, at } = change;
  const known = decodeBalance(account);
  const id = known?.id ?? (await openBalance(transaction, { accountId: account.id, currency, at }));
  const balance = JSON.stringify({ id, grants, rpm, models } satisfies KeyBalance);
  if (balance === account.balance) return id;
  await transaction.updateTable('accounts').set({ balance }).where('id', '=', account.id).execute();
  const keys = await lockKeys(transaction, engine, account.id);
  if (keys.length > 0) {
    await transaction.updateTable('api_keys').set({ balance, changedAt: at }).where('id', 'in', keys).execute();
  }
  return id;
}

/** The condition of a partial index, word by word. */
const HAS_BALANCE = sql.raw<boolean>(`("topsUp" is not null or balance is not null)`);

/** What an operator does with a balance. */
export interface BalanceOrder {
  accountId: string;
  /** Actor for the audit log: `operator:ann`. */
  actor: string;
  note?: string;
}

/** Every method throws GatewayError `upstream_unavailable` within 2.5 s if the database does not answer. */
export class Balances {
  readonly #database: Database;
  readonly #times: AccountsOptions['times'];

  constructor({ database, times }: AccountsOptions) {
    this.#database = database;
    this.#times = times;
  }

  /** Undefined if the account has none. */
  find(accountId: string): Promise<BalanceState | undefined> {
    return this.#database.run((queries) => readBalance(queries, accountId));
  }

  /** The accounts that may top up by an operator's choice, or have a balance; by id. @param after The last one before. */
  list(
    limit: number,
    after = '',
    only?: string,
  ): Promise<readonly { accountId: string; topsUp: boolean | null; balance?: BalanceState }[]> {
    return this.#database.run(async (queries) => {
      const accounts = await queries
        .selectFrom('accounts')
        .select(['id', 'topsUp'])
        .where(HAS_BALANCE)
        .where('id', '>', after)
        .$if(only !== undefined, (some) => some.where('id', '=', only as string))
        .orderBy('id')
        .limit(limit)
        .execute();
      return Promise.all(
        accounts.map(async ({ id, topsUp }) => {
          const balance = await readBalance(queries, id);
          return { accountId: id, topsUp: topsUp === null ? null : topsUp === 1, ...(balance && { balance }) };
        }),
      );
    });
  }

  /** Undefined if there are more than 1,000 accounts, which no page waits for. */
  sums(): Promise<readonly BalanceSum[] | undefined> {
    return this.#database.run(async (queries) => {
      const accounts = queries.selectFrom('accounts').select('id').where(HAS_BALANCE).orderBy('id');
      const found = await accounts.limit(MOST_SUMMED + 1).execute();
      if (found.length > MOST_SUMMED) return undefined;
      const { rows } = await sql<Record<keyof BalanceSum, string | number>>`
        select currency, count(*) as balances, sum("costLimit") as amount, sum("costReserved") as reserved, count("expiresAt") as held
        from budgets where scope = 'balance' and subject in (${accounts.limit(MOST_SUMMED)})
        group by currency order by currency`.execute(queries);
      // PostgreSQL returns sums of bigint as text.
      return rows.map(({ currency, ...sums }) => ({
        currency: String(currency),
        balances: Number(sums.balances),
        amount: Number(sums.amount),
        reserved: Number(sums.reserved),
        held: Number(sums.held),
      }));
    });
  }

  /** Whether an operator let the account top up; null if none chose. */
  choiceOf(accountId: string): Promise<boolean | null> {
    return this.#database.run(async (queries) => {
      const accounts = queries.selectFrom('accounts').select('topsUp').where('id', '=', accountId);
      const { topsUp = null } = (await accounts.executeTakeFirst()) ?? {};
      return topsUp === null ? null : topsUp === 1;
    });
  }

  /** Whether the account may top up. */
  isEligible(accountId: string, eligibility: BalanceEligibility): Promise<boolean> {
    return this.#database.run(async (queries) => {
      const accounts = queries.selectFrom('accounts').select('topsUp').where('id', '=', accountId);
      const account = isStorable(accountId) ? await accounts.executeTakeFirst() : undefined;
      return account !== undefined && mayTopUp(account, eligibility);
    });
  }

  /** @throws GatewayError `account_not_found`. */
  setEligible({ accountId, actor, note }: BalanceOrder, topsUp: boolean): Promise<void> {
    return this.#database.transaction(async (transaction) => {
      await lockAccount(transaction, this.#database.engine, accountId);
      const at = await this.#times.read(transaction);
      await transaction
        .updateTable('accounts')
        .set({ topsUp: topsUp ? 1 : 0 })
        .where('id', '=', accountId)
        .execute();
      const action = topsUp ? 'balance.allowed' : 'balance.refused';
      await writeAudit(transaction, { subject: accountId, at, actor, action, note });
    });
  }

  /**
   * Adds money that was not paid by an order, or takes it away: at most what is free. The other side is the ledger's
   * account `adjustments`.
   * @returns What was moved, in millionths.
   * @throws GatewayError `account_not_found`, `invalid_value` if it has no balance.
   */
  adjust({ accountId, actor, note }: BalanceOrder, amount: number): Promise<number> {
    return this.#change(accountId, async ({ transaction, engine, at, balanceId }) => {
      const move = { transaction, engine, at, balanceId, kind: 'adjustment' as const };
      const occasion = { reference: note ?? '', note: actor };
      if (amount >= 0) {
        const row = await putIn({ ...move, amount, occasion });
        if (amountIn(row) > MAX_BALANCE) throw tooMuch();
        await writeAudit(transaction, { ...by(amount, row), subject: accountId, at, actor, note });
        return amount;
      }
      const { row, taken } = await takeOut({ ...move, amount: -amount, occasion });
      await writeAudit(transaction, { ...by(-taken, row), subject: accountId, at, actor, note });
      return -taken;
    });
  }

  /** Ends the hold after a loss. False if there was none. @throws GatewayError as {@link adjust}. */
  resume({ accountId, actor, note }: BalanceOrder): Promise<boolean> {
    return this.#change(accountId, async ({ transaction, engine, at, balanceId }) => {
      const isResumed = await resumeBalance({ transaction, engine, balanceId });
      if (isResumed) await writeAudit(transaction, { subject: accountId, at, actor, action: 'balance.resumed', note });
      return isResumed;
    });
  }

  #change<Result>(
    accountId: string,
    work: (change: PlanChange & { balanceId: string }) => Promise<Result>,
  ): Promise<Result> {
    const { engine } = this.#database;
    return this.#database.transaction(async (transaction) => {
      const account = await lockAccount(transaction, engine, accountId);
      const balance = decodeBalance(account);
      if (!balance) throw noBalance();
      const at = await this.#times.read(transaction);
      return work({ transaction, engine, account, at, balanceId: balance.id });
    });
  }
}

function by(amount: number, { currency }: BudgetRow) {
  return { action: 'balance.adjusted', amount: decimal(amount), currency } as const;
}

async function readBalance(queries: Kysely<Tables>, accountId: string): Promise<BalanceState | undefined> {
  if (!isStorable(accountId)) return undefined;
  const rows = queries
    .selectFrom('budgets')
    .selectAll()
    .where('subject', '=', accountId)
    .where('scope', '=', 'balance');
  const row = await rows.executeTakeFirst();
  if (!row) return undefined;
  const { id, currency, costReserved: reserved, expiresAt: heldAt } = row;
  return { accountId, id, currency: currency ?? '', amount: amountIn(row), reserved, free: freeOf(row), heldAt };
}

function noBalance(): GatewayError {
  return new GatewayError('invalid_value', 'This account has no prepaid balance.', { param: 'account' });
}

function tooMuch(): GatewayError {
  return new GatewayError('invalid_value', 'A balance may not hold more than 1,000,000,000.', { param: 'amount' });
}

function wrongCurrency(currency: string | null, other: string): GatewayError {
  return new GatewayError(
    'invalid_value',
    `The balance of this account is in ${currency}, and the top-up in ${other}.`,
  );
}
