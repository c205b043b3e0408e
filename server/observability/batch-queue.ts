import { once } from 'node:events';

export interface BatchQueueOptions<Item> {
  /** Items that may wait; more are dropped. */
  most: number;
  /** Items that are sent together. */
  batch: number;
  /** Milliseconds that an item waits for others. */
  delayMs: number;
  /** One at a time; never rejects. */
  send(items: readonly Item[], signal: AbortSignal): Promise<void>;
}

export interface BatchQueue<Item> {
  /** Never waits. */
  add(item: Item): void;
  /** Items there was no room for. */
  readonly dropped: number;
  /** Sends what waits, for at most so many milliseconds; then gives up. Idempotent. */
  close(patienceMs: number): Promise<void>;
}

/** Sends items together, without ever holding up whoever adds them. */
export function createBatchQueue<Item>({ most, batch, delayMs, send }: BatchQueueOptions<Item>): BatchQueue<Item> {
  let waiting: Item[] = [];
  let dropped = 0;
  let timer: NodeJS.Timeout | undefined;
  let sending: Promise<void> | undefined;
  let closing: Promise<void> | undefined;
  const end = new AbortController();

  async function flush(least: number): Promise<void> {
    while (waiting.length >= least && !end.signal.aborted) {
      const items = waiting.slice(0, batch);
      waiting = waiting.slice(batch);
      await send(items, end.signal);
    }
  }

  function start(least: number): void {
    clearTimeout(timer);
    timer = undefined;
    sending ??= flush(least).finally(() => {
      sending = undefined;
      if (waiting.length > 0 && !closing) arm();
    });
  }

  function arm(): void {
    timer ??= setTimeout(start, delayMs, 1).unref();
  }

  async function drain(patienceMs: number): Promise<void> {
    clearTimeout(timer);
    const given = once(end.signal, 'abort');
    const patience = setTimeout(() => end.abort(new Error('There is no time left.')), patienceMs);
    const sent = (async () => {
      await sending;
      await flush(1);
    })();
    await Promise.race([sent, given]);
    clearTimeout(patience);
    end.abort();
    dropped += waiting.length;
    waiting = [];
  }

  return {
    add(item) {
      if (closing || waiting.length >= most) {
        dropped += 1;
        return;
      }
      waiting.push(item);
      if (waiting.length >= batch) start(batch);
      else arm();
    },
    get dropped() {
      return dropped;
    },
    close(patienceMs) {
      closing ??= drain(patienceMs);
      return closing;
    },
  };
}
