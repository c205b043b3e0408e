/** Starts a Redis-compatible server for tests: the system's own, or Valkey in WebAssembly. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { inTime } from '../in-time.js';
import { freePort } from '../processes/free-port.js';

export interface TestRedis {
  source: 'system' | 'npm';
  url: string;
  pid: number;
  stop(): Promise<void>;
}

export interface RedisOptions {
  /** Default: a free one. */
  port?: number;
}

const STARTS = 3;

/** A Redis without a disk: the system's own, else Valkey compiled to WebAssembly. */
export async function startRedis({ port }: RedisOptions = {}): Promise<TestRedis | { unavailable: string }> {
  for (let starts = 1; ; starts += 1) {
    try {
      return await startOnPort(port ?? (await freePort()));
    } catch (error) {
      const unavailable = error instanceof Error ? error.message : String(error);
      if (port !== undefined || starts === STARTS) return { unavailable };
    }
  }
}

async function startOnPort(port: number): Promise<TestRedis> {
  const { command, parameters, source, ready } = serverCommand(port);
  const server = spawn(command, parameters, {
    stdio: ['ignore', 'pipe', 'ignore'],
    // Ctrl-C ends whoever needs it first, and it then.
    detached: true,
  });
  const exited = once(server, 'exit');
  const kill = () => server.kill('SIGKILL');
  process.once('exit', kill);
  async function stop(): Promise<void> {
    process.off('exit', kill);
    kill();
    await exited;
  }
  try {
    await Promise.race([
      inTime(untilPrinted(server.stdout, ready)),
      exited.then(() => Promise.reject(new Error(`${source} Redis ended at once`))),
    ]);
  } catch (error) {
    await stop();
    throw error;
  }
  return { source, url: `redis://127.0.0.1:${port}`, pid: server.pid ?? 0, stop };
}

/** Reads on afterwards, so that the program never waits for its reader. */
function untilPrinted(output: Readable, text: string): Promise<void> {
  let printed = '';
  return new Promise((resolve) => {
    output.setEncoding('utf8').on('data', (piece: string) => {
      if (printed.includes(text)) return;
      printed += piece;
      if (printed.includes(text)) resolve();
    });
  });
}

function findBinary(): string | undefined {
  const folders = (process.env.PATH ?? '').split(path.delimiter);
  return folders
    .flatMap((folder) => [path.join(folder, 'redis-server'), path.join(folder, 'valkey-server')])
    .find((file) => existsSync(file));
}

interface ServerCommand {
  command: string;
  parameters: string[];
  source: TestRedis['source'];
  /** What it prints once it listens: a port that answers may belong to another server. */
  ready: string;
}

function serverCommand(port: number): ServerCommand {
  const binary = findBinary();
  if (binary) {
    const parameters = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
    return { command: binary, parameters, source: 'system', ready: 'Ready to accept connections' };
  }
  const script = fileURLToPath(new URL('valkey-process.js', import.meta.url));
  return { command: process.execPath, parameters: [script, String(port)], source: 'npm', ready: 'The port is open.' };
}
