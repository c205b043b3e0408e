import { type Kysely, sql } from '../../core/database/index.js';

export const changes = ['admission_runners', 'idempotency_keys', 'instances', 'jobs'] as const;

/** One heartbeat for each process takes the place of those of jobs, reservations and idempotency keys. */
export async function up(db: Kysely<unknown>): Promise<void> {
  // Processes of earlier releases have ids of another form.
  await sql`delete from instances`.execute(db);
  await db.schema
    .alterTable('instances')
    .addColumn('beat', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute();
  await db.schema.alterTable('jobs').dropColumn('beat').execute();
  await db.schema.alterTable('jobs').dropColumn('beat_at').execute();
  await db.schema.alterTable('idempotency_keys').dropColumn('beat').execute();
  await db.schema.dropTable('admission_runners').execute();
  // What processes hold is read again and again.
  await db.schema
    .createIndex('idempotency_keys_runner')
    .on('idempotency_keys')
    .column('runner')
    .where(sql<boolean>`runner is not null`)
    .execute();
}
