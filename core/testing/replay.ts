/*
 * Answers requests from recorded exchanges, in place of a network. A request must have the recorded method, origin and
 * path, each recorded query parameter, and the recorded parts of the body; other parameters may have any value.
 * Several fitting exchanges are used in order, the last one repeatedly. Requests without an exchange get a connection
 * error and are listed, and so are exchanges without a request. It also finds the source folder of a plugin whose
 * compiled tests are elsewhere.
 */

import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { HttpClient, HttpRequest } from '../contracts/index.js';
import { systemClock } from '../runtime/index.js';
import { createFakeHttp, type FakeReply, type SentRequest } from './fakes.js';

/** `exchanges.json` of a fixture folder; bodies are files beside it. */
export interface FixtureFile {
  exchanges: FixtureExchange[];
}

export interface FixtureExchange {
  request: {
    method: string;
    /** Origin and path must be equal; each query parameter listed here must exist, and others may. */
    url: string;
    /** Texts that the request body must contain. Default: none. */
    bodyIncludes?: string[];
  };
  response: {
    status: number;
    headers?: Record<string, string>;
    /** File of the body, beside exchanges.json; otherwise `text`; otherwise the body is empty. */
    file?: string;
    text?: string;
  };
}

export interface Exchange {
  /** Name in the report. */
  name: string;
  method: string;
  url: URL;
  bodyIncludes: readonly string[];
  status: number;
  headers: Readonly<Record<string, string>>;
  body: Buffer;
  /** A text that the request must have in its address or body, such as the id of an item. Default: none. */
  includes?: string;
  /** Milliseconds before the answer. Default 0. */
  delayMs?: number;
}

/**
 * The source folder of a plugin, from the `import.meta.url` of a file in its `test` folder: fixtures are beside the
 * sources, and compiled tests in a folder `dist` that mirrors the package, or its `src`.
 */
export function pluginFolder(testFileUrl: string): string {
  const compiled = path.dirname(path.dirname(fileURLToPath(testFileUrl)));
  const root = packageRoot(compiled);
  const [top, ...rest] = path.relative(root, compiled).split(path.sep);
  if (top !== 'dist') return compiled;
  const mirrored = path.join(root, ...rest);
  const inSources = path.join(root, 'src', ...rest);
  return !existsSync(mirrored) && existsSync(inSources) ? inSources : mirrored;
}

function packageRoot(folder: string): string {
  if (existsSync(path.join(folder, 'package.json'))) return folder;
  const above = path.dirname(folder);
  if (above === folder) throw new Error('There is no package.json above the test file.');
  return packageRoot(above);
}

/** @throws Error that explains how to make the fixture if there is none. */
export function readFixture(folder: string): Exchange[] {
  const file = path.join(folder, 'exchanges.json');
  if (!existsSync(file)) {
    throw new Error(`There is no ${file}. RECORD=${path.basename(folder)} records it from the network.`);
  }
  const { exchanges } = JSON.parse(readFileSync(file, 'utf8')) as FixtureFile;
  return exchanges.map(({ request, response }) => ({
    name: `${request.method} ${request.url}${request.bodyIncludes ? ` ${request.bodyIncludes.join(' ')}` : ''}`,
    method: request.method,
    url: new URL(request.url),
    bodyIncludes: request.bodyIncludes ?? [],
    status: response.status,
    headers: response.headers ?? {},
    body:
      response.file === undefined
        ? Buffer.from(response.text ?? '')
        : readFileSync(path.join(folder, path.basename(response.file))),
  }));
}

export interface Replay extends HttpClient {
  /** In the order they were sent. */
  readonly requests: readonly HttpRequest[];
  /** Requests without a matching exchange: the plugin got a connection error. */
  readonly unmatched: readonly string[];
  /** Exchanges without a request. */
  readonly unused: readonly string[];
}

/**
 * Answers requests from recorded exchanges. Several that match are used in order, the last one repeatedly.
 * @param otherwise - answers requests without an exchange. Default: they get a connection error.
 */
export function createReplay(
  exchanges: readonly Exchange[],
  otherwise: (request: SentRequest) => FakeReply | undefined | Promise<FakeReply | undefined> = () => undefined,
): Replay {
  const used = new Set<Exchange>();
  const unmatched: string[] = [];

  const http = createFakeHttp(async (request): Promise<FakeReply> => {
    const fitting = exchanges.filter((exchange) => answers(exchange, request));
    const exchange = fitting.find((one) => !used.has(one)) ?? fitting.at(-1);
    if (!exchange) {
      const other = await otherwise(request);
      if (other) return other;
      unmatched.push(`${request.method ?? 'GET'} ${request.url}`);
      return { fail: 'connection' };
    }
    used.add(exchange);
    const { status, headers, body, delayMs } = exchange;
    if (delayMs) await systemClock.sleep(delayMs, request.signal);
    return { status, headers, body };
  });

  return {
    request: http.request,
    stream: http.stream,
    requests: http.requests,
    unmatched,
    get unused() {
      return exchanges.filter((exchange) => !used.has(exchange)).map((exchange) => exchange.name);
    },
  };
}

function answers(exchange: Exchange, request: SentRequest): boolean {
  const url = new URL(request.url);
  const body = typeof request.body === 'string' ? request.body : Buffer.from(request.body ?? []).toString('utf8');
  return (
    exchange.method === (request.method ?? 'GET') &&
    exchange.url.origin === url.origin &&
    exchange.url.pathname === url.pathname &&
    [...exchange.url.searchParams].every(([name, value]) => url.searchParams.get(name) === value) &&
    exchange.bodyIncludes.every((text) => body.includes(text)) &&
    `${url.href} ${body}`.includes(exchange.includes ?? '')
  );
}
