/*
 * Runs each speech engine in a process of its own. Its CPU time does not block the event loop, and its memory, 430 MB
 * for the recogniser, is free again once it ends: a thread would leave a quarter of it behind in the process that
 * answers requests. A process starts at its first order and takes one order at a time. After 60 seconds without orders
 * it ends, and so it does after an order that takes over 60 seconds. A failure ends it, and the next order starts a new
 * one. It also ends with the gateway, however that ends. An aborted call leaves the queue at once, but an order in
 * progress runs to its end. A count of open calls refuses more with `queue_full`.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { GatewayError } from 'mediagate/plugin';
import type { SpeakAnswer, SpeakOrder } from './flite.js';
import type { HearAnswer, HearOrder } from './moonshine.js';

interface EngineOptions {
  /** Module of the engine; it exports {@link OpenEngine} as `openEngine`. */
  module: URL;
  /** Milliseconds for one order, the start of the engine included; then the process is ended. Default 60,000. */
  orderMs?: number;
  /** Milliseconds without an order after which the process is ended, and its memory given back. Default 60,000. */
  idleMs?: number;
}

/** Loads an engine; what it resolves with does one order. */
export type OpenEngine<Order, Answer> = () => Promise<(order: Order) => Promise<Answer>>;

/** What the process of an engine says for each order. */
export type EngineMessage = { answer: unknown } | { failure: string | undefined };

interface Waiting {
  order: unknown;
  settle: PromiseWithResolvers<unknown>;
}

const ORDER_MS = 60_000;
const IDLE_MS = 60_000;
const PROGRAM = fileURLToPath(new URL('./engine-process.js', import.meta.url));

/**
 * An engine in a process of its own, which is started by the first order. Orders are done one after the other. What
 * goes wrong in it ends the process, and the next order starts another: nobody knows what state it is in by then.
 */
export class Engine<Order, Answer> {
  readonly #options: EngineOptions;
  readonly #queue: Waiting[] = [];
  #process: ChildProcess | undefined;
  #current: Waiting | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: EngineOptions) {
    this.#options = options;
  }

  /** Id of its process; undefined if none runs. */
  get processId(): number | undefined {
    return this.#process?.pid;
  }

  /**
   * @throws GatewayError `plugin_unavailable` where the process broke down or was ended, `upstream_timeout`; the
   *   signal's reason, at once.
   */
  async run(order: Order, signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted();
    const waiting: Waiting = { order, settle: Promise.withResolvers() };
    const leave = () => {
      const place = this.#queue.indexOf(waiting);
      if (place >= 0) this.#queue.splice(place, 1);
      // What is being done already is done to its end, for nobody: that is sooner than starting the engine anew.
      waiting.settle.reject(signal.reason);
    };
    signal.addEventListener('abort', leave, { once: true });
    this.#queue.push(waiting);
    if (!this.#current) this.#next();
    try {
      return (await waiting.settle.promise) as Answer;
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  /** Ends the process and what is being done. Another order starts it again. */
  async end(): Promise<void> {
    const ended = new GatewayError('plugin_unavailable', 'The speech engine was stopped.');
    for (const { settle } of [...(this.#current ? [this.#current] : []), ...this.#queue.splice(0)])
      settle.reject(ended);
    this.#current = undefined;
    await this.#stop();
  }

  #next(): void {
    clearTimeout(this.#timer);
    this.#current = this.#queue.shift();
    if (!this.#current) {
      const { idleMs = IDLE_MS } = this.#options;
      if (this.#process) keepAlive(this.#process, false);
      this.#timer = setTimeout(() => void this.#stop(), idleMs).unref();
      return;
    }
    const { orderMs = ORDER_MS } = this.#options;
    this.#process ??= this.#start();
    keepAlive(this.#process, true);
    this.#timer = setTimeout(() => {
      const late = new GatewayError('upstream_timeout', `The speech engine took over ${orderMs / 1000} s.`);
      this.#current?.settle.reject(late);
      void this.#stop();
      this.#next();
    }, orderMs);
    this.#process.send(this.#current.order as object);
  }

  #start(): ChildProcess {
    const { module } = this.#options;
    // Neither our secrets nor our flags are any business of an engine.
    const started = fork(PROGRAM, [module.href], {
      env: {},
      execArgv: [],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    const fail = (cause: unknown) => {
      if (this.#process !== started) return;
      this.#process = undefined;
      this.#current?.settle.reject(new GatewayError('plugin_unavailable', 'The speech engine failed.', { cause }));
      this.#next();
    };
    started.on('message', (message: EngineMessage) => {
      if ('failure' in message) return fail(new Error(message.failure));
      if (this.#process !== started) return;
      this.#current?.settle.resolve(message.answer);
      this.#next();
    });
    started.on('error', fail).on('exit', (code, signal) => fail(new Error(`the engine ended with ${code ?? signal}`)));
    return started;
  }

  async #stop(): Promise<void> {
    const ending = this.#process;
    this.#process = undefined;
    clearTimeout(this.#timer);
    if (!ending || ending.exitCode !== null || ending.signalCode !== null) return;
    const ended = once(ending, 'exit');
    ending.kill('SIGKILL');
    await ended;
  }
}

/** An idle engine does not keep the gateway's process alive. */
function keepAlive(child: ChildProcess, isKept: boolean): void {
  const how = isKept ? 'ref' : 'unref';
  child[how]();
  child.channel?.[how]();
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

const hearing = new Engine<HearOrder, HearAnswer>({ module: new URL('./moonshine.js', import.meta.url) });
const speaking = new Engine<SpeakOrder, SpeakAnswer>({ module: new URL('./flite.js', import.meta.url) });

/** The engines of this process. All entries share them: each would hold the same weights. */
export const engines = { hearing, speaking };
export type Engines = typeof engines;

let users = 0;

/** @returns what ends the use; the last one to do so ends the processes. */
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
