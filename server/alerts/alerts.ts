/*
 * The state of alerts in SQL. Each background process notes the conditions that it finds once a minute; noting one that
 * is open moves `seenAt`, and noting one that is closed or new opens it. The unique pair of kind and subject makes that
 * happen once, however many processes note the same. An alert that no process has noted for ten minutes closes, so one
 * that comes and goes within that time stays one alert. A message is written in the transaction that opens or closes the
 * alert, and again after each day for which it stays open without being acknowledged. Closed alerts are kept for 90 days.
 */

import { randomBytes } from 'node:crypto';
import {
  type Database,
  type DatabaseClock,
  DueMessages,
  isStorable,
  type Kysely,
  type Selectable,
  sql,
  type Tables,
  type Transaction,
} from '../../core/database/index.js';
import { writeAudit } from '../audit/index.js';
import type {
  Alert,
  AlertChannel,
  AlertDetail,
  AlertEvent,
  AlertKind,
  AlertMessagesTable,
  AlertState,
  AlertsTable,
} from './tables.js';

/** Without a condition for so long, an alert closes. */
const QUIET_MS = 10 * 60_000;
const DAY_MS = 24 * 3_600_000;
const RETENTION_MS = 90 * DAY_MS;
/** Alerts that change in one turn; the rest follows in the next one. */
const MAX_CHANGES = 200;
const TURN = 1;

/** A condition that is met now. */
export interface Condition {
  kind: AlertKind;
  subject: string;
  detail: AlertDetail;
}

export interface AlertFilter {
  /** `active`: open and acknowledged. Default: all. */
  state?: AlertState | 'active';
  kind?: AlertKind;
}

export interface AlertPage extends AlertFilter {
  limit: number;
  /** Alerts that opened before this place. Default: from the latest on. */
  after?: { at: number; id: string };
}

/** An attempt to deliver a message; no other process makes one until its lease is over. */
export interface AlertMessage extends Omit<Selectable<AlertMessagesTable>, 'alert'> {
  alert: Alert;
}

export interface AlertOptions {
  /** Where messages go. Default: nowhere. */
  channels?: readonly AlertChannel[];
  /** Default ten minutes. Tests set it. */
  quietMs?: number;
}

/** Every method throws GatewayError `upstream_unavailable` if the database does not answer. */
export class Alerts {
  readonly #database: Database;
  readonly #times: DatabaseClock;
  readonly #due: DueMessages<Selectable<AlertMessagesTable>>;

  constructor(database: Database, times: DatabaseClock) {
    this.#database = database;
    this.#times = times;
    this.#due = new DueMessages(database, times, { table: 'alert_messages', key: ['id'], dueAt: 'dueAt' });
  }

