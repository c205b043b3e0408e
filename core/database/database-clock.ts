/*
 * The clock of the database: its own on PostgreSQL, so that all nodes have one time, or a given one.
 */

import type { Clock } from '../contracts/index.js';
import { computed } from './compiled-statements.js';
import { CompiledQuery, type Kysely, type RawBuilder, sql } from './kysely.js';
import { rowsOf, runScript, type Script } from './statements.js';
import type { Tables } from './tables.js';

const NOW = 'floor(extract(epoch from clock_timestamp()) * 1000)::bigint';
/**
 * PostgreSQL's clock at the execution of the statement, not at the start of its transaction; milliseconds since 1970.
 */
export const DATABASE_NOW = sql.raw<number>(NOW);
const READ_NOW = CompiledQuery.raw(`select ${NOW} as now`) as CompiledQuery<{ now: number }>;

/** The clock of all jobs. */
export interface DatabaseClock {
  /** The time of the statement's execution, in milliseconds since 1970. */
  readonly now: RawBuilder<number>;
  /** The same in a statement that is compiled once. */
  readonly compiledNow: RawBuilder<number>;
  read(queries: Kysely<Tables>): Promise<number>;
  /** Reads the time within a script. */
  readScript(): Script<number>;
}

/** @param clock Default: the database's own. */
export function createDatabaseClock(clock?: Clock): DatabaseClock {
  function* readScript(): Script<number> {
    if (clock) return Math.floor(clock.now());
    const [row] = yield* rowsOf(READ_NOW);
    return (row as { now: number }).now;
  }

  const toSql = (value: number) => (clock ? sql<number>`cast(${value} as bigint)` : DATABASE_NOW);
  const now = () => (clock ? Math.floor(clock.now()) : 0);
  return {
    get now() {
      return toSql(now());
    },
    compiledNow: toSql(computed(now)),
    read: (queries) => runScript(queries, readScript()),
    readScript,
  };
}
