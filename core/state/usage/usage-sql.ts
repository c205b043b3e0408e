import type { Database, Kysely } from '../../database/index.js';
import type { Tables } from '../schema.js';
import type { UsageLedger, UsageQuery } from './usage.js';
import { toUsageEntry, toUsageTotal } from './usage-rows.js';

const DAY_MS = 24 * 60 * 60 * 1000;

/** The usage ledger in SQL, to look at. It is written by admissions. */
export function createUsageLedger(database: Database): UsageLedger {
  return {
    async totals({ keyId, accountId, from, to }) {
      const rows = await database.run((queries) => {
        let select = queries.selectFrom('usage_totals').selectAll().where('day', '>=', from).where('day', '<=', to);
        if (keyId !== undefined) select = select.where('key_id', '=', keyId);
        if (accountId !== undefined) select = select.where('account_id', '=', accountId);
        return select.orderBy('day', 'desc').orderBy('key_id').orderBy('route').orderBy('model').execute();
      });
      return rows.map(toUsageTotal);
    },

    async entries(query, limit) {
      const rows = await database.run((queries) => selectEntries(queries, query).limit(limit).execute());
      return rows.map(toUsageEntry);
    },
  };
}

function selectEntries(queries: Kysely<Tables>, { keyId, accountId, from, to }: UsageQuery) {
  let select = queries
    .selectFrom('usage_entries')
    .selectAll()
    .where('at', '>=', Date.parse(from))
    .where('at', '<', Date.parse(to) + DAY_MS)
    .orderBy('at', 'desc')
    .orderBy('request_id');
  if (keyId !== undefined) select = select.where('key_id', '=', keyId);
  if (accountId !== undefined) {
    // By its keys, which the index begins with.
    const keys = queries.selectFrom('api_keys').select('id').where('account_id', '=', accountId);
    select = select.where('key_id', 'in', keys).where('account_id', '=', accountId);
  }
  return select;
}
