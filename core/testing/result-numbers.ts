import type { Extraction } from '../contracts/index.js';
import { parseCount, parseDuration } from '../extraction/scraping/index.js';
import { NestedJson, type ReplyParts } from './reply-parts.js';

export interface KnownNumbers {
  /** Numbers of a result that are neither the intact one's at that place nor borne by the item, one line each. */
  unknownIn(extraction: Extraction, spoils: readonly unknown[]): string[];
}

/** Characters of a unit behind a number: " Mio.", "万". */
const UNIT_LENGTH = 12;
/** Members by which a record says what it is of. */
const IDENTITY = /^(?:id|pk|code|shortcode|(?:\w*_)?(?:video|post|media|product|item|aweme)_?id)$/i;

/** Names of members whose nought is a number told. */
const COUNTER = /count|total/i;

/** A picture or a file has an id of its own; that it is the item's, its address tells. */
const FILE = /\.(?:entries|media)\[\]/;

/**
 * What numbers a result may have: at a place those that the result of the intact replies has there, and anywhere those
 * that the replies state without saying that they are another item's.
 * @param ids - of the item and of its author.
 */
export function knownNumbers(intact: Extraction, replies: readonly ReplyParts[], ids: readonly string[]): KnownNumbers {
  const atPlace = new Map<string, Set<number>>();
  for (const { place, anyPlace, value } of numbersOf(intact)) {
    for (const key of new Set([place, anyPlace])) atPlace.set(key, (atPlace.get(key) ?? new Set()).add(value));
  }
  const borne = new Set<number>();
  const anywhere = new Set<number>();
  for (const part of replies.flatMap(({ parts }) => parts)) {
    if (part.kind === 'json') collect(part.value, ids, borne);
    else addText(part.text, borne);
    addText(part.text, anywhere);
  }
  return {
    unknownIn(extraction, spoils) {
      const spoiled = new Set<number>();
      for (const value of spoils) collect(value, ids, spoiled);
      return numbersOf(extraction).flatMap(({ place, anyPlace, value }) => {
        const known = atPlace.get(place) ?? atPlace.get(anyPlace);
        const stated = FILE.test(anyPlace) ? anywhere : borne;
        return known?.has(value) || stated.has(value) || spoiled.has(value) ? [] : [`${place} became ${value}`];
      });
    },
  };
}

interface PlacedNumber {
  /** Elements of lists by their id or address, as far as they have one. */
  place: string;
  /** Elements of lists all alike. */
  anyPlace: string;
  value: number;
}

function numbersOf({ data }: Extraction): PlacedNumber[] {
  const found: PlacedNumber[] = [];
  const walk = (value: unknown, place: string, anyPlace: string) => {
    if (typeof value === 'number') found.push({ place, anyPlace, value });
    if (typeof value !== 'object' || value === null) return;
    for (const [name, member] of Object.entries(value)) {
      if (!Array.isArray(value)) walk(member, `${place}.${name}`, `${anyPlace}.${name}`);
      else walk(member, `${place}[${nameOf(member)}]`, `${anyPlace}[]`);
    }
  };
  walk(data, 'data', 'data');
  return found;
}

function nameOf(element: unknown): string {
  const { id, url } = Object(element) as { id?: unknown; url?: unknown };
  return String(id ?? url ?? '');
}

/** The numbers of a value, those of records that bear another id left out. */
function collect(value: unknown, ids: readonly string[], numbers: Set<number>): void {
  if (typeof value === 'number') addNumber(value, numbers);
  else if (typeof value === 'string') addText(value, numbers);
  else if (value instanceof NestedJson) collect(value.value, ids, numbers);
  else if (Array.isArray(value)) for (const item of value) collect(item, ids, numbers);
  else if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value);
    if (entries.some(([name, member]) => IDENTITY.test(name) && isOther(member, ids))) return;
    for (const [name, member] of entries) {
      collect(member, ids, numbers);
      if (COUNTER.test(name) && (member === 0 || member === '0')) numbers.add(0);
    }
  }
}

function isOther(id: unknown, ids: readonly string[]): boolean {
  if (typeof id !== 'string' || id === '') return false;
  return ![id, Buffer.from(id, 'base64').toString('latin1')].some((text) => ids.some((own) => text.includes(own)));
}

/**
 * Sources count in thousandths as well. Noughts are everywhere, and one in a result is what careless code makes of
 * nothing: only those of counters count.
 */
function addNumber(value: number, numbers: Set<number>): void {
  if (value !== 0) numbers.add(value).add(value / 1000);
}

function addText(text: string, numbers: Set<number>): void {
  const duration = parseDuration(text);
  if (duration !== undefined) numbers.add(duration);
  for (const { 0: number, index } of text.matchAll(/\d+(?:[.,\u00a0\u202f]\d+)*/g)) {
    const count = parseCount(text.slice(index, index + number.length + UNIT_LENGTH));
    if (count?.value) numbers.add(count.value);
    addNumber(Number(number), numbers);
    addNumber(Number(number.replace(/\D/g, '')), numbers);
    addNumber(Number(number.replace(',', '.')), numbers);
    for (const digits of number.split(/\D/)) addNumber(Number(digits), numbers);
  }
}
