import { withDecoys } from './decoys.js';
import { damageProblems, type ExtractorDefinition, type FoundSample, readIntact, runSample } from './extraction-run.js';
import { withFastClock } from './fakes.js';
import { createReplay, type Exchange } from './replay.js';
import { NestedJson, type Part, putTogether, type ReplyParts, takeApart } from './reply-parts.js';
import { knownNumbers } from './result-numbers.js';
import { reportAll } from './runner.js';

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

/** The path to a field of an object, or to an element of a list. */
type Path = readonly string[];

/** No number that looks like a counter: a result with one has invented it. */
const OTHER_TYPES: readonly unknown[] = [null, '', -1, true, [], {}, 'spoiled', [null], { spoiled: [[]] }];
/** Shares of replies in which one place is damaged, or a fiftieth of all places; in the rest it is a seventh. */
const ONE = 0.4;
const SOME = 0.7;

/** Removes fields, empties tags, shortens lists and texts and inserts values of other types, in random places. */
export function pruneReply(reply: ReplyParts, random: () => number): PrunedReply {
  const { parts } = reply;
  const pathsOfParts = parts.map(pathsIn);
  const total = pathsOfParts.reduce((sum, { length }) => sum + length, 0);
  const share = random();
  const wanted = share < ONE ? 1 : Math.ceil(total * (share < SOME ? 0.02 : 0.15));
  const chosen = parts.map((): Path[] => []);
  for (let done = 0; done < wanted && total > 0; done += 1) {
    let index = Math.floor(random() * total);
    const part = pathsOfParts.findIndex(({ length }) => {
      if (index < length) return true;
      index -= length;
      return false;
    });
    chosen[part]?.push(pathsOfParts[part]?.[index] ?? []);
  }
  const spoils: unknown[] = [];
  const texts = parts.map((part, index) => {
    const paths = chosen[index] ?? [];
    if (paths.length === 0) return part.text;
    return part.kind === 'json' ? prunedJson(part.value, paths, random, spoils) : prunedTag(part.text, random);
  });
  return { exchange: putTogether(reply, texts), spoils };
}

const known = new WeakMap<Part, readonly Path[]>();

/** Cached, since the same reply is pruned repeatedly. */
function pathsIn(part: Part): readonly Path[] {
  if (part.kind !== 'json') return part.kind === 'tag' ? [[]] : [];
  const before = known.get(part);
  if (before) return before;
  const pathsOfParts: Path[] = [];
  const walk = (value: unknown, path: Path) => {
    if (value instanceof NestedJson) walk(value.value, [...path, 'value']);
    else if (typeof value === 'object' && value !== null) {
      for (const [key, field] of Object.entries(value)) {
        pathsOfParts.push([...path, key]);
        walk(field, [...path, key]);
      }
    }
  };
  walk(part.value, []);
  known.set(part, pathsOfParts);
  return pathsOfParts;
}

function prunedTag(tag: string, random: () => number): string {
  return random() < 0.5 ? '' : tag.replace(/(content|href)=("[^"]*"|'[^']*')/i, '$1=""').replace(/>[^<]+</, '><');
}

function prunedJson(value: unknown, paths: readonly Path[], random: () => number, spoils: unknown[]): string {
  const copy = shallow(value);
  // Only the path to a place is copied: most of a reply stays shared.
  const copies = new Set([copy]);
  for (const path of paths) {
    const key = path.at(-1)!;
    const holder = copiedTo(copy, path.slice(0, -1), copies);
    if (!holder) continue;
    if (random() < 0.5) {
      Reflect.deleteProperty(holder, key);
      continue;
    }
    const spoiled = spoil(holder[key], random);
    spoils.push(spoiled);
    holder[key] = spoiled;
  }
  return JSON.stringify(copy);
}

/** The parent at the end of a path, copied like all its parents; undefined if a part of the path no longer exists. */
function copiedTo(root: unknown, path: Path, copies: Set<unknown>): Record<string, unknown> | undefined {
  let holder = root as Record<string, unknown>;
  for (const key of path) {
    let next = holder[key];
    if (typeof next !== 'object' || next === null) return undefined;
    if (!copies.has(next)) {
      next = shallow(next);
      copies.add(next);
      holder[key] = next;
    }
    holder = next as Record<string, unknown>;
  }
  return holder;
}

function shallow(value: unknown): unknown {
  if (value instanceof NestedJson) return new NestedJson(value.value);
  return Array.isArray(value) ? [...value] : { ...(value as object) };
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
