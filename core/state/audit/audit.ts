/** What was done, by whom, to what. Rows are only ever added. */
export interface AuditEntry {
  /** An order's code, or the id of a user, an account or a job. */
  subject: string;
  /** Counts from 1 within the subject. */
  number: number;
  /** Milliseconds since 1970. */
  at: number;
  /** `user:user_…`, `operator:ann`, `bank:payos`, or `gateway` where time alone did it. */
  actor: string;
  action: AuditAction;
  /** States before and after, where the subject has states. */
  from: string | null;
  to: string | null;
  /** In the words of whoever did it, at most 500 characters; for money, which transfer. */
  note: string | null;
}

export type AuditAction =
  | 'order.created'
  | 'order.money'
  | 'order.confirmed'
  | 'order.cancelled'
  | 'order.refunded'
  | 'order.expired'
  | 'transaction.reviewed'
  | 'plan.granted'
  | 'plan.taken-back'
  | 'user.suspended'
  | 'user.resumed'
  | 'user.signed-out'
  | 'job.cancelled';

export interface AuditPage {
  /** Default: everything. */
  subject?: string;
  /** At most this many. */
  limit: number;
}

export interface Audit {
  /**
   * Latest first.
   * @throws GatewayError `upstream_unavailable` within 2.5 s where the database does not answer.
   */
  list(page: AuditPage): Promise<readonly AuditEntry[]>;
}
