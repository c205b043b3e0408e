/*
 * Admission and usage of requests of links. Links are counted in memory and written into the usage log and the
 * totals of the day; the platform stands in the column of the model. Under a budget of money the highest cost of a link is reserved before the
 * work. It is settled by the method that succeeded, or for a background job at its submission. A document of several
 * methods (`page+embed`) costs the first price in `PRICES_FILE` that names one of them, or names none. A failed link
 * costs nothing; a link whose method has no price is charged what was reserved.
 */

import { type BatchItem, type ExtractResult } from '../../core/contracts/index.js';
import { type RequestContext, type ServerContext, toGatewayError } from '../http/index.js';
import { type IdempotencyService } from '../idempotency/index.js';
import { keyOf, payersOf, rateLimitOf } from '../keys/index.js';
import { consumeRateLimit, type RateLimits } from '../limits/index.js';
import { type Prices, sendCost } from '../prices/index.js';
import type { TranscriptServices } from '../transcripts/index.js';
import {
  type ListedRequest,
  type SettleLinks,
  statusOfCode,
  type UsageLog,
  type UsageService,
  usageLogIdOf,
} from '../usage/index.js';

export const FAMILY = 'link_data';
const OK = 200;

/** Which requests get media links: none, those of the site, or all that ask for them. */
export type MediaProxy = 'off' | 'site' | 'on';

/** What the routes of links work with. */
export interface LinkServices extends ServerContext, TranscriptServices {
  answers: IdempotencyService;
  rateLimits: RateLimits;
  usage: UsageService;
  usageLog: UsageLog;
  /** Default: none. */
  prices?: Prices;
  mediaProxy: MediaProxy;
  /** Default: `webhook_url` is ignored. */
  webhooks?: { targets: { check(url: unknown): string } };
  /** Share of a queue, above 0 to 1, that open jobs of a site account may take. */
  accountQueueShare: number;
}

/** `extraction_method` of a job without a result. */
export const BACKGROUND = 'background_job';

/** How a link ended: with its `extraction_method`, or with an error. */
export type LinkEnd = ({ method: string } | { error: unknown }) & {
  /** Its address, in a batch. Default: that of the request. */
  url?: string;
};

interface AdmittedLinks {
  /** Of each link; called only for keys with budgets. */
  platforms(): readonly string[];
  /** Number of links. Default 1. */
  count?: number;
  /** Whether the rate limit is consumed. Default true. */
  isLimited?: boolean;
}

/** Without a budget nothing is settled. */
const NOT_RESERVED: SettleLinks = () => undefined;

export type LinkUsageServices = Pick<LinkServices, 'usage' | 'usageLog' | 'rateLimits' | 'clock' | 'prices'>;

/**
 * Admits requests of link data, and counts them in the usage log, where the platform stands in place of the model. They
 * count in budgets of money, if any link has a price.
 */
export class LinkUsage {
  readonly #services: LinkUsageServices;
  readonly #route: string;

  constructor(services: LinkUsageServices, route: string) {
    this.#services = services;
    this.#route = route;
  }

