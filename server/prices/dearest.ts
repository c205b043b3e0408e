/*
 * Prices for a request that one of several models answers. It is reserved at the dearest of them, so that a budget
 * suffices in any case. Its cost is that of the model that answered.
 */

import type { Prices } from './prices.js';

/** The same prices, of which a request of any model has the highest among that model and `others`. */
export function dearestOf(prices: Prices, others: readonly string[]): Prices {
  return {
    ...prices,
    costOf: (use) => prices.costOf(use),
    missingFor(use) {
      const lacks = [use.model, ...others].map((model) => prices.missingFor({ ...use, model }));
      return lacks.find((one) => one !== undefined);
    },
    highestCostOf(use) {
      const costs = [use.model, ...others].map((model) => prices.highestCostOf({ ...use, model }));
      return costs.reduce((most, cost) => (most === null || cost === null ? null : Math.max(most, cost)));
    },
    outputTokensWithin(cost, use) {
      const tokens = [use.model, ...others].map((model) => prices.outputTokensWithin(cost, { ...use, model }));
      return tokens.reduce((least, some) => (least === null || some === null ? null : Math.min(least, some)));
    },
  };
}
