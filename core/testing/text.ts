import assert from 'node:assert';
import type { HttpClient, Plugin, TextRoute } from '../contracts/index.js';
import { createFakeHttp, type FakeHttp, type FakeReply, type SentRequest } from './fakes.js';
import {
  atOnce,
  type Check,
  describeChecks,
  leakedSecrets,
  MAX_TRIES,
  type ModelFault,
  modelErrorOf,
  modelFaults,
  reportAll,
  UNREADABLE,
  WORDS,
  withWords,
} from './runner.js';
import { setUpPlugin, textProviderOf } from './setup.js';
import { storedResponseChecks, taskChecks } from './text-responses.js';
import {
  answerContent,
  answerOf,
  contentProblems,
  describeOutcome,
  firstModel,
  requestBody,
  runText,
  type TextRun,
  textOf,
  usageOf,
  WANTED,
  type Wanted,
  willingUpstream,
} from './text-run.js';

export interface TextProviderDefinition {
  plugin: Plugin;
  /** Options of a valid instance. Default `{}`. */
  options?: Readonly<Record<string, unknown>>;
  /** Texts that must not appear in a result, an error or the log. Default: none. */
  secrets?: readonly string[];
  /** How its upstream answers. Default: it works without an upstream. */
  upstream?: TextUpstreamScript;
}

/** An upstream that uses the open formats itself. */
export interface TextUpstreamScript {
  /** Its name of the provider's first model. */
  model: string;
  /** A successful answer with this content. Default: the bytes with their type. */
  answer?(request: SentRequest, content: TextContent): Extract<FakeReply, { body?: unknown }>;
  /** The refusal of an input that is too long. */
  tooLong: FakeReply;
}

/** An answer in one of the formats. */
export interface TextContent {
  route: TextRoute;
  stream: boolean;
  contentType: string;
  bytes: Uint8Array;
}

const ROUTES: readonly TextRoute[] = ['chat_completions', 'responses'];

/** Checks that every text provider must pass. */
export function textProviderChecks(definition: TextProviderDefinition): Check[] {
  return [
    { name: 'names its models', run: () => namesModels(definition) },
    ...ROUTES.flatMap((route) =>
      [false, true].map((stream) => ({
        name: `answers ${route}${stream ? ' as a stream' : ' at once'} with each model that has it`,
        run: () => eachModel(definition, { ...WANTED, route, stream }),
      })),
    ),
    { name: 'leaves what it is given alone', run: () => leavesAlone(definition) },
    { name: 'keeps calls beside each other apart', run: () => apart(definition) },
    ...(definition.upstream ? passingChecks(definition) : ownChecks(definition)),
    ...taskChecks(definition),
    ...storedResponseChecks(definition),
    ...textFaultChecks(definition),
  ];
}

/** Registers {@link textProviderChecks} with the test runner's global `describe` and `it`. */
export function describeTextProvider(definition: TextProviderDefinition): void {
  describeChecks(`text provider ${definition.plugin.name}`, textProviderChecks(definition));
}

/** For a provider that passes bytes on. */
function passingChecks(definition: TextProviderDefinition): Check[] {
  return [
    { name: 'sends the body byte by byte as it came, but for the model', run: () => sendsAsItCame(definition) },
    ...([1, 7, undefined] as const).map((pieceLength) => ({
      name: `hands an answer on byte by byte${pieceLength ? ` that comes in pieces of ${pieceLength}` : ''}`,
      run: () => handsOn(definition, pieceLength),
    })),
  ];
}

/** For a provider without an upstream. */
function ownChecks(definition: TextProviderDefinition): Check[] {
  return [
    { name: 'says the same at once and as a stream, and counts it the same', run: () => answersTheSame(definition) },
  ];
}

async function namesModels(definition: TextProviderDefinition): Promise<void> {
  const { plugin, options } = definition;
  const http = createFakeHttp([{ fail: 'connection' }]);
  const { models } = textProviderOf(await setUpPlugin({ plugin, options, http }));
  const ids = models.map(({ id }) => id);
  reportAll([
    ...(models.length > 0 ? [] : ['there are no models']),
    ...(new Set(ids).size === ids.length ? [] : ['a model is named twice']),
    ...ids.filter((id) => !/^[A-Za-z0-9][\w.:/-]{0,99}$/.test(id)).map((id) => `"${id}" is no name of a model`),
    ...models.flatMap(({ id, routes, efforts }) => [
      ...(routes.length > 0 ? [] : [`${id} has no routes`]),
      ...routes.filter((route) => !ROUTES.includes(route)).map((route) => `${id} has a route "${route}"`),
      ...(new Set(efforts).size === efforts.length ? [] : [`${id} names an effort twice`]),
    ]),
  ]);
}

