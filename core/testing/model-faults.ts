import type { FakeReply } from './fake-http.js';

/** Milliseconds that "at once" may take on a busy machine. */
export const AT_ONCE_MS = 10_000;
/** Requests that one call may come to. */
export const MOST_TRIES = 3;
/** Said by an upstream in a body that is nobody's business. */
export const WORDS = 'words-of-the-upstream-alone';
/** Codes of an answer that is of no use. */
export const UNREADABLE: readonly string[] = ['upstream_changed', 'upstream_error', 'upstream_refused'];

/** One way in which the upstream of a model fails, and the codes that name it. */
export interface ModelFault {
  name: string;
  codes: readonly string[];
  reply: FakeReply;
}

/** Faults that do not depend on what was asked for. */
export function modelFaults({ retryAfterSeconds }: { retryAfterSeconds: number }): ModelFault[] {
  return [
    ...[401, 402, 403].map((status) => ({
      name: `HTTP ${status}`,
      codes: ['upstream_auth_error'],
      reply: refusal(status),
    })),
    {
      name: 'HTTP 429',
      codes: ['upstream_rate_limited'],
      reply: refusal(429, { 'retry-after': String(retryAfterSeconds) }),
    },
    { name: 'HTTP 500', codes: ['upstream_error'], reply: refusal(500) },
    { name: 'HTTP 503 with a page', codes: ['upstream_error', 'upstream_unavailable'], reply: page(503) },
    { name: 'a timeout', codes: ['upstream_timeout'], reply: { fail: 'timeout' } },
    { name: 'a broken connection', codes: ['upstream_error'], reply: { fail: 'connection' } },
    { name: 'a page', codes: UNREADABLE, reply: page(200) },
  ];
}

/** In the forms of several vendors at once. */
function refusal(status: number, headers: Readonly<Record<string, string>> = {}): FakeReply {
  const message = 'No.';
  return {
    status,
    headers,
    body: { error: { message, type: 'error', code: null }, detail: { status: 'error', message } },
  };
}

function page(status: number): FakeReply {
  return { status, headers: { 'content-type': 'text/html' }, body: '<!doctype html><title>One moment</title>' };
}
