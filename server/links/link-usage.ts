/*
 * Admission and usage of requests of links. Links are counted in memory and written into the totals of the day; the
 * platform stands in the column of the model. Under a budget of money the highest cost of a link is reserved before the
 * work. It is settled by the method that succeeded, or for a background job at its submission. A document of several
 * methods (`page+embed`) costs the first price in `PRICES_FILE` that names one of them, or names none. A failed link
 * costs nothing; a link whose method has no price is charged what was reserved.
 */

import { type BatchItem, type ExtractResult } from '../../core/contracts/index.js';
import { type RequestContext, type ServerContext } from '../http/index.js';
import { type IdempotencyService } from '../idempotency/index.js';
import { keyOf, rateLimitOf } from '../keys/index.js';
import { consumeRateLimit, type RateLimits } from '../limits/index.js';
import { type Prices, sendCost } from '../prices/index.js';
import type { TranscriptServices } from '../transcripts/index.js';
import { type SettleLinks, type UsageLog, type UsageService } from '../usage/index.js';

export const FAMILY = 'link_data';

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

/** Links of one platform. */
interface CountedLinks {
  /** `extraction_method` of those that were extracted. Default: none. */
  methods?: readonly string[];
  /** Number of those that failed. Default 0. */
  failed?: number;
}

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
    if (prices?.hasLinkPrices && (key.budgetId !== null || key.furtherBudgets)) {
      return usage.admitLinks(context, { route: this.#route, platforms: platforms(), rateLimit });
    }
    await consumeRateLimit(rateLimits, context.res, rateLimit);
    return NOT_RESERVED;
  }

  /** Of a request with one link; sets the header of its cost, unless it failed. */
  count(context: RequestContext, platform: string, links: CountedLinks, settle: SettleLinks): void {
    const { prices } = this.#services;
    const { priced, cost, charged } = this.#log(context, platform, links);
    settle(charged);
    if (prices && priced > 0 && !links.failed) sendCost(context.res, prices, cost);
  }

  /** Counts the request when the work has ended. */
  async counted(
    context: RequestContext,
    platform: string,
    work: Promise<ExtractResult>,
    settle: SettleLinks,
  ): Promise<ExtractResult> {
    let links: CountedLinks = { failed: 1 };
    try {
      const result = await work;
      links = { methods: [result.method] };
      return result;
    } finally {
      this.count(context, platform, links, settle);
    }
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
    const all = Array.from(ofPlatform, ([platform, group]) => {
      const methods = group.flatMap((item) => ('error' in item ? [] : [methodOf(item)]));
      return this.#log(context, platform, { methods, failed: group.length - methods.length });
    });
    const sum = (part: keyof Costs) => all.reduce((total, costs) => total + costs[part], 0);
    settle(sum('charged'));
    if (prices && sum('priced') === items.length) sendCost(context.res, prices, sum('cost'));
  }

  #log(context: RequestContext, platform: string, { methods = [], failed = 0 }: CountedLinks): Costs {
    const { usageLog, clock, prices } = this.#services;
    const { id, accountId } = keyOf(context);
    const requests = methods.length + failed;
    const latencyMs = requests * Math.max(0, clock.monotonic() - context.state.startedAt);
    const costs = prices ? costsOf(prices, platform, { methods, failed }) : NO_COSTS;
    const { priced, cost } = costs;
    const row = {
      keyId: id,
      accountId,
      route: this.#route,
      model: platform,
      requests,
      failed,
      latencyMs,
      priced,
      cost,
    };
    usageLog.count({ ...row, at: clock.now() });
    return costs;
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

function costsOf(prices: Prices, platform: string, { methods, failed }: Required<CountedLinks>): Costs {
  const costs = [...methods, ...Array.from({ length: failed }, () => undefined)].flatMap(
    (method) => prices.linkCostOf(platform, method) ?? [],
  );
  const cost = costs.reduce((sum, each) => sum + each, 0);
  const unpriced = methods.length + failed - costs.length;
  const highest = unpriced === 0 ? 0 : (prices.highestCostOf({ model: platform, links: [platform] }) ?? 0);
  return { priced: costs.length, cost, charged: cost + unpriced * highest };
}

export function methodOf(item: BatchItem): string {
  return 'result' in item ? item.result.method : BACKGROUND;
}
