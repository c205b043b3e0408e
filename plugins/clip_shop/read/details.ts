/*
 * Reads the larger parts of a product: description, categories, specifications, shipping, variants and media. Each has
 * two spellings, one for each generation of the page's schema. The description is a JSON text of nested blocks, of
 * which four levels are read. Stock is a sum only if every variant states its own. Videos of creators are listed with a
 * label, apart from those of the product. An address that expires carries the earlier of the two times that are known.
 */

import {
  asArray,
  asBoolean,
  asCount,
  asId,
  asNumber,
  asPositive,
  asRecord,
  asRecords,
  asString,
  at,
  expiryOf,
  type JsonRecord,
  type MediaEntry,
  type Product,
  toIsoTime,
  tryParseJson,
} from 'mediagate/plugin';
import { originPrice, readAmount, readMoney, salePrice } from './price.js';
import { anyKnown, filled, known, readImageUrl, readText, readUrl } from './values.js';

/**
 * The description is a list of blocks, mostly as a JSON text; text, lists and pictures are what they hold. `pictures` are
 * the blocks with one.
 */
export function readDescription(product: JsonRecord) {
  const written = at(product, 'product_model', 'description') ?? at(product, 'product_base', 'desc_detail');
  const blocks = asArray(typeof written === 'string' ? tryParseJson(written) : written);
  if (!blocks) {
    const text = typeof written === 'string' && !/^\s*[[{]/.test(written) ? readText(written) : undefined;
    return { text, pictures: [] };
  }
  const lines = blocks.flatMap((block) => linesOf(block));
  const pictures = blocks.filter((block) => at(block, 'type') === 'image' || at(block, 'image') !== undefined);
  return { text: lines.length > 0 ? lines.join('\n') : undefined, pictures };
}

function linesOf(block: unknown, depth = 3): string[] {
  const text =
    readText(at(block, 'text')) ??
    readText((asArray(at(block, 'sub')) ?? []).map((sub) => asString(at(sub, 't')) ?? '').join(''));
  const content = depth > 0 ? (asArray(at(block, 'content')) ?? []) : [];
  const items = content.flatMap((item) => readText(item) ?? linesOf(item, depth - 1));
  return [...(text ? [text] : []), ...items];
}

/** Names from the widest category to the narrowest. */
export function readCategories(around: JsonRecord, product: JsonRecord): string[] {
  const list = asArray(around.categories) ?? asArray(product.categories) ?? [];
  const levels = list.map((category, index) => ({
    name: readText(at(category, 'category_name')),
    level: asCount(at(category, 'level')) ?? index,
  }));
  return levels.sort((one, other) => one.level - other.level).flatMap(({ name }) => name ?? []);
}

export function readSpecifications(product: JsonRecord) {
  const listed = asRecords(at(product, 'product_model', 'product_properties')).flatMap((property) => {
    const values = (asArray(property.property_values) ?? []).flatMap(
      (value) => readText(at(value, 'property_value_name')) ?? [],
    );
    return namedValue(property.property_name, values.join(', '));
  });
  if (listed.length > 0) return listed;
  return asRecords(at(product, 'product_base', 'specifications')).flatMap(({ name, value }) => namedValue(name, value));
}

/** Empty if the name or the value is no text. */
function namedValue(first: unknown, second: unknown) {
  const [name, value] = [readText(first), readText(second)];
  return name && value ? [{ name, value }] : [];
}

/** The way of sending that the page offers first. */
export function readShipping(product: JsonRecord): Product['shipping'] {
  const offer = at(product, 'promotion_model', 'promotion_logistic_list', 0);
  // Services stand under ids of their own.
  const services = Object.values(asRecord(at(product, 'logistic_model', 'pkg_of_service')) ?? {});
  const flat = at(product, 'shipping', 'logistics', 0) ?? product.logistic;
  const [service] = services;
  return anyKnown({
    fee:
      readMoney(at(offer, 'shippingFee', 'real_price')).value ??
      readAmount(at(service, 'shipping_fee')).value ??
      readMoney(at(flat, 'shipping_fee', 'price_val')).value,
    free: asBoolean(at(offer, 'freeShipping')) ?? asBoolean(at(flat, 'free_shipping')),
    name: readText(at(offer, 'deliveryName')) ?? readText(at(flat, 'delivery_name')),
    min_days: asCount(at(service, 'delivery_min_days')) ?? asCount(at(flat, 'delivery_min_days')),
    max_days: asCount(at(service, 'delivery_max_days')) ?? asCount(at(flat, 'delivery_max_days')),
  });
}

type Variant = NonNullable<Product['variants']>[number];

/**
 * The variants of a product, in either generation of the schema: each once, in the page's order. `stock` is what is left
 * of all together; absent where one of them does not say, since part of a sum is no sum.
 */
export function readVariants(product: JsonRecord) {
  const model = asRecords(at(product, 'product_model', 'skus'));
  const skus = model.length > 0 ? model : asRecords(product.skus);
  const images = imagesOfValues(product);
  const prices = asRecord(at(product, 'promotion_model', 'promotion_product_price', 'skus_price'));
  const variants = new Map<string, Variant>();
  let stock: number | undefined = skus.length > 0 ? 0 : undefined;
  for (const sku of skus) {
    const id = asId(sku.sku_id);
    if (id !== undefined && variants.has(id)) continue;
    const left = asCount(at(sku, 'sku_quantity', 'available_quantity')) ?? asCount(sku.stock);
    stock = left === undefined || stock === undefined ? undefined : stock + left;
    if (id === undefined) continue;
    variants.set(id, known({ id, ...readVariant(sku, prices?.[id], images), stock: left }));
  }
  return { variants: [...variants.values()], stock };
}

/** @param apart - its price, where prices stand apart. */
function readVariant(sku: JsonRecord, apart: unknown, images: ReadonlyMap<string | undefined, string>) {
  const pairs = asRecords(sku.property_pairs ?? sku.sku_sale_props);
  const properties = pairs.flatMap((pair) =>
    namedValue(pair.sku_property_name ?? pair.prop_name, pair.sku_property_value_name ?? pair.prop_value),
  );
  const pictured = pairs.flatMap((pair) => images.get(asId(pair.sku_property_value_id ?? pair.prop_value_id)) ?? []);
  return {
    name: properties.map(({ value }) => value).join(', ') || readText(sku.sku_name),
    properties: filled(properties),
    price: apart ? salePrice(apart).value : readAmount(at(sku, 'price', 'real_price', 'price_val')).value,
    original_price: apart ? originPrice(apart).value : readAmount(at(sku, 'price', 'original_price_value')).value,
    image: readImageUrl(sku.sku_origin_image) ?? readImageUrl(sku.sku_image) ?? pictured[0],
  };
}

/** Pictures belong to values of a property, such as a colour, and so to all variants that have it. */
function imagesOfValues(product: JsonRecord): Map<string | undefined, string> {
  const axes = [...asRecords(at(product, 'product_model', 'sale_properties')), ...asRecords(product.sale_props)];
  const values = axes.flatMap((axis) => asRecords(axis.property_values ?? axis.sale_prop_values));
  return new Map(
    values.flatMap((value) => {
      const id = asId(value.property_value_id) ?? asId(value.prop_value_id);
      const url = readImageUrl(value.image);
      return id && url ? [[id, url] as const] : [];
    }),
  );
}

/**
 * Pictures and videos of the product itself, videos best first; then those in its description, and what creators made of
 * it. `pictures` are the description's.
 */
export function readMedia(product: JsonRecord, around: JsonRecord, pictures: readonly unknown[]) {
  const listed = at(product, 'product_model', 'images') ?? at(product, 'product_base', 'images');
  const images = (asArray(listed) ?? []).flatMap((image) => imageEntry(image));
  const videos = videosOf(product);
  const described = pictures.flatMap((block) => imageEntry(block, 'description'));
  const media = new Map<string, MediaEntry>();
  for (const entry of [...images, ...videos, ...described, ...creatorVideos(around)]) {
    if (!media.has(entry.url)) media.set(entry.url, entry);
  }
  return {
    image_urls: [...new Set(images.map(({ url }) => url))],
    video_urls: [...new Set(videos.map(({ url }) => url))],
    media: filled([...media.values()]),
  };
}

function imageEntry(image: unknown, label?: string): MediaEntry[] {
  return mediaEntry(readImageUrl(image), asRecord(at(image, 'image')) ?? image, { kind: 'image', label });
}

function videosOf(product: JsonRecord): MediaEntry[] {
  const model = at(product, 'product_model', 'videos');
  const videos = asArray(model) ?? Object.values(asRecord(model) ?? {});
  return [...videos, at(product, 'product_base', 'desc_video')]
    .flatMap((video) => asRecords(at(video, 'video_infos')).flatMap((file) => videoEntry(file, at(video, 'duration'))))
    .sort((one, other) => (other.height ?? 0) - (one.height ?? 0) || (other.bitrate ?? 0) - (one.bitrate ?? 0));
}

function videoEntry(file: JsonRecord, duration: unknown): MediaEntry[] {
  const format = asString(file.format)?.toLowerCase();
  const seconds = asNumber(duration) ?? 0;
  return mediaEntry(readUrl(file.main_url) ?? readUrl(file.backup_url), file, {
    kind: 'video',
    mime: format && /^[a-z0-9]{2,5}$/.test(format) ? `video/${format}` : undefined,
    bitrate: asPositive(file.bitrate),
    size: asPositive(file.size),
    duration_seconds: seconds > 0 ? seconds : undefined,
    quality: readText(file.video_quality),
    endsAt: file.url_expire,
  });
}

/** Posts of others that show the product: listed, and kept apart from the product's own. Their lengths are in milliseconds. */
function creatorVideos(around: JsonRecord): MediaEntry[] {
  return asRecords(around.related_videos).flatMap((post) =>
    mediaEntry(readUrl(post.content_url), post, {
      kind: 'video',
      label: 'creator',
      duration_seconds: (asPositive(post.duration) ?? 0) / 1000 || undefined,
      endsAt: post.expiration_time,
    }),
  );
}

interface EntryFields extends Omit<MediaEntry, 'url'> {
  /** When the URL ends, where the page says so beside it. */
  endsAt?: unknown;
}

/** An entry with the size that a file's record has; none without a URL. */
function mediaEntry(url: string | undefined, file: unknown, { endsAt, ...fields }: EntryFields): MediaEntry[] {
  if (!url) return [];
  // The sooner of what stands beside the address and what it carries itself.
  const [expires_at] = [toIsoTime(asPositive(endsAt)), expiryOf(url)].flatMap((time) => time ?? []).sort();
  return [
    known<MediaEntry>({
      ...fields,
      url,
      has_video: fields.kind === 'video' || undefined,
      width: asPositive(at(file, 'width')),
      height: asPositive(at(file, 'height')),
      expires_at,
    }),
  ];
}
