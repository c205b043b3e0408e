import type { Author, ExtractionData, PostData, ProductData, Review } from '../../core/contracts/index.js';

/**
 * The fields that a response always has, in sending order: those of the service document, and those that its records
 * fill. In core unknown fields are absent; here they become null or an empty list, so that typed clients need no
 * guards. Other fields are sent only when known.
 */
const AUTHOR = { id: null, name: null, username: null, url: null, avatar: null };
const COMMON = {
  title: null,
  author: AUTHOR,
  caption: null,
  description: null,
  thumbnail: null,
  published_at: null,
  duration_seconds: null,
  language: null,
  tags: [],
  is_live: null,
};
const IDS = { video_id: null, post_id: null, shortcode: null, channel_id: null, author_id: null, canonical_url: null };
const METRICS = {
  views: null,
  likes: null,
  comments: null,
  shares: null,
  saves: null,
  plays: null,
  duration_seconds: null,
  channel_id: null,
  subscriber_count: null,
};
const MEDIA = { image_urls: [], video_urls: [] };
const SHOP = { id: null, name: null, url: null, rating: null };
const PRICE = { amount: null, currency: null, original_amount: null, min: null, max: null, text: null };
const RATING = { average: null, count: null };
const DISTRIBUTION = { '1': null, '2': null, '3': null, '4': null, '5': null };
const PRODUCT = {
  product_id: null,
  name: null,
  description: null,
  shop: SHOP,
  price: PRICE,
  stock: null,
  sold_count: null,
  rating: RATING,
  image_urls: [],
  video_urls: [],
  url: null,
};
const REVIEW = {
  id: null,
  rating: null,
  text: null,
  author: null,
  created_at: null,
  likes: null,
  images: [],
  variant: null,
  country: null,
};

/** The document with all of these fields. */
export function frameDocument(data: ExtractionData) {
  return 'product' in data ? frameProduct(data) : framePost(data);
}

function framePost({ common, ids, metrics, media, raw_stats, ...further }: PostData) {
  return {
    common: { ...COMMON, ...common, author: frameAuthor(common.author) },
    ids: { ...IDS, ...ids },
    metrics: { ...METRICS, ...metrics },
    media: { ...MEDIA, ...media },
    raw_stats,
    ...further,
  };
}

function frameAuthor(author: Author | undefined) {
  return { ...AUTHOR, ...author };
}

function frameProduct({ product, reviews, raw_stats, ...further }: ProductData) {
  const { shop, price, rating } = product;
  return {
    product: {
      ...PRODUCT,
      ...product,
      shop: { ...SHOP, ...shop },
      price: { ...PRICE, ...price },
      rating: { ...RATING, ...rating, distribution: { ...DISTRIBUTION, ...rating?.distribution } },
    },
    reviews: { five_star: reviews.five_star.map(frameReview), one_star: reviews.one_star.map(frameReview) },
    raw_stats,
    ...further,
  };
}

function frameReview(review: Review) {
  return { ...REVIEW, ...review };
}
