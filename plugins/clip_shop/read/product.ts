/*
 * Makes one part of the document from each place of a page that holds the product, in both generations of the schema.
 * Counters state whether the page rounds them. Shop data that belong to another seller are left out, and so is `GLOBAL`
 * as a market.
 */

import {
  asCount,
  asId,
  asNumber,
  asPositive,
  asRecord,
  asString,
  at,
  type JsonRecord,
  type Product,
  type ProductData,
  rawStats,
} from 'mediagate/plugin';
import type { SiteConfig } from '../site.js';
import {
  readCategories,
  readDescription,
  readMedia,
  readShipping,
  readSpecifications,
  readVariants,
} from './details.js';
import type { ProductNode, RouterData } from './page.js';
import type { ProductPart } from './part.js';
import { readPrice } from './price.js';
import { readPageReviews, readRating } from './reviews.js';
import { anyKnown, filled, firstCount, known, readImageUrl, readText, readUrl } from './values.js';

/**
 * The requested product in a page's data, one part for each place that holds it.
 * @param statPlaces - field of a document's `raw_stats` → dotted places in a node, of which the first that has it wins.
 */
export function readProducts(data: RouterData, id: string, statPlaces: SiteConfig['rawStats']): ProductPart[] {
  return data.nodes.map((node, index) => {
    const { product, around } = node;
    const places = [product, around, ...(index === 0 ? data.reviewParts : [])];
    const model = asRecord(product.product_model);
    const base = asRecord(product.product_base);
    const description = readDescription(product);
    const { shop, precision } = readShop(product, around);
    const { price, masked, words } = readPrice(product);
    const sold = firstCount(model?.sold_count, base?.sold_count, product.sold_count);
    const { variants, stock } = readVariants(product);
    // `GLOBAL` is no market.
    const regions = [
      around.sale_region,
      ...['sale_region', 'path_region'].map((name) => at(data.page, 'region_info', name)),
    ];
    return {
      product: known({
        product_id: id,
        name: readText(model?.name) ?? readText(base?.title),
        description: description.text,
        shop,
        price,
        stock,
        sold_count: sold?.value,
        rating: readRating(places),
        ...readMedia(product, around, description.pictures),
        region: regions.map(asString).find((region) => /^[A-Z]{2}$/.test(region ?? '')),
        categories: filled(readCategories(around, product)),
        specifications: filled(readSpecifications(product)),
        variants: filled(variants),
        shipping: readShipping(product),
      }),
      reviews: readPageReviews(places, id),
      raw_stats: { ...words, ...readStats(node, statPlaces) },
      precision: { ...(sold && { sold_count: sold.exact ? 'exact' : 'rounded' }), ...precision },
      masked,
      notForSale: isWithdrawn(product),
    };
  });
}

/** Numbers and texts of the platform, under its own names. */
function readStats(node: ProductNode, statPlaces: SiteConfig['rawStats']): ProductData['raw_stats'] {
  const readStat = (value: unknown) => (typeof value === 'number' ? asNumber(value) : readText(value));
  const stats = Object.entries(statPlaces).map(([name, places]) => {
    const values = places.map((place) => readStat(at(node, ...place.split('.'))));
    return [name, values.find((value) => value !== undefined)];
  });
  return rawStats(Object.fromEntries(stats));
}

/** The platform counts from 1 for what is on sale, and gives a reason where it is not. */
function isWithdrawn(product: JsonRecord): boolean {
  return (asCount(product.status) ?? 1) !== 1 || asPositive(at(product, 'availability_model', 'reason')) !== undefined;
}

/** The seller of the product, and which of its counters the page rounds. Facts about another seller are left out. */
export function readShop(product: JsonRecord, around: JsonRecord) {
  const seller = asRecord(product.seller) ?? {};
  const model = asRecord(product.seller_model) ?? {};
  const id =
    asId(at(product, 'product_model', 'seller_id')) ??
    asId(product.seller_id) ??
    asId(seller.seller_id) ??
    asId(model.seller_id);
  const owner = asId(at(around, 'shop_info', 'seller_id'));
  const info = (id && owner && id !== owner ? undefined : asRecord(around.shop_info)) ?? {};
  const rating = asNumber(info.shop_rating);
  const counts = Object.entries({
    followers: firstCount(info.followers_count, info.format_followers_count),
    sold_count: firstCount(info.sold_count, info.format_sold_count),
    review_count: firstCount(info.review_count),
    product_count: firstCount(info.on_sell_product_count, info.display_on_sell_product_count, seller.product_count),
  });
  const shop: Product['shop'] = anyKnown({
    id: id ?? owner,
    name: readText(info.shop_name) ?? readText(model.shop_name) ?? readText(seller.name),
    url: readUrl(info.shop_link) ?? readUrl(model.shop_link),
    rating: rating !== undefined && rating > 0 ? rating : undefined,
    logo: readImageUrl(info.shop_logo) ?? readImageUrl(model.shop_logo) ?? readImageUrl(seller.avatar),
    ...Object.fromEntries(counts.map(([name, count]) => [name, count?.value])),
    location: readText(seller.seller_location) ?? readText(info.region),
  });
  const rounded = counts.filter(([, count]) => count?.exact === false);
  return { shop, precision: Object.fromEntries(rounded.map(([name]) => [`shop.${name}`, 'rounded' as const])) };
}
