/*
 * Prices of models and links, and the costs that follow from them. Other folders import these from here alone.
 */

export { dearestOf } from './dearest.js';
export { costOfBoth, createLivePrices, type LivePrices } from './live-prices.js';
export { type PriceCatalogue, readPriceCatalogue } from './price-catalogues.js';
export { importPrices, type PriceChange } from './price-import.js';
export { readPrices, readPricesFile } from './price-sources.js';
export {
  addCost,
  createPrices,
  decimalOf,
  type HighestUse,
  highestOfAudio,
  type ModelRate,
  PRICES_FILE_SCHEMA,
  type PricedUse,
  type Prices,
  type PricesFile,
  sendCost,
} from './prices.js';
export { PricesError } from './token-prices.js';
export { describeUnpriced } from './unpriced.js';
