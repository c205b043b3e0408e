import { asArray, asCount, asRecord, at, type JsonRecord, type Product } from 'mediagate';
import { originPrice, readAmount, salePrice } from './parse-price.js';
import { readId, readImageUrl, readText, recordsIn } from './read-values.js';

type Variant = NonNullable<Product['variants']>[number];

export interface FoundVariants {
  /** Each once, in the page's order. */
  variants: Variant[];
  /** What is left of all together; absent where one of them does not say, since part of a sum is no sum. */
  stock?: number;
}

/** The variants of a product, in either generation of the schema. */
export function readVariants(product: JsonRecord): FoundVariants {
  const model = recordsIn(at(product, 'product_model', 'skus'));
  const skus = model.length > 0 ? model : recordsIn(product.skus);
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
  return { variants: [...variants.values()], ...(stock !== undefined && { stock }) };
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
  const pairs = recordsIn(sku.property_pairs ?? sku.sku_sale_props);
  const properties = pairs.flatMap((pair) => {
    const name = readText(pair.sku_property_name ?? pair.prop_name);
    const value = readText(pair.sku_property_value_name ?? pair.prop_value);
    return name && value ? [{ name, value }] : [];
  });
  const pictured = images.size === 0 ? [] : pairs.flatMap((pair) => images.get(valueId(pair)) ?? []);
  const name = properties.map(({ value }) => value).join(', ') || readText(sku.sku_name);
  const price = apart ? salePrice(apart).value : readAmount(at(sku, 'price', 'real_price', 'price_val')).value;
  const original = apart ? originPrice(apart).value : readAmount(at(sku, 'price', 'original_price_value')).value;
  const image = readImageUrl(sku.sku_origin_image) ?? readImageUrl(sku.sku_image) ?? pictured[0];
  return {
    id,
    ...(name && { name }),
    ...(properties.length > 0 && { properties }),
    ...(price !== undefined && { price }),
    ...(original !== undefined && { original_price: original }),
    ...(stock !== undefined && { stock }),
    ...(image && { image }),
  };
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
