/** A real gateway in a process of its own. */

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createRecordingLogger } from 'mediagate/testing';
import { createKeyRecord, type NewKey } from '../../../server/keys/key-rows.js';
import { loadPeppers } from '../../../server/settings/secrets.js';
import { readSettings } from '../../../server/settings/settings.js';
import { openStateOf } from '../../../server/state.js';
import { type CommandResult, type Environment, runCommand, startCommand, startLauncher } from './command-line.js';

export interface GatewayProcessOptions {
  /** Where all plugin traffic goes, and whose certificates are believed. */
  proxy?: { url: string; caPath: string };
  /** Settings besides those made here. */
  environment?: Environment;
  /** A folder to reuse; it is then the caller's to remove. Default: a new one, removed with the process. */
  dataFolder?: string;
  /** As `npm start` does it. Default: `mediagate serve`. */
  firstRun?: boolean;
  /** Default: all of the gateway. */
  role?: 'api' | 'worker';
}

export interface KeyOptions {
  name?: string;
  grants?: NewKey['grants'];
  /** Default 100,000 a minute, so that no test meets the window by accident. */
  rpm?: number;
}

export interface MadeKey {
  id: string;
  key: string;
}

export interface HttpAnswer {
  status: number;
  headers: Headers;
  text: string;
  /** Undefined where the body is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read members of many shapes and assert on what they find
  json: any;
}

/** Asks a gateway as its clients do. */
export interface GatewayClient {
  /** Without a trailing slash. */
  readonly url: string;
  request(target: string, init?: RequestInit): Promise<HttpAnswer>;
  extract(key: string, body: unknown, init?: RequestInit): Promise<HttpAnswer>;
}

/** A real gateway: its own process, started through the command line, its state in a folder of its own. */
export interface GatewayProcess extends GatewayClient {
  readonly pid: number;
  readonly dataFolder: string;
  /** Everything it has written to both outputs so far. */
  output(): string;
  /** Another process of the command line on the same data folder. */
  command(...args: string[]): Promise<CommandResult>;
  /** As `keys create` does it, without another process. */
  makeKey(options?: KeyOptions): Promise<MadeKey>;
  /** Asks it to end with SIGTERM. Resolves with its exit code, null where a signal had to end it. */
  stop(): Promise<number | null>;
  /** Ends it with SIGKILL, as a crash would. */
  kill(): Promise<void>;
}

/** It takes one; a machine that does much else is waited for. */
const START_MS = 60_000;
const STOP_MS = 40_000;

/** Starts a gateway on a free port and waits until it answers `/health`. */
export async function startGatewayProcess(options: GatewayProcessOptions = {}): Promise<GatewayProcess> {
  const dataFolder = options.dataFolder ?? (await mkdtemp(path.join(tmpdir(), 'mediagate-data-')));
  const environment: Environment = {
    DATA_DIR: dataFolder,
    HOST: '127.0.0.1',
    PORT: '0',
    BROWSER: 'off',
    ...(options.proxy && { EGRESS_PROXY_URL: options.proxy.url, NODE_EXTRA_CA_CERTS: options.proxy.caPath }),
    ...options.environment,
  };
  const child = options.firstRun
    ? startLauncher(environment)
    : startCommand(['serve', ...(options.role ? ['--role', options.role] : [])], environment);
  const output: string[] = [];
  child.stderr?.on('data', (chunk: Buffer) => output.push(chunk.toString()));
  child.stdout?.on('data', (chunk: Buffer) => output.push(chunk.toString()));
  const ended = once(child, 'close') as Promise<[number | null]>;

  const url = await addressOf(child, output);

  const client = createGatewayClient(url);

  async function release(): Promise<void> {
    if (options.dataFolder === undefined) await rm(dataFolder, { recursive: true, force: true });
  }

  await client.request('/health');
  return {
    ...client,
    pid: child.pid ?? 0,
    dataFolder,
    output: () => output.join(''),
    command: (...args) => runCommand(args, environment),
    async makeKey(more = {}) {
      const wanted = { name: 'test', grants: ['extract'], rpm: 100_000, expiresAt: null, ...more } satisfies NewKey;
      const settings = readSettings(environment);
      const [pepper] = await loadPeppers(settings);
      const { key, record } = createKeyRecord(wanted, pepper, Date.now());
      const state = await openStateOf(settings, createRecordingLogger());
      await state.keys.insert(record).finally(() => state.close());
      return { id: record.id, key };
    },
    async stop() {
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      const [code] = await ended;
      clearTimeout(timer);
      await release();
      return code;
    },
    async kill() {
      child.kill('SIGKILL');
      await ended;
      await release();
    },
  };
}

/** @param url - without a trailing slash. */
export function createGatewayClient(url: string): GatewayClient {
  async function request(target: string, init: RequestInit = {}): Promise<HttpAnswer> {
    const response = await fetch(url + target, { signal: AbortSignal.timeout(60_000), ...init });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: parse(text) };
  }
  return {
    url,
    request,
    extract: (key, body, init = {}) =>
      request('/v1/extract', {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
        ...init,
      }),
  };
}

/** The address is printed once the server listens, since port 0 leaves the choice to the system. */
async function addressOf(child: ChildProcess, output: readonly string[]): Promise<string> {
  const deadline = AbortSignal.timeout(START_MS);
  while (!deadline.aborted) {
    const printed = /https?:\/\/(?:127\.0\.0\.1|localhost):\d+/.exec(output.join(''));
    if (printed) return printed[0];
    if (child.exitCode !== null) break;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  child.kill('SIGKILL');
  throw new Error(`The gateway did not start (exit code ${child.exitCode}):\n${output.join('')}`);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON, which the caller sees by the absence.
    return undefined;
  }
}
