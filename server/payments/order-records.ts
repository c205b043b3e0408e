/*
 * Orders and the bank transfers that pay them, in the form in which the database stores them and readers receive them.
 * An order is paid by exactly its amount, in one transfer or several. It expires by time if nothing has arrived; a
 * later transfer still counts. More money, money in another currency, and money for a cancelled order wait for the
 * review of an operator. A refund is final.
 */

import type { ORDER_STATES } from '../choices.js';
import type { PlanTerms, TopUpTerms } from '../plans/index.js';

/**
 * | state | when | what follows |
 * |---|---|---|
 * | `pending` | nothing has arrived | any other state |
 * | `underpaid` | less than the amount has arrived | `paid`, `needs_review`; by an operator `refunded` |
 * | `paid` | exactly the amount has arrived, or an operator confirmed it | by an operator `refunded` |
 * | `needs_review` | more, another currency, or money for a cancelled order | by an operator `paid` or `refunded` |
 * | `expired` | its time ended and nothing had arrived | a later transfer changes it as a pending one |
 * | `cancelled` | it was cancelled and nothing had arrived | `needs_review` |
 * | `refunded` | an operator gave the money back | final |
 */
export type OrderState = (typeof ORDER_STATES)[number];

/** A payment order. Times are milliseconds since 1970; money is in minor units of its currency. */
export interface OrderRecord {
  /** `MG` and 8 characters of Crockford's base 32. */
  code: string;
  accountId: string;
  /** Of the plan, or of the package of a top-up. */
  planId: string;
  /** What a top-up adds to the balance; absent with a plan. */
  topUp?: TopUpTerms;
  amount: number;
  /** ISO 4217. */
  currency: string;
  state: OrderState;
  /** Received amount in the currency of the order, in any state. */
  paidAmount: number;
  createdAt: number;
  /** Expiry of a pending order. */
  expiresAt: number;
  /** When the plan was granted. */
  paidAt: number | null;
  /** Year (UTC) and number of its receipt, given when it was paid; a refund keeps them. Null before. */
  receiptYear: number | null;
  receiptNumber: number | null;
}

export interface NewOrder {
  accountId: string;
  /** The plan that is granted when it is paid, or the top-up. */
  terms: PlanTerms | TopUpTerms;
  /** From the catalogue; a whole number above 0. */
  amount: number;
  currency: string;
  /** Actor for the audit log: `user:user_…`. */
  actor: string;
  /** Milliseconds until it expires. */
  lifetimeMs: number;
  /**
   * Idempotency key of the account; kept as long as the order. `fingerprint` contains everything that distinguishes
   * requests.
   */
  idempotency?: { key: string; fingerprint: string };
}

export interface CreatedOrder {
  order: OrderRecord;
  /** Whether it was created before, with the same Idempotency-Key. */
  replayed: boolean;
}

/** One reported bank transfer. */
export interface BankTransaction {
  /** Provider of the id: `payos`. */
  provider: string;
  /** Unique within the provider; at most 200 characters. */
  id: string;
  /** Minor units; above 0. */
  amount: number;
  currency: string;
  /** The transfer's text: the order's code is found in it regardless of case, blanks and punctuation. */
  text: string;
  /** The bank's booking time. */
  at: number;
}

/** Why a transaction needs a review. */
export type ReviewReason = 'unmatched' | 'wrong_currency' | 'overpaid' | 'duplicate' | 'cancelled';

export interface RecordedTransaction extends BankTransaction {
  recordedAt: number;
  /** Code of its order; null if none was found. */
  orderCode: string | null;
  /** Null if it needs no review, or was reviewed. */
  review: ReviewReason | null;
}

export interface Recording {
  transaction: RecordedTransaction;
  /** The current order; undefined if none was found. */
  order?: OrderRecord;
  /** Whether it had been recorded before, and nothing was changed. */
  replayed: boolean;
}

/** An action of an operator on an order, or of its user (cancelling). */
export interface OrderChange {
  code: string;
  /** Actor for the audit log: `operator:ann`. */
  actor: string;
  note?: string;
  /** Default: any account. Otherwise, orders of other accounts are not found. */
  accountId?: string;
}

export interface OrderPage {
  /** Maximum number of orders. */
  limit: number;
  accountId?: string;
  state?: OrderState;
  /** Orders created before this one, by its code. Default: from the newest on. */
  before?: string;
  /** Orders created before this place: time and code. Default: from the newest on. */
  after?: { at: number; id: string };
}

export interface OrdersTable extends Omit<OrderRecord, 'topUp'> {
  /** JSON of PlanTerms or TopUpTerms. */
  terms: string;
  /** SHA-256 of account and key in lower-case hex. */
  idempotencyHash: string | null;
  /** SHA-256, too. */
  fingerprint: string | null;
}
