import {
  asCount,
  asNumber,
  asRecord,
  asString,
  at,
  type JsonRecord,
  type Precision,
  type Product,
  type ProductData,
  type Review,
} from 'mediagate/plugin';
import {
  readCategories,
  readDescription,
  readMedia,
  readShipping,
  readSpecifications,
  readVariants,
} from './details.js';
import { type ProductNode, type RouterData } from './page.js';
import { readPrice } from './price.js';
import { type ReviewWalk, readPageReviews, readRating } from './reviews.js';
import { anyKnown, filled, firstCount, known, readId, readImageUrl, readText, readUrl } from './values.js';

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

/** The requested product in a page's data, one part for each place that holds it. */
export function readProducts(data: RouterData, id: string): ProductPart[] {
  return data.nodes.map((node, index) => readNode(node, data, id, index === 0));
}

function readNode({ product, around }: ProductNode, data: RouterData, id: string, isFirst: boolean): ProductPart {
  const places = [product, around, ...(isFirst ? data.reviewParts : [])];
  const model = asRecord(product.product_model);
  const base = asRecord(product.product_base);
  const description = readDescription(product);
  const { shop, rounded } = readShop(product, around);
  const { price, masked, words } = readPrice(product);
  const sold = firstCount(model?.sold_count, base?.sold_count, product.sold_count);
  const { variants, stock } = readVariants(product);
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
      region: regionOf(around, data),
      categories: filled(readCategories(around, product)),
      specifications: filled(readSpecifications(product)),
      variants: filled(variants),
      shipping: readShipping(product),
    }),
    reviews: readPageReviews(places, id),
    raw_stats: { ...words, ...rawStats(product, around) },
    precision: {
      ...(sold && { sold_count: sold.exact ? 'exact' : 'rounded' }),
      ...Object.fromEntries(rounded.map((member) => [`shop.${member}`, 'rounded' as const])),
    },
    masked,
    notForSale: isWithdrawn(product),
  };
}

/** The market the page sells in; `GLOBAL` is none. */
function regionOf(around: ProductNode['around'], { page }: RouterData): string | undefined {
  const candidates = [
    around.sale_region,
    at(page, 'region_info', 'sale_region'),
    at(page, 'region_info', 'path_region'),
  ];
  return candidates.flatMap((value) => /^[A-Z]{2}$/.exec(asString(value) ?? '')?.[0] ?? [])[0];
}

/** Numbers and texts of the platform, under its own names. */
function rawStats(product: ProductNode['product'], around: ProductNode['around']): ProductData['raw_stats'] {
  const stat = (value: unknown) => (typeof value === 'number' && Number.isFinite(value) ? value : readText(value));
  return known({
    sold_count: stat(at(product, 'product_model', 'sold_count') ?? at(product, 'product_base', 'sold_count')),
    review_count: stat(
      at(product, 'review_model', 'product_review_count') ?? at(product, 'product_detail_review', 'review_count'),
    ),
    review_count_str: stat(at(product, 'product_detail_review', 'review_count_str_v2')),
    overall_score: stat(
      at(product, 'review_model', 'product_overall_score') ?? at(product, 'product_detail_review', 'product_rating'),
    ),
    min_sku_price: stat(at(product, 'product_base', 'price', 'min_sku_price')),
    max_sku_price: stat(at(product, 'product_base', 'price', 'max_sku_price')),
    discount: stat(
      at(product, 'promotion_model', 'promotion_product_price', 'min_price', 'discount_format') ??
        at(product, 'product_base', 'price', 'discount'),
    ),
    reduction: stat(at(product, 'promotion_model', 'promotion_product_price', 'min_price', 'reduce_price_format')),
    shop_followers: stat(at(around, 'shop_info', 'format_followers_count')),
    shop_videos: stat(at(around, 'shop_info', 'video_count')),
  }) as ProductData['raw_stats'];
}

/** The platform counts from 1 for what is on sale, and gives a reason where it is not. */
function isWithdrawn(product: ProductNode['product']): boolean {
  const status = asCount(product.status);
  const reason = asCount(at(product, 'availability_model', 'reason'));
  return (status !== undefined && status !== 1) || (reason !== undefined && reason !== 0);
}

export interface FoundShop {
  shop?: Product['shop'];
  /** Members of `shop` whose counter the page rounds. */
  rounded: string[];
}

/** The seller of the product. Facts about another seller are left out. */
export function readShop(product: JsonRecord, around: JsonRecord): FoundShop {
  const seller = asRecord(product.seller) ?? {};
  const model = asRecord(product.seller_model) ?? {};
  const id =
    readId(at(product, 'product_model', 'seller_id')) ??
    readId(product.seller_id) ??
    readId(seller.seller_id) ??
    readId(model.seller_id);
  const info = ownInfo(around, id);
  const rating = asNumber(info.shop_rating);
  const counts = {
    followers: firstCount(info.followers_count, info.format_followers_count),
    sold_count: firstCount(info.sold_count, info.format_sold_count),
    review_count: firstCount(info.review_count),
    product_count: firstCount(info.on_sell_product_count, info.display_on_sell_product_count, seller.product_count),
  };
  const shop = anyKnown({
    id: id ?? readId(info.seller_id),
    name: readText(info.shop_name) ?? readText(model.shop_name) ?? readText(seller.name),
    url: readUrl(info.shop_link) ?? readUrl(model.shop_link),
    rating: rating !== undefined && rating > 0 ? rating : undefined,
    logo: readImageUrl(info.shop_logo) ?? readImageUrl(model.shop_logo) ?? readImageUrl(seller.avatar),
    ...Object.fromEntries(Object.entries(counts).map(([member, count]) => [member, count?.value])),
    location: readText(seller.seller_location) ?? readText(info.region),
  });
  const rounded = Object.entries(counts).filter(([, count]) => count?.exact === false);
  return { shop, rounded: rounded.map(([member]) => member) };
}

function ownInfo(around: JsonRecord, id: string | undefined): JsonRecord {
  const info = asRecord(around.shop_info) ?? {};
  const owner = readId(info.seller_id);
  return id && owner && id !== owner ? {} : info;
}
