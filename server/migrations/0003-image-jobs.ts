import { type Kysely, sql } from '../../core/database/index.js';

export const changes = ['jobs'] as const;

export async function up(db: Kysely<unknown>): Promise<void> {
  const active = sql<boolean>`state in ('queued', 'running')`;
  const running = sql<boolean>`state = 'running'`;

  // One column at a time, which is all that SQLite can do.
  await db.schema.alterTable('jobs').addColumn('summary', 'text').execute();
  await db.schema
    .alterTable('jobs')
    .addColumn('key_id', 'text', (column) => column.notNull().defaultTo(''))
    .execute();
  await db.schema
    .alterTable('jobs')
    .addColumn('account_id', 'text', (column) => column.notNull().defaultTo(''))
    .execute();
  await db.schema.alterTable('jobs').addColumn('quota_day', 'text').execute();
  // Until now everything of a job was shown.
  await sql`update jobs set summary = input`.execute(db);
  await db.schema.createIndex('jobs_turns').on('jobs').columns(['kind', 'key_id', 'place']).where(active).execute();
  await db.schema.createIndex('jobs_running').on('jobs').columns(['kind', 'key_id']).where(running).execute();

  await db.schema
    .createTable('idempotency_keys')
    .addColumn('hash', 'text', (column) => column.primaryKey())
    .addColumn('fingerprint', 'text', (column) => column.notNull())
    .addColumn('job_id', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('idempotency_keys_expires_at').on('idempotency_keys').column('expires_at').execute();

  await db.schema
    .createTable('daily_quotas')
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('day', 'text', (column) => column.notNull())
    .addColumn('used', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('daily_quotas_key', ['account_id', 'kind', 'day'])
    .execute();

  await db.schema
    .createTable('ledger')
    .addColumn('job_id', 'text', (column) => column.primaryKey())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('model', 'text', (column) => column.notNull())
    .addColumn('units', 'integer', (column) => column.notNull())
    .addColumn('usage', 'text')
    .addColumn('at', 'bigint', (column) => column.notNull())
    .execute();
}
