import type { Kysely } from '../../core/database/index.js';

export const changes = ['jobs'] as const;

/** When a run last showed life, for people to read. The release before writes none, and goes by `beat` as this one does. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('jobs').addColumn('beat_at', 'bigint').execute();
}
