/*
 * Alerts of budgets: one when 80 % of a limit is used, and one when all of it is. The transaction that counts the usage
 * writes the row, and the primary key makes it the only one of its period and limit. A process that has the address of
 * the operator's webhook takes due rows, delivers them and retries with a delay; the row stays as the mark of what was
 * sent. Each process remembers up to 10,000 marks, so further requests of the period write nothing. Plans of site users
 * cause no alerts.
 */

import {
  createRowInsertScript,
  type Database,
  type DatabaseClock,
  dueRows,
  type Kysely,
  type Script,
  type Selectable,
  type Tables,
} from '../../core/database/index.js';
import { dayOf, isSiteAccount } from '../format/index.js';
import { MICROS } from './amounts.js';
import type { BudgetAlertsTable, BudgetRow } from './tables.js';

const THRESHOLDS = [80, 100] as const;
/** Marks of alerts that are known to be stored, so that further requests of the period write nothing. */
const MAX_MARKS = 10_000;

export interface AlertTable {
  /** Writes the alerts that are due after the changes. */
  write(rows: readonly BudgetRow[], at: number): Script<void>;
}

export function createAlertTable(queries: Kysely<Tables>): AlertTable {
  const written = new Set<string>();
  const insert = createRowInsertScript({
    queries,
    table: 'budget_alerts',
    finish: (rows) =>
      rows.onConflict((conflict) => conflict.doNothing()).returning(['budgetId', 'period', 'percent', 'limit']),
  });
  return {
    *write(rows, at) {
      const alerts = rows.flatMap((row) => alertsOf(row, at)).filter((alert) => !written.has(markOf(alert)));
      if (alerts.length === 0) return;
      const inserted = new Set((yield* insert(alerts)).map(markOf));
      if (written.size >= MAX_MARKS) written.clear();
      // A new row gets its mark at the next request: this transaction may still fail.
      for (const alert of alerts) if (!inserted.has(markOf(alert))) written.add(markOf(alert));
    },
  };
}

function markOf({
  budgetId,
  period,
  percent,
  limit,
}: Pick<BudgetAlertsTable, 'budgetId' | 'period' | 'percent' | 'limit'>): string {
  return [budgetId, period, percent, limit].join('\n');
}

/** Users' plans are the users' business: an operator gets no alerts of them. */
function alertsOf(row: BudgetRow, at: number): BudgetAlertsTable[] {
  if (row.scope === 'plan' && isSiteAccount(row.accountId)) return [];
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
      const amounts = {
        unit,
        currency: unit === 'money' ? row.currency : null,
        limit: shown(limit),
        used: shown(used),
      };
      const owner = { of: row.scope, name: row.scope === 'plan' ? row.planId : row.subject };
      const data = JSON.stringify({ percent, budget: { ...owner, ...amounts, ...when } });
      const key = { budgetId: row.id, period: `${unit} ${when.period}`, percent, limit };
      return { ...key, data, at, dueAt: at, tries: 0 };
    });
  });
}

/** An attempt to deliver an alert; no other process makes one until its lease is over. */
export type AlertTry = Selectable<BudgetAlertsTable>;

/** Every method throws GatewayError `upstream_unavailable` if the database does not answer. */
export interface BudgetAlerts {
  takeDue(options: { max: number; leaseMs: number }): Promise<readonly AlertTry[]>;
  /** There is no further attempt. No effect if another one has begun. */
  settle(alert: AlertTry): Promise<void>;
  postpone(alert: AlertTry, waitMs: number): Promise<void>;
}

export function createBudgetAlerts(database: Database, times: DatabaseClock): BudgetAlerts {
  const due = dueRows(database.engine, {
    table: 'budget_alerts',
    key: ['budgetId', 'period', 'percent', 'limit'],
    dueAt: 'dueAt',
  });

  const set = (queries: Kysely<Tables>, alert: AlertTry, dueAt: number | null) =>
    queries
      .updateTable('budget_alerts')
      .set({ dueAt })
      .where('budgetId', '=', alert.budgetId)
      .where('period', '=', alert.period)
      .where('percent', '=', alert.percent)
      .where('limit', '=', alert.limit)
      .where('tries', '=', alert.tries)
      .execute();

  return {
    takeDue: ({ max, leaseMs }) =>
      database.run(async (queries) => {
        const now = await times.read(queries);
        if (!(await due.isAny(queries, now))) return [];
        const alerts = await queries
          .updateTable('budget_alerts')
          .set(({ eb }) => ({ dueAt: now + leaseMs, tries: eb('tries', '+', 1) }))
          .where(due.first({ now, max }))
          .returningAll()
          .execute();
        return nameKeys(queries, alerts);
      }),
    async settle(alert) {
      await database.run((queries) => set(queries, alert, null));
    },
    async postpone(alert, waitMs) {
      await database.run(async (queries) => set(queries, alert, (await times.read(queries)) + waitMs));
    },
  };
}

/** An operator knows a key by its name, and the alert was written with its id. */
async function nameKeys(queries: Kysely<Tables>, alerts: readonly AlertTry[]): Promise<readonly AlertTry[]> {
  const ids = alerts.map(({ budgetId }) => budgetId);
  if (ids.length === 0) return alerts;
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
