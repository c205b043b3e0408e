/*
 * How long models take, from the moment a request is sent to them: until the first bytes of a text answer (its first
 * token, for a stream) and until the end. Each process counts answers in buckets that grow by a tenth, so a percentile is
 * exact to five per cent; a model costs 1.2 kB, and at most 500 models are counted. Two half hours are kept, the present
 * one and the one before. Workers of a machine add theirs up at once; those of other nodes, and of processes that have
 * ended, come from the database, where each process writes its own every 5 s. Retries and fail-over are part of the time.
 */

import { randomUUID } from 'node:crypto';
import {
  type Clock,
  createThrottledWarning,
  isRecord,
  type Logger,
  noSiblings,
  type PollLoop,
  type Siblings,
  startPollLoop,
} from '../../core/runtime/index.js';
import type { StoredLatencies } from './stored-latencies.js';

const GROWTH = 1.1;
/** The last bucket begins at 20 minutes. */
const BUCKETS = 150;
const SPAN_MS = 30 * 60_000;
const MAX_MODELS = 500;
const WRITE_MS = 5_000;
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
/** What a process has counted in one half hour. */
type Counted = Counts & { isChanged: boolean };

export interface LatenciesOptions {
  clock: Pick<Clock, 'now'>;
  /** Default: this process serves its port alone. */
  siblings?: Siblings;
  /** Default: other nodes are not counted. */
  stored?: Pick<StoredLatencies, 'read' | 'write'>;
}

export class Latencies {
  readonly #clock: LatenciesOptions['clock'];
  readonly #siblings: Siblings;
  readonly #stored: LatenciesOptions['stored'];
  readonly #process = randomUUID();
  #span: number;
  #present = new Map<string, Counted>();
  #before = new Map<string, Counted>();

  constructor({ clock, siblings = noSiblings, stored }: LatenciesOptions) {
    this.#clock = clock;
    this.#siblings = siblings;
    this.#stored = stored;
    this.#span = spanOf(clock.now());
    siblings.answer(TOPIC, () => ({ process: this.#process, counts: this.#own() }));
  }

  /** Writes what was counted every 5 s, until it is stopped. */
  start(logger: Logger): PollLoop {
    const report = createThrottledWarning(logger, 'how long models take could not be written for other nodes');
    const loop = startPollLoop({ intervalMs: WRITE_MS, work: () => this.write(), report });
    return {
      ...loop,
      stop: async () => {
        await loop.stop();
        await this.write().catch(report);
      },
    };
  }

  /** Writes what was counted since the last time. */
  async write(): Promise<void> {
    this.#turn();
    const rows = [...this.#changedOf(this.#present, this.#span), ...this.#changedOf(this.#before, this.#span - 1)];
    if (rows.length === 0 || !this.#stored) return;
    try {
      await this.#stored.write(
        rows.map(({ row }) => row),
        this.#span - 1,
      );
    } catch (error) {
      for (const { counted } of rows) counted.isChanged = true;
      throw error;
    }
  }

  /** Counts an answer. */
  note(model: string, { totalMs, firstMs }: { totalMs: number; firstMs?: number }): void {
    this.#turn();
    let counts = this.#present.get(model);
    if (!counts) {
      if (this.#present.size >= MAX_MODELS) return;
      counts = { total: [], first: [], isChanged: true };
      this.#present.set(model, counts);
    }
    counts.isChanged = true;
    count(counts.total, totalMs);
    if (firstMs !== undefined) count(counts.first, firstMs);
  }

  /** By the id of the model, over all workers and nodes. */
  async read(): Promise<ReadonlyMap<string, ModelLatency>> {
    const own = { process: this.#process, counts: this.#own() };
    const [{ running }, rows = []] = await Promise.all([
      this.#siblings.ask(TOPIC, own),
      this.#stored?.read(this.#span - 1),
    ]);
    const near = [own, ...running.filter(isAnswer)];
    const known = new Set(near.map(({ process }) => process));
    const far = rows.filter(({ process }) => !known.has(process));
    const sums = new Map<string, Counts>();
    const add = (model: string, { total, first }: Counts) => {
      const sum = sums.get(model) ?? { total: [], first: [] };
      addTo(sum.total, total);
      addTo(sum.first, first);
      sums.set(model, sum);
    };
    for (const { counts } of near) for (const [model, counted] of counts) add(model, counted);
    for (const { model, counts } of far) add(model, JSON.parse(counts) as Counts);
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

  /** Rows of what has changed; it counts as written. */
  *#changedOf(models: ReadonlyMap<string, Counted>, span: number) {
    for (const [model, counted] of models) {
      if (!counted.isChanged) continue;
      counted.isChanged = false;
      const { total, first } = counted;
      yield { counted, row: { span, process: this.#process, model, counts: JSON.stringify({ total, first }) } };
    }
  }

  #turn(): void {
    const span = spanOf(this.#clock.now());
    if (span === this.#span) return;
    this.#before = span === this.#span + 1 ? this.#present : new Map();
    this.#present = new Map();
    this.#span = span;
  }
}

function spanOf(now: number): number {
  return Math.floor(now / SPAN_MS);
}

interface Answer {
  process: string;
  counts: [string, Counts][];
}

function isAnswer(value: unknown): value is Answer {
  return isRecord(value) && typeof value.process === 'string' && Array.isArray(value.counts);
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
