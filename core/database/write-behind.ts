import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../contracts/index.js';
import { endsWithin, isGatewayError } from '../runtime/index.js';
import { DATABASE_TIMEOUT_MS, type Database } from './database.js';
import type { Script } from './statements.js';

/** Milliseconds after the first of them; a commit is more expensive the fewer items share it. */
const DELAY_MS = 50;
/** Maximum items per transaction. */
const MAX = 512;
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 2_000;

export interface WriteBehind<Item> {
  /** Never throws and never waits. */
  push(item: Item): void;
  /** Resolves when everything pushed so far is written or dropped, however long the database is unavailable. */
  flush(): Promise<void>;
  /** The same, or when the database has been unavailable for 2.4 s: writing is still retried. */
  flushInTime(): Promise<void>;
  /** Resolves when the current attempt has ended, successful or not. */
  tried(): Promise<void>;
  /** Writes the remaining items if the database answers in time, and drops them otherwise. Idempotent. */
  close(): Promise<void>;
}

export interface WriteBehindOptions<Item> {
  database: Database;
  /** Name of the items, for the log. */
  name: string;
  /** Maximum waiting items. */
  capacity: number;
  /** Evicts items beyond that: returns those that remain, in order. */
  evict(waiting: readonly Item[]): Item[];
  /** May be called again with items that were already written: the answer to a commit can be lost. */
  write(items: readonly Item[]): Script<void>;
  /** Called when items are written or dropped: they are no longer held. */
  done(items: readonly Item[]): void;
  logger: Logger;
}

/** Writes items in batches, a moment after they came, and retries while the database is unavailable. */
export function createWriteBehind<Item>(options: WriteBehindOptions<Item>): WriteBehind<Item> {
  const { database, name, capacity, evict, write, done, logger } = options;
  let waiting: Item[] = [];
  /** Being written; must not be changed, since it may be in the database already. */
  let batch: readonly Item[] = [];
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let attempt: Promise<void> = Promise.resolve();
  let hurried = 0;
  let isUnavailable = false;
  const closing = new AbortController();

  function begin(): void {
    clearTimeout(timer);
    timer = undefined;
    running ??= run();
  }

  async function run(): Promise<void> {
    do {
      batch = waiting.splice(0, MAX);
      await writeUntilDone();
    } while (!closing.signal.aborted && (waiting.length >= MAX || (hurried > 0 && waiting.length > 0)));
    running = undefined;
    if (waiting.length > 0 && !closing.signal.aborted) timer ??= setTimeout(begin, DELAY_MS);
  }

  async function writeUntilDone(): Promise<void> {
    let retryMs = FIRST_RETRY_MS;
    while (batch.length > 0 && !(await writeBatch()) && !closing.signal.aborted) {
      await sleep(retryMs, undefined, { signal: closing.signal }).catch(() => undefined);
      retryMs = Math.min(retryMs * 2, LAST_RETRY_MS);
    }
  }

  /** False if the database is unavailable. */
  async function writeBatch(): Promise<boolean> {
    try {
      await tryWriting(batch);
    } catch (error) {
      if (isGatewayError(error)) {
        if (!isUnavailable)
          logger.warn(`${name} wait for the database`, { error, count: batch.length + waiting.length });
        isUnavailable = true;
        return false;
      }
      if (!(await writeOneByOne())) return false;
    }
    if (isUnavailable) logger.info(`${name} are being written again`);
    isUnavailable = false;
    batch = [];
    return true;
  }

  async function tryWriting(items: readonly Item[]): Promise<void> {
    const trying = database.script(() => write(items));
    attempt = trying.catch(() => undefined);
    await trying;
    done(items);
  }

  /** One of them cannot be written at all; the others must not fail for it. */
  async function writeOneByOne(): Promise<boolean> {
    while (batch.length > 0) {
      const [one, ...rest] = batch as [Item, ...Item[]];
      try {
        await tryWriting([one]);
      } catch (error) {
        if (isGatewayError(error)) return false;
        logger.error(`one of the ${name} cannot be written and is given up`, { error });
        done([one]);
      }
      batch = rest;
    }
    return true;
  }

  async function flush(): Promise<void> {
    hurried += 1;
    while (!closing.signal.aborted && (batch.length > 0 || waiting.length > 0)) {
      begin();
      await running;
    }
    hurried -= 1;
  }

  async function flushInTime(): Promise<void> {
    await endsWithin(DATABASE_TIMEOUT_MS, flush);
  }

  async function finish(): Promise<void> {
    await flushInTime();
    closing.abort();
    clearTimeout(timer);
    await running;
    const lost = batch.length + waiting.length;
    if (lost > 0) logger.error(`${name} could not be written before the end`, { count: lost });
  }

  let finished: Promise<void> | undefined;
  return {
    push(item) {
      if (closing.signal.aborted) {
        logger.error(`${name} came after the end and are lost`, { count: 1 });
        return;
      }
      waiting.push(item);
      if (waiting.length > capacity) waiting = evict(waiting);
      if (waiting.length >= MAX) begin();
      else if (!running) timer ??= setTimeout(begin, DELAY_MS);
    },
    flush,
    flushInTime,
    tried: () => attempt,
    close() {
      finished ??= finish();
      return finished;
    },
  };
}
