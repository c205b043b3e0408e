import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Clock } from '../contracts/services.js';
import type { Tables } from './schema.js';

/** What PostgreSQL's clock says when the statement runs, not when its transaction began; milliseconds since 1970. */
export const DATABASE_NOW = sql<number>`floor(extract(epoch from clock_timestamp()) * 1000)::bigint`;

/** The one clock of all jobs. */
export interface JobClock {
  /** The time when the statement runs, in milliseconds since 1970. */
  readonly now: RawBuilder<number>;
  /** Parameters of `now` in a statement that was compiled before. */
  parameters(): readonly number[];
  read(queries: Kysely<Tables>): Promise<number>;
}

/** @param clock Default: the database's own. */
export function createJobClock(clock?: Clock): JobClock {
  const now = () => (clock ? sql<number>`cast(${Math.floor(clock.now())} as bigint)` : DATABASE_NOW);
  return {
    get now() {
      return now();
    },
    parameters: () => (clock ? [Math.floor(clock.now())] : []),
    async read(queries) {
      if (clock) return Math.floor(clock.now());
      const { rows } = await sql<{ now: number }>`select ${DATABASE_NOW} as now`.execute(queries);
      return (rows[0] as { now: number }).now;
    },
  };
}
