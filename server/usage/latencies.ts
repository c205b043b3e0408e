/*
 * How long models take, from the moment a request is sent to them: until the first bytes of a text answer (its first
 * token, for a stream) and until the end. Each process counts answers in buckets that grow by a tenth, so a percentile is
 * exact to five per cent; a model costs 1.2 kB, and at most 500 models are counted. Two half hours are kept, the present
 * one and the one before, and workers of a machine add theirs up. Retries and fail-over are part of the time.
 */

import { type Clock, isRecord, noSiblings, type Siblings } from '../../core/runtime/index.js';

const GROWTH = 1.1;
/** The last bucket begins at 20 minutes. */
const BUCKETS = 150;
const SPAN_MS = 30 * 60_000;
const MAX_MODELS = 500;
const TOPIC = 'model latencies';

/** Percentiles in milliseconds. */
export interface Percentiles {
  p50: number;
  p95: number;
}

/** Of the answers of a model in the last 30 to 60 minutes. */
export interface ModelLatency {
  answers: number;
  total: Percentiles;
  /** Until the first bytes. Undefined if none of its answers is text. */
  first: Percentiles | undefined;
}

type Counts = Record<'total' | 'first', number[]>;

export interface LatenciesOptions {
  clock: Pick<Clock, 'monotonic'>;
  /** Default: this process serves its port alone. */
  siblings?: Siblings;
}

export class Latencies {
  readonly #clock: LatenciesOptions['clock'];
  readonly #siblings: Siblings;
  #since: number;
  #present = new Map<string, Counts>();
  #before = new Map<string, Counts>();

  constructor({ clock, siblings = noSiblings }: LatenciesOptions) {
    this.#clock = clock;
    this.#siblings = siblings;
    this.#since = clock.monotonic();
    siblings.answer(TOPIC, () => this.#own());
  }

  /** Counts an answer. */
  note(model: string, { totalMs, firstMs }: { totalMs: number; firstMs?: number }): void {
    this.#turn();
    let counts = this.#present.get(model);
    if (!counts) {
      if (this.#present.size >= MAX_MODELS) return;
      counts = { total: [], first: [] };
      this.#present.set(model, counts);
    }
    count(counts.total, totalMs);
    if (firstMs !== undefined) count(counts.first, firstMs);
  }

  /** By the id of the model, over all workers of this machine. */
  async read(): Promise<ReadonlyMap<string, ModelLatency>> {
    const own = this.#own();
    const { running } = await this.#siblings.ask(TOPIC, own);
    const sums = new Map<string, Counts>();
    for (const answer of [own, ...running.filter(isAnswer)]) {
      for (const [model, { total, first }] of answer) {
        const sum = sums.get(model) ?? { total: [], first: [] };
        addTo(sum.total, total);
        addTo(sum.first, first);
        sums.set(model, sum);
      }
    }
    return new Map(
      Array.from(sums, ([model, { total, first }]) => {
        const answers = total.reduce((sum, one) => sum + (one ?? 0), 0);
        const hasFirst = first.some((one) => one > 0);
        return [model, { answers, total: percentiles(total), first: hasFirst ? percentiles(first) : undefined }];
      }),
    );
  }

  /** Both half hours; plain, so that it can be sent to another process. */
  #own(): [string, Counts][] {
    this.#turn();
    const models = new Set([...this.#present.keys(), ...this.#before.keys()]);
    return Array.from(models, (model) => {
      const sum: Counts = { total: [], first: [] };
      for (const counts of [this.#present.get(model), this.#before.get(model)]) {
        if (!counts) continue;
        addTo(sum.total, counts.total);
        addTo(sum.first, counts.first);
      }
      return [model, sum];
    });
  }

  #turn(): void {
    const now = this.#clock.monotonic();
    if (now - this.#since < SPAN_MS) return;
    this.#before = now - this.#since < 2 * SPAN_MS ? this.#present : new Map();
    this.#present = new Map();
    this.#since = now;
  }
}

function isAnswer(value: unknown): value is [string, Counts][] {
  return Array.isArray(value) && value.every((one) => Array.isArray(one) && isRecord(one[1]));
}

/** Lists are as long as their last bucket. */
function count(buckets: number[], ms: number): void {
  const bucket = Math.min(BUCKETS - 1, Math.max(0, Math.ceil(Math.log(Math.max(1, ms)) / Math.log(GROWTH))));
  while (buckets.length <= bucket) buckets.push(0);
  buckets[bucket] = (buckets[bucket] ?? 0) + 1;
}

function addTo(sum: number[], more: readonly number[]): void {
  while (sum.length < more.length) sum.push(0);
  for (const [bucket, value] of more.entries()) sum[bucket] = (sum[bucket] ?? 0) + value;
}

function percentiles(buckets: readonly number[]): Percentiles {
  return { p50: percentile(buckets, 0.5), p95: percentile(buckets, 0.95) };
}

/** The middle of the bucket that the share reaches, in whole milliseconds. */
function percentile(buckets: readonly number[], share: number): number {
  const all = buckets.reduce((sum, value) => sum + value, 0);
  let reached = 0;
  for (const [bucket, value] of buckets.entries()) {
    reached += value;
    if (reached >= all * share && reached > 0) return Math.round(GROWTH ** bucket / Math.sqrt(GROWTH));
  }
  return 0;
}
