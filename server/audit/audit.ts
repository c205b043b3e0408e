/*
 * The audit log: who did what to which subject, written in the transaction of the action, so that neither exists
 * without the other. Rows are only ever added; an erasure clears words about a person in them. Rows of one subject are
 * numbered from 1. The caller holds the lock of the subject, so the numbers have no gaps. Notes are cut at 500
 * characters and actors at 200, without characters that cannot be stored. Money is an exact decimal, apart from words.
 */

import {
  type CompiledQuery,
  type Database,
  isStorable,
  type Kysely,
  type Migrations,
  sql,
  sqlMigration,
  storable,
  type Tables,
  type Transaction,
} from '../../core/database/index.js';

/** The audit log: actions, with actor and subject. Rows are only ever added. */
export interface AuditEntry {
  /** An order's code, `group:NAME`, `jobs:KIND`, or the id of a user, an account, a job or a key. */
  subject: string;
  /** Counts from 1 within the subject. */
  number: number;
  /** Milliseconds since 1970. */
  at: number;
  /** `user:user_…`, `operator:ann`, `operator:key:AbCd1234`, `bank:payos`, or `gateway` for an expiry. */
  actor: string;
  action: AuditAction;
  /** States before and after, if the subject has states. */
  from: string | null;
  to: string | null;
  /** Money that was moved, as a decimal in its currency: `24.00`; below 0 where it was taken away. */
  amount: string | null;
  /** ISO 4217. */
  currency: string | null;
  /** The actor's note, at most 500 characters; for payments, the transfer. */
  note: string | null;
}

/** What is recorded. */
export const AUDIT_ACTIONS = [
  'order.created',
  'order.money',
  'order.confirmed',
  'order.cancelled',
  'order.refunded',
  'order.expired',
  'transaction.reviewed',
  'plan.granted',
  'plan.taken-back',
  'user.suspended',
  'user.resumed',
  'user.role-changed',
  'user.signed-out',
  'user.erased',
  'invitation.created',
  'invitation.withdrawn',
  'invitation.accepted',
  'passkey.added',
  'passkey.removed',
  'passkey.refused',
  'recovery.used',
  'recovery.renewed',
  'job.cancelled',
  'job.retried',
  'jobs.paused',
  'jobs.resumed',
  'link.blocked',
  'link.unblocked',
  'key.created',
  'key.updated',
  'key.rotated',
  'key.revoked',
  'budget.changed',
  'balance.allowed',
  'balance.refused',
  'balance.credited',
  'balance.taken-back',
  'balance.adjusted',
  'balance.resumed',
  'group.shown',
  'group.hidden',
  'group.deleted',
  'alert.acknowledged',
  'incident.added',
  'incident.updated',
  'incident.renamed',
  'incident.closed',
  'model.closed',
  'model.opened',
  'model.weighed',
  'model.priced',
  'model.added',
  'model.removed',
] as const;

export type AuditAction = (typeof AUDIT_ACTIONS)[number];

export interface AuditPage {
  /** Default: everything. */
  subject?: string;
  /** Default: all. */
  actor?: string;
  action?: AuditAction;
  /** Since then, in milliseconds since 1970. */
  from?: number;
  /** Before then. */
  to?: number;
  /** Maximum number of rows. */
  limit: number;
  /** Rows before this place. Default: from the latest on. */
  after?: AuditPlace;
}

/** A place in the order of the rows. */
export type AuditPlace = Pick<AuditEntry, 'at' | 'subject' | 'number'>;

const MAX_NOTE = 500;
const MAX_ACTOR = 200;

export type AuditLine = Pick<AuditEntry, 'subject' | 'at' | 'actor' | 'action'> &
  Partial<Pick<AuditEntry, 'from' | 'to' | 'note' | 'amount' | 'currency'>>;

/** Adds a row. The caller holds the lock of the subject, so that numbers are consecutive. */
export async function writeAudit(transaction: Transaction<Tables>, line: AuditLine): Promise<void> {
  await transaction.executeQuery(compileAudit(transaction, line));
}

