/** Starts a Redis-compatible server for tests: the system's own, or Valkey in WebAssembly. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

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

const READY_MS = 20_000;

/** A Redis without a disk: the system's own, else Valkey compiled to WebAssembly. */
export async function startRedis(options: RedisOptions = {}): Promise<TestRedis | { unavailable: string }> {
  const port = options.port ?? (await freePort());
  const { command, parameters, source } = serverCommand(port);
  const server = spawn(command, parameters, {
    stdio: 'ignore',
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
      waitForPort(port),
      exited.then(() => Promise.reject(new Error(`${source} Redis ended at once`))),
    ]);
  } catch (error) {
    await stop();
    return { unavailable: error instanceof Error ? error.message : String(error) };
  }
  return { source, url: `redis://127.0.0.1:${port}`, pid: server.pid ?? 0, stop };
}

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('No port was given.');
  return address.port;
}

function findBinary(): string | undefined {
  const folders = (process.env.PATH ?? '').split(path.delimiter);
  return folders
    .flatMap((folder) => [path.join(folder, 'redis-server'), path.join(folder, 'valkey-server')])
    .find((file) => existsSync(file));
}

function serverCommand(port: number): { command: string; parameters: string[]; source: TestRedis['source'] } {
  const binary = findBinary();
  if (binary) {
    const parameters = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
    return { command: binary, parameters, source: 'system' };
  }
  const script = fileURLToPath(new URL('valkey-process.js', import.meta.url));
  return { command: process.execPath, parameters: [script, String(port)], source: 'npm' };
}

async function waitForPort(port: number): Promise<void> {
  const deadline = Date.now() + READY_MS;
  for (;;) {
    const socket = net.connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await sleep(20);
    } finally {
      socket.destroy();
    }
  }
}
