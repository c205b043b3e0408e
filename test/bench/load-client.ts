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
  /** Another request with the link. Default: `POST /v1/extract`. */
  post?: { path: string; body: object; headers: Readonly<Record<string, string>> } | undefined;
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
export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const { url, key, link, connections, seconds } = options;
  const { path: route, body, headers } = options.post ?? { path: '/v1/extract', body: { url: link }, headers: {} };
  const client = path.join(packageRoot, 'node_modules', 'autocannon', 'autocannon.js');
  const all = { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers };
  const fields = Object.entries(all).flatMap(([name, value]) => ['-H', `${name}=${value}`]);
  const shape = ['-c', String(connections), '-d', String(seconds), '-m', 'POST', '-b', JSON.stringify(body)];
  const args = [client, '-j', ...shape, ...fields, url + route];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 16 * 1024 * 1024 });
  const result: { '2xx': number; non2xx: number; errors: number; latency: { p99: number } } = JSON.parse(stdout);
  if (result.non2xx > 0 || result.errors > 0) {
    throw new Error(`${url}: ${result.non2xx} answers were not 2xx, ${result.errors} requests failed`);
  }
  return { requests: result['2xx'], p99: result.latency.p99 };
}
