import assert from 'node:assert';
import type { HttpClient, HttpRequest } from '../contracts/index.js';
import { type Check, reportAll } from './check.js';
import { createFakeHttp, type FakeReply } from './fake-http.js';
import type { ImageProviderDefinition, ImageUpstreamScript } from './image-definition.js';
import { describeOutcome, type ImageRun, inventImage, runImage } from './image-run.js';
import { atOnce, MAX_TRIES, modelErrorOf, modelFaults, UNREADABLE, WORDS, withWords } from './model-faults.js';
import { leakedSecrets } from './secrets.js';

interface Fault {
  name: string;
  codes: readonly string[];
  reply(request: HttpRequest, upstream: ImageUpstreamScript): FakeReply | Promise<FakeReply>;
}

const FAULTS: readonly Fault[] = [
  ...modelFaults({ retryAfterSeconds: 1 }).map((fault) => ({ ...fault, reply: () => fault.reply })),
  { name: 'an empty body', codes: UNREADABLE, reply: () => ({ body: '' }) },
  {
    name: 'bytes that are no image',
    codes: UNREADABLE,
    reply: (request, upstream) => upstream.image(request, Buffer.from(WORDS)),
  },
  {
    name: 'an image of no bytes',
    codes: UNREADABLE,
    reply: (request, upstream) => upstream.image(request, Buffer.alloc(0)),
  },
  { name: 'an answer that is cut', codes: UNREADABLE, reply: cutAnswer },
];

/** An upstream that fails in one way, and a caller that disconnects. */
export function imageFaultChecks(definition: ImageProviderDefinition): Check[] {
  const { upstream } = definition;
  const leaving: Check = { name: 'ends at once when the caller leaves', run: () => endsAtOnce(definition) };
  if (!upstream) return [leaving];
  return [
    ...FAULTS.map(({ name, codes, reply }): Check => {
      return { name: `${name} is named`, run: () => isNamed(definition, codes, (request) => reply(request, upstream)) };
    }),
    { name: 'a blocked prompt is asked once, and told', run: () => isBlocked(definition, upstream) },
    leaving,
  ];
}

async function isNamed(
  definition: ImageProviderDefinition,
  codes: readonly string[],
  reply: (request: HttpRequest) => FakeReply | Promise<FakeReply>,
): Promise<void> {
  const secrets = definition.secrets ?? [];
  // Upstreams often quote the request.
  const http = createFakeHttp(async (request) => withWords(await reply(request), [WORDS, ...secrets]));
  const run = await runImage(definition, {}, http);
  const code = modelErrorOf(run)?.code;
  reportAll([
    ...(code !== undefined && codes.includes(code)
      ? []
      : [`expected ${codes.join(' or ')}, got ${describeOutcome(run)}`]),
    ...(http.requests.length <= MAX_TRIES ? [] : [`it asked ${http.requests.length} times`]),
    ...leakedSecrets([...secrets, WORDS], [run.image, run.error, run.setup.logs]),
  ]);
}

async function isBlocked(definition: ImageProviderDefinition, { moderation }: ImageUpstreamScript): Promise<void> {
  const http = createFakeHttp([moderation]);
  const run = await runImage(definition, {}, http);
  const error = modelErrorOf(run);
  reportAll([
    ...(error?.code === 'moderation_blocked' ? [] : [`expected moderation_blocked, got ${describeOutcome(run)}`]),
    ...(error?.retryable === false ? [] : ['it may be asked again, the error says']),
    ...(http.requests.length === 1 ? [] : [`it asked ${http.requests.length} times`]),
    ...leakedSecrets(definition.secrets ?? [], [run.error, run.setup.logs]),
  ]);
}

async function endsAtOnce(definition: ImageProviderDefinition): Promise<void> {
  const gone = new Error('the caller left');
  const ignoring: HttpClient = { request: () => new Promise(() => {}), stream: () => new Promise(() => {}) };
  await endsWith(gone, runImage(definition, { signal: AbortSignal.abort(gone) }, ignoring));
  const late = new AbortController();
  const http = createFakeHttp(() => {
    setImmediate(() => late.abort(gone));
    return { hang: true };
  });
  if (!definition.upstream) setImmediate(() => late.abort(gone));
  // Large enough that no call completes before the caller has disconnected.
  await endsWith(gone, runImage(definition, { size: { width: 3840, height: 2160 }, signal: late.signal }, http));
}

async function endsWith(reason: Error, run: Promise<ImageRun>): Promise<void> {
  const ended = await atOnce(run);
  assert(ended, 'it went on after the caller had left');
  assert.equal(ended.error, reason, `expected the reason of the signal, got ${describeOutcome(ended)}`);
}

async function cutAnswer(request: HttpRequest, upstream: ImageUpstreamScript): Promise<FakeReply> {
  const { bytes } = await inventImage({ width: 64, height: 64 }, 'png', '#456');
  const reply = upstream.image(request, bytes);
  if (!('body' in reply)) return reply;
  const whole = bodyText(reply.body);
  return { ...reply, body: whole.subarray(0, whole.length / 2) };
}

function bodyText(body: string | Uint8Array | object = ''): Buffer {
  if (typeof body === 'string' || body instanceof Uint8Array) return Buffer.from(body as Uint8Array);
  return Buffer.from(JSON.stringify(body));
}
