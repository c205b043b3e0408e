/*
 * Runs each speech engine in a worker thread, so that its CPU time does not block the event loop. A thread starts at
 * its first order and takes one order at a time. After 60 seconds without orders it ends and its memory is free again;
 * an order that takes over 60 seconds ends it too. A failure ends the thread, and the next order starts a new one. An
 * aborted call leaves the queue at once, but an order in progress runs to its end. A count of open calls refuses more
 * with `queue_full`.
 */

import { Worker } from 'node:worker_threads';
import { GatewayError } from 'mediagate/plugin';
import type { SpeakAnswer, SpeakOrder } from './flite.js';
import type { HearAnswer, HearOrder } from './moonshine.js';

interface EngineThreadOptions {
  /** Module of the thread; it answers each message with one of its own, in their order. */
  module: URL;
  /** Milliseconds for one order, the start of the engine included; then the thread is ended. Default 60,000. */
  orderMs?: number;
  /** Milliseconds without an order after which the thread is ended, and its memory given back. Default 60,000. */
  idleMs?: number;
}

/**
 * An engine in a thread of its own, which is started by the first order. Orders are done one after the other. What goes
 * wrong in it ends the thread, and the next order starts another: nobody knows what state it is in by then.
 */
interface EngineThread<Order, Answer> {
  /**
   * @param transfer Buffers that go with the order: the caller cannot use them afterwards.
   * @throws GatewayError `plugin_unavailable` where the thread broke down or was ended, `upstream_timeout`; the signal's
   *   reason, at once.
   */
  run(order: Order, transfer: readonly ArrayBuffer[], signal: AbortSignal): Promise<Answer>;
  /** Ends the thread and what is being done. Another order starts it again. */
  end(): Promise<void>;
}

interface Waiting {
  order: unknown;
  transfer: readonly ArrayBuffer[];
  settle: PromiseWithResolvers<unknown>;
}

const ORDER_MS = 60_000;
const IDLE_MS = 60_000;

export function createEngineThread<Order, Answer>(options: EngineThreadOptions): EngineThread<Order, Answer> {
  const { module, orderMs = ORDER_MS, idleMs = IDLE_MS } = options;
  const queue: Waiting[] = [];
  let thread: Worker | undefined;
  let current: Waiting | undefined;
  let timer: NodeJS.Timeout | undefined;

  function start(): Worker {
    // Neither our secrets nor our flags are any business of an engine.
    const started = new Worker(module, { env: {}, execArgv: [] });
    started.on('message', (answer) => {
      if (thread !== started) return;
      current?.settle.resolve(answer);
      next();
    });
    const fail = (cause: unknown) => {
      if (thread !== started) return;
      thread = undefined;
      current?.settle.reject(new GatewayError('plugin_unavailable', 'The speech engine failed.', { cause }));
      next();
    };
    started.on('error', fail).on('exit', (code) => fail(new Error(`the thread ended with ${code}`)));
    return started;
  }

  function stop(): Promise<unknown> {
    const ending = thread;
    thread = undefined;
    clearTimeout(timer);
    return ending?.terminate() ?? Promise.resolve();
  }

  function next(): void {
    clearTimeout(timer);
    current = queue.shift();
    if (!current) {
      // An idle thread keeps no process alive.
      thread?.unref();
      timer = setTimeout(() => void stop(), idleMs);
      timer.unref();
      return;
    }
    thread ??= start();
    thread.ref();
    timer = setTimeout(() => {
      current?.settle.reject(new GatewayError('upstream_timeout', `The speech engine took over ${orderMs / 1000} s.`));
      void stop();
      next();
    }, orderMs);
    thread.postMessage(current.order, [...current.transfer]);
  }

  return {
    async run(order, transfer, signal) {
      signal.throwIfAborted();
      const waiting: Waiting = { order, transfer, settle: Promise.withResolvers() };
      const leave = () => {
        const place = queue.indexOf(waiting);
        if (place >= 0) queue.splice(place, 1);
        // What is being done already is done to its end, for nobody: that is sooner than starting the engine anew.
        waiting.settle.reject(signal.reason);
      };
      signal.addEventListener('abort', leave, { once: true });
      queue.push(waiting);
      if (!current) next();
      try {
        return (await waiting.settle.promise) as Answer;
      } finally {
        signal.removeEventListener('abort', leave);
      }
    },
    async end() {
      const ended = new GatewayError('plugin_unavailable', 'The speech engine was stopped.');
      for (const { settle } of [...(current ? [current] : []), ...queue.splice(0)]) settle.reject(ended);
      current = undefined;
      await stop();
    },
  };
}

/** Bounds how many calls are open, whether they work or wait. */
export class Places {
  readonly #count: number;
  #taken = 0;

  constructor(count: number) {
    this.#count = count;
  }

  /**
   * @param signal Gives the place back when it aborts.
   * @returns gives the place back.
   * @throws GatewayError `queue_full` where none is left; the signal's reason.
   */
  take(signal: AbortSignal): () => void {
    signal.throwIfAborted();
    if (this.#taken >= this.#count)
      throw new GatewayError('queue_full', 'Too many calls are waiting for the offline engine.');
    this.#taken += 1;
    let held = true;
    const giveBack = () => {
      if (held) this.#taken -= 1;
      held = false;
      signal.removeEventListener('abort', giveBack);
    };
    signal.addEventListener('abort', giveBack, { once: true });
    return giveBack;
  }
}

const hearing = createEngineThread<HearOrder, HearAnswer>({ module: new URL('./moonshine.js', import.meta.url) });
const speaking = createEngineThread<SpeakOrder, SpeakAnswer>({
  module: new URL('./flite.js', import.meta.url),
});

/** The engines of this process. All entries share them: each would hold the same weights. */
export const engines = { hearing, speaking };
export type Engines = typeof engines;

let users = 0;

/** @returns what ends the use; the last one to do so ends the threads. */
export function useEngines(): () => Promise<void> {
  users += 1;
  let used = true;
  return async () => {
    if (!used) return;
    used = false;
    users -= 1;
    if (users === 0) await Promise.all([hearing.end(), speaking.end()]);
  };
}
