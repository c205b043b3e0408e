/*
 * The rows of budget alerts: one when 80 % of a limit is used, and one when all of it is. Reserved amounts do not
 * count. The transaction that counts the usage writes the row, and the primary key makes it the only one of its budget,
 * period, percentage and limit; so a changed limit is alerted again. A delivering process takes due rows here, each for
 * a lease, and settles or postpones them; a settled row stays as the mark of what was sent. Each process remembers up
 * to 10,000 marks, so further requests of the period write nothing. Plans of site users cause no alerts. A prepaid
 * balance has one alert after each top-up, when less is left than its threshold; its row says whether that is due.
 */

import {
  createRowInsertScript,
  type Database,
  type DatabaseClock,
  DueMessages,
  type Kysely,
  type Script,
  type Selectable,
  type Tables,
} from '../../core/database/index.js';
import { dayOf } from '../format/index.js';
import { isSiteAccount } from '../keys/index.js';
import { MICROS } from './amounts.js';
import type { BudgetAlertsTable, BudgetRow } from './tables.js';

const THRESHOLDS = [80, 100] as const;
/** The period of alerts of balances begins with it. */
const LOW_PERIOD = 'balance';
/** Marks of alerts that are known to be stored, so that further requests of the period write nothing. */
const MAX_MARKS = 10_000;

export class AlertTable {
  readonly #written = new Set<string>();
  readonly #insert: (alerts: readonly BudgetAlertsTable[]) => Script<readonly AlertMark[]>;

