import type { Clock } from '../../core/contracts/index.js';
import {
  createListScript,
  DATABASE_NOW,
  type Database,
  type DatabaseClock,
  type Engine,
  filled,
  type Kysely,
  rowsOf,
  type Script,
  type Selectable,
  sql,
  type Tables,
} from '../../core/database/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import { dayOf } from '../limits/index.js';
import type { BudgetsTable } from './tables.js';

declare module '../http/server-context.js' {
  interface AppDependencies {
    budgets: Budgets;
  }
}

/** What a key may still use of a plan, over all keys that share it (a rotated key goes on with the budget of the old one). */
export interface Budget {
  id: string;
  accountId: string;
  planId: string;
  /** Tokens in and out together; null is unlimited. */
  tokenLimit: number | null;
  /** Tokens of one day by UTC; null is unlimited. */
  dailyTokenLimit: number | null;
  /** Accepted model requests; null is unlimited. */
  requestLimit: number | null;
  /** When what was used is forgotten. Default `never`. */
  resets: 'never' | 'month' | 'day';
  /** Milliseconds since 1970; null is never. */
  expiresAt: number | null;
  createdAt: number;
}

/** As a budget stands. Used and reserved are of the running period. */
export interface BudgetState extends Budget {
  tokensUsed: number;
  /** Held for requests that are under way. */
  tokensReserved: number;
  requestsUsed: number;
  tokensUsedToday: number;
}

/** Every call throws GatewayError `upstream_unavailable` within 2.5 s where the database does not answer. */
export interface Budgets {
  create(budget: Budget): Promise<void>;
  find(id: string): Promise<BudgetState | undefined>;
}

/** Budgets in SQL. What requests take of them is written by admissions. */
export function createBudgets(database: Database, clock: DatabaseClock): Budgets {
  return {
    async create(budget) {
      await database.run((queries) => queries.insertInto('budgets').values(toBudgetRow(budget)).execute());
    },

    async find(id) {
      return database.run(async (queries) => {
        const row = await queries.selectFrom('budgets').selectAll().where('id', '=', id).executeTakeFirst();
        return row && toBudgetState(atTime(row, await clock.read(queries)));
      });
    },
  };
}

/*
 * How a budget is counted. Its row holds what was used of one period and of one day, each by its name; the first look in a
 * later one forgets what came before. Reserved tokens belong to no period: they are held until they are settled, and
 * what was used then counts in the period of that moment. A clock that is set back opens no earlier period again.
 */

export type BudgetRow = Selectable<BudgetsTable>;

/** Empty where it never ends, else a month or a day by UTC. */
function periodOf(resets: Budget['resets'], at: number): string {
  if (resets === 'never') return '';
  return resets === 'day' ? dayOf(at) : dayOf(at).slice(0, 7);
}

/** The row as it stands at that time. */
export function atTime(row: BudgetRow, at: number): BudgetRow {
  const [period, day] = [periodOf(row.resets, at), dayOf(at)];
  const sameDay = day <= row.day;
  if (sameDay && period <= row.period) return row;
  return {
    ...row,
    ...(period > row.period && { period, tokensUsed: 0, requestsUsed: 0 }),
    ...(!sameDay && { day, tokensUsedToday: 0 }),
  };
}

/** Why a request that may use so many tokens is refused; undefined where there is room for it. */
export function refusalOf(row: BudgetRow, tokens: number, at: number): GatewayError | undefined {
  if (row.expiresAt !== null && row.expiresAt <= at) return usedUp('The plan of this API key has ended.');
  const { requestLimit: requests, tokenLimit: total, dailyTokenLimit: daily } = row;
  if (requests !== null && row.requestsUsed >= requests) {
    return usedUp(`The plan of this API key allows ${requests} requests${PER[row.resets]}, and all are used.`);
  }
  if (total !== null) {
    const left = total - row.tokensUsed - row.tokensReserved;
    if (tokens > left) return tooFew(`${total} tokens${PER[row.resets]}`, left, tokens);
  }
  if (daily !== null) {
    const left = daily - row.tokensUsedToday - row.tokensReserved;
    if (tokens > left) return tooFew(`${daily} tokens a day (UTC)`, left, tokens);
  }
  return undefined;
}

/** Counts an accepted request and holds its tokens. */
export function reserve(row: BudgetRow, tokens: number): BudgetRow {
  return { ...row, requestsUsed: row.requestsUsed + 1, tokensReserved: row.tokensReserved + tokens };
}

export interface Release {
  /** What was held, and the period whose requests it was counted among. */
  reserved: { tokens: number; period: string };
  tokensUsed: number;
  /** Whether the request is not counted either. */
  givesBack: boolean;
}

