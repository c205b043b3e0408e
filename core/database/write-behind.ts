import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../contracts/index.js';
import { endsWithin, isGatewayError } from '../runtime/index.js';
import { DATABASE_PATIENCE_MS, type Database } from './database.js';
import type { Script } from './statements.js';

/** After the first of them; a commit is the dearer the fewer share it. */
const DELAY_MS = 50;
/** Items of one transaction. */
const MOST = 512;
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 2_000;

export interface WriteBehind<Item> {
  /** Never throws and never waits. */
  push(item: Item): void;
  /** Resolves when everything pushed so far is written or given up, however long the database is away. */
  flush(): Promise<void>;
  /** The same, or when the database has been away for 2.4 s: what was pushed is tried on. */
  flushInTime(): Promise<void>;
  /** Resolves when what is being tried at this moment has come to an end, good or bad. */
  tried(): Promise<void>;
  /** Writes what is left where the database answers in time, and gives the rest up. Idempotent. */
  close(): Promise<void>;
}

export interface WriteBehindOptions<Item> {
  database: Database;
  /** Of what these are, for the log. */
  name: string;
  /** Items that may wait. */
  capacity: number;
  /** Makes room where more wait than that: gives back what goes on waiting, in order. */
  shed(waiting: readonly Item[]): Item[];
  /** May be called again with the same items although they were written: the answer to a commit can be lost. */
  write(items: readonly Item[]): Script<void>;
  /** Written for good, or never to be: nothing holds these any more. */
  done(items: readonly Item[]): void;
  logger: Logger;
}

/** Writes items together, a moment after they came, and again and again while the database is away. */
export function createWriteBehind<Item>(options: WriteBehindOptions<Item>): WriteBehind<Item> {
  const { database, name, capacity, shed, write, done, logger } = options;
  let waiting: Item[] = [];
  /** Being written; nobody else touches it, since it may be in the database already. */
  let batch: readonly Item[] = [];
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let attempt: Promise<void> = Promise.resolve();
  let hurried = 0;
  let away = false;
  const closing = new AbortController();

  function begin(): void {
    clearTimeout(timer);
    timer = undefined;
    running ??= run();
  }

  async function run(): Promise<void> {
    do {
      batch = waiting.splice(0, MOST);
      await writeUntilDone();
    } while (!closing.signal.aborted && (waiting.length >= MOST || (hurried > 0 && waiting.length > 0)));
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

  /** False where the database is away. */
  async function writeBatch(): Promise<boolean> {
    try {
      await tryWriting(batch);
    } catch (error) {
      if (isGatewayError(error)) {
        if (!away) logger.warn(`${name} wait for the database`, { error, count: batch.length + waiting.length });
        away = true;
        return false;
      }
      if (!(await writeOneByOne())) return false;
    }
    if (away) logger.info(`${name} are being written again`);
    away = false;
    batch = [];
    return true;
  }

  async function tryWriting(items: readonly Item[]): Promise<void> {
    const trying = database.script(() => write(items));
    attempt = trying.catch(() => undefined);
    await trying;
    done(items);
  }

  /** One of them cannot be written at all; the others are not to suffer for it. */
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
    await endsWithin(DATABASE_PATIENCE_MS, flush);
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
      if (waiting.length > capacity) waiting = shed(waiting);
      if (waiting.length >= MOST) begin();
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
