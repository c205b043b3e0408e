import { type Kysely } from '../../core/database/index.js';

export const changes = ['accounts', 'api_keys', 'plan_grants'] as const;

/**
 * Plans that come back when another one ends. The release before this one knows nothing of it: what it grants replaces the plan
 * without a credit, until this one writes the plan of the account the next time.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('accounts').addColumn('following_plans', 'text').execute();
  await db.schema.alterTable('api_keys').addColumn('following_plans', 'text').execute();
  await db.schema
    .alterTable('plan_grants')
    .addColumn('number', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
}
