/*
 * Reads the price of a product in any notation and currency. Visitors without an account see some digits masked; a
 * masked price has no amount and is reported as hidden, and nothing is computed from its range. A zero counts as
 * unknown, except for shipping fees. The percentage of a discount is dropped if it differs by more than one point from
 * what the two prices give. Lists of variants supply the lowest and highest price only if all of them state one.
 */

import {
  asArray,
  asNumber,
  asRecord,
  asRecords,
  asString,
  at,
  type JsonRecord,
  type Product,
  rawStats,
} from 'mediagate/plugin';
import { anyKnown, readText } from './values.js';

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

/**
 * What a page says about the price: `masked` if it hides digits, `words` as the page has them, masked ones included.
 */
export function readPrice(product: JsonRecord) {
  const model = asRecord(at(product, 'promotion_model', 'promotion_product_price'));
  const { min, max, original, skus, currency, printed, stated } = model ? modelPrice(model) : flatPrice(product);
  const values = skus.flatMap(({ value }) => value ?? []);
  const clear = skus.length > 0 && values.length === skus.length;
  const lowest = min.value ?? (clear ? Math.min(...values) : undefined);
  const highest = max.value ?? (clear ? Math.max(...values) : undefined);
  const hidden = lowest === undefined && (min.masked || skus.some(({ masked }) => masked) || MASK.test(printed ?? ''));
  // Next to a hidden price, an end of the range would give it away or be it.
  const top = hidden || highest === undefined || (lowest !== undefined && highest < lowest) ? undefined : highest;
  const before = original.value;
  const discount = lowest === undefined || before === undefined ? undefined : (1 - lowest / before) * 100;
  const isDenied = discount !== undefined && stated !== undefined && Math.abs(discount - stated) > DISCOUNT_TOLERANCE;
  const price: Product['price'] = anyKnown({
    amount: lowest,
    min: lowest,
    max: top,
    currency: currency && /^[A-Z]{3}$/.test(currency) ? currency : undefined,
    original_amount: before,
    discount_percent: isDenied ? undefined : stated,
    text: printed && !MASK.test(printed) ? printed : undefined,
  });
  return {
    price,
    masked: hidden || (max.masked && top === undefined) || (original.masked && before === undefined),
    words: rawStats({ price_text: printed }),
  };
}

/** Both generations of the schema have these: the page's own prices, those of its variants, its words and percentage. */
function flatPrice(product: JsonRecord) {
  const price = asRecord(at(product, 'product_base', 'price'));
  // A JSON text of a few members, of which one matters; a number is all that is taken.
  const note = /"discount_percentage"\s*:\s*"?(\d{1,3})/.exec(asString(price?.da_info) ?? '')?.[1];
  return {
    min: readAmount(price?.min_sku_price),
    max: readAmount(price?.max_sku_price),
    original: firstAmount(price?.min_sku_original_price, price?.original_price),
    skus: (asArray(product.skus) ?? []).map((sku) => readAmount(at(sku, 'price', 'real_price', 'price_val'))),
    currency: readText(price?.currency) ?? readText(at(product, 'skus', 0, 'price', 'real_price', 'currency')),
    printed: readText(price?.real_price),
    stated: percentOf(price?.discount) ?? percentOf(note),
  };
}

function modelPrice(model: JsonRecord) {
  // The range is written as two prices, or as two plain texts.
  const [lowest, highest] = [at(model, 'range_price', 'min_price'), at(model, 'range_price', 'max_price')];
  const least = asRecord(model.min_price) ?? asRecord(lowest) ?? { sale_price_decimal: lowest };
  const most = asRecord(model.max_price) ?? asRecord(highest) ?? { sale_price_decimal: highest };
  const skus = Object.values(asRecord(model.skus_price) ?? {});
  return {
    min: salePrice(least),
    max: salePrice(most),
    original: originPrice(least),
    skus: skus.map((sku) => salePrice(sku)),
    currency: readText(least.currency_name) ?? readText(asRecords(skus)[0]?.currency_name),
    printed: printedPrice(least),
    stated: percentOf(least.discount_format) ?? fractionOf(least.discount_decimal),
  };
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

/** A price in any notation, where zero is a value: what is sent free of charge costs that. */
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
  const [, whole = digits, fraction = '0'] = /^(.*)[.,](\d{1,2})$/.exec(digits) ?? [];
  const number = Number(`${whole.replace(/[.,]/g, '')}.${fraction}`);
  return Number.isFinite(number) ? { value: number, masked: false } : { masked: false };
}
