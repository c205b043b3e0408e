import { type Kysely, sql } from '../../core/database/index.js';

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('jobs')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('dedupe_hash', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('place', 'bigint', (column) => column.notNull())
    .addColumn('input', 'text', (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull())
    .addColumn('cut_offs', 'integer', (column) => column.notNull())
    .addColumn('runner', 'text')
    .addColumn('beat', 'integer', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('started_at', 'bigint')
    .addColumn('finished_at', 'bigint')
    .addColumn('result', 'text')
    .addColumn('error', 'text')
    .execute();
  // Both engines use a partial index only where a query repeats its condition to the letter.
  const active = sql<boolean>`state in ('queued', 'running')`;
  await db.schema
    .createIndex('jobs_active')
    .unique()
    .on('jobs')
    .columns(['kind', 'dedupe_hash'])
    .where(active)
    .execute();
  await db.schema.createIndex('jobs_queue').on('jobs').columns(['kind', 'place']).where(active).execute();
  await db.schema
    .createIndex('jobs_finished_at')
    .on('jobs')
    .column('finished_at')
    .where(sql<boolean>`finished_at is not null`)
    .execute();

  await db.schema
    .createTable('job_owners')
    .addColumn('job_id', 'text', (column) => column.notNull().references('jobs.id').onDelete('cascade'))
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('job_owners_key', ['job_id', 'account_id'])
    .execute();
}
