import { type PartialPost, type Precision, parseCount } from 'mediagate';
import type { Facts } from './facts.js';

/** What a line of counters in words tells. */
export interface CounterLine {
  metrics: NonNullable<PartialPost['metrics']>;
  precision: Record<string, Precision>;
  /** Each counter as it stood. */
  raw: Record<string, string>;
}

const METRICS = ['views', 'likes', 'comments', 'shares'] as const;
const LONGEST_PART = 60;
const NUMBER_FIRST = /^[^\p{Nd}\p{Script=Latin}\p{Script=Cyrillic}]{0,25}\p{Nd}/u;
/** What languages put between a number and the thing. */
const PARTICLES: ReadonlySet<string> = new Set(['de', 'na', 'di', 'ng']);
/** Things counted that take two plain words. */
const TWO_WORDS = /^(?:me gusta|mi piace|mal geteilt|keer gedeeld|veces compartid[oa]s?)$/i;
const INVISIBLE = /[\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;

/**
 * `1.2M views · 34K reactions`, in any interface language. Undefined where the line is something else. A line of two
 * or more counters in words that are not known is one as well, and tells nothing: which is which differs.
 */
export function readCounterLine(line: string, facts: Facts): CounterLine | undefined {
  const parts = partsOf(line, '·');
  const found = countersIn(parts, facts);
  if (Object.keys(found.metrics).length > 0) return found;
  return parts.length > 1 && parts.every(isCounted) ? found : undefined;
}

/** `14K views, 233 likes, 18 loves, 53 comments`: kinds of reactions apart, so the likes there are not all of them. */
export function readCounterList(list: string, facts: Facts): CounterLine {
  const parts = partsOf(list, /[,،、]\s+/);
  const found = countersIn(parts, facts);
  if (parts.some((part) => metricOf(part, facts) === undefined)) {
    delete found.metrics.likes;
    delete found.precision.likes;
  }
  return found;
}

function partsOf(line: string, separator: string | RegExp): string[] {
  return line
    .replace(INVISIBLE, '')
    .split(separator)
    .map((part) => part.trim());
}

function countersIn(parts: readonly string[], facts: Facts): CounterLine {
  const line: CounterLine = { metrics: {}, precision: {}, raw: {} };
  for (const part of parts) {
    const metric = isCounted(part) ? metricOf(part, facts) : undefined;
    const count = metric && parseCount(part);
    if (!metric || !count || line.metrics[metric] !== undefined) continue;
    line.metrics[metric] = count.value;
    // Thousands are always rounded here, with a unit or without.
    line.precision[metric] = count.exact ? 'exact' : 'rounded';
    line.raw[`og_${metric}`] = part;
  }
  return line;
}

function metricOf(part: string, { counters }: Facts): (typeof METRICS)[number] | undefined {
  const words = part.normalize('NFC').toLowerCase();
  return METRICS.find((metric) => counters[metric].some((word) => words.includes(word.normalize('NFC'))));
}

/**
 * A number, perhaps a unit, and the name of what is counted; `10 great plays` is a title. The number stands first, but
 * for scripts whose languages put it behind the word.
 */
function isCounted(part: string): boolean {
  if (part.length > LONGEST_PART || !NUMBER_FIRST.test(part)) return false;
  const words = part.split(/\s+/);
  const last = words.findLastIndex((word) => /\p{Nd}/u.test(word));
  const behind = words.slice(last + 1);
  const [unit = ''] = behind;
  // Together with a unit, the number is a rounded one.
  const counted = parseCount(`1 ${unit}`)?.exact === false ? behind.slice(1) : behind;
  const named = PARTICLES.has(counted[0] ?? '') ? counted.slice(1) : counted;
  return named.length < 2 || (named.length < 4 && (/[^ -~]/.test(named.join('')) || TWO_WORDS.test(named.join(' '))));
}
