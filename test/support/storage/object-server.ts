/** S3-compatible servers for tests: one of the whole run, and others. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { packageRoot } from '../package-root.js';

export interface ObjectServer {
  /** Origin of an S3-compatible server on 127.0.0.1 that has one bucket, {@link BUCKET}. */
  readonly url: string;
  stop(): Promise<void>;
}

export const BUCKET = 'mediagate-test';
/** Of the one account it knows. */
export const KEY = 'S3RVER';

export interface ObjectServerOptions {
  /** Of the objects; it is then the caller's to remove. Default: a new one, removed with the server. */
  folder?: string;
}

/** Has the URL of the server of a whole run, for its processes. */
const OF_THE_RUN = 'TEST_RUN_OBJECTS';

/** The server of the whole run where there is one, else one of this process. Each user keeps its objects under a prefix. */
export async function sharedObjectServer(): Promise<ObjectServer> {
  const url = process.env[OF_THE_RUN];
  return url === undefined ? startObjectServer() : { url, stop: async () => undefined };
}

/** Starts the server that all processes of a run share, each of which is given the environment. */
export async function startObjectServerOfRun(): Promise<{
  environment: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}> {
  const { url, stop } = await startObjectServer();
  return { environment: { [OF_THE_RUN]: url }, stop };
}

/** An S3-compatible server from npm in a process of its own. */
export async function startObjectServer(options: ObjectServerOptions = {}): Promise<ObjectServer> {
  const folder = options.folder ?? (await mkdtemp(path.join(tmpdir(), 'mediagate-objects-')));
  const program = path.join(packageRoot, 'node_modules/s3rver/bin/s3rver.js');
  const parameters = ['--directory', folder, '--address', '127.0.0.1', '--port', '0', '--silent'];
  const server = spawn(process.execPath, [program, ...parameters, '--configure-bucket', BUCKET], {
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
    if (options.folder === undefined) await rm(folder, { recursive: true, force: true });
  }
  let said = '';
  for await (const chunk of server.stdout.iterator({ destroyOnReturn: false })) {
    said += String(chunk);
    const port = /listening on \S+:(\d+)/.exec(said)?.[1];
    if (port) return { url: `http://127.0.0.1:${port}`, stop };
  }
  await stop();
  throw new Error('The object server ended at once.');
}
