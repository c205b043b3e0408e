import type { ColumnDataType, Kysely } from '../../core/database/index.js';

export const changes = ['api_keys'] as const;

const BUDGET_COUNTS = ['tokens_used', 'tokens_reserved', 'requests_used', 'tokens_used_today'];

const ENTRY_COUNTS: Readonly<Record<string, ColumnDataType>> = {
  input_tokens: 'bigint',
  cached_tokens: 'bigint',
  output_tokens: 'bigint',
  reasoning_tokens: 'bigint',
  characters: 'bigint',
  seconds: 'double precision',
  images: 'bigint',
};

const TOTAL_COUNTS: Readonly<Record<string, ColumnDataType>> = {
  requests: 'bigint',
  failed: 'bigint',
  estimated: 'bigint',
  ...ENTRY_COUNTS,
  latency_ms_sum: 'bigint',
};

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const column of ['plan_id', 'budget_id', 'models']) {
    await db.schema.alterTable('api_keys').addColumn(column, 'text').execute();
  }
  await createBudgets(db);
  await createUsage(db);

  await db.schema
    .createTable('stored_responses')
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('model', 'text', (column) => column.notNull())
    .addColumn('upstream', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('stored_responses_key', ['id', 'account_id'])
    .execute();
  await db.schema.createIndex('stored_responses_created_at').on('stored_responses').column('created_at').execute();
}

async function createBudgets(db: Kysely<unknown>): Promise<void> {
  let budgets = db.schema
    .createTable('budgets')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('plan_id', 'text', (column) => column.notNull())
    .addColumn('token_limit', 'bigint')
    .addColumn('daily_token_limit', 'bigint')
    .addColumn('request_limit', 'bigint')
    .addColumn('resets', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'bigint')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('period', 'text', (column) => column.notNull())
    .addColumn('day', 'text', (column) => column.notNull());
  for (const count of BUDGET_COUNTS) budgets = budgets.addColumn(count, 'bigint', (column) => column.notNull());
  await budgets.execute();

  await db.schema
    .createTable('reservations')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('budget_id', 'text', (column) => column.notNull())
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('route', 'text', (column) => column.notNull())
    .addColumn('model', 'text', (column) => column.notNull())
    .addColumn('tokens', 'bigint', (column) => column.notNull())
    .addColumn('period', 'text', (column) => column.notNull())
    .addColumn('runner_id', 'text', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .execute();

  await db.schema
    .createTable('admission_runners')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('runner', 'text', (column) => column.notNull())
    .addColumn('beat', 'integer', (column) => column.notNull())
    .execute();
}

async function createUsage(db: Kysely<unknown>): Promise<void> {
  let entries = db.schema
    .createTable('usage_entries')
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('request_id', 'text', (column) => column.notNull())
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('route', 'text', (column) => column.notNull())
    .addColumn('model', 'text', (column) => column.notNull())
    .addColumn('status', 'integer', (column) => column.notNull())
    .addColumn('latency_ms', 'bigint', (column) => column.notNull());
  for (const [count, type] of Object.entries(ENTRY_COUNTS)) entries = entries.addColumn(count, type);
  // Behind the older ones of its key, so that the index grows at few places.
  await entries
    .addColumn('estimated', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('usage_entries_key', ['key_id', 'at', 'request_id'])
    .execute();

  let totals = db.schema
    .createTable('usage_totals')
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('day', 'text', (column) => column.notNull())
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('route', 'text', (column) => column.notNull())
    .addColumn('model', 'text', (column) => column.notNull());
  for (const [count, type] of Object.entries(TOTAL_COUNTS)) {
    totals = totals.addColumn(count, type, (column) => column.notNull());
  }
  await totals.addPrimaryKeyConstraint('usage_totals_key', ['key_id', 'day', 'account_id', 'route', 'model']).execute();
  await db.schema.createIndex('usage_totals_account').on('usage_totals').columns(['account_id', 'day']).execute();

  await db.schema
    .createTable('usage_sums')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .execute();
}
