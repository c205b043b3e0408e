import { definePlugin, Type } from 'mediagate';
import { createClipShopExtractor } from './extractor.js';

const options = Type.Object(
  {
    /** Languages that pages are asked for, as the header `accept-language` has them. */
    acceptLanguage: Type.String({ default: 'en-US,en;q=0.9', minLength: 2, maxLength: 200 }),
    /** Milliseconds that one plain page may take. */
    pageTimeoutMs: Type.Integer({ default: 7_000, minimum: 500, maximum: 60_000 }),
    /** Milliseconds for one product, all ways together. Must stay below the entry's `timeoutMs` (30,000 by default). */
    budgetMs: Type.Integer({ default: 27_000, minimum: 1_000, maximum: 590_000 }),
    /** Members of facts.json that an entry sets otherwise, in the same shape. */
    facts: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
  { additionalProperties: false },
);

/** Public products of TikTok Shop, with their reviews. */
export default definePlugin<typeof options>({
  name: 'clip_shop',
  apiVersion: 1,
  summary: 'Public products of TikTok Shop: price, variants, stock, shop, pictures, ratings and reviews.',
  provides: ['extractor'],
  wants: ['browser'],
  options,
  setup: (context) => ({ extractors: [createClipShopExtractor(context)] }),
});
