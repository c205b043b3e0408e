/*
 * Exports the statement of a person's balance. An erasure keeps the ledger: it is bookkeeping, under the random ids of
 * the account and of its orders and requests.
 */

import { isoTime } from '../format/index.js';
import { type PersonalRecords, pages } from '../personal-records/index.js';
import { decimal, readStatement, type StatementLine } from './statement.js';

const ROWS = 500;

export const ledgerPersonalRecords: PersonalRecords = {
  tables: { ledger_entries: 'retained' },

  exported: (database, { accountId }) => ({
    async *balanceStatement() {
      const lines = pages<StatementLine>(
        database,
        ROWS,
        (last) => (queries) => readStatement(queries, { accountId, limit: ROWS, after: last?.number ?? 0 }),
      );
      for await (const { at, amount, left, ...line } of lines) {
        yield { ...line, at: isoTime(at), amount: decimal(amount), balance: decimal(left) };
      }
    },
  }),
};
