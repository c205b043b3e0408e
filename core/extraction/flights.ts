import { unlessAborted } from '../runtime/index.js';

/** One piece of work for everybody who asks for the same thing at the same time. */
export interface Flights<Result> {
  /**
   * Joins the running work of this key, or starts it. The work's signal aborts when nobody waits any more.
   * @throws what the work throws, or the reason of this caller's own signal.
   */
  join(key: string, signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<Result>): Promise<Result>;
  readonly size: number;
}

interface Flight<Result> {
  result: Promise<Result>;
  waiting: number;
  readonly controller: AbortController;
}

export function createFlights<Result>(): Flights<Result> {
  const flights = new Map<string, Flight<Result>>();

  function start(key: string, work: (signal: AbortSignal) => Promise<Result>): Flight<Result> {
    const controller = new AbortController();
    const flight: Flight<Result> = { result: work(controller.signal), waiting: 0, controller };
    const land = () => {
      if (flights.get(key) === flight) flights.delete(key);
    };
    flight.result.then(land, land);
    flights.set(key, flight);
    return flight;
  }

  return {
    get size() {
      return flights.size;
    },
    async join(key, signal, work) {
      signal?.throwIfAborted();
      const flight = flights.get(key) ?? start(key, work);
      flight.waiting += 1;
      try {
        return await unlessAborted(signal, flight.result);
      } finally {
        flight.waiting -= 1;
        if (flight.waiting === 0 && flights.get(key) === flight) {
          // Whoever asks from now on starts anew instead of joining work that is being thrown away.
          flights.delete(key);
          flight.controller.abort(signal?.reason);
        }
      }
    },
  };
}
