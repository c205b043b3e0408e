/*
 * Prices of models and links, and the costs that follow from them. Other folders import these from here alone.
 */

export { dearestOf } from './dearest.js';
export {
  addCost,
  createPrices,
  decimalOf,
  type HighestUse,
  highestOfAudio,
  PRICES_FILE_SCHEMA,
  type PricedUse,
  type Prices,
  readPrices,
  sendCost,
} from './prices.js';
export { PricesError } from './token-prices.js';
export { describeUnpriced } from './unpriced.js';
