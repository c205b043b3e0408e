import { asArray, asNumber, asRecord, asRecords, asString, at, type JsonRecord, type Product } from 'mediagate/plugin';
import { anyKnown, readText } from './values.js';

/** What a page says about the price; `masked` where it hides digits. */
export interface FoundPrice {
  price?: Product['price'];
  masked: boolean;
  /** The page's own words, masked ones included. */
  words: Readonly<Record<string, string>>;
}

/** A price as one field has it. */
interface Amount {
  value?: number;
  masked: boolean;
}

/** Marks that stand where logged-out visitors do not get to see a digit. */
const MASK = /[?？*＊]/;
const PLAIN = /^\d{1,12}(?:\.\d{1,2})?$/;
/** Points by which the platform's own percentage may be off what its two prices make. */
const DISCOUNT_TOLERANCE = 1;

export function readPrice(product: JsonRecord): FoundPrice {
  const model = asRecord(at(product, 'promotion_model', 'promotion_product_price'));
  return model ? readModelPrice(model) : readFlatPrice(product);
}

function readFlatPrice(product: JsonRecord): FoundPrice {
  const price = asRecord(at(product, 'product_base', 'price'));
  const skus = (asArray(product.skus) ?? []).map((sku) => at(sku, 'price', 'real_price', 'price_val'));
  const printed = readText(price?.real_price);
  const amounts = {
    min: readAmount(price?.min_sku_price),
    max: readAmount(price?.max_sku_price),
    original: firstAmount(price?.min_sku_original_price, price?.original_price),
  };
  const currency = readText(price?.currency) ?? readText(at(product, 'skus', 0, 'price', 'real_price', 'currency'));
  const stated = percentOf(price?.discount) ?? percentOf(percentInNote(price?.da_info));
  return assemble(
    amounts,
    skus.map((value) => readAmount(value)),
    { currency, printed, stated },
  );
}

function percentInNote(note: unknown): unknown {
  // A JSON text of a few members, of which one matters; a number is all that is taken.
  return /"discount_percentage"\s*:\s*"?(\d{1,3})/.exec(asString(note) ?? '')?.[1];
}

function readModelPrice(model: JsonRecord): FoundPrice {
  // The range is written as two prices, or as two plain texts.
  const [lowest, highest] = [at(model, 'range_price', 'min_price'), at(model, 'range_price', 'max_price')];
  const least = asRecord(model.min_price) ?? asRecord(lowest) ?? { sale_price_decimal: lowest };
  const most = asRecord(model.max_price) ?? asRecord(highest) ?? { sale_price_decimal: highest };
  const skus = Object.values(asRecord(model.skus_price) ?? {});
  const amounts = {
    min: salePrice(least),
    max: salePrice(most),
    original: originPrice(least),
  };
  const [first] = asRecords(skus);
  const currency = readText(least.currency_name) ?? readText(first?.currency_name);
  const stated = percentOf(least.discount_format) ?? fractionOf(least.discount_decimal);
  const sold = skus.map((sku) => salePrice(sku));
  return assemble(amounts, sold, { currency, printed: printedPrice(least), stated });
}

/** What one variant, or the cheapest, costs now. */
export function salePrice(price: unknown): Amount {
  return firstAmount(
    at(price, 'sale_price_decimal'),
    at(price, 'single_product_price_decimal'),
    at(price, 'sale_price_format'),
  );
}

export function originPrice(price: unknown): Amount {
  return firstAmount(
    at(price, 'origin_price_decimal'),
    at(price, 'raw_origin_price_decimal'),
    at(price, 'origin_price_format'),
  );
}

function printedPrice(price: JsonRecord): string | undefined {
  const format = readText(price.sale_price_format);
  const symbol = readText(price.currency_symbol);
  if (!format || !symbol || format.includes(symbol)) return format;
  const space = price.show_currency_space === true ? ' ' : '';
  return Number(price.symbol_position) === 2 ? `${format}${space}${symbol}` : `${symbol}${space}${format}`;
}

