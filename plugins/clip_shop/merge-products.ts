import type { Part, Precision, Product, ProductData } from 'mediagate';
import type { FoundProduct } from './parse-product.js';

export interface MergedProduct {
  product: Partial<Product>;
  raw_stats: ProductData['raw_stats'];
  sources: Record<string, string>;
  precision: Record<string, Precision>;
}

/** Members that hang together: a price is one source's or another's, never half of each. */
const GROUPS = ['shop', 'rating'] as const;

/** One product of several parts, given best first: of each member the first part that has it wins. */
export function mergeProducts(parts: readonly Part<FoundProduct>[]): MergedProduct {
  const product: Record<string, unknown> = {};
  const sources: Record<string, string> = {};
  for (const { method, found } of byPrice(parts)) {
    for (const [name, value] of Object.entries(found.product)) {
      if (Object.hasOwn(product, name) && !isEmptyList(product[name])) continue;
      product[name] = value;
      if (!isEmptyList(value)) sources[`product.${name}`] = method;
    }
  }
  for (const group of GROUPS) Object.assign(product, mergeGroup(group, parts, sources));
  const raw_stats = Object.assign({}, ...parts.map(({ found }) => found.raw_stats).reverse());
  const precision = Object.assign({}, ...parts.map(({ found }) => found.precision).reverse());
  // Every value came out of a product of this very type.
  return { product: product as Partial<Product>, raw_stats, sources, precision };
}

/** Another source's price is better than none: one that has an amount goes before one that hides it. */
function byPrice(parts: readonly Part<FoundProduct>[]): readonly Part<FoundProduct>[] {
  if (!parts.some(({ found }) => found.product.price?.amount !== undefined)) return parts;
  return parts.map((part) => {
    if (!part.found.product.price || part.found.product.price.amount !== undefined) return part;
    const { price: _hidden, ...product } = part.found.product;
    return { ...part, found: { ...part.found, product } };
  });
}

/** Members of one shop, or one rating, from several parts, where nothing says that they are of two. */
function mergeGroup(
  group: (typeof GROUPS)[number],
  parts: readonly Part<FoundProduct>[],
  sources: Record<string, string>,
): Partial<Product> {
  const members: Record<string, unknown> = {};
  for (const { method, found } of parts) {
    const other = found.product[group];
    if (!other || ('id' in other && other.id && members.id && other.id !== members.id)) continue;
    for (const [name, value] of Object.entries(other)) {
      if (Object.hasOwn(members, name)) continue;
      members[name] = value;
      sources[`product.${group}.${name}`] = method;
    }
  }
  delete sources[`product.${group}`];
  return Object.keys(members).length > 0 ? { [group]: members } : {};
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}
