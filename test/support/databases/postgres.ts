/** PostgreSQL servers for tests: one of the whole run, and others. */

import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { chown, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { until } from '../until.js';
import { findPostgresBinaries, type PostgresBinaries } from './postgres-binaries.js';
import { lendSessions } from './postgres-sessions.js';

export interface TestPostgres {
  /** Where it came from: `TEST_POSTGRES_URL`, the system, or the npm package. */
  source: 'environment' | PostgresBinaries['source'];
  /** Of the superuser, database `postgres`. */
  url: string;
  /** Whether others use it as well: it outlives this process, and databases that are no longer used are to be removed. */
  isCommon: boolean;
  /** Makes an empty database and gives its URL. */
  createDatabase(): Promise<string>;
  dropDatabase(url: string): Promise<void>;
  /**
   * Ends the server, with all connections; missing where the server belongs to others. Resolves when it is gone, with what
   * brings it back, which resolves when it answers again.
   */
  takeAway?(): Promise<() => Promise<void>>;
  stop(): Promise<void>;
}

export interface PostgresMissing {
  /** Why there is none, for the title of the tests that are left out. */
  unavailable: string;
}

export interface StartOptions {
  /** Only that one. Default: whatever is found first. */
  source?: TestPostgres['source'];
  /** Configuration of the server, over that of the tests, which is quick and survives no crash. Default: none. */
  configuration?: Readonly<Record<string, string>>;
}

/** It takes one or two; a machine that does much else is waited for. */
const READY_MS = 60_000;
/** `nobody`: PostgreSQL refuses to run as root. */
const UNPRIVILEGED = { uid: 65534, gid: 65534 };

/** A user other than root. */
export type DatabaseUser = typeof UNPRIVILEGED;

/** Whom servers have to run as; undefined where this process's own user will do. */
export function databaseUser(): DatabaseUser | undefined {
  return process.getuid?.() === 0 ? UNPRIVILEGED : undefined;
}

let shared: Promise<TestPostgres | PostgresMissing> | undefined;

/** Has the server of a whole run, for its processes. */
const OF_THE_RUN = 'TEST_RUN_POSTGRES';

/**
 * The one server of this test run: that of {@link startPostgresOfRun}, else one of this process, which ends with it, however
 * that ends.
 */
export function sharedPostgres(): Promise<TestPostgres | PostgresMissing> {
  shared ??= findPostgresOfRun() ?? startPostgres();
  return shared;
}

/** Starts the server that all processes of a run share, each of which is given the environment. Empty where there is none. */
export async function startPostgresOfRun(): Promise<Readonly<Record<string, string>>> {
  // All processes of a run, with the gateways that they start.
  const configuration = { max_connections: '800', shared_buffers: '64MB' };
  const started = await startPostgres({ configuration });
  if ('unavailable' in started || started.source === 'environment') return {};
  const folder = new URL(started.url).searchParams.get('host') ?? '';
  const url = urlOf(await lendSessions(folder));
  return { [OF_THE_RUN]: JSON.stringify({ source: started.source, url }) };
}

function findPostgresOfRun(): Promise<TestPostgres> | undefined {
  const text = process.env[OF_THE_RUN];
  if (text === undefined) return undefined;
  const { source, url } = JSON.parse(text) as Pick<TestPostgres, 'source' | 'url'>;
  return Promise.resolve({ source, url, isCommon: true, ...databasesOf(url), stop: async () => undefined });
}

/** Starts a server of its own, or finds the one of `TEST_POSTGRES_URL`. */
export async function startPostgres({
  source,
  configuration = {},
}: StartOptions = {}): Promise<TestPostgres | PostgresMissing> {
  const given = process.env.TEST_POSTGRES_URL;
  if (given && (source === undefined || source === 'environment')) {
    return { source: 'environment', url: given, isCommon: true, ...databasesOf(given), stop: async () => undefined };
  }
  const reasons: string[] = [];
  for (const binaries of findPostgresBinaries()) {
    if (source !== undefined && binaries.source !== source) continue;
    try {
      return await startServer(binaries, configuration);
    } catch (error) {
      reasons.push(`${binaries.source}: ${error instanceof Error ? error.message : error}`);
    }
  }
  return { unavailable: reasons.join('; ') || 'no PostgreSQL was found' };
}

async function startServer(
  binaries: PostgresBinaries,
  configuration: Readonly<Record<string, string>>,
): Promise<TestPostgres> {
  const user = databaseUser();
  const folder = await mkdtemp(path.join(user ? await openFolder() : tmpdir(), 'mediagate-postgres-'));
  try {
    if (user) await chown(folder, user.uid, user.gid);
    const bin = await binaries.prepare(folder, user);
    await initialise(bin, path.join(folder, 'data'), user);
    return await serve({ source: binaries.source, bin, folder, user, configuration });
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

/** Root's own temporary folder may be closed to the other user; that of a whole run is not. */
async function openFolder(): Promise<string> {
  const { mode } = await stat(tmpdir());
  return (mode & constants.S_IXOTH) === 0 ? '/tmp' : tmpdir();
}

/** Makes an empty folder the data of a server whose superuser is `postgres`, whom everybody on this machine may be. */
export async function initialise(bin: string, data: string, user?: DatabaseUser): Promise<void> {
  const parameters = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
  await promisify(execFile)(path.join(bin, 'initdb'), parameters, {
    ...user,
    cwd: path.dirname(data),
    env: { LC_ALL: 'C', TZ: 'UTC' },
  });
}

/**
 * The shell beside the server waits for its input to end, which it does when this process ends, even by SIGKILL; then it
 * stops the server and removes the folder. A line of input takes the server away, the next one brings it back.
 */
const KEEPER = `
program=$1 folder=$2
shift 2
serve() {
  "$program" -D "$folder/data" -k "$folder" -c listen_addresses= -c fsync=off -c synchronous_commit=off \
    -c full_page_writes=off -c shared_buffers=16MB -c max_connections=200 "$@" >>"$folder/log" 2>&1 &
  server=$!
}
serve "$@"
while read -r away; do
  kill -INT $server
  wait $server
  read -r back
  serve "$@"
done
kill -QUIT $server
wait $server
cd / && rm -rf "$folder"
`;

interface ServeOptions {
  source: PostgresBinaries['source'];
  bin: string;
  folder: string;
  user?: DatabaseUser;
  configuration: Readonly<Record<string, string>>;
}

async function serve({ source, bin, folder, user, configuration }: ServeOptions): Promise<TestPostgres> {
  const settings = Object.entries(configuration).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const keeper = spawn('sh', ['-c', KEEPER, 'keeper', path.join(bin, 'postgres'), folder, ...settings], {
    ...user,
    cwd: folder,
    env: { LC_ALL: 'C', TZ: 'UTC', PATH: process.env.PATH },
    stdio: ['pipe', 'ignore', 'ignore'],
    // Not in the terminal's process group: Ctrl-C ends the tests, and the end of the tests ends the server.
    detached: true,
  });
  keeper.unref();
  (keeper.stdin as Socket).unref();
  const url = urlOf(folder);

  async function stop(): Promise<void> {
    if (keeper.exitCode !== null || keeper.signalCode !== null) return;
    const exited = once(keeper, 'exit');
    keeper.ref();
    keeper.stdin.end();
    await exited;
  }

  async function processId(): Promise<string | undefined> {
    const text = await readFile(path.join(folder, 'data', 'postmaster.pid'), 'utf8').catch(() => '');
    return text.split('\n', 1)[0] || undefined;
  }

  async function takeAway(): Promise<() => Promise<void>> {
    keeper.stdin.write('away\n');
    await until(async () => (await processId()) === undefined, 20);
    return async () => {
      keeper.stdin.write('back\n');
      await waitUntilReady(url, READY_MS);
    };
  }

  try {
    await waitUntilReady(url, READY_MS);
  } catch (error) {
    const log = await readFile(path.join(folder, 'log'), 'utf8').catch(() => '');
    await stop();
    throw new Error(`it did not start: ${log.trim().split('\n').at(-1)}`, { cause: error });
  }
  return { source, url, isCommon: false, ...databasesOf(url), takeAway, stop };
}

/** @throws Error of the last attempt where it does not answer within that many milliseconds. */
export async function waitUntilReady(url: string, patienceMs: number): Promise<void> {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    try {
      await execute(url, 'select 1');
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await sleep(20);
    }
  }
}

/** Of the superuser, by the folder of the server's socket. */
function urlOf(folder: string): string {
  return `postgres://postgres@localhost/postgres?host=${encodeURIComponent(folder)}`;
}

function databasesOf(url: string): Pick<TestPostgres, 'createDatabase' | 'dropDatabase'> {
  return {
    async createDatabase() {
      const name = `mediagate_${randomBytes(8).toString('hex')}`;
      await execute(url, `create database ${name}`);
      const own = new URL(url);
      own.pathname = `/${name}`;
      return own.href;
    },
    async dropDatabase(own) {
      await execute(url, `drop database ${new URL(own).pathname.slice(1)} with (force)`);
    },
  };
}

async function execute(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  // A server that is stopped under a connection is no failure of the tests.
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
