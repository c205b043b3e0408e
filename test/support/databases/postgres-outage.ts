/** A PostgreSQL of a suite's own, which it may stop. */

import { setTimeout as sleep } from 'node:timers/promises';
import { createPlace, type Place } from './engines.js';
import { startPostgres, type TestPostgres } from './postgres.js';

/** A PostgreSQL that a suite may take away, and a place for state on it. */
export interface OwnPostgres {
  readonly place: Place;
  readonly takeAway: NonNullable<TestPostgres['takeAway']>;
  /** Ends it, with all connections, and starts it again after that many milliseconds. */
  restart(pause: { awayMs: number }): Promise<void>;
}

/** For the suite around the call; its tests are pending where there is no PostgreSQL that can be restarted. */
export function ownPostgres(): OwnPostgres {
  let postgres: TestPostgres | undefined;
  let place: Place | undefined;

  before(async function () {
    // One of its own: it is taken away from whoever else would use it.
    const started = await startPostgres();
    if ('unavailable' in started || !started.takeAway) return this.skip();
    postgres = started;
    place = await createPlace(await postgres.createDatabase());
  });
  after(async () => {
    await place?.remove();
    await postgres?.stop();
  });

  function takeAway(): Promise<() => Promise<void>> {
    if (!postgres?.takeAway) throw new Error('asked for before the suite began');
    return postgres.takeAway();
  }

  return {
    get place() {
      if (!place) throw new Error('asked for before the suite began');
      return place;
    },
    takeAway,
    async restart({ awayMs }) {
      const bringBack = await takeAway();
      await sleep(awayMs);
      await bringBack();
    },
  };
}
