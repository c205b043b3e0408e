import { type Dialect, PostgresDialect, type PostgresPoolClient } from 'kysely';
import type pg from 'pg';

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`; never logged. */
  url: string;
  /** Connections at most. */
  connections: number;
  /** Milliseconds that a statement may take. */
  statementMs: number;
}

const CONNECT_MS = 2_000;
/** Type ids of PostgreSQL's catalogue. */
const BIGINT = 20;

/** A pool that outlives its server: connections come and go, the process does not notice until it asks something. */
export async function openPostgres({ url, connections, statementMs }: PostgresOptions): Promise<Dialect> {
  const { default: driver } = await import('pg');
  const pool = new driver.Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: statementMs,
    // The server's own limit comes first; this one is for a server that has gone silent.
    query_timeout: statementMs + 250,
    keepAlive: true,
    application_name: 'mediagate',
    types: { getTypeParser: numbersForBigints(driver) },
  });
  // A connection that dies while nobody uses it emits `error`, and an unheard `error` ends the process. There is nothing
  // to do: the pool has dropped it already, and whoever needs one next is told if none can be had.
  pool.on('error', () => undefined);
  // The pool stops listening while a connection is lent out; between two statements nobody else does.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return new PostgresDialect({
    pool: {
      connect: async () => lend(await pool.connect()),
      end: () => pool.end(),
      options: {},
    },
  });
}

/** Every bigint of the schema is a time or a count far below 2^53. */
function numbersForBigints({ types }: typeof pg): pg.CustomTypesConfig['getTypeParser'] {
  return (id, format) => (id === BIGINT && format !== 'binary' ? Number : types.getTypeParser(id, format));
}

/** A connection that failed to answer once is not used again: its late answers would hold up whoever gets it next. */
function lend(client: pg.PoolClient): PostgresPoolClient {
  let lost: { error: unknown } | undefined;
  async function query(sql: string, parameters: readonly unknown[]): Promise<unknown> {
    if (lost) throw lost.error;
    try {
      return await client.query(sql, [...parameters]);
    } catch (error) {
      if (!isAnswer(error)) lost = { error };
      throw error;
    }
  }
  return {
    query: query as PostgresPoolClient['query'],
    release: (destroy) => client.release(destroy || lost !== undefined),
  };
}

/** Whether the server itself refused the statement, and goes on listening. */
function isAnswer(error: unknown): boolean {
  return error instanceof Error && 'severity' in error && error.severity === 'ERROR';
}
