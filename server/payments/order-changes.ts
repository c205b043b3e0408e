import type { Tables, Transaction } from '../../core/database/index.js';
import { isStorable } from '../../core/database/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import type { AccountsOptions } from '../accounts/index.js';
import { lockAccount } from '../accounts/index.js';
import { moveOrder } from './order-move.js';
import { lockOrder, stateAt, toOrder } from './order-rows.js';
import { CHANGES, type ChangeName } from './order-states.js';
import type { OrderChange, OrderRecord, Orders } from './orders.js';

/** What operators do to orders, and users to their own, in SQL. */
export function createOrderChanges({ database, times }: AccountsOptions): Pick<Orders, ChangeName> {
  const { engine } = database;

  function change(name: ChangeName, { code, actor, note, accountId }: OrderChange): Promise<OrderRecord> {
    const { to, from, action } = CHANGES[name];
    return database.transaction(async (transaction) => {
      const owner = isStorable(code) ? await ownerOf(transaction, code) : undefined;
      if (owner === undefined || (accountId !== undefined && owner !== accountId)) throw notFound();
      const account = await lockAccount(transaction, engine, owner);
      const order = await lockOrder(transaction, engine, code);
      if (!order) throw notFound();
      const at = await times.read(transaction);
      const state = stateAt(order, at);
      if (state === to) return toOrder(order, at);
      if (!from.some((each) => each === state)) {
        throw new GatewayError('order_state_conflict', `An order that is ${state} cannot become ${to}.`);
      }
      const plan = { transaction, engine, account, at };
      const line = { actor, action, note };
      const moved = await moveOrder({ ...plan, order, to, paidAmount: order.paid_amount, line });
      // Whoever decides over the order has looked at its money.
      await transaction.updateTable('bank_transactions').set({ review: null }).where('order_code', '=', code).execute();
      return toOrder(moved, at);
    });
  }

  return {
    confirm: (wanted) => change('confirm', wanted),
    cancel: (wanted) => change('cancel', wanted),
    refund: (wanted) => change('refund', wanted),
  };
}

async function ownerOf(transaction: Transaction<Tables>, code: string): Promise<string | undefined> {
  const order = await transaction.selectFrom('orders').select('account_id').where('code', '=', code).executeTakeFirst();
  return order?.account_id;
}

function notFound(): GatewayError {
  return new GatewayError('order_not_found', 'There is no such order.');
}
