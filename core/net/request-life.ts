import { GatewayError, SharedTimer, type Ticking, unlessAborted } from '../runtime/index.js';

/** How late a deadline may be that is far off; such ones have one timer together. */
const TICK_MS = 250;
const FAR_OFF_MS = 5_000;

export interface RequestLifeOptions {
  /** Milliseconds. */
  timeoutMs: number;
  /** The caller's own. */
  signal?: AbortSignal;
  /** Those that it is one of. */
  lives: RequestLives;
}

/** Requests that end with the same signals: one listener for all of them, since each that is added walks past those before it. */
export class RequestLives {
  readonly #open = new SharedTimer<RequestLife>(TICK_MS);
  readonly #signals: readonly AbortSignal[];

  /** @param signals those that end many requests, and outlive them. */
  constructor(signals: readonly AbortSignal[]) {
    this.#signals = signals;
  }

  add(life: RequestLife): void {
    // Only while there are some: a client made for a moment leaves nothing behind with a signal that lasts.
    if (this.#open.size === 0) for (const signal of this.#signals) signal.addEventListener('abort', this);
    this.#open.add(life);
    const ended = this.#signals.find(({ aborted }) => aborted);
    if (ended) life.stop(ended.reason);
  }

  delete(life: RequestLife): void {
    this.#open.delete(life);
    if (this.#open.size === 0) for (const signal of this.#signals) signal.removeEventListener('abort', this);
  }

  /** From now on those that are open look at the time. */
  tick(): void {
    this.#open.start();
  }

  handleEvent(): void {
    const ended = this.#signals.find(({ aborted }) => aborted);
    this.#open.visit((life) => life.stop(ended?.reason));
  }
}

/**
 * A request from its start to the last byte of its answer, and what may end it before: its deadline, its caller, whoever
 * closes. Every request has one, so it makes neither a controller nor a promise.
 */
export class RequestLife implements Ticking {
  place = 0;
  /** Whether it was ended from outside, and by what. */
  stopped = false;
  reason: unknown;
  /** Told at once where it is ended from outside. */
  onStop: ((reason: unknown) => void) | undefined;
  readonly #signal: AbortSignal | undefined;
  readonly #lives: RequestLives;
  /** Of a deadline that is near. */
  #timer: NodeJS.Timeout | undefined;
  /** Of one that is far off, in milliseconds of `performance.now()`. */
  #endsAt = Number.POSITIVE_INFINITY;
  #idleMs: number | undefined;
  #isOver = false;

  constructor({ timeoutMs, signal, lives }: RequestLifeOptions) {
    this.#signal = signal;
    this.#lives = lives;
    signal?.addEventListener('abort', this);
    this.#expireIn(timeoutMs);
    lives.add(this);
    if (signal?.aborted) this.stop(signal.reason);
  }

  /** Rejects as soon as it is ended from outside, however long the work takes to notice. */
  race<Result>(work: Promise<Result>): Promise<Result> {
    if (this.stopped) return Promise.reject(this.reason);
    const controller = new AbortController();
    this.onStop = (reason) => controller.abort(reason);
    return unlessAborted(controller.signal, work);
  }

  /** From now on the deadline is no longer that of an answer, but of silence. */
  allowSilence(idleMs: number): void {
    this.#idleMs = idleMs;
    this.awaitBytes();
  }

  /** Something was heard. */
  heard(): void {
    if (this.#idleMs === undefined) return;
    if (this.#timer) this.#timer.refresh();
    // Not where nobody is waited for.
    else if (this.#endsAt !== Number.POSITIVE_INFINITY) this.#endsAt = performance.now() + this.#idleMs;
  }

  /** Nobody can be silent who was asked to wait. */
  suspendSilence(): void {
    if (this.#idleMs !== undefined) this.#expireNever();
  }

  awaitBytes(): void {
    if (this.#idleMs === undefined || this.#isOver) return;
    this.#expireNever();
    this.#expireIn(this.#idleMs);
  }

  /** @param now milliseconds of `performance.now()`. */
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

  /** It is over, and nothing ends it any more. Idempotent. */
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

  /** The caller leaves. */
  handleEvent(): void {
    this.stop(this.#signal?.reason);
  }
}

function expire(life: RequestLife): void {
  life.stop(new GatewayError('upstream_timeout', 'The origin did not answer in time.'));
}
