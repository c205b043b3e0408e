import type { Catalogue } from '../plans/index.js';
import { API_VERSION } from '../version.js';

/** What plans there are. Prices are told only where the operator wants them told. */
export function encodePlans({ plans, freeTier, prices, publicPriceTablesVisible, support }: Catalogue) {
  return {
    version: API_VERSION,
    publicPriceTablesVisible,
    // What it is called comes first, for people who read it.
    plans: plans.map(({ id, name, ...terms }) => ({ id, name, ...terms })),
    freeTier,
    payAsYouGo: { eligible: false, packages: [], ratesPerMillionTokens: [] },
    prices: publicPriceTablesVisible ? prices : [],
    support,
  };
}