  /**
   * Consumes the rate limit, and reserves the highest cost of the links in the key's budgets of money.
   * @throws GatewayError `rate_limit_exceeded`, `insufficient_quota`.
   */
  async admit(
    context: RequestContext,
    { platforms, count: links = 1, isLimited = true }: AdmittedLinks,
  ): Promise<SettleLinks> {
    const { usage, rateLimits, prices } = this.#services;
    const key = keyOf(context);
    const rateLimit = isLimited ? rateLimitOf(key, FAMILY, links) : undefined;
    const { budgetId, furtherBudgets } = payersOf(key, { grant: 'extract' });
    if (prices?.hasLinkPrices && (budgetId !== null || furtherBudgets)) {
      return usage.admitLinks(context, { route: this.#route, platforms: platforms(), rateLimit });
    }
    await consumeRateLimit(rateLimits, context.res, rateLimit);
    return NOT_RESERVED;
  }

  /** Of a request with one link; sets the header of its cost, unless it failed. */
  count(context: RequestContext, platform: string, end: LinkEnd, settle: SettleLinks): void {
    const { prices } = this.#services;
    const { priced, cost, charged } = this.#log(context, platform, [end]);
    settle(charged);
    if (prices && priced > 0 && 'method' in end) sendCost(context.res, prices, cost);
  }

  /** Counts the request when the work has ended. */
  async counted(
    context: RequestContext,
    platform: string,
    work: Promise<ExtractResult>,
    settle: SettleLinks,
  ): Promise<ExtractResult> {
    const result = await work.catch((error: unknown) => {
      this.count(context, platform, { error }, settle);
      throw error;
    });
    this.count(context, platform, { method: result.method }, settle);
    return result;
  }

  /** Each link of a batch is a request, as for the rate limit. Sets the header if each has a known price. */
  countBatch(
    context: RequestContext,
    items: readonly BatchItem[],
    platformOf: (url: string) => string,
    settle: SettleLinks,
  ): void {
    const { prices } = this.#services;
    const ofPlatform = Map.groupBy(items, ({ url }) => platformOf(url));
    const all = Array.from(ofPlatform, ([platform, group]) => this.#log(context, platform, group.map(endOf)));
    const sum = (part: keyof Costs) => all.reduce((total, costs) => total + costs[part], 0);
    settle(sum('charged'));
    if (prices && sum('priced') === items.length) sendCost(context.res, prices, sum('cost'));
  }

  #log(context: RequestContext, platform: string, ends: readonly LinkEnd[]): Costs {
    const { usageLog, clock, prices } = this.#services;
    const { id, accountId } = keyOf(context);
    const requests = ends.length;
    const failed = ends.filter((end) => 'error' in end).length;
    const latencyMs = requests * Math.max(0, clock.monotonic() - context.state.startedAt);
    const costs = prices ? costsOf(prices, platform, ends) : NO_COSTS;
    const { priced, cost } = costs;
    const row = {
      keyId: id,
      accountId,
      route: this.#route,
      model: platform,
      requests,
      failed,
      priced,
      cost,
      latencyMs,
    };
    const at = clock.now();
    usageLog.count({ ...row, at, listed: this.#list(context, { platform, at }, ends) });
    return costs;
  }

  /** The name of each link in the log differs from that of its request, which may settle a model as well. */
  #list(
    context: RequestContext,
    { platform, at }: { platform: string; at: number },
    ends: readonly LinkEnd[],
  ): ListedRequest[] {
    const { prices, usage } = this.#services;
    const { id: keyId, accountId } = keyOf(context);
    context.state.isCounted = true;
    const name = usageLogIdOf(context);
    return ends.map((end, index) => {
      const errorCode = 'error' in end ? codeOfEnd(context, end.error) : null;
      const status = errorCode === null ? OK : statusOfCode(errorCode);
      const cost = prices?.linkCostOf(platform, methodIn(end)) ?? null;
      const requestId = `${name}/${platform}-${index + 1}`;
      const text = end.url ?? context.state.link?.inputUrl ?? '';
      usage.keepInput({ keyId, accountId, requestId, at, text });
      return { requestId, status, errorCode, cost };
    });
  }
}

/** Of several links, in millionths of the currency: how many have a known price, and the sum of theirs. */
export interface Costs {
  priced: number;
  cost: number;
  /** What budgets are charged: those without a known price cost what was reserved for them. */
  charged: number;
}

const NO_COSTS: Costs = { priced: 0, cost: 0, charged: 0 };

function costsOf(prices: Prices, platform: string, ends: readonly LinkEnd[]): Costs {
  const costs = ends.flatMap((end) => prices.linkCostOf(platform, methodIn(end)) ?? []);
  const cost = costs.reduce((sum, each) => sum + each, 0);
  const unpriced = ends.length - costs.length;
  const highest = unpriced === 0 ? 0 : (prices.highestCostOf({ model: platform, links: [platform] }) ?? 0);
  return { priced: costs.length, cost, charged: cost + unpriced * highest };
}

/** A client that leaves ends the work of its link. */
function codeOfEnd({ res: response }: RequestContext, error: unknown): string {
  return response.destroyed ? 'client_disconnected' : toGatewayError(error).code;
}

function methodIn(end: LinkEnd): string | undefined {
  return 'method' in end ? end.method : undefined;
}

function endOf(item: BatchItem): LinkEnd {
  const { url } = item;
  return 'error' in item ? { error: item.error, url } : { method: methodOf(item), url };
}

export function methodOf(item: BatchItem): string {
  return 'result' in item ? item.result.method : BACKGROUND;
}