/** Writes an audit row within a transaction script. */
export function compileAudit(queries: Kysely<Tables>, line: AuditLine): CompiledQuery {
  const { subject, at, actor, action, from = null, to = null, amount = null, currency = null, note = null } = line;
  return queries
    .insertInto('audit_entries')
    .columns(['subject', 'number', 'at', 'actor', 'action', 'from', 'to', 'amount', 'currency', 'note'])
    .expression((eb) =>
      eb
        .selectFrom('audit_entries')
        .select(({ val, fn }) => [
          sql<string>`${subject}`.as('subject'),
          sql<number>`coalesce(${fn.max('number')}, 0) + 1`.as('number'),
          sql<number>`cast(${at} as bigint)`.as('at'),
          val(storable(actor, MAX_ACTOR)).as('actor'),
          val(action).as('action'),
          val(from).as('from'),
          val(to).as('to'),
          val(amount).as('amount'),
          val(currency).as('currency'),
          val(note === null ? null : storable(note, MAX_NOTE)).as('note'),
        ])
        .where('subject', '=', subject),
    )
    .compile();
}

/** The audit in SQL. */
export class Audit {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Latest first.
   * @throws GatewayError `upstream_unavailable` within 2.5 s if the database does not answer.
   */
  async list({ subject, actor, action, from, to, limit, after }: AuditPage): Promise<readonly AuditEntry[]> {
    if (!isStorable(`${subject}${actor}${after?.subject}`)) return [];
    const rows = await this.#database.run((queries) =>
      queries
        .selectFrom('audit_entries')
        .selectAll()
        .$if(subject !== undefined, (some) => some.where('subject', '=', subject as string))
        .$if(actor !== undefined, (some) => some.where('actor', '=', actor as string))
        .$if(action !== undefined, (some) => some.where('action', '=', action as AuditAction))
        .$if(from !== undefined, (some) => some.where('at', '>=', from as number))
        .$if(to !== undefined, (some) => some.where('at', '<', to as number))
        .$if(after !== undefined, (some) =>
          some.where(sql<boolean>`(at, subject, number) < (${after?.at}, ${after?.subject}, ${after?.number})`),
        )
        // Rows of one subject are ordered by their number, which its index has.
        .$if(subject === undefined, (some) => some.orderBy('at', 'desc').orderBy('subject', 'desc'))
        .orderBy('number', 'desc')
        .limit(limit)
        .execute(),
    );
    return rows.map(withAmount);
  }
}

/** Notes of transfers and states of balances before rows had amounts: `bank B-2042: 24.00 EUR; asked`, `-12.5 EUR`. */
const BOOKED = /^([^;]{1,200}): ([\d,]{1,20}(?:\.\d{1,6})?) ([A-Z]{3})(?=;|$)/;
const MOVED = /^(-?\d{1,15}(?:\.\d{1,6})?) ([A-Z]{3})$/;

/**
 * Reads the amount of an early row out of its words. It can go with the first release that no state from before the
 * migration `0010-audit-amounts` can be brought to.
 */
function withAmount(entry: AuditEntry): AuditEntry {
  if (entry.amount !== null) return entry;
  if (entry.action === 'order.money') {
    const [whole, source, amount, currency] = BOOKED.exec(entry.note ?? '') ?? [];
    if (whole === undefined || amount === undefined || currency === undefined) return entry;
    const note = `${source}${entry.note?.slice(whole.length)}`;
    return { ...entry, amount: amount.replaceAll(',', ''), currency, note };
  }
  if (!entry.action.startsWith('balance.')) return entry;
  const [, amount, currency] = MOVED.exec(entry.to ?? '') ?? [];
  if (amount === undefined || currency === undefined) return entry;
  return { ...entry, to: null, amount: entry.action === 'balance.taken-back' ? `-${amount}` : amount, currency };
}

declare module '../../core/database/tables.js' {
  interface Tables {
    audit_entries: AuditEntry;
  }
}

/** The table of the audit log. */
export const auditMigrations: Migrations = {
  '0001-audit': sqlMigration(
    `create table audit_entries (
      subject text not null, number integer not null, at bigint not null, actor text not null, action text not null,
      "from" text, "to" text, note text, primary key (subject, number))`,
    `create index audit_entries_at on audit_entries (at)`,
  ),
  '0010-audit-amounts': {
    ...sqlMigration(
      'alter table audit_entries add column amount text',
      'alter table audit_entries add column currency text',
    ),
    changes: ['audit_entries'],
  },
};
