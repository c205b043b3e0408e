import assert from 'node:assert';
import type { HttpClient } from '../contracts/index.js';
import { type Check, reportAll } from './check.js';
import { createFakeHttp, type FakeHttp, type SentRequest } from './fake-http.js';
import {
  atOnce,
  MAX_TRIES,
  type ModelFault,
  modelErrorOf,
  modelFaults,
  UNREADABLE,
  WORDS,
  withWords,
} from './model-faults.js';
import { leakedSecrets } from './secrets.js';
import { answerContent } from './text-contents.js';
import type { TextProviderDefinition, TextUpstreamScript } from './text-definition.js';
import { answerOf, describeOutcome, runText, type TextRun, WANTED, willingUpstream } from './text-run.js';

const FAULTS: readonly ModelFault[] = [
  ...modelFaults({ retryAfterSeconds: 60 }),
  {
    name: 'a redirect',
    codes: UNREADABLE,
    reply: { status: 302, headers: { location: 'https://elsewhere.example/' } },
  },
  { name: 'an empty body', codes: UNREADABLE, reply: { headers: { 'content-type': 'text/event-stream' } } },
  {
    name: 'a connection that breaks before the first byte',
    codes: ['upstream_error'],
    reply: { headers: { 'content-type': 'text/event-stream' }, after: 'break' },
  },
];

/** An upstream that fails in one way, and a caller that disconnects. */
export function textFaultChecks(definition: TextProviderDefinition): Check[] {
  const { upstream } = definition;
  const leaving = [
    { name: 'ends at once when the caller leaves before it begins', run: () => endsBefore(definition) },
    { name: 'ends at once when the caller leaves in the middle', run: () => endsInTheMiddle(definition) },
  ];
  if (!upstream) return leaving;
  return [
    ...FAULTS.map((fault) => ({ name: `${fault.name} is named`, run: () => isNamed(definition, fault) })),
    { name: "a caller's fault is told, once", run: () => reportsFault(definition, upstream) },
    { name: 'a stream that breaks ends, and is not asked for again', run: () => breaks(definition, upstream) },
    ...leaving,
    { name: 'ends while it waits for the upstream when the caller leaves', run: () => endsWaiting(definition) },
    { name: 'closes the connection of a reader who leaves', run: () => closes(definition, upstream) },
  ];
}

async function isNamed(definition: TextProviderDefinition, { codes, reply }: ModelFault): Promise<void> {
  const secrets = definition.secrets ?? [];
  // Upstreams often quote the request.
  const http = createFakeHttp([withWords(reply, [WORDS, ...secrets])]);
  const run = await runText(definition, WANTED, { http });
  const code = modelErrorOf(run)?.code;
  reportAll([
    ...(code !== undefined && codes.includes(code)
      ? []
      : [`expected ${codes.join(' or ')}, got ${describeOutcome(run)}`]),
    ...(run.reply ? ['it is told only when the body is read, where nobody can be asked instead'] : []),
    ...(http.requests.length <= MAX_TRIES ? [] : [`it asked ${http.requests.length} times`]),
    ...(http.openBodies === 0 ? [] : ['a connection stays open']),
    ...leakedSecrets([...secrets, WORDS], [run.error, run.setup.logs]),
  ]);
}

async function reportsFault(definition: TextProviderDefinition, { tooLong }: TextUpstreamScript): Promise<void> {
  const http = createFakeHttp([tooLong]);
  const run = await runText(definition, WANTED, { http });
  const error = modelErrorOf(run);
  reportAll([
    ...(error?.code === 'context_length_exceeded'
      ? []
      : [`expected context_length_exceeded, got ${describeOutcome(run)}`]),
    ...(error?.retryable === false ? [] : ['it may be asked again, the error says']),
    ...(http.requests.length === 1 ? [] : [`it asked ${http.requests.length} times`]),
    ...leakedSecrets(definition.secrets ?? [], [run.error, run.setup.logs]),
  ]);
}

async function breaks(definition: TextProviderDefinition, upstream: TextUpstreamScript): Promise<void> {
  const { http, bytes } = halfAnswered(upstream, 'break');
  const run = await runText(definition, WANTED, { http });
  reportAll([
    ...(modelErrorOf(run)?.code === 'upstream_error' ? [] : [`expected upstream_error, got ${describeOutcome(run)}`]),
    ...(run.body.equals(bytes) ? [] : ['what came before it is not handed on']),
    ...(http.requests.length === 1 ? [] : [`it asked ${http.requests.length} times`]),
  ]);
}

async function endsBefore(definition: TextProviderDefinition): Promise<void> {
  const gone = new Error('the caller left');
  const ignoring: HttpClient = { request: () => new Promise(() => {}), stream: () => new Promise(() => {}) };
  const http: FakeHttp = { ...ignoring, requests: [], openBodies: 0 };
  await endsWith(gone, runText(definition, WANTED, { http, signal: AbortSignal.abort(gone) }));
}

async function endsWaiting(definition: TextProviderDefinition): Promise<void> {
  const gone = new Error('the caller left');
  const late = new AbortController();
  const http = createFakeHttp(() => {
    setImmediate(() => late.abort(gone));
    return { hang: true };
  });
  await endsWith(gone, runText(definition, WANTED, { http, signal: late.signal }));
  assert.equal(http.requests.length, 1, 'it asked again after the caller had left');
}

async function endsInTheMiddle(definition: TextProviderDefinition): Promise<void> {
  const gone = new Error('the caller left');
  const late = new AbortController();
  const { upstream } = definition;
  const http = upstream ? halfAnswered(upstream, 'hang').http : willingUpstream(definition, WANTED);
  const onPiece = () => void setImmediate(() => late.abort(gone));
  await endsWith(gone, runText(definition, WANTED, { http, signal: late.signal, onPiece }));
  assert.equal(http.openBodies, 0, 'the connection stays open');
}

async function closes(definition: TextProviderDefinition, upstream: TextUpstreamScript): Promise<void> {
  const { http } = halfAnswered(upstream, 'hang');
  const run = await atOnce(runText(definition, WANTED, { http, pieces: 1 }));
  assert(run, 'leaving takes as long as the answer');
  assert.equal(run.error, undefined, `leaving is no failure, got ${describeOutcome(run)}`);
  assert.equal(http.openBodies, 0, 'the connection stays open');
}

/** Half a stream, and what follows it. */
function halfAnswered(upstream: TextUpstreamScript, after: 'break' | 'hang'): { http: FakeHttp; bytes: Buffer } {
  const content = answerContent(WANTED, upstream.model);
  const bytes = Buffer.from(content.bytes.subarray(0, content.bytes.length / 2));
  const reply = (request: SentRequest) => ({ ...answerOf(upstream, request, { ...content, bytes }), after });
  return { http: createFakeHttp(reply), bytes };
}

async function endsWith(reason: Error, run: Promise<TextRun>): Promise<void> {
  const ended = await atOnce(run);
  assert(ended, 'it went on after the caller had left');
  assert.equal(ended.error, reason, `expected the reason of the signal, got ${describeOutcome(ended)}`);
}
