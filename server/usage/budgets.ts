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
import type { ReservedTokens, TokenDemand } from '../../core/text/index.js';
import { dayOf } from '../format/index.js';
import type { BudgetsTable } from './tables.js';

declare module '../http/server-context.js' {
  interface AppDependencies {
    budgets: Budgets;
  }
}

/** What a key may use of a plan, shared by all keys of the plan (a rotated key keeps the budget of the old one). */
export interface Budget {
  id: string;
  accountId: string;
  planId: string;
  /** Input and output tokens together; null is unlimited. */
  tokenLimit: number | null;
  /** Tokens per UTC day; null is unlimited. */
  dailyTokenLimit: number | null;
  /** Accepted model requests; null is unlimited. */
  requestLimit: number | null;
  /** When the usage is reset. Default `never`. */
  resets: 'never' | 'month' | 'day';
  /** Milliseconds since 1970; null is never. */
  expiresAt: number | null;
  createdAt: number;
}

/** The state of a budget. Used and reserved amounts belong to the current period. */
export interface BudgetState extends Budget {
  tokensUsed: number;
  /** Reserved for running requests. */
  tokensReserved: number;
  requestsUsed: number;
  tokensUsedToday: number;
}

/** Every method throws GatewayError `upstream_unavailable` within 2.5 s if the database does not answer. */
export interface Budgets {
  create(budget: Budget): Promise<void>;
  find(id: string): Promise<BudgetState | undefined>;
}

/** Budgets in SQL. Admissions write the consumption. */
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
 * How a budget is counted. Its row has the usage of one period and one day, each with its name; the first access in a
 * later period or day resets it. Reserved tokens belong to no period: they are held until they are settled, and the
 * used amount counts in the period of that moment. A clock that is set back does not reopen an earlier period.
 */

export type BudgetRow = Selectable<BudgetsTable>;

/** UTC month or day; empty if the period never ends. */
function periodOf(resets: Budget['resets'], at: number): string {
  if (resets === 'never') return '';
  return resets === 'day' ? dayOf(at) : dayOf(at).slice(0, 7);
}

/** The row at that time, after a reset if one is due. */
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

/** What a request needs of a budget. */
export interface TokensWanted {
  /** Tokens that must be free if they were not counted. */
  tokens: number;
  /** Counts its tokens, for a budget that limits them. Default: `tokens`. */
  demand?: () => Promise<TokenDemand>;
}

/** What a budget has for a request. */
export interface BudgetGrant {
  /** Tokens to be reserved. */
  tokens: number;
  /** Whether the budget limits tokens. */
  isLimited: boolean;
  /** What the request may use, if its tokens were counted. */
  reserved?: ReservedTokens;
}

/**
 * Grants a request its input, and the output that it wants or that is left. A request that can be counted and is not is
 * only refused if nothing is left.
 * @returns The refusal if the budget has no room for it.
 */
export function grantOf(
  row: BudgetRow,
  { tokens, demand, canCount = false }: { tokens: number; demand?: TokenDemand; canCount?: boolean },
  at: number,
): BudgetGrant | GatewayError {
  if (row.expiresAt !== null && row.expiresAt <= at) return usedUp('The plan of this API key has ended.');
  const { requestLimit: requests, tokenLimit: total, dailyTokenLimit: daily } = row;
  if (requests !== null && row.requestsUsed >= requests) {
    return usedUp(`The plan of this API key allows ${requests} requests${PER[row.resets]}, and all are used.`);
  }
  const free = [
    ...(total === null ? [] : [{ left: total - row.tokensUsed, allowed: `${total} tokens${PER[row.resets]}` }]),
    ...(daily === null ? [] : [{ left: daily - row.tokensUsedToday, allowed: `${daily} tokens a day (UTC)` }]),
  ].map(({ left, allowed }) => ({ left: left - row.tokensReserved, allowed }));
  const isLimited = free.length > 0;
  const counted = isLimited ? demand : undefined;
  const uncounted = canCount ? 1 : tokens;
  const least = counted ? counted.input + counted.minOutput : uncounted;
  const tooSmall = free.find(({ left }) => least > left);
  if (tooSmall) return tooFew(tooSmall.allowed, tooSmall.left, least);
  if (!counted) return { tokens, isLimited };
  const { input, hiddenInput, choices } = counted;
  const room = Math.min(...free.map(({ left }) => left)) - input;
  const output = Math.floor(Math.min(counted.output, room) / choices) * choices;
  const hidden = Math.min(hiddenInput, room - output);
  return { tokens: input + output + hidden, isLimited, reserved: { input: input + hidden, output } };
}

/** Counts an accepted request and reserves its tokens. */
export function reserve(row: BudgetRow, tokens: number): BudgetRow {
  return { ...row, requestsUsed: row.requestsUsed + 1, tokensReserved: row.tokensReserved + tokens };
}

export interface Release {
  /** The reserved tokens, and the period in which the request was counted. */
  reserved: { tokens: number; period: string };
  tokensUsed: number;
  /** Whether the request is refunded, too. */
  givesBack: boolean;
}

/** Ends a reservation: the used amount replaces the reserved one. */
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
  /** Used tokens beyond the counted ones; negative if it was fewer. */
  more: number;
  /** When they were counted, in milliseconds since 1970. */
  countedAt: number;
}

/**
 * Replaces an estimate by the real usage. A difference is refunded only to the period and day in which it was counted.
 */
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

/** Budgets in their current state, locked until the transaction ends. */
export interface LockedBudgets {
  /** When they were read, in milliseconds since 1970. */
  readonly at: number;
  find(id: string): BudgetRow | undefined;
  /** Each read includes the earlier changes. */
  change(row: BudgetRow): void;
  /** Writes the changes; they count when the transaction commits. */
  save(): Script<void>;
}

export interface BudgetTable {
  lock(ids: readonly string[]): Script<LockedBudgets>;
}

export interface BudgetTableOptions {
  engine: Engine;
  /** Only compiles queries. */
  queries: Kysely<Tables>;
  /** Clock of periods and days. Default: the database's clock. */
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
      // A fixed order, so that two transactions do not deadlock.
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
