/** Documents in which every field has a value. */

import type { Extraction } from 'mediagate';
import { inventedExtraction } from './invented-plugin.js';
import { inventedProduct } from './invented-shop.js';

const MEDIA = 'https://media.invented.example';

/** A video with everything that a document may say of one. */
export function richPost(id: string): Extraction {
  return inventedExtraction(id, {
    method: 'player',
    data: {
      common: {
        title: 'Tugs of Ostend, a morning on the quay',
        author: {
          name: 'Harbour Notes',
          url: 'https://invented.example/harbour-notes',
          avatar: `${MEDIA}/avatar.png`,
        },
        description: 'Three tugs, one freighter and a good deal of fog.\n\n<b>Filmed</b> in one take.',
        thumbnail: `${MEDIA}/thumbnail.png`,
        published_at: '2026-03-14T08:30:00Z',
        duration_seconds: 212,
        tags: ['harbour', 'tug'],
      },
      ids: { video_id: id, canonical_url: `https://invented.example/item/${id}` },
      metrics: { views: 48_213, likes: 1_904, comments: 88, shares: 31 },
      media: {
        image_urls: [`${MEDIA}/1.png`, `${MEDIA}/2.png`, `${MEDIA}/3.png`],
        video_urls: [`${MEDIA}/tugs.mp4`],
        entries: [
          { url: `${MEDIA}/tugs.mp4`, kind: 'video', mime: 'video/mp4', width: 1280, height: 720, quality: '720p' },
          { url: `${MEDIA}/tugs.vtt`, kind: 'subtitle', mime: 'text/vtt', language: 'en' },
        ],
      },
      raw_stats: { viewCount: '48213' },
      provenance: { sources: { 'metrics.likes': 'player' }, precision: { views: 'exact', likes: 'rounded' } },
    },
  });
}

/** A product with reviews. */
export function richProduct(id: string): Extraction {
  const review = (stars: number, text: string) => ({
    id: `${id}-${stars}`,
    rating: stars,
    text,
    author: 'M. Okafor',
    images: [`${MEDIA}/review-${stars}.png`],
    verified_purchase: true,
  });
  const { data } = inventedProduct(id);
  if (!('product' in data)) throw new Error('a product has no product');
  return inventedProduct(id, 'Stoneware teapot', {
    data: {
      ...data,
      product: {
        ...data.product,
        name: 'Stoneware teapot, 0.9 litres',
        description: 'Thrown by hand. Keeps warm for an hour.',
        shop: { name: 'Kiln Lane', url: 'https://bazaar.example/shop/kiln-lane' },
        price: { amount: 34.5, currency: 'EUR', original_amount: 42 },
        rating: { average: 4.7, count: 318, distribution: { 1: 6, 2: 4, 3: 12, 4: 40, 5: 256 } },
        variants: [
          { id: 'blue', name: 'Blue', price: 34.5, stock: 12, image: `${MEDIA}/blue.png` },
          { id: 'sand', properties: [{ name: 'Glaze', value: 'Sand' }], price: 36, stock: 0 },
        ],
        sold_count: 2_104,
        image_urls: [`${MEDIA}/pot.png`, `${MEDIA}/pot-2.png`],
      },
      reviews: { five_star: [review(5, 'Pours without a drip.')], one_star: [review(1, 'The lid came in two.')] },
    },
  });
}
