import type { Kysely } from '../../core/database/index.js';

/** The processes that use this state: what they need to agree about, and when each last wrote. Earlier releases have no row. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('instances')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('started_at', 'bigint', (column) => column.notNull())
    .addColumn('beat_at', 'bigint', (column) => column.notNull())
    .addColumn('fingerprints', 'text', (column) => column.notNull())
    .execute();
}
