import { type Kysely, sql } from '../../core/database/index.js';

export const changes = ['jobs'] as const;

/** What the admission hooks keep of a job takes the place of the day of its quota. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('jobs').addColumn('admission', 'text').execute();
  await sql`update jobs set admission = '{"quotaDay":"' || quota_day || '"}' where quota_day is not null`.execute(db);
}
