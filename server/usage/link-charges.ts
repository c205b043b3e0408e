/*
 * What links of background batches cost: one request of the key's rate limit each when it starts, its highest cost in
 * the budgets of money until it ends, and then its usage by the method that succeeded. A failed link costs nothing but
 * its request. These scripts run in the transactions that start and end the links, so each counts once.
 */

import { type Clock } from '../../core/contracts/index.js';
import type { Engine, Kysely, Script, Tables } from '../../core/database/index.js';
import { toJson } from '../../core/jobs/index.js';
import { type GatewayError, isGatewayError } from '../../core/runtime/index.js';
import { type AlertTable, BudgetTable } from '../budgets/index.js';
import { type ApiKeyRecord, rateLimitOf } from '../keys/index.js';
import { openWindows, type RateLimitTable } from '../limits/index.js';
import type { Prices } from '../prices/index.js';
import { FREE, type Held, idsOf, jobBudgetsOf, payMoney, settleHeld } from './held-money.js';
import { statusOfCode } from './log-codes.js';
import type { RequestInputs } from './request-inputs.js';
import type { UsageEntriesTable } from './tables.js';
import { Totals, toEntryRow } from './usage-log.js';
import { createUsageTable, type UsageTable } from './usage-table.js';

const FAMILY = 'link_data';
const ROUTE = '/v1/extract/batches';
const OK = 200;

interface LinkChargesOptions {
  engine: Engine;
  /** Only compiles queries. */
  queries: Kysely<Tables>;
  /** Clock of budget periods. Default: the database's clock. */
  clock?: Clock;
  /** The table of the rate limits, so that both count the same requests. */
  rateLimitTable: RateLimitTable;
  /** Default: none, and no cost is known. */
  prices?: Prices;
  /** Default: no alerts of budgets are written. */
  alertTable?: AlertTable;
  /** What requests ask, of accounts that keep it. Default: none is stored. */
  inputs?: Pick<RequestInputs, 'write'>;
}

export interface AdmittedLinks {
  /** For each link that may start, what is held for it: JSON, null without a budget of money. */
  held: readonly (string | null)[];
  /** Milliseconds until the rate limit has room; 0 if it has. */
  retryAfterMs: number;
  /** Why a budget refuses the first link. */
  refusal?: GatewayError;
}

export interface ChargedLink {
  keyId: string;
  accountId: string;
  platform: string;
  /** Its address. */
  url: string;
  /** Its row in the usage log: the batch, and its position there. */
  requestId: string;
  /** How it was extracted. Default: it failed. */
  method?: string;
  /** Why it failed. */
  errorCode?: string;
  held: string | null;
  startedAt: number;
  endedAt: number;
}

export class LinkCharges {
  readonly #options: LinkChargesOptions;
  readonly #budgetTable: BudgetTable;
  readonly #usageTable: UsageTable;

  constructor(options: LinkChargesOptions) {
    this.#options = options;
    const { engine, queries, clock, alertTable } = options;
    this.#budgetTable = new BudgetTable({ engine, queries, clock, alertTable });
    this.#usageTable = createUsageTable(queries);
  }

  /** Consumes the requests of as many of the first links as the key may send now, and holds their money. */
  *admit(key: ApiKeyRecord, platforms: readonly string[]): Script<AdmittedLinks> {
    const { rateLimitTable, prices } = this.#options;
    const wanted = prices?.hasLinkPrices ? jobBudgetsOf(key, 'extract', { model: '', links: platforms }) : undefined;
    const budgets = wanted && (yield* this.#budgetTable.lock(idsOf(wanted)));
    const rateLimit = rateLimitOf(key, FAMILY);
    const windows = yield* openWindows(rateLimitTable, [rateLimit]);
    const window = rateLimit && windows.of(rateLimit);
    const room = window && (yield* window.peek(rateLimit));
    const held: (string | null)[] = [];
    let refusal: GatewayError | undefined;
    for (const platform of platforms.slice(0, room?.remaining)) {
      const uses = { model: platform, links: platform === '' ? [] : [platform] };
      const { rows, cost } = budgets && wanted ? payMoney(budgets, wanted, { uses, at: budgets.at, prices }) : FREE;
      if (isGatewayError(cost)) {
        refusal = cost;
        break;
      }
      for (const row of rows) budgets?.change({ ...row, costReserved: row.costReserved + cost });
      const periods = Object.fromEntries(rows.map(({ id, period }) => [id, period]));
      held.push(cost > 0 ? toJson({ cost, periods } satisfies Held) : null);
    }
    if (rateLimit && held.length > 0) window?.consume({ ...rateLimit, count: held.length });
    yield* windows.save();
    if (budgets) yield* budgets.save();
    const isRefused = held.length === 0 && refusal !== undefined;
    return { held, retryAfterMs: room?.retryAfterMs ?? 0, ...(isRefused && { refusal }) };
  }

  /** Counts links that have ended; the cost replaces what is held. */
  *settle(links: readonly ChargedLink[]): Script<void> {
    if (links.length === 0) return;
    const { prices, inputs } = this.#options;
    const totals = new Totals();
    const entries: UsageEntriesTable[] = [];
    const ends: Parameters<typeof settleHeld>[1][number][] = [];
    for (const link of links) {
      const { platform, method, held } = link;
      const cost = prices?.linkCostOf(platform, method) ?? null;
      const entry = toEntry(link, cost);
      entries.push(entry);
      totals.addEntry(entry);
      const reserved = parseHeld(held);
      // Without a known price it costs what was held.
      const occasion = { reference: link.requestId, note: platform };
      if (reserved)
        ends.push({ held: reserved, costUsed: method === undefined ? 0 : (cost ?? reserved.cost), occasion });
    }
    yield* this.#usageTable.insertMissing(entries);
    yield* this.#usageTable.addTotals(totals);
    if (inputs) {
      yield* inputs.write(
        links.map(({ keyId, accountId, requestId, endedAt: at, url: text }) => ({
          keyId,
          accountId,
          requestId,
          at,
          text,
        })),
      );
    }
    yield* settleHeld(this.#budgetTable, ends);
  }

  /** Gives back what is held for links that end uncharged. */
  *release(held: readonly string[]): Script<void> {
    const occasion = { reference: '', note: '' };
    const ends = held.flatMap((text) => parseHeld(text) ?? []).map((each) => ({ held: each, costUsed: 0, occasion }));
    yield* settleHeld(this.#budgetTable, ends);
  }
}

function toEntry(link: ChargedLink, cost: number | null): UsageEntriesTable {
  const { keyId, accountId, requestId, platform, method, errorCode, startedAt, endedAt } = link;
  const code = method === undefined ? (errorCode ?? 'internal_error') : undefined;
  return toEntryRow({
    ...{ keyId, accountId, requestId, route: ROUTE, model: platform, cost, at: endedAt },
    status: code === undefined ? OK : statusOfCode(code),
    ...(code !== undefined && { errorCode: code }),
    latencyMs: Math.max(0, endedAt - startedAt),
  });
}

function parseHeld(held: string | null): Held | undefined {
  return held === null ? undefined : (JSON.parse(held) as Held);
}
