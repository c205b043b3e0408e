import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { startPollLoop } from '../runtime/index.js';
import { type Dialect, PostgresDialect, type PostgresPoolClient } from './kysely.js';
import { createStatementNames, type StatementNames } from './statements.js';

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
  const nameOf = createStatementNames();
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
      connect: async () => lend(await pool.connect(), nameOf),
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
function lend(client: pg.PoolClient, nameOf: StatementNames): PostgresPoolClient {
  let lost: { error: unknown } | undefined;
  async function query(sql: string, parameters: readonly unknown[]): Promise<unknown> {
    if (lost) throw lost.error;
    try {
      return await client.query({ name: nameOf(sql), text: sql, values: [...parameters] });
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

export interface ListenOptions {
  /** `postgres://…`; never logged. */
  url: string;
  channel: string;
  /** What was said on the channel. */
  heard(payload: string): void;
  /** For the first time or again: what was said before may have been missed. */
  connected(): void;
  /** The connection was lost or could not be made; it is tried again. */
  failed(error: unknown): void;
  /** Milliseconds between two questions whether the connection is there. Default 5,000. */
  beatMs?: number;
}

export interface Listening {
  stop(): Promise<void>;
}

/** So often a connection that only listens is asked whether it still does: one that was dropped on the way says nothing. */
const BEAT_MS = 5_000;
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 5_000;

/** Listens on a connection of its own until told to stop, however often the server goes away meanwhile. */
export function listenPostgres({ url, channel, heard, connected, failed, beatMs = BEAT_MS }: ListenOptions): Listening {
  const stopping = new AbortController();
  const { signal } = stopping;

  /** Rejects where the connection could not be made, resolves when it has ended. */
  async function listenOnce({ Client }: typeof pg): Promise<void> {
    const socket = new Socket();
    const client = new Client({
      stream: () => socket,
      connectionString: url,
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: CONNECT_MS,
      keepAlive: true,
      application_name: 'mediagate',
    });
    const ended = new Promise<void>((resolve) => {
      client.on('end', resolve);
    });
    client.on('error', failed);
    client.on('notification', ({ payload = '' }) => heard(payload));
    const end = async () => {
      // A server that has gone silent does not say goodbye.
      const timer = setTimeout(() => socket.destroy(), CONNECT_MS);
      await client.end().catch(failed);
      clearTimeout(timer);
    };
    try {
      await client.connect();
      await client.query(`listen ${Client.prototype.escapeIdentifier(channel)}`);
    } catch (error) {
      await end();
      throw error;
    }
    connected();
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
    const work = async () => void (await client.query('select 1'));
    const beats = startPollLoop({ intervalMs: beatMs, work, report: end });
    await ended;
    await beats.stop();
    signal.removeEventListener('abort', end);
  }

  async function listen(): Promise<void> {
    const { default: driver } = await import('pg');
    let retryMs = FIRST_RETRY_MS;
    while (!signal.aborted) {
      try {
        await listenOnce(driver);
        retryMs = FIRST_RETRY_MS;
      } catch (error) {
        failed(error);
        retryMs = Math.min(retryMs * 2, LAST_RETRY_MS);
      }
      await sleep(retryMs, undefined, { signal }).catch(() => undefined);
    }
  }

  const ended = listen();
  return {
    stop() {
      stopping.abort();
      return ended;
    },
  };
}
