import { isZeroInWords, readUnit, unitBefore } from './count-units.js';

export interface Count {
  value: number;
  /** False where the platform rounded: "1.2M", "10,000+". */
  exact: boolean;
}

/** First code points of the runs of ten decimal digits that interfaces use besides 0 to 9. */
const DIGIT_ZEROS = [
  0x0660, 0x06f0, 0x07c0, 0x0966, 0x09e6, 0x0a66, 0x0ae6, 0x0b66, 0x0be6, 0x0c66, 0x0ce6, 0x0d66, 0x0e50, 0x0ed0,
  0x0f20, 0x1040, 0x17e0, 0xff10,
];

const INVISIBLE = /[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;
const SPACES = /[\u00a0\u2007\u2009\u202f]/g;
const MAX_LENGTH = 300;

/** Grouped by threes with one and the same separator; grouped the Indian way; or not grouped. A fraction may follow. */
const NUMBER =
  /\d{1,3}(?<separator>[.,'’ ])\d{3}(?:\k<separator>\d{3})*(?![\d])(?:[.,]\d+)?|\d{1,2}(?:,\d{2})+,\d{3}(?!\d)(?:\.\d+)?|\d+(?:[.,]\d+)?/;

/**
 * The first count in a text in any interface language: "1.23M subscribers", "31,009 likes", "1,2 Mio. Abonnenten",
 * "1.234.567 visualizaciones", "12万", "2.5 lakh", Arabic-Indic and other digits. A single separator before exactly
 * three digits groups thousands where no unit follows and is a decimal mark where one does. Undefined where there is no
 * whole count to be read.
 */
export function parseCount(text: string): Count | undefined {
  const plain = normalize(text.slice(0, MAX_LENGTH));
  const match = NUMBER.exec(plain);
  if (!match) return isZeroInWords(plain) ? { value: 0, exact: true } : undefined;
  if (/(?:^|\s)[-−]$/.test(plain.slice(0, match.index))) return undefined;
  let rest = plain.slice(match.index + match[0].length);
  if (/^[.,]\d/.test(rest)) return undefined;
  const multiplier = unitBefore(plain.slice(0, match.index));
  if (multiplier !== undefined) return { value: Math.round(decimal(match[0]) * multiplier), exact: false };
  const first = readQuantity(match[0], rest);
  if (first === undefined) return undefined;
  let { value, exact } = first;
  rest = first.rest;
  // 1億2345万: units that go down one after the other belong to one number.
  for (let unit = first.multiplier, more = first; unit > 1 && more.eastAsian; unit = more.multiplier) {
    const next = /^\s?(\d[\d,]*)/.exec(rest);
    const quantity = next?.[1] && readQuantity(next[1], rest.slice(next[0].length));
    if (!quantity || quantity.multiplier >= unit) break;
    value += quantity.value;
    exact = quantity.multiplier === 1;
    rest = quantity.rest;
    more = quantity;
  }
  if (/^\s?\+/.test(rest)) exact = false;
  return Number.isSafeInteger(value) ? { value, exact } : undefined;
}

interface Quantity {
  value: number;
  exact: boolean;
  multiplier: number;
  eastAsian: boolean;
  rest: string;
}

function readQuantity(digits: string, after: string): Quantity | undefined {
  const gap = /^ ?/.exec(after)?.[0].length ?? 0;
  const unit = readUnit(after.slice(gap));
  if (unit) {
    const number = unit.eastAsian ? Number(digits.replace(/[,' ]/g, '')) : decimal(digits);
    const value = Math.round(number * unit.multiplier);
    return {
      value,
      exact: false,
      multiplier: unit.multiplier,
      eastAsian: unit.eastAsian,
      rest: after.slice(gap + unit.length),
    };
  }
  const value = whole(digits);
  return value === undefined ? undefined : { value, exact: true, multiplier: 1, eastAsian: false, rest: after };
}

/** With a unit: the last separator is the decimal mark, unless it stands several times. */
function decimal(digits: string): number {
  const separators = digits.replace(/\d/g, '');
  const last = separators.at(-1);
  if (last === undefined) return Number(digits);
  if (last !== '.' && last !== ',') return Number(digits.replace(/\D/g, ''));
  if (separators.indexOf(last) !== separators.length - 1) return Number(digits.replace(/\D/g, ''));
  const mark = digits.lastIndexOf(last);
  return Number(`${digits.slice(0, mark).replace(/\D/g, '')}.${digits.slice(mark + 1)}`);
}

/** Without a unit: separators group, and a fraction must be zero, since things are counted whole. */
function whole(digits: string): number | undefined {
  const grouped =
    /^(?:[1-9]\d{0,2}(?<separator>[.,'’ ])\d{3}(?:\k<separator>\d{3})*|[1-9]\d?(?:,\d{2})+,\d{3}|\d+)(?:[.,](?<fraction>\d+))?$/.exec(
      digits,
    );
  if (!grouped || !/^0*$/.test(grouped.groups?.fraction ?? '')) return undefined;
  const fraction = grouped.groups?.fraction;
  return Number((fraction === undefined ? digits : digits.slice(0, -fraction.length - 1)).replace(/\D/g, ''));
}

function normalize(text: string): string {
  return text
    .normalize('NFC')
    .replace(INVISIBLE, '')
    .replace(SPACES, ' ')
    .replace(/\p{Nd}/gu, (digit) => {
      const code = digit.codePointAt(0) ?? 0;
      const zero = DIGIT_ZEROS.find((start) => code >= start && code < start + 10);
      return zero === undefined ? digit : String(code - zero);
    })
    .replaceAll('٫', '.')
    .replaceAll('٬', ',');
}
