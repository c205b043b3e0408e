import type { Kysely } from '../../core/database/index.js';

export const changes = ['jobs'] as const;

/** The latest jobs of an account are looked up by it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.createIndex('jobs_account').on('jobs').columns(['account_id', 'created_at']).execute();
}
