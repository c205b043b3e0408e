import type { Kysely } from '../../core/database/index.js';

export const changes = ['rate_windows'] as const;

/**
 * On SQLite a window's row has its youngest slots. The release before this one does not know them: going back within a minute
 * gives a window as many slots too many.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('rate_windows')
    .addColumn('recent', 'text', (column) => column.notNull().defaultTo(''))
    .execute();
}
