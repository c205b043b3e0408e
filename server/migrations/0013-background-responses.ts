import type { Kysely } from '../../core/database/index.js';

/** Responses that an upstream goes on making. The release before this one leaves what it finds here at its estimate. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('background_responses')
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('model', 'text', (column) => column.notNull())
    .addColumn('upstream', 'text', (column) => column.notNull())
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('request_id', 'text', (column) => column.notNull())
    .addColumn('budget_id', 'text')
    .addColumn('due_at', 'bigint', (column) => column.notNull())
    .addColumn('wait_ms', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('background_responses_key', ['id', 'account_id'])
    .execute();
  await db.schema.createIndex('background_responses_due_at').on('background_responses').column('due_at').execute();
}
