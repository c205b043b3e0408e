import { type Kysely, sql } from '../../core/database/index.js';

export const changes = ['jobs'] as const;

/** What nobody is to join costs the index nothing. The release before this one finds its own jobs by the queue's index. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('jobs_joinable')
    .unique()
    .on('jobs')
    .columns(['kind', 'dedupe_hash'])
    .where(sql<boolean>`state in ('queued', 'running') and dedupe_hash <> ''`)
    .execute();
  await db.schema.dropIndex('jobs_active').execute();
}
