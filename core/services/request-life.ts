import { GatewayError } from '../errors.js';
import { type Placed, PlacedList } from '../placed-list.js';
import { unlessAborted } from '../unless-aborted.js';

export interface RequestLifeOptions {
  /** Milliseconds. */
  timeoutMs: number;
  /** The caller's own. */
  signal?: AbortSignal;
  /** Ends many requests, and outlives them: {@link RequestLives.end} is called when it aborts. */
  shared?: AbortSignal;
  /** All that are under way. */
  lives: RequestLives;
}

/** Requests under way. They are ended from here, since each listener that a signal is given walks past those before it. */
export class RequestLives {
  readonly #open = new PlacedList<RequestLife>();

  add(life: RequestLife): void {
    this.#open.add(life);
  }

  delete(life: RequestLife): void {
    this.#open.delete(life);
  }

  /** Ends those that share the signal, with its reason. */
  end(shared: AbortSignal): void {
    this.#open.visit((life) => {
      if (life.shared === shared) life.stop(shared.reason);
    });
  }

  endAll(reason: unknown): void {
    this.#open.visit((life) => life.stop(reason));
  }
}

/**
 * A request from its start to the last byte of its answer, and what may end it before: its deadline, its caller, whoever
 * closes. Every request has one, so it makes neither a controller nor a promise.
 */
export class RequestLife implements Placed {
  place = 0;
  /** Whether it was ended from outside, and by what. */
  stopped = false;
  reason: unknown;
  /** Told at once where it is ended from outside. */
  onStop: ((reason: unknown) => void) | undefined;
  readonly shared: AbortSignal | undefined;
  readonly #signal: AbortSignal | undefined;
  readonly #lives: RequestLives;
  #timer: NodeJS.Timeout | undefined;
  #idleMs: number | undefined;
  #isOver = false;

  constructor({ timeoutMs, signal, shared, lives }: RequestLifeOptions) {
    this.shared = shared;
    this.#signal = signal;
    this.#lives = lives;
    signal?.addEventListener('abort', this);
    this.#timer = setTimeout(expire, timeoutMs, this);
    lives.add(this);
    const aborted = signal?.aborted ? signal : shared;
    if (aborted?.aborted) this.stop(aborted.reason);
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
    if (this.#idleMs !== undefined) this.#timer?.refresh();
  }

  /** Nobody can be silent who was asked to wait. */
  suspendSilence(): void {
    if (this.#idleMs !== undefined) clearTimeout(this.#timer);
  }

  awaitBytes(): void {
    if (this.#idleMs === undefined || this.#isOver) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(expire, this.#idleMs, this);
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
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#signal?.removeEventListener('abort', this);
    this.#lives.delete(this);
  }

  /** The caller leaves. */
  handleEvent(): void {
    this.stop(this.#signal?.reason);
  }
}

function expire(life: RequestLife): void {
  life.stop(new GatewayError('upstream_timeout', 'The origin did not answer in time.'));
}