async function eachModel(definition: TextProviderDefinition, wanted: Wanted): Promise<void> {
  const { plugin, options } = definition;
  const http = createFakeHttp([{ fail: 'connection' }]);
  const { models } = textProviderOf(await setUpPlugin({ plugin, options, http }));
  for (const { id, routes } of models) {
    if (routes.includes(wanted.route)) await answers(definition, wanted, { model: id });
  }
}

async function leavesAlone(definition: TextProviderDefinition): Promise<void> {
  const { provider } = await runText(definition, WANTED, { http: willingUpstream(definition, WANTED) });
  const body = requestBody(WANTED, firstModel(provider).id);
  const before = Buffer.from(body);
  await answers(definition, WANTED, { body });
  assert(before.equals(body), 'the bytes of the body are changed');
}

async function apart(definition: TextProviderDefinition): Promise<void> {
  const all = ['one', 'two', 'three'].map((words): Wanted => ({ ...WANTED, words }));
  const runs = await Promise.all(all.map((wanted) => answers(definition, wanted, {})));
  const texts = runs.map(({ body }) => textOf(WANTED, body));
  reportAll(
    all.filter(({ words }, index) => !texts[index]?.includes(words)).map(({ words }) => `"${words}" got "${texts}"`),
  );
}

async function sendsAsItCame(definition: TextProviderDefinition): Promise<void> {
  const { upstream } = definition;
  for (const stream of [false, true]) {
    const wanted = { ...WANTED, stream };
    const http = willingUpstream(definition, wanted);
    const { provider } = await runText(definition, wanted, { http });
    const sent = Buffer.from((http.requests[0]?.body ?? '') as Uint8Array).toString();
    const model = firstModel(provider).id;
    const expected = requestBody(wanted, model)
      .toString()
      .replace(`"model":"${model}"`, `"model":"${upstream?.model}"`);
    assert.equal(sent, expected, 'the body is not sent as it came');
  }
}

async function handsOn(definition: TextProviderDefinition, pieceLength?: number): Promise<void> {
  const { upstream } = definition;
  if (!upstream) return;
  for (const route of ROUTES) {
    for (const stream of [false, true]) {
      const wanted = { ...WANTED, route, stream };
      const http = willingUpstream(definition, wanted, pieceLength);
      const { body, reply, provider, error } = await runText(definition, wanted, { http });
      if (!firstModel(provider).routes.includes(route)) continue;
      assert(reply, `expected an answer, got ${describeOutcome({ error })}`);
      const { bytes } = answerContent(wanted, upstream.model);
      assert(body.equals(bytes), `the ${stream ? 'stream' : 'answer'} of ${route} is not handed on as it is`);
      assert.equal(reply.upstreamModel, upstream.model, 'upstreamModel is not what the upstream calls it');
    }
  }
}

async function answersTheSame(definition: TextProviderDefinition): Promise<void> {
  for (const route of ROUTES) {
    const runs = await Promise.all(
      [false, true].map((stream) => answers(definition, { ...WANTED, route, stream }, {})),
    );
    const [whole, stream] = runs.map(({ body }, index) => {
      const wanted = { ...WANTED, route, stream: index === 1 };
      return { text: textOf(wanted, body), usage: usageOf(wanted, body) };
    });
    assert.deepEqual(stream, whole, `${route}: the stream says something else`);
    assert(whole?.usage, `${route}: usage is not told`);
  }
}

/** A call that must succeed, and all checks of its answer. */
async function answers(
  definition: TextProviderDefinition,
  wanted: Wanted,
  more: { model?: string; body?: Buffer },
): Promise<TextRun> {
  const { upstream, secrets = [] } = definition;
  const http = upstream
    ? createFakeHttp((request) => answerOf(upstream, request, answerContent(wanted, upstream.model)))
    : willingUpstream(definition, wanted);
  const run = await runText(definition, wanted, { http, ...more });
  const { reply, body, setup } = run;
  assert(reply && run.error === undefined, `expected an answer, got ${describeOutcome(run)}`);
  const hidden = [reply.headers, reply.upstream, setup.logs];
  reportAll([
    ...contentProblems(wanted, reply, body),
    ...(http.requests.length === (upstream ? 1 : 0) ? [] : [`it made ${http.requests.length} requests for one answer`]),
    ...(http.openBodies === 0 ? [] : ['a connection stays open']),
    ...setup.undeclared.map((need) => `used the ${need} without naming it in "needs" or "wants"`),
    ...leakedSecrets(secrets, hidden),
  ]);
  return run;
}

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
