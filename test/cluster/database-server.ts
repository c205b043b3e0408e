/** The PostgreSQL of a local cluster: the system's, or the one that npm installed. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chown, mkdir, mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { databaseUser, initialise, waitUntilReady } from '../support/databases/postgres.js';
import { findPostgresBinaries } from '../support/databases/postgres-binaries.js';

/** How a server is ended: in order, by a crash of its own making, or by one that it does not notice. */
export type DatabaseEnd = 'SIGINT' | 'SIGQUIT' | 'SIGKILL';

/** A PostgreSQL that is as careful with the disk as one in production, and is ended and started at will. */
export interface DatabaseServer {
  /** Where it came from. */
  readonly source: string;
  /** Of its superuser, through the socket. */
  readonly url: string;
  readonly socketPath: string;
  /** Resolves when the process is gone. */
  end(signal: DatabaseEnd): Promise<void>;
  /** Starts it on the same data and waits until it answers. */
  start(): Promise<void>;
  /** Ends it for good. */
  close(): Promise<void>;
}

export interface DatabaseServerOptions {
  /** Of the data, made where absent; it stays. Default: a new one, removed with the server. */
  folder?: string;
}

/** Those of a server that was killed may take a moment to notice; until then none can start on the same data. */
const STARTS = 50;
const START_AGAIN_MS = 100;
/** A machine that has much else to do takes long to mend what a crash has left. */
const READY_MS = 90_000;

/** @throws Error where this machine has no PostgreSQL that starts. */
export async function startDatabaseServer(options: DatabaseServerOptions = {}): Promise<DatabaseServer> {
  const reasons: string[] = [];
  for (const binaries of findPostgresBinaries()) {
    try {
      return await serve(binaries.source, (folder) => binaries.prepare(folder, databaseUser()), options);
    } catch (error) {
      reasons.push(`${binaries.source}: ${error instanceof Error ? error.message : error}`);
    }
  }
  throw new Error(`There is no PostgreSQL here: ${reasons.join('; ') || 'none was found'}.`);
}

async function serve(
  source: string,
  prepare: (folder: string) => Promise<string>,
  options: DatabaseServerOptions,
): Promise<DatabaseServer> {
  const user = databaseUser();
  // The path of a socket may not be long, and root's own temporary folder may be closed to the other user.
  const folder = await mkdtemp('/tmp/mediagate-database-');
  const data = options.folder ?? path.join(folder, 'data');
  let server: ChildProcess | undefined;

  const kill = () => server?.kill('SIGQUIT');
  process.once('exit', kill);

  async function end(signal: DatabaseEnd): Promise<void> {
    if (!server || server.exitCode !== null || server.signalCode !== null) return;
    const exited = once(server, 'exit');
    server.kill(signal);
    await exited;
  }

  async function close(): Promise<void> {
    process.off('exit', kill);
    await end('SIGINT');
    await rm(folder, { recursive: true, force: true });
  }

  const url = `postgres://postgres@localhost/postgres?host=${encodeURIComponent(folder)}`;

  async function start(bin: string): Promise<void> {
    for (let starts = 1; ; starts += 1) {
      const started = spawn(path.join(bin, 'postgres'), ['-D', data, '-k', folder, ...SETTINGS], {
        ...user,
        cwd: folder,
        env: { LC_ALL: 'C', TZ: 'UTC' },
        stdio: ['ignore', 'ignore', 'pipe'],
        // Ctrl-C ends whoever needs it first, and it then.
        detached: true,
      });
      server = started;
      let said = '';
      started.stderr.on('data', (chunk: Buffer) => {
        said = (said + chunk.toString()).slice(-2_000);
      });
      const ended = once(started, 'exit').then(() => true);
      if (!(await Promise.race([ended, waitUntilReady(url, READY_MS).then(() => false)]))) return;
      if (starts === STARTS) throw new Error(`it does not start: ${said.trim().split('\n').at(-1)}`);
      await sleep(START_AGAIN_MS);
    }
  }

  try {
    if (user) await chown(folder, user.uid, user.gid);
    const bin = await prepare(folder);
    if (!existsSync(path.join(data, 'PG_VERSION'))) {
      await mkdir(data, { recursive: true, mode: 0o700 });
      if (user) await chown(data, user.uid, user.gid);
      await initialise(bin, data, user);
    }
    await start(bin);
    const socketPath = path.join(folder, '.s.PGSQL.5432');
    return { source, url, socketPath, end, start: () => start(bin), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** All else is as PostgreSQL comes: what it has committed is on the disk. */
const SETTINGS = ['-c', 'listen_addresses=', '-c', 'max_connections=100', '-c', 'shared_buffers=32MB'];
