import { type Kysely, sql } from '../../core/database/index.js';

export const changes = ['jobs'] as const;

/**
 * The jobs of an account are found by it once they have ended; those that have not are few. So accepting jobs of many
 * accounts writes no page for each of them. The release before this one finds the same jobs, more slowly.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('jobs_ended')
    .on('jobs')
    .columns(['account_id', 'created_at'])
    .where(sql<boolean>`finished_at is not null`)
    .execute();
  await db.schema.dropIndex('jobs_account').execute();
}
