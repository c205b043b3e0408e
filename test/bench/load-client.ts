/** A process that requests one link over many connections for some seconds. */

import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { packageRoot } from '../support/package-root.js';

export interface LoadOptions {
  /** Origin of the server. */
  url: string;
  key: string;
  /** Link to be extracted. */
  link: string;
  connections: number;
  seconds: number;
}

export interface LoadResult {
  requests: number;
  /** Milliseconds for one request. */
  p99: number;
}

/**
 * Asks for one link again and again over so many connections. The client is a process of its own, so that its work is not
 * counted as the server's.
 * @throws Error where any answer was not 2xx.
 */
export async function runLoad({ url, key, link, connections, seconds }: LoadOptions): Promise<LoadResult> {
  const client = path.join(packageRoot, 'node_modules', 'autocannon', 'autocannon.js');
  const fields = [`authorization=Bearer ${key}`, 'content-type=application/json'].flatMap((field) => ['-H', field]);
  const shape = ['-c', String(connections), '-d', String(seconds), '-m', 'POST', '-b', JSON.stringify({ url: link })];
  const args = [client, '-j', ...shape, ...fields, `${url}/v1/extract`];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 16 * 1024 * 1024 });
  const result: { '2xx': number; non2xx: number; errors: number; latency: { p99: number } } = JSON.parse(stdout);
  if (result.non2xx > 0 || result.errors > 0) {
    throw new Error(`${url}: ${result.non2xx} answers were not 2xx, ${result.errors} requests failed`);
  }
  return { requests: result['2xx'], p99: result.latency.p99 };
}