/** Ends a reservation: what was used takes the place of what was held. */
export function release(row: BudgetRow, { reserved, tokensUsed, givesBack }: Release): BudgetRow {
  const counted = givesBack && reserved.period === row.period;
  return {
    ...row,
    tokensReserved: row.tokensReserved - reserved.tokens,
    tokensUsed: row.tokensUsed + tokensUsed,
    tokensUsedToday: row.tokensUsedToday + tokensUsed,
    requestsUsed: row.requestsUsed - (counted ? 1 : 0),
  };
}

export interface Correction {
  /** Tokens used beyond those that were counted; less than 0 where it was fewer. */
  more: number;
  /** Milliseconds since 1970, when they were counted. */
  countedAt: number;
}

/** Counts what was really used in the place of an estimate. What is over is given back to the period and day that it was counted in alone. */
export function correct(row: BudgetRow, { more, countedAt }: Correction): BudgetRow {
  const ofPeriod = more > 0 || periodOf(row.resets, countedAt) >= row.period;
  const ofDay = more > 0 || dayOf(countedAt) >= row.day;
  return {
    ...row,
    tokensUsed: Math.max(0, row.tokensUsed + (ofPeriod ? more : 0)),
    tokensUsedToday: Math.max(0, row.tokensUsedToday + (ofDay ? more : 0)),
  };
}

export function toBudgetRow(budget: Budget): BudgetRow {
  return {
    ...budget,
    period: periodOf(budget.resets, budget.createdAt),
    tokensUsed: 0,
    tokensReserved: 0,
    requestsUsed: 0,
    day: dayOf(budget.createdAt),
    tokensUsedToday: 0,
  };
}

export function toBudgetState({ period: _period, day: _day, ...state }: BudgetRow): BudgetState {
  return state;
}

const PER: Readonly<Record<Budget['resets'], string>> = { never: '', month: ' a month', day: ' a day (UTC)' };

function tooFew(allowed: string, left: number, wanted: number): GatewayError {
  const rest = `${Math.max(0, left)} are free and this request may use ${wanted}`;
  return usedUp(`The plan of this API key allows ${allowed}, of which ${rest}.`);
}

function usedUp(message: string): GatewayError {
  return new GatewayError('insufficient_quota', message);
}

/** Budgets that are locked until the transaction ends, as they stand now. */
export interface LockedBudgets {
  /** The time they were read at, in milliseconds since 1970. */
  readonly at: number;
  find(id: string): BudgetRow | undefined;
  /** Each look sees what was changed before. */
  change(row: BudgetRow): void;
  /** Writes down what was changed; it counts when the transaction commits. */
  save(): Script<void>;
}

export interface BudgetTable {
  lock(ids: readonly string[]): Script<LockedBudgets>;
}

export interface BudgetTableOptions {
  engine: Engine;
  /** Only compiles queries. */
  queries: Kysely<Tables>;
  /** What periods and days go by. Default: the database's own clock. */
  clock?: Clock;
}

export function createBudgetTable({ engine, queries, clock }: BudgetTableOptions): BudgetTable {
  const postgres = engine === 'postgres';
  const databaseNow = postgres ? DATABASE_NOW : sql<number>`0`;

  const select = createListScript((length) => {
    const ids = Array.from({ length }, () => '');
    const rows = queries.selectFrom('budgets').selectAll().select(databaseNow.as('databaseNow')).where('id', 'in', ids);
    return (postgres ? rows.orderBy('id').forUpdate() : rows).compile();
  });

  const update = queries
    .updateTable('budgets')
    .set({ period: '', tokensUsed: 0, tokensReserved: 0, requestsUsed: 0, day: '', tokensUsedToday: 0 })
    .where('id', '=', '')
    .compile();

  return {
    *lock(ids) {
      // In one order, so that two transactions do not wait for each other in a ring.
      const ordered = [...new Set(ids)].sort();
      const found = yield* select(ordered.map((id) => [id]));
      const at = clock ? Math.floor(clock.now()) : (found[0]?.databaseNow ?? 0);
      const rows = new Map<string, BudgetRow>();
      for (const { databaseNow, ...row } of found) rows.set(row.id, atTime(row, at));
      const changed = new Set<string>();
      return {
        at,
        find: (id) => rows.get(id),
        change(row) {
          rows.set(row.id, row);
          changed.add(row.id);
        },
        *save() {
          for (const id of changed) {
            const row = rows.get(id) as BudgetRow;
            const { period, tokensUsed, tokensReserved, requestsUsed, day, tokensUsedToday } = row;
            const values = [period, tokensUsed, tokensReserved, requestsUsed, day, tokensUsedToday];
            yield* rowsOf(filled(update, [...values, id]));
          }
        },
      };
    },
  };
}
