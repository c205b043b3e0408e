/*
 * Reads the ledger: the statement of a balance with what was left after each movement, the same as CSV, and the sums
 * that must hold. A statement follows the numbers of the movements, not their times, so a clock that is set back does
 * not change its order. It is read in pages, newest or oldest first.
 */

import { type Database, type Kysely, sql, type Tables } from '../../core/database/index.js';
import { csvCell, isoTime } from '../format/index.js';
import { balanceAccount, type MovementKind } from './movements.js';

/** A movement in the statement of a balance. Amounts are millionths of the currency. */
export interface StatementLine {
  number: number;
  at: number;
  kind: MovementKind;
  /** What came in; below 0 is what was paid. */
  amount: number;
  /** What was left afterwards. */
  left: number;
  currency: string;
  reference: string;
  note: string;
}

export interface StatementPage {
  accountId: string;
  limit: number;
  /** Movements before this one, newest first; or with `after`, those after it, oldest first. Default: the newest. */
  before?: number;
  after?: number;
  /** Whether adjustments name the operator who made them. Default false: the account itself reads it. */
  withActors?: boolean;
}

/** @returns Newest first, or oldest first with `after`. */
export async function readStatement(queries: Kysely<Tables>, page: StatementPage): Promise<StatementLine[]> {
  const { accountId, limit, before, after, withActors = false } = page;
  const account = balanceAccount(accountId);
  let rows = queries.selectFrom('ledger_entries').selectAll().where('account', '=', account);
  rows = rows.where('number', 'is not', null);
  if (before !== undefined) rows = rows.where('number', '<', before);
  if (after !== undefined) rows = rows.where('number', '>', after);
  const found = await rows
    .orderBy('number', after === undefined ? 'desc' : 'asc')
    .limit(limit)
    .execute();
  const first = found.at(after === undefined ? -1 : 0)?.number ?? 0;
  let left = await sumBefore(queries, account, first);
  const lines = (after === undefined ? found.toReversed() : found).map((row): StatementLine => {
    left += row.amount;
    const { at, amount, currency, reference } = row;
    const kind = row.kind as MovementKind;
    const note = kind === 'adjustment' && !withActors ? '' : row.note;
    return { number: row.number ?? 0, kind, at, amount, left, currency, reference, note };
  });
  return after === undefined ? lines.toReversed() : lines;
}

async function sumBefore(queries: Kysely<Tables>, account: string, number: number): Promise<number> {
  const { sum } = await queries
    .selectFrom('ledger_entries')
    .select(sql<number>`cast(coalesce(sum(amount), 0) as bigint)`.as('sum'))
    .where('account', '=', account)
    .where('number', '<', number)
    .executeTakeFirstOrThrow();
  return Number(sum);
}

/** What is read of the ledger. Every method throws GatewayError `upstream_unavailable` if the database does not answer. */
export class Ledger {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** As {@link readStatement}. */
  statement(page: StatementPage): Promise<readonly StatementLine[]> {
    return this.#database.run((queries) => readStatement(queries, page));
  }

  /** The whole statement as CSV (RFC 4180), oldest first, in parts. */
  csv(accountId: string): AsyncGenerator<string> {
    return statementCsv(this.#database, accountId);
  }

  sums(): Promise<LedgerSums> {
    return this.#database.run(readSums);
  }
}

const ROWS = 1_000;
const COLUMNS = ['number', 'time', 'kind', 'amount', 'balance', 'currency', 'reference', 'note'];

async function* statementCsv(database: Database, accountId: string): AsyncGenerator<string> {
  yield `${COLUMNS.join(',')}\r\n`;
  for (let after = 0, full = true; full; ) {
    const page = await database.run((queries) => readStatement(queries, { accountId, limit: ROWS, after }));
    if (page.length > 0) yield page.map(csvLine).join('');
    after = page.at(-1)?.number ?? after;
    full = page.length === ROWS;
  }
}

function csvLine({ number, at, kind, amount, left, currency, reference, note }: StatementLine): string {
  const texts = [currency, reference, note].map(csvCell);
  return `${[number, isoTime(at), kind, decimal(amount), decimal(left), ...texts].join(',')}\r\n`;
}

const MICRO_DIGITS = 6;

/** Millionths as a decimal: `-0.0125`. */
export function decimal(micros: number): string {
  const digits = String(Math.abs(micros)).padStart(MICRO_DIGITS + 1, '0');
  const [whole, rest] = [digits.slice(0, -MICRO_DIGITS), digits.slice(-MICRO_DIGITS).replace(/0+$/, '')];
  return `${micros < 0 ? '-' : ''}${whole}${rest === '' ? '' : `.${rest}`}`;
}

/** What the ledger says of all balances. Amounts are millionths of the currency. */
export interface LedgerSums {
  /** By account of the ledger and currency. */
  accounts: readonly { account: string; currency: string; amount: number }[];
  /** Ids of movements whose rows do not sum up to 0; the database refuses them. */
  unbalanced: readonly string[];
  /** Balances whose row differs from the ledger. */
  different: readonly { accountId: string; balance: number; ledger: number }[];
}

const LISTED = 100;

/** Sums of the gateway's own accounts and of all balances together, and what does not agree: at most 100 of each. */
async function readSums(queries: Kysely<Tables>): Promise<LedgerSums> {
  const name = sql<string>`case when account like 'balance:%' then 'balances' else account end`;
  const accounts = await queries
    .selectFrom('ledger_entries')
    .select([name.as('account'), 'currency', sql<number>`cast(sum(amount) as bigint)`.as('amount')])
    .groupBy([name, 'currency'])
    .orderBy('account')
    .orderBy('currency')
    .execute();
  const unbalanced = await queries
    .selectFrom('ledger_entries')
    .select('id')
    .groupBy('id')
    .having(sql<boolean>`sum(amount) <> 0 or count(*) <> 2`)
    .limit(LISTED)
    .execute();
  const { rows } = await sql<{ accountId: string; balance: number; ledger: number }>`
    select * from (select budgets."accountId", budgets."costLimit" as balance, cast(coalesce((
      select sum(amount) from ledger_entries where account = 'balance:' || budgets."accountId"), 0) as bigint) as ledger
      from budgets where scope = 'balance') as balances where balance <> ledger limit ${sql.lit(LISTED)}`.execute(
    queries,
  );
  return { accounts, unbalanced: unbalanced.map(({ id }) => id), different: rows };
}