  constructor(queries: Kysely<Tables>) {
    this.#insert = createRowInsertScript({
      queries,
      table: 'budget_alerts',
      finish: (rows) =>
        rows.onConflict((conflict) => conflict.doNothing()).returning(['budgetId', 'period', 'percent', 'limit']),
    });
  }

  /** Writes the alerts that are due after the changes. */
  *write(rows: readonly BudgetRow[], at: number): Script<void> {
    const written = this.#written;
    const alerts = rows.flatMap((row) => alertsOf(row, at)).filter((alert) => !written.has(markOf(alert)));
    if (alerts.length === 0) return;
    const inserted = new Set((yield* this.#insert(alerts)).map(markOf));
    if (written.size >= MAX_MARKS) written.clear();
    // A new row gets its mark at the next request: this transaction may still fail.
    for (const alert of alerts) if (!inserted.has(markOf(alert))) written.add(markOf(alert));
  }

  /** Writes the alerts of balances that are low: the number of the last movement distinguishes them. */
  *writeLow(rows: readonly BudgetRow[], at: number): Script<void> {
    if (rows.length === 0) return;
    yield* this.#insert(rows.map((row) => lowAlert(row, at)));
  }
}

function lowAlert({ id, accountId, costLimit, lowBelow, currency, requestsUsed }: BudgetRow, at: number) {
  const [limit, left] = [lowBelow ?? 0, costLimit ?? 0];
  const balance = { account: accountId, left: left / MICROS, below: limit / MICROS, currency };
  const data = JSON.stringify({ balance });
  const period = `${LOW_PERIOD} ${requestsUsed}`;
  return { budgetId: id, period, percent: 0, limit, data, at, dueAt: at, tries: 0 };
}

/** Whether it says that a prepaid balance is low, and not that a budget is used. */
export function isLowBalance({ period }: Pick<AlertTry, 'period'>): boolean {
  return period.startsWith(`${LOW_PERIOD} `);
}

type AlertMark = Pick<BudgetAlertsTable, 'budgetId' | 'period' | 'percent' | 'limit'>;

function markOf({ budgetId, period, percent, limit }: AlertMark): string {
  return [budgetId, period, percent, limit].join('\n');
}

/** Users' plans are the users' business: an operator gets no alerts of them. */
function alertsOf(row: BudgetRow, at: number): BudgetAlertsTable[] {
  if (row.scope === 'balance' || (row.scope === 'plan' && isSiteAccount(row.accountId))) return [];
  return thresholdsOf(row, at).map(({ percent, stored: limit, ...amounts }) => {
    const owner = { of: row.scope, name: row.scope === 'plan' ? row.planId : row.subject };
    const data = JSON.stringify({ percent, budget: { ...owner, ...amounts } });
    const key = { budgetId: row.id, period: `${amounts.unit} ${amounts.period}`, percent, limit };
    return { ...key, data, at, dueAt: at, tries: 0 };
  });
}

/** A limit of a budget of which so much is used. */
export interface UsedThreshold {
  percent: (typeof THRESHOLDS)[number];
  /** The limit as it is stored: money in micro units. */
  stored: number;
  unit: 'requests' | 'tokens' | 'money';
  currency: string | null;
  /** Money in the currency, as the next. */
  limit: number;
  used: number;
  resets: BudgetRow['resets'];
  period: string;
}

/** The thresholds that the usage has reached. The row is that of its current period. */
export function thresholdsOf(row: BudgetRow, at: number): UsedThreshold[] {
  const { resets, period } = row;
  const limits = [
    { unit: 'requests', limit: row.requestLimit, used: row.requestsUsed, resets, period },
    { unit: 'tokens', limit: row.tokenLimit, used: row.tokensUsed, resets, period },
    { unit: 'tokens', limit: row.dailyTokenLimit, used: row.tokensUsedToday, resets: 'day', period: dayOf(at) },
    { unit: 'money', limit: row.costLimit, used: row.costUsed, resets, period },
  ] as const;
  return limits.flatMap(({ limit, used, unit, ...when }) => {
    if (limit === null || limit <= 0) return [];
    return THRESHOLDS.filter((percent) => used * 100 >= limit * percent).map((percent) => {
      const shown = (value: number) => (unit === 'money' ? value / MICROS : value);
      const currency = unit === 'money' ? row.currency : null;
      return { percent, stored: limit, unit, currency, limit: shown(limit), used: shown(used), ...when };
    });
  });
}

/** An attempt to deliver an alert; no other process makes one until its lease is over. */
export type AlertTry = Selectable<BudgetAlertsTable>;

/** Every method throws GatewayError `upstream_unavailable` if the database does not answer. */
export class BudgetAlerts {
  readonly #database: Database;
  readonly #due: DueMessages<AlertTry>;

  constructor(database: Database, times: DatabaseClock) {
    this.#database = database;
    this.#due = new DueMessages(database, times, {
      table: 'budget_alerts',
      key: ['budgetId', 'period', 'percent', 'limit'],
      dueAt: 'dueAt',
    });
  }

  async takeDue(lease: { max: number; leaseMs: number }): Promise<readonly AlertTry[]> {
    const alerts = await this.#due.take(lease);
    return alerts.length === 0 ? alerts : this.#database.run((queries) => nameKeys(queries, alerts));
  }

  /** There is no further attempt. No effect if another one has begun. */
  settle(alert: AlertTry): Promise<void> {
    return this.#due.postpone(alert, null);
  }

  postpone(alert: AlertTry, waitMs: number): Promise<void> {
    return this.#due.postpone(alert, waitMs);
  }
}

/** An operator knows a key by its name, and the alert was written with its id. */
async function nameKeys(queries: Kysely<Tables>, alerts: readonly AlertTry[]): Promise<readonly AlertTry[]> {
  const ids = alerts.map(({ budgetId }) => budgetId);
  const budgets = queries.selectFrom('budgets').select(['id', 'scope', 'subject']).where('id', 'in', ids);
  const subjects = new Map((await budgets.execute()).map(({ id, scope, subject }) => [id, { scope, subject }]));
  const keys = queries.selectFrom('api_keys').select(['id', 'name', 'budgetId']);
  const found = await keys
    .where((eb) =>
      eb.or([
        eb(
          'id',
          'in',
          [...subjects.values()].map(({ subject }) => subject),
        ),
        eb('budgetId', 'in', ids),
      ]),
    )
    .execute();
  return alerts.map((alert) => {
    const { scope, subject } = subjects.get(alert.budgetId) ?? {};
    if (scope !== 'key' && scope !== 'plan') return alert;
    const key = found.find(({ id, budgetId }) => (scope === 'key' ? id === subject : budgetId === alert.budgetId));
    if (!key) return alert;
    const data = JSON.parse(alert.data);
    return { ...alert, data: JSON.stringify({ ...data, budget: { ...data.budget, key: key.id, key_name: key.name } }) };
  });
}