  /** Notes what is met now. @returns The alerts that it opened. */
  note(conditions: readonly Condition[], { channels = [] }: AlertOptions = {}): Promise<readonly Alert[]> {
    if (conditions.length === 0) return Promise.resolve([]);
    return this.#database.transaction(async (transaction) => {
      const now = await this.#times.read(transaction);
      const opened: Alert[] = [];
      // In one order, so that two processes that note the same do not wait for each other.
      for (const condition of conditions.toSorted(inOrder)) {
        const alert = await noteOne(transaction, condition, now);
        if (alert) opened.push(alert);
      }
      await writeMessages(transaction, { alerts: opened, event: 'opened', channels, now });
      return opened;
    });
  }

  /** Closes alerts without a condition, repeats old ones, and forgets those that closed long ago. */
  settle({ channels = [], quietMs = QUIET_MS }: AlertOptions = {}): Promise<Record<AlertEvent, readonly Alert[]>> {
    return this.#database.transaction(async (transaction) => {
      const now = await this.#times.read(transaction);
      // The condition stands twice: a process that waited for the same rows must see that another one has changed them.
      const some = (condition: ReturnType<typeof sql<boolean>>) =>
        sql<boolean>`id in (select id from alerts where ${condition} limit ${sql.lit(MAX_CHANGES)}) and ${condition}`;
      const closed = await transaction
        .updateTable('alerts')
        .set({ state: 'closed', endedAt: now, notifiedAt: now })
        .where(some(sql<boolean>`state <> 'closed' and "seenAt" < ${now - quietMs}`))
        .returningAll()
        .execute();
      const repeated = await transaction
        .updateTable('alerts')
        .set({ notifiedAt: now })
        .where(some(sql<boolean>`state <> 'closed' and state = 'open' and "notifiedAt" <= ${now - DAY_MS}`))
        .returningAll()
        .execute();
      const found = { opened: [], closed: closed.map(toAlert), repeated: repeated.map(toAlert) };
      for (const event of ['closed', 'repeated'] as const) {
        await writeMessages(transaction, { alerts: found[event], event, channels, now });
      }
      const old = sql<boolean>`state = 'closed' and "openedAt" < ${now - RETENTION_MS}`;
      await transaction.deleteFrom('alerts').where(some(old)).execute();
      return found;
    });
  }

  /** Takes the turn to judge shared conditions, of which one process has each. */
  takeTurn(intervalMs: number): Promise<boolean> {
    return this.#database.run(async (queries) => {
      const now = await this.#times.read(queries);
      const next = { id: TURN, dueAt: now + intervalMs };
      const row = await queries.selectFrom('alert_turns').select('dueAt').where('id', '=', TURN).executeTakeFirst();
      if (!row) {
        const insert = queries.insertInto('alert_turns').values(next);
        return (
          (
            await insert
              .onConflict((conflict) => conflict.doNothing())
              .returning('id')
              .execute()
          ).length > 0
        );
      }
      if (row.dueAt > now) return false;
      const take = queries.updateTable('alert_turns').set(next).where('id', '=', TURN).where('dueAt', '=', row.dueAt);
      return (await take.returning('id').execute()).length > 0;
    });
  }

  /** The latest first. */
  async list({ state, kind, limit, after }: AlertPage): Promise<readonly Alert[]> {
    const rows = await this.#database.run((queries) =>
      queries
        .selectFrom('alerts')
        .selectAll()
        .$if(state === 'active', (some) => some.where(sql<boolean>`state <> 'closed'`))
        .$if(state !== undefined && state !== 'active', (some) => some.where('state', '=', state as AlertState))
        .$if(kind !== undefined, (some) => some.where('kind', '=', kind as AlertKind))
        .$if(after !== undefined, (some) => some.where(sql<boolean>`("openedAt", id) < (${after?.at}, ${after?.id})`))
        .orderBy('openedAt', 'desc')
        .orderBy('id', 'desc')
        .limit(limit)
        .execute(),
    );
    return rows.map(toAlert);
  }

  /** Numbers of alerts that are not closed, by kind. */
  async counts(): Promise<readonly { kind: AlertKind; open: number; acknowledged: number }[]> {
    const rows = await this.#database.run((queries) =>
      queries
        .selectFrom('alerts')
        .select((one) => [
          'kind',
          one.fn.countAll<number>().as('all'),
          sql<number>`sum(case when state = 'open' then 1 else 0 end)`.as('open'),
        ])
        .where(sql<boolean>`state <> 'closed'`)
        .groupBy('kind')
        .orderBy('kind')
        .execute(),
    );
    return rows.map(({ kind, all, open }) => {
      return { kind, open: Number(open), acknowledged: Number(all) - Number(open) };
    });
  }

  /**
   * Acknowledges an open alert: it is not repeated until it has closed and opened again. Writes the audit row
   * `alert.acknowledged` (subject: its id). One that is not open stays as it is.
   * @returns Undefined if there is none with this id.
   */
  acknowledge(id: string, { actor, note }: { actor: string; note?: string }): Promise<Alert | undefined> {
    if (!isStorable(id)) return Promise.resolve(undefined);
    return this.#database.transaction(async (transaction) => {
      const at = await this.#times.read(transaction);
      const changed = await transaction
        .updateTable('alerts')
        .set({ state: 'acknowledged', acknowledgedAt: at, acknowledgedBy: actor })
        .where('id', '=', id)
        .where('state', '=', 'open')
        .returningAll()
        .executeTakeFirst();
      if (changed) {
        const line = { subject: id, at, actor, action: 'alert.acknowledged' as const, to: changed.kind };
        await writeAudit(transaction, { ...line, ...(note !== undefined && { note }) });
        return toAlert(changed);
      }
      const found = await transaction.selectFrom('alerts').selectAll().where('id', '=', id).executeTakeFirst();
      return found && toAlert(found);
    });
  }

  /** Takes due messages, each for a lease. */
  async takeDue(lease: { max: number; leaseMs: number }): Promise<readonly AlertMessage[]> {
    return (await this.#due.take(lease)).map((row) => ({ ...row, alert: JSON.parse(row.alert) as Alert }));
  }

  /** Messages that are not delivered yet. */
  async waiting(): Promise<number> {
    const { count } = await this.#database.run((queries) =>
      queries
        .selectFrom('alert_messages')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow(),
    );
    return Number(count);
  }

  /** There is no further attempt. No effect if another one has begun. */
  async finish({ id, tries }: AlertMessage): Promise<void> {
    const done = (queries: Kysely<Tables>) => queries.deleteFrom('alert_messages').where('id', '=', id);
    await this.#database.run((queries) => done(queries).where('tries', '=', tries).execute());
  }

  postpone(message: AlertMessage, waitMs: number): Promise<void> {
    return this.#due.postpone(message, waitMs);
  }
}

