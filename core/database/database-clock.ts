/*
 * The clock of all jobs: the database's own on PostgreSQL, so that all nodes have one time, or a given one.
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

/** Times are whole milliseconds since 1970. */
export class DatabaseClock {
  readonly #clock: Clock | undefined;
  /** The time of the execution, in a statement that is compiled once. */
  readonly compiledNow: RawBuilder<number>;

  /** @param clock Default: the database's own. */
  constructor(clock?: Clock) {
    this.#clock = clock;
    this.compiledNow = clock ? toSql(computed(() => Math.floor(clock.now()))) : DATABASE_NOW;
  }

  /** The time of the execution, in a statement that runs once. */
  get now(): RawBuilder<number> {
    return this.#clock ? toSql(Math.floor(this.#clock.now())) : DATABASE_NOW;
  }

  read(queries: Kysely<Tables>): Promise<number> {
    return runScript(queries, this.readScript());
  }

  /** Reads the time within a script. */
  *readScript(): Script<number> {
    if (this.#clock) return Math.floor(this.#clock.now());
    const [row] = yield* rowsOf(READ_NOW);
    return (row as { now: number }).now;
  }
}

function toSql(time: number): RawBuilder<number> {
  return sql<number>`cast(${time} as bigint)`;
}
