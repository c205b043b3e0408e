import type { Kysely } from '../../core/database/index.js';

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('api_keys')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('hash', 'text', (column) => column.notNull())
    .addColumn('pepper_version', 'integer', (column) => column.notNull())
    .addColumn('grants', 'text', (column) => column.notNull())
    .addColumn('rpm', 'integer')
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint')
    .addColumn('revoked_at', 'bigint')
    .addColumn('last_used_at', 'bigint')
    .addColumn('changed_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('api_keys_changed_at').on('api_keys').column('changed_at').execute();

  await db.schema
    .createTable('rate_windows')
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('family', 'text', (column) => column.notNull())
    .addColumn('time', 'bigint', (column) => column.notNull())
    .addColumn('reader', 'text', (column) => column.notNull())
    .addColumn('wall', 'bigint', (column) => column.notNull())
    .addColumn('steady', 'bigint', (column) => column.notNull())
    .addColumn('next_seq', 'bigint', (column) => column.notNull())
    .addColumn('tail_seq', 'bigint', (column) => column.notNull())
    .addColumn('tail_at', 'bigint', (column) => column.notNull())
    .addColumn('last_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('rate_windows_key', ['key_id', 'family'])
    .execute();

  await db.schema
    .createTable('rate_slots')
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('family', 'text', (column) => column.notNull())
    .addColumn('seq', 'bigint', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('rate_slots_key', ['key_id', 'family', 'seq'])
    .execute();

  await db.schema
    .createTable('cache_entries')
    .addColumn('key', 'text', (column) => column.primaryKey())
    .addColumn('value', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('cache_entries_expires_at').on('cache_entries').column('expires_at').execute();
}
