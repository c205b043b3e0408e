import { type Kysely, sql } from '../../core/database/index.js';

export const changes = ['jobs'] as const;

/**
 * Whom to tell of the end of a job. The release before this one writes and tells nobody, also of a job whose end it writes;
 * what it finds of others' it leaves alone.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('jobs').addColumn('webhook_url', 'text').execute();
  await db.schema.alterTable('jobs').addColumn('webhook_due_at', 'bigint').execute();
  await db.schema
    .alterTable('jobs')
    .addColumn('webhook_tries', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  for (const columns of [['webhook_due_at'], ['account_id', 'webhook_due_at']]) {
    await db.schema
      .createIndex(`jobs_${columns.join('_')}`)
      .on('jobs')
      .columns(columns)
      .where(sql<boolean>`webhook_due_at is not null`)
      .execute();
  }
  await db.schema
    .createTable('webhook_secrets')
    .addColumn('account_id', 'text', (column) => column.primaryKey())
    .addColumn('version', 'integer', (column) => column.notNull())
    .addColumn('changed_at', 'bigint', (column) => column.notNull())
    .execute();
}
