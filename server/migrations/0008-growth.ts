import { type Kysely, sql } from '../../core/database/index.js';

export const changes = ['daily_quotas', 'jobs'] as const;

/** What is old is found by its kind, and quotas by their day, however many rows there are. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('jobs_kept')
    .on('jobs')
    .columns(['kind', 'finished_at'])
    .where(sql<boolean>`finished_at is not null`)
    .execute();
  // The release before this one finds them by the other index as well.
  await db.schema.dropIndex('jobs_finished_at').execute();
  await db.schema.createIndex('daily_quotas_day').on('daily_quotas').column('day').execute();
}
