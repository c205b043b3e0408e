import type { Clock } from '../contracts/index.js';
import { CompiledQuery, type Kysely, type RawBuilder, sql } from './kysely.js';
import { play, rowsOf, type Script } from './statements.js';
import type { Tables } from './tables.js';

const NOW = 'floor(extract(epoch from clock_timestamp()) * 1000)::bigint';
/** What PostgreSQL's clock says when the statement runs, not when its transaction began; milliseconds since 1970. */
export const DATABASE_NOW = sql.raw<number>(NOW);
const READ_NOW = CompiledQuery.raw(`select ${NOW} as now`) as CompiledQuery<{ now: number }>;

/** The one clock of all jobs. */
export interface DatabaseClock {
  /** The time when the statement runs, in milliseconds since 1970. */
  readonly now: RawBuilder<number>;
  /** Parameters of `now` in a statement that was compiled before. */
  parameters(): readonly number[];
  read(queries: Kysely<Tables>): Promise<number>;
  /** The same within a script. */
  look(): Script<number>;
}

/** @param clock Default: the database's own. */
export function createDatabaseClock(clock?: Clock): DatabaseClock {
  function* look(): Script<number> {
    if (clock) return Math.floor(clock.now());
    const [row] = yield* rowsOf(READ_NOW);
    return (row as { now: number }).now;
  }

  const now = () => (clock ? sql<number>`cast(${Math.floor(clock.now())} as bigint)` : DATABASE_NOW);
  return {
    get now() {
      return now();
    },
    parameters: () => (clock ? [Math.floor(clock.now())] : []),
    read: (queries) => play(queries, look()),
    look,
  };
}
