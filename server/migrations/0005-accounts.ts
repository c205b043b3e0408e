import { type Kysely, sql } from '../../core/database/index.js';

export const changes = ['api_keys'] as const;

export async function up(db: Kysely<unknown>): Promise<void> {
  await alterKeys(db);
  await createPeople(db);
  await createSignIns(db);
  await createOrders(db);
}

async function alterKeys(db: Kysely<unknown>): Promise<void> {
  // One column at a time, which is all that SQLite can do.
  await db.schema.alterTable('api_keys').addColumn('image_daily_limit', 'integer').execute();
  await db.schema.alterTable('api_keys').addColumn('plan_expires_at', 'bigint').execute();
  await db.schema.alterTable('api_keys').addColumn('suspended_at', 'bigint').execute();
  await db.schema.alterTable('api_keys').addColumn('replaced_by', 'text').execute();
  await db.schema.createIndex('api_keys_account').on('api_keys').columns(['account_id', 'created_at', 'id']).execute();
}

async function createPeople(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('accounts')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('suspended_at', 'bigint')
    .addColumn('plan_id', 'text')
    .addColumn('grants', 'text')
    .addColumn('rpm', 'integer')
    .addColumn('models', 'text')
    .addColumn('image_daily_limit', 'integer')
    .addColumn('budget_id', 'text')
    .addColumn('plan_expires_at', 'bigint')
    .addColumn('granted_at', 'bigint')
    .execute();

  await db.schema
    .createTable('users')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull().unique().references('accounts.id'))
    .addColumn('issuer', 'text', (column) => column.notNull())
    .addColumn('subject', 'text', (column) => column.notNull())
    .addColumn('email', 'text')
    .addColumn('name', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('last_sign_in_at', 'bigint', (column) => column.notNull())
    .addUniqueConstraint('users_identity', ['issuer', 'subject'])
    .execute();
  await db.schema.createIndex('users_created_at').on('users').columns(['created_at', 'id']).execute();

  await db.schema
    .createTable('audit_entries')
    .addColumn('subject', 'text', (column) => column.notNull())
    .addColumn('number', 'integer', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('actor', 'text', (column) => column.notNull())
    .addColumn('action', 'text', (column) => column.notNull())
    .addColumn('from_state', 'text')
    .addColumn('to_state', 'text')
    .addColumn('note', 'text')
    .addPrimaryKeyConstraint('audit_entries_key', ['subject', 'number'])
    .execute();
  await db.schema.createIndex('audit_entries_at').on('audit_entries').column('at').execute();
}

async function createSignIns(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('sessions')
    .addColumn('hash', 'text', (column) => column.primaryKey())
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('last_seen_at', 'bigint', (column) => column.notNull())
    .addColumn('idle_ms', 'bigint', (column) => column.notNull())
    .addColumn('ends_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('sessions_user').on('sessions').columns(['user_id', 'last_seen_at']).execute();
  await db.schema.createIndex('sessions_expires_at').on('sessions').column('expires_at').execute();

  await db.schema
    .createTable('sign_ins')
    .addColumn('state_hash', 'text', (column) => column.primaryKey())
    .addColumn('browser_hash', 'text', (column) => column.notNull())
    .addColumn('nonce', 'text', (column) => column.notNull())
    .addColumn('code_verifier', 'text', (column) => column.notNull())
    .addColumn('return_to', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('sign_ins_expires_at').on('sign_ins').column('expires_at').execute();

  await db.schema
    .createTable('device_grants')
    .addColumn('device_hash', 'text', (column) => column.primaryKey())
    .addColumn('user_code', 'text', (column) => column.notNull().unique())
    .addColumn('client_name', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('user_id', 'text')
    .addColumn('interval_seconds', 'integer', (column) => column.notNull())
    .addColumn('polled_at', 'bigint')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('device_grants_expires_at').on('device_grants').column('expires_at').execute();
}

async function createOrders(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('orders')
    .addColumn('code', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('plan_id', 'text', (column) => column.notNull())
    .addColumn('terms', 'text', (column) => column.notNull())
    .addColumn('amount', 'bigint', (column) => column.notNull())
    .addColumn('currency', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('paid_amount', 'bigint', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addColumn('paid_at', 'bigint')
    .addColumn('idempotency_hash', 'text', (column) => column.unique())
    .addColumn('fingerprint', 'text')
    .execute();
  await db.schema.createIndex('orders_created_at').on('orders').columns(['created_at', 'code']).execute();
  await db.schema.createIndex('orders_account').on('orders').columns(['account_id', 'created_at', 'code']).execute();
  // Both engines use a partial index only where a query repeats its condition to the letter.
  await db.schema
    .createIndex('orders_due')
    .on('orders')
    .column('expires_at')
    .where(sql<boolean>`state = 'pending'`)
    .execute();
  await db.schema
    .createIndex('orders_moneyless')
    .on('orders')
    .column('expires_at')
    .where(sql<boolean>`state in ('expired', 'cancelled') and paid_amount = 0`)
    .execute();

  await db.schema
    .createTable('bank_transactions')
    .addColumn('provider', 'text', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('amount', 'bigint', (column) => column.notNull())
    .addColumn('currency', 'text', (column) => column.notNull())
    .addColumn('text', 'text', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('recorded_at', 'bigint', (column) => column.notNull())
    .addColumn('order_code', 'text')
    .addColumn('review', 'text')
    .addPrimaryKeyConstraint('bank_transactions_key', ['provider', 'id'])
    .execute();
  await db.schema
    .createIndex('bank_transactions_order')
    .on('bank_transactions')
    .columns(['order_code', 'recorded_at'])
    .execute();
  await db.schema
    .createIndex('bank_transactions_review')
    .on('bank_transactions')
    .column('recorded_at')
    .where(sql<boolean>`review is not null`)
    .execute();

  await db.schema
    .createTable('plan_grants')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('terms', 'text', (column) => column.notNull())
    .addColumn('budget_id', 'text')
    .addColumn('granted_at', 'bigint', (column) => column.notNull())
    .addColumn('taken_back_at', 'bigint')
    .execute();
  await db.schema.createIndex('plan_grants_account').on('plan_grants').columns(['account_id', 'granted_at']).execute();
}
