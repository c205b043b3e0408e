/*
 * The table of the ledger: double-entry bookkeeping of prepaid balances. A movement has exactly two rows, and the second
 * is the first with the other sign; a foreign key between the two makes the database refuse anything else. So the sum of
 * all rows is 0 at any time, and rows are never changed or deleted. Amounts are whole millionths of a currency.
 */

import { type Migrations, type Selectable, sqlMigration } from '../../core/database/index.js';

declare module '../../core/database/tables.js' {
  interface Tables {
    ledger_entries: LedgerEntriesTable;
  }
}

/** One side of a movement. */
export interface LedgerEntriesTable {
  /** Of the movement. */
  id: string;
  /** 0 or 1. */
  line: number;
  /** The other line, and its amount. */
  pair: number;
  opposite: number;
  /** `balance:acct_…`, or one of the gateway's own accounts. See movements.ts. */
  account: string;
  /** Its place among those of a balance, from 1; null in the gateway's own accounts. */
  number: number | null;
  kind: string;
  /** Millionths of the currency; above 0 is what comes in. */
  amount: number;
  /** ISO 4217. */
  currency: string;
  /** Code of an order, id of a request or of a job. */
  reference: string;
  /** Model, platform, or the actor of an operator's change. */
  note: string;
  /** Milliseconds since 1970. */
  at: number;
}

export type LedgerEntry = Selectable<LedgerEntriesTable>;

export const ledgerMigrations: Migrations = {
  '0005-ledger': {
    ...sqlMigration(
      `create table ledger_entries (
      id text not null, line integer not null check (line in (0, 1)), pair integer not null check (pair = 1 - line),
      opposite bigint not null check (opposite = -amount), account text not null, number bigint, kind text not null,
      amount bigint not null check (amount <> 0), currency text not null, reference text not null, note text not null,
      at bigint not null, primary key (id, line), unique (id, line, amount),
      foreign key (id, pair, opposite) references ledger_entries (id, line, amount) deferrable initially deferred)`,
      `create unique index ledger_entries_account on ledger_entries (account, number) where number is not null`,
      `alter table budgets add column "lowBelow" bigint`,
      `alter table background_responses add column "paidCost" bigint`,
      `alter table accounts add column balance text`,
      `alter table accounts add column "topsUp" integer`,
      `alter table api_keys add column balance text`,
    ),
    changes: ['accounts', 'api_keys', 'background_responses', 'budgets'],
  },
};
