import type { Kysely, Selectable, Tables } from '../../core/database/index.js';
import type { AccountsTable, UsersTable } from './tables.js';
import type { UserRecord } from './users.js';

export type UserRow = Selectable<UsersTable> & Pick<Selectable<AccountsTable>, 'suspended_at'>;

/** Users with what their accounts say of them. */
export function selectUsers(queries: Kysely<Tables>) {
  return queries
    .selectFrom('users')
    .innerJoin('accounts', 'accounts.id', 'users.account_id')
    .selectAll('users')
    .select('accounts.suspended_at');
}

export function toUserRecord(row: UserRow): UserRecord {
  return {
    id: row.id,
    accountId: row.account_id,
    issuer: row.issuer,
    subject: row.subject,
    email: row.email,
    name: row.name,
    createdAt: row.created_at,
    lastSignInAt: row.last_sign_in_at,
    suspendedAt: row.suspended_at,
  };
}
