import assert from 'node:assert';
import { inspect } from 'node:util';
import { endsWithin, type GatewayError, isGatewayError } from '../runtime/index.js';
import type { FakeReply } from './fakes.js';

/** One rule of the kit: a name for the report, and a run that throws if the rule is violated. */
export interface Check {
  readonly name: string;
  run(): Promise<unknown>;
}

/** Fails with all problems, one line each. */
export function reportAll(problems: readonly string[]): void {
  assert(problems.length === 0, `\n  ${problems.join('\n  ')}`);
}

/** Registers checks with the test runner's globals, which exist only while it runs. */
export function describeChecks(title: string, checks: readonly Check[]): void {
  describe(title, () => {
    for (const check of checks) it(check.name, () => check.run());
  });
}

/** Secrets that appear in what others may read, one line each. */
export function leakedSecrets(secrets: readonly string[], seen: unknown): string[] {
  const text = inspect(seen, { depth: 20, maxStringLength: null, maxArrayLength: null });
  return secrets.flatMap((secret, index) =>
    text.includes(secret) ? [`secret ${index + 1} shows in the result, the error or the log`] : [],
  );
}

/** Maximum milliseconds of "at once" on a busy machine. */
const AT_ONCE_MS = 10_000;
/** Maximum requests of one call. */
export const MAX_TRIES = 3;
/** A private text in an upstream's body. */
export const WORDS = 'words-of-the-upstream-alone';
/** Codes of a useless answer. */
export const UNREADABLE: readonly string[] = ['upstream_changed', 'upstream_error', 'upstream_refused'];

/** One failure of a model's upstream, and the accepted codes. */
export interface ModelFault {
  name: string;
  codes: readonly string[];
  reply: FakeReply;
}

/** Failures that do not depend on the request. */
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

/** The reply with a text in it: in the message of a JSON error, or after a page. */
export function withWords(reply: FakeReply, words: readonly string[]): FakeReply {
  if (!('body' in reply) || reply.body instanceof Uint8Array || reply.body === '') return reply;
  if (typeof reply.body === 'string') return { ...reply, body: `${reply.body}<p>${words.join(' ')}</p>` };
  return { ...reply, body: JSON.parse(JSON.stringify(reply.body).replaceAll('No.', words.join(' '))) };
}

/** The GatewayError a run ended with; any other error fails the check. */
export function modelErrorOf({ error }: { error?: unknown }): GatewayError | undefined {
  if (error === undefined || isGatewayError(error)) return error;
  throw new assert.AssertionError({ message: `threw something else than a GatewayError: ${inspect(error)}` });
}

/** The result of a run; undefined if it does not end at once. */
export async function atOnce<Run>(run: Promise<Run>): Promise<Run | undefined> {
  return (await endsWithin(AT_ONCE_MS, () => run)) ? run : undefined;
}

/** In the formats of several vendors at once. */
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
