/** An invented shop with background jobs. */

import { type Contributions, definePlugin, type Extraction, type Extractor, type Plugin } from 'mediagate';
import { Type } from 'mediagate/plugin';

/** A product; `name` says which fetch it came from. */
export function inventedProduct(id: string, name = `Product ${id}`, more: Partial<Extraction> = {}): Extraction {
  return {
    method: 'shelf',
    data: {
      product: { product_id: id, name, image_urls: [], video_urls: [], url: productLink(id) },
      reviews: { five_star: [{ id: `r${id}`, rating: 5, images: [] }], one_star: [] },
      raw_stats: {},
    },
    ...more,
  };
}

/** Options as the shop of this package declares them. */
export const SHOP_OPTIONS = Type.Object(
  {
    clipReviewLimit: Type.Integer({ minimum: 1, maximum: 100, default: 10 }),
    clipSort: Type.Union([Type.Literal('latest'), Type.Literal('recommended')], { default: 'latest' }),
    includeEmptyReviews: Type.Boolean({ default: false }),
  },
  { additionalProperties: false },
);

export function productLink(id: string | number): string {
  return `https://bazaar.example/product/${id}`;
}

/** A shop for links `https://bazaar.example/product/<digits>` and short links `https://baz.example/<code>`. */
export function inventedShopExtractor(more: Partial<Extractor> = {}): Extractor {
  return {
    platform: 'bazaar',
    displayName: 'Bazaar',
    linkForms: ['https://bazaar.example/product/<digits>'],
    background: true,
    requestOptions: SHOP_OPTIONS,
    match(url) {
      const id = /^\/product\/(\d+)$/.exec(url.pathname)?.[1];
      if (url.hostname === 'bazaar.example' && id) return { kind: 'product', id, url: productLink(id) };
      const code = /^\/(\w+)$/.exec(url.pathname)?.[1];
      if (url.hostname === 'baz.example' && code)
        return { kind: 'short_link', id: code, url: `https://baz.example/${code}` };
      return undefined;
    },
    extract: async ({ link }) => inventedProduct(link.id),
    ...more,
  };
}

export function inventedShop(more: Partial<Extractor> = {}): Plugin {
  return definePlugin({
    name: 'bazaar',
    apiVersion: 1,
    summary: 'An invented shop.',
    provides: ['extractor'],
    setup: (): Contributions => ({ extractors: [inventedShopExtractor(more)] }),
  });
}
