/*
 * The single flight: concurrent callers of a key, on this machine, share one execution. Those of this process join it,
 * and it is aborted when the last of them leaves. Of several processes one does the work; the others wait, and get its
 * result, or its error if that is about the source. If it ends or fails otherwise, the next one does the work.
 */

import {
  type Claim,
  GatewayError,
  isDefinitiveCode,
  isGatewayError,
  isTransientCode,
  type Siblings,
  unlessAborted,
} from '../runtime/index.js';

/** What the work has made. */
export interface Done<Result, Left> {
  result: Result;
  /** What other processes are told, once it is known. */
  left: Left | Promise<Left>;
}

export interface SingleFlightOptions<Result, Left> {
  /** Equal in all processes, and unlike that of any other flight. */
  name: string;
  siblings: Siblings;
  /** The result of another process. Undefined if it cannot be had, and then the work is done again. */
  find(key: string, left: Left): Result | undefined | Promise<Result | undefined>;
}

type Work<Result, Left> = (signal: AbortSignal) => Promise<Done<Result, Left>>;

interface Flight<Result> {
  result: Promise<Result>;
  waiting: number;
  readonly controller: AbortController;
}

/** What a process leaves. An error travels as its fields. */
type Outcome<Left> = { left: Left } | { error: Omit<GatewayError, 'with'> };

export class SingleFlight<Result, Left> {
  readonly #options: SingleFlightOptions<Result, Left>;
  readonly #flights = new Map<string, Flight<Result>>();

  constructor(options: SingleFlightOptions<Result, Left>) {
    this.#options = options;
  }

  /**
   * Joins the running work of this key, or starts it. The work's signal aborts when no caller waits any more.
   * @throws what the work throws, the GatewayError of another process, or the reason of this caller's own signal.
   */
  async join(key: string, signal: AbortSignal | undefined, work: Work<Result, Left>): Promise<Result> {
    signal?.throwIfAborted();
    const flight = this.#flights.get(key) ?? this.#start(key, work);
    flight.waiting += 1;
    try {
      return await unlessAborted(signal, flight.result);
    } finally {
      flight.waiting -= 1;
      if (flight.waiting === 0 && this.#flights.get(key) === flight) {
        // Later callers start a new execution instead of joining one that is being aborted.
        this.#flights.delete(key);
        flight.controller.abort(signal?.reason);
      }
    }
  }

  #start(key: string, work: Work<Result, Left>): Flight<Result> {
    const controller = new AbortController();
    const flight: Flight<Result> = { result: this.#once(key, controller.signal, work), waiting: 0, controller };
    const land = () => {
      if (this.#flights.get(key) === flight) this.#flights.delete(key);
    };
    flight.result.then(land, land);
    this.#flights.set(key, flight);
    return flight;
  }

  /** Does the work, or waits for another process of this machine that does it. */
  async #once(key: string, signal: AbortSignal, work: Work<Result, Left>): Promise<Result> {
    const { name, siblings, find } = this.#options;
    for (;;) {
      const { release, left } = await claim(siblings, `${name} ${key}`, signal);
      if (release) return doForAll(work, release, signal);
      const outcome = left as Outcome<Left> | undefined;
      if (outcome && 'error' in outcome) {
        const { code, message, ...details } = outcome.error;
        throw new GatewayError(code, message, details);
      }
      const found = outcome && (await find(key, outcome.left));
      if (found !== undefined) return found;
    }
  }
}

async function doForAll<Result, Left>(
  work: Work<Result, Left>,
  release: (outcome?: Outcome<Left>) => void,
  signal: AbortSignal,
): Promise<Result> {
  try {
    const { result, left } = await work(signal);
    void Promise.resolve(left).then(
      (known) => release({ left: known }),
      () => release(),
    );
    return result;
  } catch (error) {
    // The end of this process, or of its clients, says nothing to the others.
    const isOfSource = isGatewayError(error) && (isDefinitiveCode(error.code) || isTransientCode(error.code));
    release(isOfSource && !signal.aborted ? { error: { ...error, message: error.message } } : undefined);
    throw error;
  }
}

async function claim(siblings: Siblings, name: string, signal: AbortSignal): Promise<Claim> {
  const claimed = siblings.claim(name);
  try {
    return await unlessAborted(signal, claimed);
  } catch (error) {
    void claimed.then(({ release }) => release?.());
    throw error;
  }
}
