import assert from 'node:assert';
import type { HttpClient } from '../contracts/index.js';
import { withDeadline } from '../runtime/index.js';
import { type Check, reportAll } from './check.js';
import { gatewayErrorOf, leaks, outcomeOf, runSample } from './extraction-run.js';
import type { ExtractorDefinition, FoundSample } from './extractor-definition.js';
import { createFakeHttp, type FakeReply } from './fake-http.js';

/** Maximum milliseconds of "at once" on a busy machine. */
const AT_ONCE_MS = 5_000;
const GARBAGE = Buffer.from(Array.from({ length: 4096 }, (_, index) => (index * 7919 + 13) % 256));

/** The platform's reaction to every request → the accepted codes. */
const FAULTS: readonly { name: string; reply: FakeReply; codes: readonly string[] }[] = [
  {
    name: 'HTTP 404',
    reply: { status: 404, headers: { 'content-type': 'text/html' }, body: '<!doctype html><title>404</title>' },
    codes: ['removed', 'unavailable', 'upstream_refused', 'upstream_changed', 'upstream_error'],
  },
  { name: 'HTTP 429', reply: { status: 429, headers: { 'retry-after': '30' } }, codes: ['upstream_rate_limited'] },
  {
    name: 'HTTP 500',
    reply: { status: 500, headers: { 'content-type': 'text/html' }, body: '<!doctype html><title>500</title>' },
    codes: ['upstream_error'],
  },
  { name: 'a timeout', reply: { fail: 'timeout' }, codes: ['upstream_timeout'] },
  { name: 'a broken connection', reply: { fail: 'connection' }, codes: ['upstream_error'] },
  { name: 'an empty body', reply: { body: '' }, codes: ['upstream_refused', 'upstream_changed', 'bot_check'] },
  {
    name: 'garbage',
    reply: { headers: { 'content-type': 'text/html' }, body: GARBAGE },
    codes: ['upstream_refused', 'upstream_changed', 'bot_check'],
  },
];

/** The whole platform failing in one way, and a caller that disconnects. */
export function faultChecks(definition: ExtractorDefinition, sample: FoundSample): Check[] {
  const faults = FAULTS.map(({ name, reply, codes }): Check => {
    return {
      name: `${name} everywhere is named`,
      async run() {
        const run = await runSample(definition, sample, createFakeHttp([reply]));
        const code = gatewayErrorOf(run)?.code;
        const named = code !== undefined && codes.includes(code);
        reportAll([
          ...(named ? [] : [`expected ${codes.join(' or ')}, got ${outcomeOf(run)}`]),
          ...leaks(definition, run),
        ]);
      },
    };
  });
  return [
    ...faults,
    {
      name: 'ends at once when the caller leaves',
      async run() {
        const gone = new Error('the caller left');
        const late = new AbortController();
        const http = createFakeHttp(() => {
          setImmediate(() => late.abort(gone));
          return { hang: true };
        });
        await endsWith(gone, runSample(definition, sample, http, { signal: late.signal }));
        const ignoring: HttpClient = { request: () => new Promise(() => {}), stream: () => new Promise(() => {}) };
        const early = AbortSignal.abort(gone);
        await endsWith(gone, runSample(definition, sample, ignoring, { signal: early }));
      },
    },
  ];
}

async function endsWith(reason: Error, run: ReturnType<typeof runSample>): Promise<void> {
  const message = `went on for more than ${AT_ONCE_MS} ms after the caller had left`;
  const ended = await withDeadline(AT_ONCE_MS, () => run, { error: () => new assert.AssertionError({ message }) });
  assert.equal(ended.error, reason, `expected the reason of the signal, got ${outcomeOf(ended)}`);
}
