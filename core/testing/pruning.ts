/*
 * Checks an extractor with 500 randomly damaged versions of a sample's replies: fields removed, lists shortened, texts
 * cut, values of other types, every second one with another item beside the requested one. A result must contain no
 * wrong id and no number that the item does not have, and only a `GatewayError` may be thrown. The same seed makes the
 * same damage, so a failure can be repeated with `PRUNING_SEED`. Damage is applied and undone in place, because a copy
 * for each version would take longer than everything else.
 */

import type { Extraction } from '../contracts/index.js';
import { parseCount, parseDuration } from '../extraction/index.js';
import { withDecoys } from './decoys.js';
import { damageProblems, type ExtractorDefinition, type FoundSample, readIntact, runSample } from './extraction-run.js';
import { withFastClock } from './fakes.js';
import { createReplay, type Exchange } from './replay.js';
import { NestedJson, type Part, putTogether, type ReplyParts, takeApart } from './reply-parts.js';
import { reportAll } from './runner.js';

/** Of each sample, where `PRUNINGS` sets no other number. */
const PRUNINGS = '500';
const PROBLEMS_SHOWN = 20;
/** Spread, so that adjacent seeds begin with different numbers. */
const SEED_STEP = 7919;

/**
 * Replies with fields removed, lists shortened, texts cut and values of other types, every second one with another item
 * beside the requested one. The result must contain no wrong id and no number that the item does not have, and only a
 * GatewayError may be thrown. `PRUNINGS` sets their number, `PRUNING_SEED` runs a single one.
 */
export async function passesPruned(definition: ExtractorDefinition, sample: FoundSample): Promise<void> {
  const intact = await readIntact(definition, sample);
  const replies = intact.exchanges.map(takeApart);
  const decoyed = replies.map((reply) => withDecoys(reply, intact.itemIds));
  const unknownIn = knownNumbers(intact.extraction, replies, intact.ids);
  const problems: string[] = [];
  await withFastClock(async (clock) => {
    for (const seed of seeds()) {
      const random = seededRandom(seed * SEED_STEP);
      const pruned = (seed % 2 === 0 ? replies : decoyed).map((reply) => pruneReply(reply, random));
      const replay = createReplay(pruned.map(({ exchange }) => exchange));
      const run = await runSample(definition, sample, replay, { waiting: clock });
      const spoils = pruned.flatMap((reply) => reply.spoils);
      const wrong = run.extraction ? unknownIn(run.extraction, spoils) : [];
      for (const problem of [...problemsOf(() => damageProblems(run, intact)), ...wrong]) {
        problems.push(`seed ${seed} (PRUNING_SEED=${seed} repeats it): ${problem}`);
      }
      if (problems.length > PROBLEMS_SHOWN) break;
    }
  });
  reportAll(problems);
}

function seeds(): number[] {
  const { PRUNING_SEED: wanted, PRUNINGS: count = PRUNINGS } = process.env;
  if (wanted === undefined) return Array.from({ length: wholeNumber('PRUNINGS', count) }, (_, index) => index + 1);
  return [wholeNumber('PRUNING_SEED', wanted)];
}

function wholeNumber(name: string, value: string): number {
  if (!/^\d{1,9}$/.test(value)) throw new RangeError(`${name} is a whole number.`);
  return Number(value);
}

