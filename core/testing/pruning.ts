import { withDecoys } from './decoys.js';
import { damageProblems, type ExtractorDefinition, type FoundSample, readIntact, runSample } from './extraction-run.js';
import { withFastClock } from './fakes.js';
import { createReplay, type Exchange } from './replay.js';
import { NestedJson, type Part, putTogether, type ReplyParts, takeApart } from './reply-parts.js';
import { knownNumbers } from './result-numbers.js';
import { reportAll } from './runner.js';

/** Replies with random damage, the same for the same seed. */

const PRUNINGS = 500;
const PROBLEMS_SHOWN = 20;
/** Spread, so that adjacent seeds begin with different numbers. */
const SEED_STEP = 7919;

/**
 * Replies with fields removed, lists shortened, texts cut and values of other types, every second one with another item
 * beside the requested one. The result must contain no wrong id and no number that the item does not have, and only a
 * GatewayError may be thrown. `PRUNING_SEED` runs a single one.
 */
export async function passesPruned(definition: ExtractorDefinition, sample: FoundSample): Promise<void> {
  const intact = await readIntact(definition, sample);
  const replies = intact.exchanges.map(takeApart);
  const decoyed = replies.map((reply) => withDecoys(reply, intact.itemIds));
  const numbers = knownNumbers(intact.extraction, replies, intact.ids);
  const problems: string[] = [];
  await withFastClock(async (clock) => {
    for (const seed of seeds()) {
      const random = seededRandom(seed * SEED_STEP);
      const pruned = (seed % 2 === 0 ? replies : decoyed).map((reply) => pruneReply(reply, random));
      const replay = createReplay(pruned.map(({ exchange }) => exchange));
      const run = await runSample(definition, sample, replay, { waiting: clock });
      const spoils = pruned.flatMap((reply) => reply.spoils);
      const wrong = run.extraction ? numbers.unknownIn(run.extraction, spoils) : [];
      for (const problem of [...problemsOf(() => damageProblems(run, intact)), ...wrong]) {
        problems.push(`seed ${seed} (PRUNING_SEED=${seed} repeats it): ${problem}`);
      }
      if (problems.length > PROBLEMS_SHOWN) break;
    }
  });
  reportAll(problems);
}

function seeds(): number[] {
  const wanted = process.env.PRUNING_SEED;
  if (wanted === undefined) return Array.from({ length: PRUNINGS }, (_, index) => index + 1);
  if (!/^\d{1,9}$/.test(wanted)) throw new RangeError('PRUNING_SEED is a whole number.');
  return [Number(wanted)];
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
