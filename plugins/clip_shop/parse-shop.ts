import { asNumber, asRecord, at, type JsonRecord, type Product } from 'mediagate';
import { firstCount, readId, readImageUrl, readText, readUrl } from './read-values.js';

export interface FoundShop {
  shop?: Product['shop'];
  /** Members of `shop` whose counter the page rounds. */
  rounded: string[];
}

/** Whose the product is. What the page says of another seller is left alone. */
export function readShop(product: JsonRecord, around: JsonRecord): FoundShop {
  const seller = asRecord(product.seller) ?? {};
  const model = asRecord(product.seller_model) ?? {};
  const id =
    readId(at(product, 'product_model', 'seller_id')) ??
    readId(product.seller_id) ??
    readId(seller.seller_id) ??
    readId(model.seller_id);
  const info = ownInfo(around, id);
  const name = readText(info.shop_name) ?? readText(model.shop_name) ?? readText(seller.name);
  const logo = readImageUrl(info.shop_logo) ?? readImageUrl(model.shop_logo) ?? readImageUrl(seller.avatar);
  const url = readUrl(info.shop_link) ?? readUrl(model.shop_link);
  const rating = asNumber(info.shop_rating);
  const location = readText(seller.seller_location) ?? readText(info.region);
  const shopId = id ?? readId(info.seller_id);
  const counts = {
    followers: firstCount(info.followers_count, info.format_followers_count),
    sold_count: firstCount(info.sold_count, info.format_sold_count),
    review_count: firstCount(info.review_count),
    product_count: firstCount(info.on_sell_product_count, info.display_on_sell_product_count, seller.product_count),
  };
  const known = Object.entries(counts).flatMap(([member, count]) => (count ? [[member, count] as const] : []));
  const shop = {
    ...(shopId && { id: shopId }),
    ...(name && { name }),
    ...(url && { url }),
    ...(rating !== undefined && rating > 0 && { rating }),
    ...(logo && { logo }),
    ...Object.fromEntries(known.map(([member, { value }]) => [member, value])),
    ...(location && { location }),
  };
  return {
    ...(Object.keys(shop).length > 0 && { shop }),
    rounded: known.flatMap(([member, { exact }]) => (exact ? [] : [member])),
  };
}

function ownInfo(around: JsonRecord, id: string | undefined): JsonRecord {
  const info = asRecord(around.shop_info) ?? {};
  const owner = readId(info.seller_id);
  return id && owner && id !== owner ? {} : info;
}