function problemsOf(check: () => string[]): string[] {
  try {
    return check();
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}

export interface PrunedReply {
  exchange: Exchange;
  /** The value that replaces others; a result may contain it. */
  spoils: readonly unknown[];
}

/** A field of an object, an element of a list, or a whole tag. */
interface Place {
  part: Part;
  holder: Record<string, unknown>;
  key: string;
}

/** No number that looks like a counter: a result with one has invented it. */
const OTHER_TYPES: readonly unknown[] = [null, '', -1, true, [], {}, 'spoiled', [null], { spoiled: [[]] }];
/** Shares of replies in which one place is damaged, or a fiftieth of all places; in the rest it is a seventh. */
const ONE = 0.4;
const SOME = 0.7;

/** Removes fields, empties tags, shortens lists and texts and inserts values of other types, in random places. */
export function pruneReply(reply: ReplyParts, random: () => number): PrunedReply {
  const places = placesIn(reply);
  const share = random();
  const wanted = share < ONE ? 1 : Math.ceil(places.length * (share < SOME ? 0.02 : 0.15));
  const chosen = Array.from({ length: wanted }, () => places[Math.floor(random() * places.length)]);
  const byPart = Map.groupBy(
    chosen.filter((place) => place !== undefined),
    ({ part }) => part,
  );
  const spoils: unknown[] = [];
  const texts = reply.parts.map((part) => {
    const damaged = byPart.get(part);
    if (!damaged) return part.text;
    return part.kind === 'json' ? prunedJson(part.value, damaged, random, spoils) : prunedTag(part.text, random);
  });
  return { exchange: putTogether(reply, texts), spoils };
}

const known = new WeakMap<ReplyParts, readonly Place[]>();

/** Cached, since the same reply is pruned repeatedly. */
function placesIn(reply: ReplyParts): readonly Place[] {
  const before = known.get(reply);
  if (before) return before;
  const places: Place[] = [];
  for (const part of reply.parts) {
    const walk = (value: unknown) => {
      if (value instanceof NestedJson) walk(value.value);
      else if (typeof value === 'object' && value !== null) {
        for (const [key, field] of Object.entries(value)) {
          places.push({ part, holder: value as Place['holder'], key });
          walk(field);
        }
      }
    };
    if (part.kind === 'json') walk(part.value);
    if (part.kind === 'tag') places.push({ part, holder: {}, key: '' });
  }
  known.set(reply, places);
  return places;
}

function prunedTag(tag: string, random: () => number): string {
  return random() < 0.5 ? '' : tag.replace(/(content|href)=("[^"]*"|'[^']*')/i, '$1=""').replace(/>[^<]+</, '><');
}

/** Damages the value, writes it, and restores it: a copy for each damage would take longer than all else. */
function prunedJson(value: unknown, places: readonly Place[], random: () => number, spoils: unknown[]): string {
  const intact = places.map(({ holder, key }) => {
    const field = holder[key];
    // JSON has no undefined: the field is omitted, and an element of a list becomes null.
    holder[key] = random() < 0.5 ? undefined : spoil(field, random);
    if (holder[key] !== undefined) spoils.push(holder[key]);
    return { holder, key, field };
  });
  const text = JSON.stringify(value);
  for (const { holder, key, field } of intact.reverse()) holder[key] = field;
  return text;
}

function spoil(value: unknown, random: () => number): unknown {
  const choice = random();
  if (choice < 0.3) {
    if (Array.isArray(value)) return value.slice(0, Math.floor(random() * value.length));
    // Half of an id could be another valid id; half of a sentence or of a URL is still recognizable.
    if (typeof value === 'string' && /[\s/]/.test(value)) return value.slice(0, Math.floor(random() * value.length));
  }
  return OTHER_TYPES[Math.floor(random() * OTHER_TYPES.length)];
}

/** 0 to 1, the same sequence for the same seed, so that a failing run can be repeated. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    // A linear congruential generator: no secret depends on it.
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
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
function knownNumbers(intact: Extraction, replies: readonly ReplyParts[], ids: readonly string[]) {
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
  /** Numbers of a result that are neither in the intact result at that path nor in the item, one line each. */
  return function unknownIn(extraction: Extraction, spoils: readonly unknown[]): string[] {
    const spoiled = new Set<number>();
    for (const value of spoils) collect(value, ids, spoiled);
    return numbersOf(extraction).flatMap(({ path, anyPath, value }) => {
      const usual = atPath.get(path) ?? atPath.get(anyPath);
      const stated = FILE.test(anyPath) ? anywhere : borne;
      return usual?.has(value) || stated.has(value) || spoiled.has(value) ? [] : [`${path} became ${value}`];
    });
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
