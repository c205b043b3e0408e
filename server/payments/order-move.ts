import type { PlanChange } from '../accounts/index.js';
import { grantPlan, takeBackPlan } from '../accounts/index.js';
import { type AuditLine, writeAudit } from '../audit/index.js';
import type { PlanTerms } from '../plans/index.js';
import { type OrderRow, stateAt } from './order-rows.js';
import type { OrderState } from './orders.js';

/** A change of an order whose row, and that of its account, are locked. */
export interface OrderMove extends PlanChange {
  order: OrderRow;
  to: OrderState;
  paidAmount: number;
  line: Pick<AuditLine, 'actor' | 'action' | 'note'>;
}

/** Writes the new state, and in the same transaction whatever follows from it: the plan, and the audit. */
export async function moveOrder(move: OrderMove): Promise<OrderRow> {
  const { transaction, order, account, at, to, paidAmount, line } = move;
  const { code } = order;
  const from = stateAt(order, at);
  const isGranted = to === 'paid' && from !== 'paid';
  const change = { state: to, paid_amount: paidAmount, ...(isGranted && { paid_at: at }) };
  await transaction.updateTable('orders').set(change).where('code', '=', code).execute();
  await writeAudit(transaction, { ...line, subject: code, at, from, to });
  const plan = { subject: account.id, at, actor: line.actor, note: code, to: order.plan_id };
  if (isGranted) {
    // By what it really costs, whatever the catalogue says by now.
    const price = { amount: order.amount, currency: order.currency };
    const terms = { ...(JSON.parse(order.terms) as PlanTerms), price };
    await grantPlan({ ...move, id: code, terms });
    await writeAudit(transaction, { ...plan, action: 'plan.granted' });
  }
  if (to === 'refunded' && from === 'paid') {
    await takeBackPlan(move, code);
    await writeAudit(transaction, { ...plan, action: 'plan.taken-back' });
  }
  return { ...order, ...change };
}
