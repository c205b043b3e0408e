import type { Database, DatabaseClock, Engine, Tables } from '../../core/database/index.js';
import { sql, type Transaction } from '../../core/database/index.js';
import { writeAudit } from '../audit/index.js';
import type { Orders } from './orders.js';

const ROWS = 200;
const KEPT_MS = 90 * 24 * 60 * 60 * 1000;

/** Ends what nobody paid for. */
export function createOrderSweep(database: Database, times: DatabaseClock): Pick<Orders, 'sweep'> {
  return {
    sweep: () =>
      database.transaction(async (transaction) => {
        const at = await times.read(transaction);
        return {
          expired: await expire(transaction, database.engine, at),
          forgotten: await forget(transaction, database.engine, at - KEPT_MS),
        };
      }),
  };
}

/** An order that somebody is changing at this moment is left to the next time. */
async function expire(transaction: Transaction<Tables>, engine: Engine, at: number): Promise<number> {
  const due = transaction
    .selectFrom('orders')
    .select('code')
    .where(sql<boolean>`state = 'pending'`)
    .where('expires_at', '<=', at)
    .orderBy('expires_at')
    .limit(ROWS);
  const orders = await (engine === 'postgres' ? due.forUpdate().skipLocked() : due).execute();
  for (const { code } of orders) {
    await transaction.updateTable('orders').set({ state: 'expired' }).where('code', '=', code).execute();
    const states = { from: 'pending', to: 'expired' };
    await writeAudit(transaction, { subject: code, at, actor: 'gateway', action: 'order.expired', ...states });
  }
  return orders.length;
}

async function forget(transaction: Transaction<Tables>, engine: Engine, before: number): Promise<number> {
  const old = transaction
    .selectFrom('orders')
    .select('code')
    .where(sql<boolean>`state in ('expired', 'cancelled') and paid_amount = 0`)
    .where('expires_at', '<', before)
    .orderBy('expires_at')
    .limit(ROWS);
  const orders = await (engine === 'postgres' ? old.forUpdate().skipLocked() : old).execute();
  const codes = orders.map(({ code }) => code);
  if (codes.length === 0) return 0;
  await transaction.deleteFrom('audit_entries').where('subject', 'in', codes).execute();
  await transaction.deleteFrom('orders').where('code', 'in', codes).execute();
  return codes.length;
}