interface Stated {
  currency?: string;
  /** As the page prints the price. */
  printed?: string;
  /** Percent, as the page says. */
  stated?: number;
}

function assemble(
  { min, max, original }: Readonly<Record<'min' | 'max' | 'original', Amount>>,
  skus: readonly Amount[],
  { currency, printed, stated }: Stated,
): FoundPrice {
  const clear = skus.length > 0 && skus.every(({ value }) => value !== undefined);
  const values = clear ? skus.flatMap(({ value }) => value ?? []) : [];
  const lowest = min.value ?? (clear ? Math.min(...values) : undefined);
  const highest = max.value ?? (clear ? Math.max(...values) : undefined);
  const hidden = lowest === undefined && (min.masked || skus.some(({ masked }) => masked) || MASK.test(printed ?? ''));
  // Next to a hidden price, an end of the range would give it away or be it.
  const top = hidden || highest === undefined || (lowest !== undefined && highest < lowest) ? undefined : highest;
  const before = original.value;
  const percent = agreed(stated, lowest, before);
  return {
    price: anyKnown({
      amount: lowest,
      min: lowest,
      max: top,
      currency: currency && /^[A-Z]{3}$/.test(currency) ? currency : undefined,
      original_amount: before,
      discount_percent: percent,
      text: printed && !MASK.test(printed) ? printed : undefined,
    }),
    masked: hidden || (max.masked && top === undefined) || (original.masked && before === undefined),
    words: { ...(printed && { price_text: printed }) },
  };
}

/** The page's percentage, unless its own two prices say otherwise. */
function agreed(
  stated: number | undefined,
  sale: number | undefined,
  original: number | undefined,
): number | undefined {
  if (stated === undefined || sale === undefined || original === undefined) return stated;
  return Math.abs((1 - sale / original) * 100 - stated) <= DISCOUNT_TOLERANCE ? stated : undefined;
}

function percentOf(value: unknown): number | undefined {
  const percent = Number(/^[-−]?\s*(\d{1,3}(?:\.\d+)?)\s*%?$/.exec(readText(value) ?? '')?.[1]);
  return percent > 0 && percent <= 100 ? percent : undefined;
}

function fractionOf(value: unknown): number | undefined {
  const fraction = asNumber(value);
  return fraction !== undefined && fraction > 0 && fraction < 1 ? Math.round(fraction * 10_000) / 100 : undefined;
}

function firstAmount(...values: readonly unknown[]): Amount {
  const amounts = values.map((value) => readAmount(value));
  return amounts.find(({ value }) => value !== undefined) ?? { masked: amounts.some(({ masked }) => masked) };
}

/**
 * A price in any notation: `24.17`, `1,299.00`, `1.299,00 €`, `Rp12.345`. A separator before exactly three digits groups
 * thousands. A masked or empty one has no value, and neither has zero, which stands where nothing is known.
 */
export function readAmount(value: unknown): Amount {
  const amount = readMoney(value);
  return amount.value === 0 ? { masked: false } : amount;
}

/** As {@link readAmount}, and zero counts: what is sent free of charge costs that. */
export function readMoney(value: unknown): Amount {
  if (typeof value === 'number')
    return Number.isFinite(value) && value >= 0 ? { value, masked: false } : { masked: false };
  const text = readText(value);
  if (text === undefined) return { masked: false };
  if (PLAIN.test(text)) return { value: Number(text), masked: false };
  if (MASK.test(text)) return { masked: true };
  const numbers = text.replace(/[\s\u00a0\u202f'’]/g, '').match(/\d(?:[\d.,]*\d)?/g) ?? [];
  const [digits] = numbers;
  if (digits === undefined || numbers.length > 1) return { masked: false };
  const number = Number(toPlain(digits));
  return Number.isFinite(number) ? { value: number, masked: false } : { masked: false };
}

function toPlain(digits: string): string {
  const decimals = /^(.*)[.,](\d{1,2})$/.exec(digits);
  const [whole, fraction] = decimals ? [decimals[1] ?? '', decimals[2]] : [digits, undefined];
  const grouped = whole.replace(/[.,]/g, '');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}