function inOrder(left: Condition, right: Condition): number {
  const [one, other] = [left, right].map(({ kind, subject }) => `${kind}\n${subject}`) as [string, string];
  return one < other ? -1 : one > other ? 1 : 0;
}

/** @returns The alert if this opened it. */
async function noteOne(
  transaction: Transaction<Tables>,
  { kind, subject, detail: found }: Condition,
  now: number,
): Promise<Alert | undefined> {
  const detail = JSON.stringify(found);
  const continued = await transaction
    .updateTable('alerts')
    .set({ seenAt: now, detail })
    .where('kind', '=', kind)
    .where('subject', '=', subject)
    .where('state', '<>', 'closed')
    .executeTakeFirstOrThrow();
  if (continued.numUpdatedRows > 0n) return undefined;
  const again = { openedAt: now, seenAt: now, endedAt: null, detail, notifiedAt: now };
  const fresh = { acknowledgedAt: null, acknowledgedBy: null, state: 'open' as const };
  const id = `alr_${randomBytes(4).toString('hex')}`;
  const row = await transaction
    .insertInto('alerts')
    .values({ id, kind, subject, times: 1, ...again, ...fresh })
    .onConflict((conflict) =>
      conflict
        .columns(['kind', 'subject'])
        .doUpdateSet({ ...again, ...fresh, times: sql<number>`alerts.times + 1` })
        .where('alerts.state', '=', 'closed'),
    )
    .returningAll()
    .executeTakeFirst();
  return row && toAlert(row);
}

async function writeMessages(
  transaction: Transaction<Tables>,
  {
    alerts,
    event,
    channels,
    now,
  }: { alerts: readonly Alert[]; event: AlertEvent; channels: readonly AlertChannel[]; now: number },
): Promise<void> {
  const rows = alerts.flatMap((alert) =>
    channels.map((channel) => ({
      // The same for each attempt: receivers know repetitions by it.
      id: `evt_${alert.id}_${randomBytes(8).toString('hex')}`,
      channel,
      event,
      alert: JSON.stringify(alert),
      at: now,
      dueAt: now,
      tries: 0,
    })),
  );
  if (rows.length > 0) await transaction.insertInto('alert_messages').values(rows).execute();
}

function toAlert({ notifiedAt: _, detail, ...row }: Selectable<AlertsTable>): Alert {
  return { ...row, detail: JSON.parse(detail) as AlertDetail };
}
