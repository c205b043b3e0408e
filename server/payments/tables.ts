import type { OrderState, ReviewReason } from './orders.js';

declare module '../../core/database/tables.js' {
  interface Tables {
    orders: OrdersTable;
    bank_transactions: BankTransactionsTable;
  }
}

export interface OrdersTable {
  code: string;
  account_id: string;
  plan_id: string;
  /** JSON of PlanTerms. */
  terms: string;
  amount: number;
  currency: string;
  state: OrderState;
  paid_amount: number;
  created_at: number;
  expires_at: number;
  paid_at: number | null;
  /** SHA-256 of account and key in lower-case hex. */
  idempotency_hash: string | null;
  /** SHA-256, too. */
  fingerprint: string | null;
}

export interface BankTransactionsTable {
  provider: string;
  id: string;
  amount: number;
  currency: string;
  text: string;
  at: number;
  recorded_at: number;
  order_code: string | null;
  review: ReviewReason | null;
}
