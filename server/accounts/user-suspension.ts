import type { Tables, Transaction } from '../../core/database/index.js';
import { writeAudit } from '../audit/index.js';
import { lockAccountOf } from './account-table.js';
import type { AccountsOptions } from './accounts.js';
import { lockKeys } from './plan-change.js';
import type { UserChange, Users } from './users.js';

/** Takes from users what they are signed in with and their keys for a time. */
export function createSuspensions({ database, times }: AccountsOptions): Pick<Users, 'suspend' | 'resume'> {
  const { engine } = database;

  async function set(transaction: Transaction<Tables>, accountId: string, suspendedAt: number | null): Promise<void> {
    const change = { suspended_at: suspendedAt };
    await transaction.updateTable('accounts').set(change).where('id', '=', accountId).execute();
    const keys = await lockKeys(transaction, engine, accountId);
    if (keys.length === 0) return;
    const keyChange = { ...change, changed_at: times.now };
    await transaction.updateTable('api_keys').set(keyChange).where('id', 'in', keys).execute();
  }

  return {
    suspend: ({ userId, actor, note }: UserChange) =>
      database.transaction(async (transaction) => {
        const account = await lockAccountOf(transaction, engine, userId);
        if (account.suspended_at !== null) return false;
        const at = await times.read(transaction);
        await set(transaction, account.id, at);
        await transaction.deleteFrom('sessions').where('user_id', '=', userId).execute();
        await transaction.deleteFrom('device_grants').where('user_id', '=', userId).execute();
        await writeAudit(transaction, { subject: userId, at, actor, action: 'user.suspended', note });
        return true;
      }),

    resume: ({ userId, actor, note }: UserChange) =>
      database.transaction(async (transaction) => {
        const account = await lockAccountOf(transaction, engine, userId);
        if (account.suspended_at === null) return false;
        const at = await times.read(transaction);
        await set(transaction, account.id, null);
        await writeAudit(transaction, { subject: userId, at, actor, action: 'user.resumed', note });
        return true;
      }),
  };
}
