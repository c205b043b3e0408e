/*
 * Indexes for the lists of the admin API, over the tables of all subjects. They order each list by time and find users
 * and keys by the beginning of a name, so that a page costs the same however many rows there are; a test explains the
 * SQL. Three of them are on the usage log, where each request adds a row: they grow at their end, in one page.
 */

import { type Migrations, prefixIndex, sqlMigration } from '../core/database/index.js';

export const adminMigrations: Migrations = {
  '0003-admin': {
    ...sqlMigration(
      prefixIndex('users_email', 'users', 'email'),
      prefixIndex('users_name', 'users', 'name'),
      prefixIndex('users_id', 'users', 'id'),
      prefixIndex('users_account', 'users', 'accountId'),
      `create index accounts_suspended on accounts ("suspendedAt") where "suspendedAt" is not null`,
      `create index orders_state on orders (state, "createdAt", code)`,
      `create index bank_transactions_recorded on bank_transactions ("recordedAt", provider, id)`,
      `create index api_keys_created_at on api_keys ("createdAt", id) where internal is null`,
      prefixIndex('api_keys_name', 'api_keys', 'name'),
      `create index usage_entries_at on usage_entries (at, "requestId")`,
      `create index usage_entries_failed_at on usage_entries (at, "requestId") where status >= 400 or "errorCode" is not null`,
      `create index usage_totals_day on usage_totals (day)`,
      `create index audit_entries_order on audit_entries (at, subject, number)`,
      `create index audit_entries_action on audit_entries (action, at, subject, number)`,
      `create index audit_entries_actor on audit_entries (actor, at, subject, number)`,
      'drop index audit_entries_at',
    ),
    changes: [
      'accounts',
      'api_keys',
      'audit_entries',
      'bank_transactions',
      'orders',
      'usage_entries',
      'usage_totals',
      'users',
    ],
  },
  '0007-balance-list': {
    ...sqlMigration(
      `create index accounts_balance on accounts (id) where ("topsUp" is not null or balance is not null)`,
    ),
    changes: ['accounts'],
  },
  '0016-refused-requests': {
    // Refused requests are few among many that failed.
    ...sqlMigration(`create index usage_entries_refused_at on usage_entries (at, "requestId") where refused = 1`),
    changes: ['usage_entries'],
  },
  '0017-name-words': {
    // A family name or a given name stands last, by language, so a search by the beginning alone misses it.
    ...sqlMigration(
      prefixIndex('users_name_second', 'users', 'name', 'second word'),
      prefixIndex('users_name_last', 'users', 'name', 'last word'),
    ),
    changes: ['users'],
  },
  '0020-failed-codes': {
    // A search by code compares it in the index, not in the row of each failure.
    ...sqlMigration(
      'drop index usage_entries_failed_at',
      `create index usage_entries_failed_at on usage_entries (at, "requestId", "errorCode") where status >= 400 or "errorCode" is not null`,
    ),
    changes: ['usage_entries'],
  },
};
