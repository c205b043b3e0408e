/*
 * What one source of a product states: any part of the document, with its reviews and how exact its numbers are.
 */

import type { Precision, Product, ProductData, Review } from 'mediagate/plugin';
import type { ReviewWalk } from './reviews.js';

/** What one source has of a product: any part of the document. */
export interface ProductPart {
  product: Partial<Product>;
  /** In the order of the source. */
  reviews: readonly Review[];
  raw_stats: ProductData['raw_stats'];
  precision: Readonly<Record<string, Precision>>;
  /** Reviews that were fetched page by page. */
  walks?: readonly ReviewWalk[];
  /** The page hides digits of the price. */
  masked: boolean;
  /** The platform says that the product cannot be bought now. */
  notForSale: boolean;
}

/** A part with members of the product alone. */
export function partOf(product: Partial<Product>): ProductPart {
  return { product, reviews: [], raw_stats: {}, precision: {}, masked: false, notForSale: false };
}
