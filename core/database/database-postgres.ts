/*
 * Connects to PostgreSQL. The pool survives restarts of the server: a broken idle connection is dropped silently, and
 * a connection that once failed to answer is not used again, since late answers would delay the next caller. Frequent
 * statements are prepared under a name. Bigints become numbers, because every one of the schema is far below 2^53.
 * `listenPostgres` holds one more connection for notifications, checks it every 5 seconds and reconnects; each
 * reconnect reports that notifications may have been lost.
 */

import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { startPollLoop } from '../runtime/index.js';
import { type Dialect, PostgresDialect, type PostgresPoolClient } from './kysely.js';

interface PostgresOptions {
  /** `postgres://user:password@host:port/database`; never logged. */
  url: string;
  /** Maximum connections. */
  connections: number;
  /** Milliseconds that a statement may take. */
  statementMs: number;
}

const CONNECT_MS = 2_000;
/** Type ids of PostgreSQL's catalogue. */
const BIGINT = 20;

/** A pool that survives restarts of its server: a lost connection is only noticed at its next use. */
export async function openPostgres({ url, connections, statementMs }: PostgresOptions): Promise<Dialect> {
  const { default: driver } = await import('pg');
  const nameOf = createStatementNames();
  const pool = new driver.Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: statementMs,
    // The server's own limit comes first; this one is for a server that does not respond.
    query_timeout: statementMs + 250,
    keepAlive: true,
    application_name: 'mediagate',
    types: { getTypeParser: numbersForBigints(driver) },
  });
  // An idle connection that breaks emits `error`, and an `error` without a listener ends the process. Nothing else to
  // do: the pool has removed it already, and the next caller gets an error if no connection can be made.
  pool.on('error', () => undefined);
  // The pool does not listen while a connection is in use; between two statements nothing else does.
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

/** A connection that failed to answer once is not used again: its late answers would delay the next user. */
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

/** Whether the server itself refused the statement, and the connection still works. */
function isAnswer(error: unknown): boolean {
  return error instanceof Error && 'severity' in error && error.severity === 'ERROR';
}

interface ListenOptions {
  /** `postgres://…`; never logged. */
  url: string;
  channel: string;
  /** Receives a notification of the channel. */
  notified(payload: string): void;
  /** Connected, for the first time or again: earlier notifications may be lost. */
  connected(): void;
  /** The connection was lost or failed; it is retried. */
  failed(error: unknown): void;
  /** Milliseconds between two checks of the connection. Default 5,000. */
  beatMs?: number;
}

export interface Listening {
  stop(): Promise<void>;
}

/** Interval of the checks of a connection that only listens: a dropped connection is otherwise not noticed. */
const BEAT_MS = 5_000;
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 5_000;

/** Listens on a connection of its own until stopped, and reconnects whenever the server is unavailable. */
export function listenPostgres({
  url,
  channel,
  notified,
  connected,
  failed,
  beatMs = BEAT_MS,
}: ListenOptions): Listening {
  const stopping = new AbortController();
  const { signal } = stopping;

  /** Rejects if the connection failed, resolves when it has ended. */
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
    client.on('notification', ({ payload = '' }) => notified(payload));
    const end = async () => {
      // A server that does not respond does not close the connection.
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
    const checks = startPollLoop({ intervalMs: beatMs, work, report: end });
    await ended;
    await checks.stop();
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

/** Uses after which the server caches a statement. */
const USES = 5;

/** Each costs every connection some kilobytes at the server. */
const MAX_NAMES = 256;

/** Maximum number of statement texts that are counted; those with lists have ever new forms. */
const MAX_COUNTED = 2_000;

const CACHEABLE = /^(select|insert|update|delete|with)\b/;

/**
 * A statement that returns all columns returns others after a migration has added one, which the server refuses for a
 * prepared statement.
 */
const ALL_COLUMNS = /(\.|\breturning |\bselect )"?\*/;

type StatementNames = (text: string) => string | undefined;

/**
 * Names of statements that PostgreSQL caches, parsed and planned, once they have been used a few times: the same name
 * for the same text on every connection of this process. Undefined for a text that is not cached.
 */
export function createStatementNames(): StatementNames {
  const names = new Map<string, string>();
  const uses = new Map<string, number>();
  let named = 0;

  return (text) => {
    const known = names.get(text);
    if (known !== undefined) return known;
    const count = (uses.get(text) ?? 0) + 1;
    if (uses.size >= MAX_COUNTED) uses.clear();
    uses.set(text, count);
    if (count < USES || named >= MAX_NAMES || !CACHEABLE.test(text) || ALL_COLUMNS.test(text)) return undefined;
    named += 1;
    uses.delete(text);
    const name = `mediagate_${named}`;
    names.set(text, name);
    return name;
  };
}
