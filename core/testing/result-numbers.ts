import type { Extraction } from '../contracts/index.js';
import { parseCount, parseDuration } from '../extraction/scraping/index.js';
import { NestedJson, type ReplyParts } from './reply-parts.js';

export interface KnownNumbers {
  /** Numbers of a result that are neither in the intact result at that path nor in the item, one line each. */
  unknownIn(extraction: Extraction, spoils: readonly unknown[]): string[];
}

/** Length of a unit after a number: " Mio.", "万". */
const UNIT_LENGTH = 12;
/** Fields that identify a record. */
const IDENTITY = /^(?:id|pk|code|shortcode|(?:\w*_)?(?:video|post|media|product|item|aweme)_?id)$/i;

/** Fields in which zero is a real value. */
const COUNTER = /count|total/i;

/** A picture or a file has an id of its own; its URL shows that it belongs to the item. */
const FILE = /\.(?:entries|media)\[\]/;

/**
 * The numbers that a result may contain: at a path those of the intact result, and anywhere those that the replies
 * state without attributing them to another item.
 * @param ids - of the item and of its author.
 */
export function knownNumbers(intact: Extraction, replies: readonly ReplyParts[], ids: readonly string[]): KnownNumbers {
  const atPath = new Map<string, Set<number>>();
  for (const { path, anyPath, value } of numbersOf(intact)) {
    for (const key of new Set([path, anyPath])) atPath.set(key, (atPath.get(key) ?? new Set()).add(value));
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
      return numbersOf(extraction).flatMap(({ path, anyPath, value }) => {
        const known = atPath.get(path) ?? atPath.get(anyPath);
        const stated = FILE.test(anyPath) ? anywhere : borne;
        return known?.has(value) || stated.has(value) || spoiled.has(value) ? [] : [`${path} became ${value}`];
      });
    },
  };
}

interface PlacedNumber {
  /** Elements of lists by their id or URL, if they have one. */
  path: string;
  /** Elements of lists without an identity. */
  anyPath: string;
  value: number;
}

function numbersOf({ data }: Extraction): PlacedNumber[] {
  const found: PlacedNumber[] = [];
  const walk = (value: unknown, path: string, anyPath: string) => {
    if (typeof value === 'number') found.push({ path, anyPath, value });
    if (typeof value !== 'object' || value === null) return;
    for (const [name, field] of Object.entries(value)) {
      if (!Array.isArray(value)) walk(field, `${path}.${name}`, `${anyPath}.${name}`);
      else walk(field, `${path}[${nameOf(field)}]`, `${anyPath}[]`);
    }
  };
  walk(data, 'data', 'data');
  return found;
}

function nameOf(element: unknown): string {
  const { id, url } = Object(element) as { id?: unknown; url?: unknown };
  return String(id ?? url ?? '');
}

/** The numbers of a value, without records that have another id. */
function collect(value: unknown, ids: readonly string[], numbers: Set<number>): void {
  if (typeof value === 'number') addNumber(value, numbers);
  else if (typeof value === 'string') addText(value, numbers);
  else if (value instanceof NestedJson) collect(value.value, ids, numbers);
  else if (Array.isArray(value)) for (const item of value) collect(item, ids, numbers);
  else if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value);
    if (entries.some(([name, field]) => IDENTITY.test(name) && isOther(field, ids))) return;
    for (const [name, field] of entries) {
      collect(field, ids, numbers);
      if (COUNTER.test(name) && (field === 0 || field === '0')) numbers.add(0);
    }
  }
}

function isOther(id: unknown, ids: readonly string[]): boolean {
  if (typeof id !== 'string' || id === '') return false;
  return ![id, Buffer.from(id, 'base64').toString('latin1')].some((text) => ids.some((own) => text.includes(own)));
}

/**
 * Sources also count in thousandths. Zeros are everywhere, and careless code turns missing values into zeros: only
 * those of counters count.
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
