/*
 * The lifetime of one HTTP request: what may end it before its last byte (deadline, silence, its caller, the closing
 * of the client). Deadlines within 5 seconds have a timer; later ones share one that ticks every 250 ms. Requests with
 * the same long-lived signals share one listener, since adding a listener walks past all existing ones. A paused
 * origin cannot send, so its silence does not count. Every request has a lifetime, so it creates neither a controller
 * nor a promise unless the connection is still opening.
 */

import { GatewayError, SharedTimer, type Ticking, unlessAborted } from '../runtime/index.js';

/** Maximum delay of a distant deadline; these share one timer. */
const TICK_MS = 250;
const FAR_OFF_MS = 5_000;

export interface RequestLifetimeOptions {
  /** Milliseconds. */
  timeoutMs: number;
  /** The caller's own signal. */
  signal?: AbortSignal;
  /** The group of requests that it belongs to. */
  lives: RequestLifetimes;
}

/**
 * Requests with the same signals: one listener for all of them, since adding a listener walks past the existing ones.
 */
export class RequestLifetimes {
  readonly #open = new SharedTimer<RequestLifetime>(TICK_MS);
  readonly #signals: readonly AbortSignal[];

  /** @param signals Signals that end many requests, and outlive them. */
  constructor(signals: readonly AbortSignal[]) {
    this.#signals = signals;
  }

  add(life: RequestLifetime): void {
    // Only while requests are running: a short-lived client must not leave a listener on a long-lived signal.
    if (this.#open.size === 0) for (const signal of this.#signals) signal.addEventListener('abort', this);
    this.#open.add(life);
    const ended = this.#signals.find(({ aborted }) => aborted);
    if (ended) life.stop(ended.reason);
  }

  delete(life: RequestLifetime): void {
    this.#open.delete(life);
    if (this.#open.size === 0) for (const signal of this.#signals) signal.removeEventListener('abort', this);
  }

  /** From now on the running requests check the time. */
  tick(): void {
    this.#open.start();
  }

  handleEvent(): void {
    const ended = this.#signals.find(({ aborted }) => aborted);
    this.#open.visit((life) => life.stop(ended?.reason));
  }
}

/**
 * A request from its start to the last byte of its answer, and what may end it before: its deadline, its caller, or the
 * closing of the client. Every request has one, so it creates neither a controller nor a promise.
 */
export class RequestLifetime implements Ticking {
  listIndex = 0;
  /** Whether it was stopped, and the reason. */
  stopped = false;
  reason: unknown;
  /** Called at once when it is stopped. */
  onStop: ((reason: unknown) => void) | undefined;
  readonly #signal: AbortSignal | undefined;
  readonly #lives: RequestLifetimes;
  /** Timer of a near deadline. */
  #timer: NodeJS.Timeout | undefined;
  /** A distant deadline, in milliseconds of `performance.now()`. */
  #endsAt = Number.POSITIVE_INFINITY;
  #idleMs: number | undefined;
  #isOver = false;

  constructor({ timeoutMs, signal, lives }: RequestLifetimeOptions) {
    this.#signal = signal;
    this.#lives = lives;
    signal?.addEventListener('abort', this);
    this.#expireIn(timeoutMs);
    lives.add(this);
    if (signal?.aborted) this.stop(signal.reason);
  }

  /** Rejects as soon as it is stopped, even if the work takes longer to notice. */
  race<Result>(work: Promise<Result>): Promise<Result> {
    if (this.stopped) return Promise.reject(this.reason);
    const controller = new AbortController();
    this.onStop = (reason) => controller.abort(reason);
    return unlessAborted(controller.signal, work);
  }

  /** Replaces the deadline of the answer by a limit of silence. */
  allowSilence(idleMs: number): void {
    this.#idleMs = idleMs;
    this.awaitBytes();
  }

  /** Bytes have arrived. */
  bytesReceived(): void {
    if (this.#idleMs === undefined) return;
    if (this.#timer) this.#timer.refresh();
    // Not while no bytes are expected.
    else if (this.#endsAt !== Number.POSITIVE_INFINITY) this.#endsAt = performance.now() + this.#idleMs;
  }

  /** A paused origin cannot send, so its silence does not count. */
  suspendSilence(): void {
    if (this.#idleMs !== undefined) this.#expireNever();
  }

  awaitBytes(): void {
    if (this.#idleMs === undefined || this.#isOver) return;
    this.#expireNever();
    this.#expireIn(this.#idleMs);
  }

  /** @param now Milliseconds of `performance.now()`. */
  tick(now: number): void {
    if (now >= this.#endsAt) expire(this);
  }

  stop(reason: unknown): void {
    if (this.#isOver) return;
    this.stopped = true;
    this.reason = reason;
    this.finish();
    this.onStop?.(reason);
  }

  /** It is over, and cannot be stopped any more. Idempotent. */
  finish(): void {
    this.#isOver = true;
    this.#expireNever();
    this.#signal?.removeEventListener('abort', this);
    this.#lives.delete(this);
  }

  #expireIn(ms: number): void {
    if (ms < FAR_OFF_MS) this.#timer = setTimeout(expire, ms, this);
    else {
      this.#endsAt = performance.now() + ms;
      this.#lives.tick();
    }
  }

  #expireNever(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#endsAt = Number.POSITIVE_INFINITY;
  }

  /** The caller disconnects. */
  handleEvent(): void {
    this.stop(this.#signal?.reason);
  }
}

function expire(life: RequestLifetime): void {
  life.stop(new GatewayError('upstream_timeout', 'The origin did not answer in time.'));
}
