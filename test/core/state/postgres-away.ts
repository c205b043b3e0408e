import { startPostgres, type TestPostgres } from '../../support/postgres.js';
import { createPlace, type Place } from './engines.js';

/** A PostgreSQL that a suite may take away, and a place for state on it. */
export interface OwnPostgres {
  readonly place: Place;
  /** Ends it, with all connections, and starts it again. */
  readonly restart: NonNullable<TestPostgres['restart']>;
}

/** For the suite around the call; its tests are pending where there is no PostgreSQL that can be restarted. */
export function ownPostgres(): OwnPostgres {
  let postgres: TestPostgres | undefined;
  let place: Place | undefined;

  before(async function () {
    // One of its own: it is taken away from whoever else would use it.
    const started = await startPostgres();
    if ('unavailable' in started || !started.restart) return this.skip();
    postgres = started;
    place = await createPlace(await postgres.createDatabase());
  });
  after(async () => {
    await place?.remove();
    await postgres?.stop();
  });

  return {
    get place() {
      if (!place) throw new Error('asked for before the suite began');
      return place;
    },
    restart(options) {
      if (!postgres?.restart) throw new Error('asked for before the suite began');
      return postgres.restart(options);
    },
  };
}
