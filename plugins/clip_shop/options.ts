/*
 * The options of the plugin, and what the methods of one call share: its deadline and which reviews are wanted.
 */

import { SiteConfigSchema, type Static, Type } from 'mediagate/plugin';
import type { ReviewOptions } from './read/reviews.js';

export const options = Type.Object(
  {
    acceptLanguage: Type.String({
      default: 'en-US,en;q=0.9',
      minLength: 2,
      maxLength: 200,
      description: 'Languages of requested pages, as in the header `Accept-Language`.',
    }),
    pageTimeoutMs: Type.Integer({
      default: 7_000,
      minimum: 500,
      maximum: 60_000,
      description: 'Milliseconds for one plain page.',
    }),
    budgetMs: Type.Integer({
      default: 27_000,
      minimum: 1_000,
      maximum: 590_000,
      description:
        'Milliseconds for one product, all methods together; less than the `timeoutMs` of the entry (30,000 by default).',
    }),
    siteConfig: SiteConfigSchema,
  },
  { additionalProperties: false },
);

export type ClipShopOptions = Static<typeof options>;

/** What the methods of one call share. */
export interface ShopState {
  /** When everything must be over, in milliseconds of the monotonic clock. */
  deadline: number;
  reviews: ReviewOptions;
}
