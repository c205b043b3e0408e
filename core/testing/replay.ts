import type { HttpClient, HttpRequest } from '../contracts/index.js';
import { createFakeHttp, type FakeReply, type SentRequest } from './fake-http.js';
import type { Exchange } from './fixtures.js';

export interface Replay extends HttpClient {
  /** In the order they were sent. */
  readonly requests: readonly HttpRequest[];
  /** Requests without a matching exchange: the plugin got a connection error. */
  readonly unmatched: readonly string[];
  /** Exchanges without a request. */
  readonly unused: readonly string[];
}

/** Answers requests from recorded exchanges. Several that match are used in order, the last one repeatedly. */
export function createReplay(exchanges: readonly Exchange[]): Replay {
  const used = new Set<Exchange>();
  const unmatched: string[] = [];

  const http = createFakeHttp((request): FakeReply => {
    const fitting = exchanges.filter((exchange) => answers(exchange, request));
    const exchange = fitting.find((one) => !used.has(one)) ?? fitting.at(-1);
    if (!exchange) {
      unmatched.push(`${request.method ?? 'GET'} ${request.url}`);
      return { fail: 'connection' };
    }
    used.add(exchange);
    const { status, headers, body } = exchange;
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
    exchange.bodyIncludes.every((text) => body.includes(text))
  );
}
