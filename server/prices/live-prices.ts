/*
 * Prices that operators change while the gateway runs. All parts of the process hold one object, whose answers follow the
 * latest prices. A request that runs during a change costs the less of both, so that it never costs more than was reserved
 * for it, and a job at most what was reserved.
 * The currency is that of the configuration and never changes.
 */

import type { ModelPrices } from '../../core/contracts/index.js';
import { systemClock } from '../../core/runtime/index.js';
import { createPrices, type Prices, type PriceTable } from './prices.js';

export interface LivePrices extends Prices {
  /** The prices of a model; undefined without any. */
  ofModel(model: string): ModelPrices | undefined;
  /** As {@link ofModel}, without what {@link change} has changed. */
  configuredOf(model: string): ModelPrices | undefined;
  /**
   * Replaces the prices of these models; all others are as configured.
   * @throws PricesError if a price has too many digits; then nothing changes.
   */
  change(models: Readonly<Record<string, ModelPrices>>): void;
}

/** @throws PricesError as {@link createPrices}. */
export function createLivePrices(table: PriceTable): LivePrices {
  const configured = createPrices(table);
  const { currency, text, hasLinkPrices, hasBytePrice } = configured;
  let models = table.models ?? {};
  let now = configured;
  let changedAt: number | undefined;
  return {
    currency,
    // Changes are in the database, which processes have in common.
    text,
    hasLinkPrices,
    hasBytePrice,
    now: () => now,
    get changedAt() {
      return changedAt;
    },
    get rates() {
      return now.rates;
    },
    costOf: (use) => now.costOf(use),
    linkCostOf: (platform, method) => now.linkCostOf(platform, method),
    byteCostOf: (bytes) => now.byteCostOf(bytes),
    highestCostOf: (use) => now.highestCostOf(use),
    missingFor: (use) => now.missingFor(use),
    outputTokensWithin: (cost, use) => now.outputTokensWithin(cost, use),
    ofModel: (model) => (Object.hasOwn(models, model) ? models[model] : undefined),
    configuredOf(model) {
      const { models: stated = {} } = table;
      return Object.hasOwn(stated, model) ? stated[model] : undefined;
    },
    change(changed) {
      const all = { ...table.models, ...changed };
      now = createPrices({ ...table, models: all });
      models = all;
      changedAt = systemClock.now();
    },
  };
}

/**
 * What a request costs whose prices may have changed since it began: the less of both.
 * @param then The prices at its beginning, of {@link Prices.now}.
 * @returns Undefined if they have not changed.
 */
export function costOfBoth(prices: Prices, then: Prices | undefined, costOf: (by: Prices) => number | null) {
  const now = prices.now?.();
  if (then === undefined || now === undefined || now === then) return undefined;
  const [before, after] = [costOf(then), costOf(now)];
  return before === null || after === null ? before : Math.min(before, after);
}
