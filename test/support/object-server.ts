import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { packageRoot } from './package-root.js';

export interface ObjectServer {
  /** Origin of an S3-compatible server on 127.0.0.1 that has one bucket, {@link BUCKET}. */
  readonly url: string;
  stop(): Promise<void>;
}

export const BUCKET = 'mediagate-test';
/** Of the one account it knows. */
export const KEY = 'S3RVER';

/** An S3-compatible server from npm in a process of its own, with its objects in a temporary folder. */
export async function startObjectServer(): Promise<ObjectServer> {
  const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-objects-'));
  const program = path.join(packageRoot, 'node_modules/s3rver/bin/s3rver.js');
  const parameters = ['--directory', folder, '--address', '127.0.0.1', '--port', '0', '--silent'];
  const server = spawn(process.execPath, [program, ...parameters, '--configure-bucket', BUCKET], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const exited = once(server, 'exit');
  const kill = () => server.kill('SIGKILL');
  process.once('exit', kill);
  async function stop(): Promise<void> {
    process.off('exit', kill);
    kill();
    await exited;
    await rm(folder, { recursive: true, force: true });
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
