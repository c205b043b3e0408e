/** Answers HTTP requests from the recorded fixtures of plugins. */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { AnswerRequest, ProxyAnswer, ProxyRequest } from './replaying-proxy.js';

/** `exchanges.json` of a fixture folder, as the testing kit records and replays it. */
interface RecordedExchange {
  request: { method: string; url: string; bodyIncludes?: string[] };
  response: { status: number; headers?: Record<string, string>; file?: string; text?: string };
}

interface Exchange {
  method: string;
  url: URL;
  bodyIncludes: readonly string[];
  answer: ProxyAnswer;
}

/** Fields that describe the transfer of the recorded body; the replayed one is sent plain. */
const TRANSFER_FIELDS = new Set([
  'content-encoding',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
]);

/**
 * Answers requests from fixture folders (each with an `exchanges.json`), in their order; what no fixture answers gets
 * `otherwise`, a 404 by default.
 */
export function answersFromFixtures(folders: readonly string[], otherwise?: AnswerRequest): AnswerRequest {
  const exchanges = folders.flatMap(readExchanges);
  return (request) => {
    const exchange = exchanges.find((candidate) => matches(candidate, request));
    if (exchange) return exchange.answer;
    return otherwise
      ? otherwise(request)
      : { status: 404, headers: { 'content-type': 'text/plain' }, body: 'no fixture' };
  };
}

function readExchanges(folder: string): Exchange[] {
  const recorded: { exchanges: RecordedExchange[] } = JSON.parse(
    readFileSync(path.join(folder, 'exchanges.json'), 'utf8'),
  );
  return recorded.exchanges.map(({ request, response }) => ({
    method: request.method,
    url: new URL(request.url),
    bodyIncludes: request.bodyIncludes ?? [],
    answer: {
      status: response.status,
      headers: Object.fromEntries(
        Object.entries(response.headers ?? {}).filter(([name]) => !TRANSFER_FIELDS.has(name.toLowerCase())),
      ),
      body: response.file === undefined ? (response.text ?? '') : readFileSync(path.join(folder, response.file)),
    },
  }));
}

function matches(exchange: Exchange, request: ProxyRequest): boolean {
  return (
    exchange.method === request.method &&
    exchange.url.origin === request.url.origin &&
    exchange.url.pathname === request.url.pathname &&
    [...exchange.url.searchParams].every(([name, value]) => request.url.searchParams.get(name) === value) &&
    exchange.bodyIncludes.every((text) => request.body.includes(text))
  );
}
