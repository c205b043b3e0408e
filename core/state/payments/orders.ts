import type { PlanPreview, PlanTerms } from '../accounts/index.js';

/**
 * `pending` → `paid` by exactly the amount, in one transfer or several; `underpaid` as long as less has come; `needs_review`
 * where more has come, or money in another currency, or for a cancelled order; `expired` by time where nothing has come, which
 * money still turns into the others; `cancelled` where nothing has come. An operator turns any of them but `cancelled` and
 * `refunded` into `paid`, and `paid`, `underpaid` and `needs_review` into `refunded`. Nothing leaves `refunded`.
 */
export type OrderState = 'pending' | 'underpaid' | 'paid' | 'expired' | 'cancelled' | 'refunded' | 'needs_review';

/** A payment order. Times are milliseconds since 1970; money is in minor units of its currency. */
export interface OrderRecord {
  /** `MG` and 8 characters of Crockford's base 32. */
  code: string;
  accountId: string;
  planId: string;
  amount: number;
  /** ISO 4217. */
  currency: string;
  state: OrderState;
  /** What has come in the currency of the order, whatever became of it. */
  paidAmount: number;
  createdAt: number;
  /** Of a pending order. */
  expiresAt: number;
  /** When the plan was granted. */
  paidAt: number | null;
}

export interface NewOrder {
  accountId: string;
  /** What is granted when it is paid. */
  terms: PlanTerms;
  /** From the catalogue; a whole number above 0. */
  amount: number;
  currency: string;
  /** Who makes it, for the audit: `user:user_…`. */
  actor: string;
  /** Milliseconds until it expires. */
  lifetimeMs: number;
  /** Of the account; remembered as long as the order is. `fingerprint` is whatever tells one request from another. */
  idempotency?: { key: string; fingerprint: string };
}

export interface CreatedOrder {
  order: OrderRecord;
  /** Whether it was made before, under the same Idempotency-Key. */
  replayed: boolean;
}

/** One transfer that a bank told of. */
export interface BankTransaction {
  /** Whose ids these are: `payos`. */
  provider: string;
  /** Unique within the provider; at most 200 characters. */
  id: string;
  /** Minor units; above 0. */
  amount: number;
  currency: string;
  /** What was written on it: the order's code is found in there, whatever a bank made of case, blanks and punctuation. */
  text: string;
  /** When the bank booked it. */
  at: number;
}

/** Why somebody has to look at a transaction. */
export type ReviewReason = 'unmatched' | 'wrong_currency' | 'overpaid' | 'duplicate' | 'cancelled';

export interface RecordedTransaction extends BankTransaction {
  recordedAt: number;
  /** Of the order it was for; null where none was found. */
  orderCode: string | null;
  /** Null where nobody has to look at it, or somebody did. */
  review: ReviewReason | null;
}

export interface Recording {
  transaction: RecordedTransaction;
  /** As it stands now; undefined where none was found. */
  order?: OrderRecord;
  /** Whether it had been recorded before, and nothing was changed. */
  replayed: boolean;
}

/** Something that an operator does to an order, or its user (cancelling). */
export interface OrderChange {
  code: string;
  /** For the audit: `operator:ann`. */
  actor: string;
  note?: string;
  /** Default: of any account. With it, orders of others are not there. */
  accountId?: string;
}

export interface OrderPage {
  /** At most this many. */
  limit: number;
  accountId?: string;
  state?: OrderState;
  /** Those made before this one, by its code. Default: from the newest on. */
  before?: string;
}

/** Every call throws GatewayError `upstream_unavailable` within 2.5 s where the database does not answer. */
export interface Orders {
  /**
   * @throws GatewayError `too_many_open_orders` where 5 of the account are pending or underpaid, `idempotency_key_reused`,
   * `account_not_found`, `account_suspended`, `invalid_value`.
   */
  create(order: NewOrder): Promise<CreatedOrder>;
  /** By its code, exactly. */
  find(code: string): Promise<OrderRecord | undefined>;
  /** What the order would make of its account's plan, if it were paid now. Undefined where there is no such order. */
  preview(code: string): Promise<PlanPreview | undefined>;
  /** Newest first. */
  list(page: OrderPage): Promise<readonly OrderRecord[]>;
  /**
   * Counts a transfer, once however often it is told: the order's state, its plan and the audit row change in the same
   * transaction. Resolves when that is durable.
   * @throws GatewayError `invalid_value` for what cannot be kept.
   */
  record(transaction: BankTransaction): Promise<Recording>;
  /**
   * Paid by the word of an operator. An order that is paid is left as it is.
   * @throws GatewayError `order_not_found`, `order_state_conflict`.
   */
  confirm(change: OrderChange): Promise<OrderRecord>;
  /** An order that is cancelled is left as it is. Throws as `confirm` does. */
  cancel(change: OrderChange): Promise<OrderRecord>;
  /**
   * Notes that the money went back, and takes back what the order granted: its tokens and requests, its time. The account
   * has the plan that its other grants give, or none. An order that is refunded is left as it is. Throws as `confirm` does.
   */
  refund(change: OrderChange): Promise<OrderRecord>;
  /** Of one order, oldest first; those that wait for a look, latest first. At most `limit`. */
  transactions(of: { code: string } | { review: true }, limit: number): Promise<readonly RecordedTransaction[]>;
  /** Whether somebody has to look at it no longer. False where nobody had to. Audit row where it has an order. */
  settleReview(
    transaction: Pick<BankTransaction, 'provider' | 'id'>,
    change: Omit<OrderChange, 'code'>,
  ): Promise<boolean>;
  /** Expires what is due, and forgets what brought no money and was over 90 days ago; 200 of each at most. */
  sweep(): Promise<{ expired: number; forgotten: number }>;
}
