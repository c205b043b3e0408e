import type { Kysely } from '../../core/database/index.js';

export const changes = ['jobs'] as const;

/** The request that accepted a job, and its place in a trace. Rows of the release before have neither. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('jobs').addColumn('request_id', 'text').execute();
  await db.schema.alterTable('jobs').addColumn('traceparent', 'text').execute();
}
