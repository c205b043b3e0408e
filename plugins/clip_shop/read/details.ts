import {
  asArray,
  asBoolean,
  asCount,
  asRecord,
  asRecords,
  asString,
  at,
  type JsonRecord,
  type Product,
  tryParseJson,
} from 'mediagate/plugin';
import { originPrice, readAmount, readMoney, salePrice } from './price.js';
import { anyKnown, filled, known, readId, readImageUrl, readText } from './values.js';

export interface FoundDescription {
  text?: string;
  /** Blocks that hold a picture. */
  pictures: readonly unknown[];
}

/** The description is a list of blocks, mostly as a JSON text; text, lists and pictures are what they hold. */
export function readDescription(product: JsonRecord): FoundDescription {
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

type Specification = NonNullable<Product['specifications']>[number];

export function readSpecifications(product: JsonRecord): Specification[] {
  const listed = (asArray(at(product, 'product_model', 'product_properties')) ?? []).flatMap((property) => {
    const values = (asArray(at(property, 'property_values')) ?? []).flatMap(
      (value) => readText(at(value, 'property_value_name')) ?? [],
    );
    return specification(at(property, 'property_name'), values.join(', '));
  });
  if (listed.length > 0) return listed;
  return (asArray(at(product, 'product_base', 'specifications')) ?? []).flatMap((one) =>
    specification(at(one, 'name'), at(one, 'value')),
  );
}

function specification(name: unknown, value: unknown): Specification[] {
  const [key, text] = [readText(name), readText(value)];
  return key && text ? [{ name: key, value: text }] : [];
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

export interface FoundVariants {
  /** Each once, in the page's order. */
  variants: Variant[];
  /** What is left of all together; absent where one of them does not say, since part of a sum is no sum. */
  stock?: number;
}

/** The variants of a product, in either generation of the schema. */
export function readVariants(product: JsonRecord): FoundVariants {
  const model = asRecords(at(product, 'product_model', 'skus'));
  const skus = model.length > 0 ? model : asRecords(product.skus);
  const images = imagesOfValues(product);
  const prices = asRecord(at(product, 'promotion_model', 'promotion_product_price', 'skus_price'));
  const variants = new Map<string, Variant>();
  let stock: number | undefined = skus.length > 0 ? 0 : undefined;
  for (const sku of skus) {
    const id = readId(sku.sku_id);
    if (id !== undefined && variants.has(id)) continue;
    const left = asCount(at(sku, 'sku_quantity', 'available_quantity')) ?? asCount(sku.stock);
    stock = left === undefined || stock === undefined ? undefined : stock + left;
    if (id !== undefined) variants.set(id, readVariant(sku, { id, stock: left, price: prices?.[id] }, images));
  }
  return { variants: [...variants.values()], stock };
}

interface KnownOfVariant {
  id: string;
  stock: number | undefined;
  /** Its price, where prices stand apart. */
  price: unknown;
}

function readVariant(
  sku: JsonRecord,
  { id, stock, price: apart }: KnownOfVariant,
  images: ReadonlyMap<string, string>,
): Variant {
  const pairs = asRecords(sku.property_pairs ?? sku.sku_sale_props);
  const properties = pairs.flatMap((pair) => {
    const name = readText(pair.sku_property_name ?? pair.prop_name);
    const value = readText(pair.sku_property_value_name ?? pair.prop_value);
    return name && value ? [{ name, value }] : [];
  });
  const pictured = images.size === 0 ? [] : pairs.flatMap((pair) => images.get(valueId(pair)) ?? []);
  return known({
    id,
    name: properties.map(({ value }) => value).join(', ') || readText(sku.sku_name),
    properties: filled(properties),
    price: apart ? salePrice(apart).value : readAmount(at(sku, 'price', 'real_price', 'price_val')).value,
    original_price: apart ? originPrice(apart).value : readAmount(at(sku, 'price', 'original_price_value')).value,
    stock,
    image: readImageUrl(sku.sku_origin_image) ?? readImageUrl(sku.sku_image) ?? pictured[0],
  });
}

function valueId(pair: JsonRecord): string {
  return readId(pair.sku_property_value_id ?? pair.prop_value_id) ?? '';
}

/** Pictures belong to values of a property, such as a colour, and so to all variants that have it. */
function imagesOfValues(product: JsonRecord): Map<string, string> {
  const axes = [
    ...(asArray(at(product, 'product_model', 'sale_properties')) ?? []),
    ...(asArray(product.sale_props) ?? []),
  ];
  const values = axes.flatMap((axis) => [
    ...(asArray(at(axis, 'property_values')) ?? []),
    ...(asArray(at(axis, 'sale_prop_values')) ?? []),
  ]);
  return new Map(
    values.flatMap((value) => {
      const id = readId(at(value, 'property_value_id')) ?? readId(at(value, 'prop_value_id'));
      const url = readImageUrl(at(value, 'image'));
      return id && url ? [[id, url] as const] : [];
    }),
  );
}
