import type { BankTransaction, OrderRecord, OrderState, ReviewReason } from './orders.js';

/** What money makes of an order. */
export interface AfterMoney {
  state: OrderState;
  paidAmount: number;
  /** Why somebody has to look at the transfer. */
  review: ReviewReason | null;
}

type Standing = Pick<OrderRecord, 'state' | 'amount' | 'currency' | 'paidAmount'>;

export function afterMoney(order: Standing, money: Pick<BankTransaction, 'amount' | 'currency'>): AfterMoney {
  const { state } = order;
  const isOver = state === 'paid' || state === 'refunded';
  if (money.currency !== order.currency) {
    return { state: isOver ? state : 'needs_review', paidAmount: order.paidAmount, review: 'wrong_currency' };
  }
  const paidAmount = order.paidAmount + money.amount;
  if (isOver) return { state, paidAmount, review: 'duplicate' };
  if (state === 'cancelled') return { state: 'needs_review', paidAmount, review: 'cancelled' };
  if (paidAmount > order.amount) return { state: 'needs_review', paidAmount, review: 'overpaid' };
  if (state === 'needs_review') return { state, paidAmount, review: null };
  return { state: paidAmount === order.amount ? 'paid' : 'underpaid', paidAmount, review: null };
}

/** What somebody does to an order, and from which states it leads where. */
export const CHANGES = {
  confirm: { to: 'paid', from: ['pending', 'underpaid', 'expired', 'needs_review'], action: 'order.confirmed' },
  cancel: { to: 'cancelled', from: ['pending'], action: 'order.cancelled' },
  refund: { to: 'refunded', from: ['paid', 'underpaid', 'needs_review'], action: 'order.refunded' },
} as const satisfies Record<string, { to: OrderState; from: readonly OrderState[]; action: string }>;

export type ChangeName = keyof typeof CHANGES;
