export { dearestOf } from './dearest.js';
export {
  createPrices,
  decimalOf,
  type HighestUse,
  PRICES_FILE_SCHEMA,
  type PricedImage,
  type PricedUse,
  type Prices,
  readPrices,
  sendCost,
} from './prices.js';
export { PricesError } from './token-prices.js';
export { describeUnpriced } from './unpriced.js';
