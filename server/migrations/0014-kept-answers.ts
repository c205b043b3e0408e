import { type Kysely, sql } from '../../core/database/index.js';

export const changes = ['idempotency_keys'] as const;

/**
 * Idempotency keys also remember answers that are not jobs. The release before this one takes their rows for those of jobs
 * that are gone.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  // One column at a time, which is all that SQLite can do.
  await db.schema.alterTable('idempotency_keys').addColumn('account_id', 'text').execute();
  await db.schema.alterTable('idempotency_keys').addColumn('answer_id', 'text').execute();
  await db.schema.alterTable('idempotency_keys').addColumn('runner', 'text').execute();
  await db.schema
    .alterTable('idempotency_keys')
    .addColumn('beat', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  await db.schema.alterTable('idempotency_keys').addColumn('head', 'text').execute();
  await db.schema.alterTable('idempotency_keys').addColumn('failure', 'text').execute();
  await db.schema
    .alterTable('idempotency_keys')
    .addColumn('bytes', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute();
  await db.schema
    .createIndex('idempotency_keys_answer')
    .unique()
    .on('idempotency_keys')
    .column('answer_id')
    .where(sql<boolean>`answer_id is not null`)
    .execute();
  await db.schema
    .createIndex('idempotency_keys_account')
    .on('idempotency_keys')
    .columns(['account_id', 'expires_at', 'bytes'])
    .where(sql<boolean>`account_id is not null`)
    .execute();
}
