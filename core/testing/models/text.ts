/*
 * The rules that every text provider must pass: it answers each route of each model whole and as a stream, sends the
 * body byte by byte except for the model, passes answers on unchanged in any division into chunks, and names each
 * failure of its upstream. A stream that breaks is not asked for again. A caller who leaves before, while waiting or
 * in the middle ends the call and its connection. `describeTextProvider` registers the rules with the test runner.
 */

import assert from 'node:assert';
import type { TextModel, TextRoute } from '../../contracts/index.js';
import { createFakeHttp, type SentRequest } from '../fakes.js';
import { atOnce } from '../limits.js';
import { type Check, checksOf, describeChecks, reportAll, type Table, unless } from '../runner.js';
import { textProviderOf } from '../setup.js';
import {
  contractErrorOf,
  contributionOf,
  leavesBefore,
  leavesDuring,
  modelNameProblems,
  outcomeOf,
  succeeds,
  UNREADABLE,
} from './models.js';
import { RESPONSES_RULES } from './text-responses.js';
import {
  answerContent,
  answerOf,
  contentProblems,
  firstModel,
  requestBody,
  type TextFields,
  type TextProviderDefinition,
  type TextRun,
  textCall,
  textOf,
  usageOf,
  WANTED,
  type Wanted,
  wantedOf,
} from './text-run.js';
import { commonFaults, hasUpstream, type ModelFamily, refusal, upstreamRules } from './upstream-rules.js';

const EVENTS = { 'content-type': 'text/event-stream' };
const ROUTES: readonly TextRoute[] = ['chat_completions', 'responses', 'messages'];
/** Routes of a provider without an upstream. */
const OPEN_ROUTES: readonly TextRoute[] = ['chat_completions', 'responses'];
/** Routes without text of a model; the other rules are about those with. */
const READING_ROUTES: readonly TextRoute[] = ['embeddings', 'moderations'];

const FAMILY: ModelFamily<TextProviderDefinition, TextRun> = {
  kind: 'text',
  calls: (definition) => [textCall(definition, wantedOf(definition))],
  faults: [
    ...commonFaults(60).map((fault) => (fault.name === 'HTTP 429' ? { ...fault, keepsWords: true } : fault)),
    {
      name: 'HTTP 409',
      codes: ['upstream_conflict'],
      reply: () => refusal(409),
      keepsWords: true,
      isFinal: true,
    },
    {
      name: 'a redirect',
      codes: UNREADABLE,
      reply: () => ({ status: 302, headers: { location: 'https://elsewhere.example/' } }),
    },
    { name: 'an empty body', codes: UNREADABLE, reply: () => ({ headers: EVENTS }) },
    {
      name: 'a connection that breaks before the first byte',
      codes: ['upstream_error'],
      reply: () => ({ headers: EVENTS, after: 'break' }),
    },
  ],
  refusal: {
    name: "a caller's fault is told, once",
    expected: 'context_length_exceeded',
    codes: ['context_length_exceeded'],
    reply: ({ upstream }) => upstream?.tooLong ?? {},
  },
};

const TEXT_RULES: Table<TextProviderDefinition> = [
  { name: 'names its models', run: namesModels },
  ...ROUTES.flatMap((route) =>
    [false, true].map((stream) => ({
      name: `answers ${route}${stream ? ' as a stream' : ' at once'} with each model that has it`,
      applies: ({ upstream }: TextProviderDefinition) => route !== 'messages' || upstream?.format === route,
      run: (definition: TextProviderDefinition) => eachModel(definition, { ...WANTED, route, stream }),
    })),
  ),
  { name: 'leaves what it is given alone', run: leavesAlone },
  { name: 'keeps calls beside each other apart', run: apart },
  { name: 'sends the body byte by byte as it came, but for the model', applies: hasUpstream, run: sendsAsItCame },
  ...([1, 7, undefined] as const).map((pieceLength) => ({
    name: `hands an answer on byte by byte${pieceLength ? ` that comes in pieces of ${pieceLength}` : ''}`,
    applies: hasUpstream,
    run: (definition: TextProviderDefinition) => handsOn(definition, pieceLength),
  })),
  {
    name: 'says the same at once and as a stream, and counts it the same',
    applies: (definition) => !hasUpstream(definition),
    run: answersTheSame,
  },
  ...RESPONSES_RULES,
  ...upstreamRules(FAMILY),
  { name: 'a stream that breaks ends, and is not asked for again', applies: hasUpstream, run: breaks },
  {
    name: 'ends at once when the caller leaves before it begins',
    run: (definition) => leavesBefore(textCall(definition, wantedOf(definition))),
  },
  { name: 'ends at once when the caller leaves in the middle', run: endsInTheMiddle },
  {
    name: 'ends while it waits for the upstream when the caller leaves',
    applies: hasUpstream,
    async run(definition) {
      const http = await leavesDuring(textCall(definition, wantedOf(definition)));
      assert.equal(http.requests.length, 1, 'it asked again after the caller had left');
    },
  },
  { name: 'closes the connection of a reader who leaves', applies: hasUpstream, run: closes },
];

/** Checks that every text provider must pass. */
export function textProviderChecks(definition: TextProviderDefinition): Check[] {
  return checksOf(TEXT_RULES, definition);
}

/** Registers {@link textProviderChecks} with the test runner's global `describe` and `it`. */
export function describeTextProvider(definition: TextProviderDefinition): void {
  describeChecks(`text provider ${definition.plugin.name}`, textProviderChecks(definition));
}

function modelsOf(definition: TextProviderDefinition): Promise<readonly TextModel[]> {
  return contributionOf(definition, (setup) => textProviderOf(setup).models);
}

async function namesModels(definition: TextProviderDefinition): Promise<void> {
  const models = await modelsOf(definition);
  reportAll([
    ...modelNameProblems(models),
    ...models.flatMap(({ id, routes, translated = [], efforts }) => [
      ...unless(routes.length > 0, `${id} has no routes`),
      ...routes
        .filter((route) => ![...ROUTES, ...READING_ROUTES].includes(route))
        .map((route) => `${id} has a route "${route}"`),
      ...unless(new Set(efforts).size === efforts.length, `${id} names an effort twice`),
      ...translated
        .filter((route) => !routes.includes(route))
        .map((route) => `${id} translates ${route}, which is none of its routes`),
    ]),
  ]);
}

async function eachModel(definition: TextProviderDefinition, wanted: Wanted): Promise<void> {
  for (const { id, routes } of await modelsOf(definition)) {
    if (routes.includes(wanted.route)) await answers(definition, wanted, { model: id });
  }
}

async function leavesAlone(definition: TextProviderDefinition): Promise<void> {
  const wanted = wantedOf(definition);
  const body = requestBody(wanted, firstModel(await contributionOf(definition, textProviderOf)).id);
  const before = Buffer.from(body);
  await answers(definition, wanted, { body });
  assert(before.equals(body), 'the bytes of the body are changed');
}

async function apart(definition: TextProviderDefinition): Promise<void> {
  const usual = wantedOf(definition);
  const all = ['one', 'two', 'three'].map((words): Wanted => ({ ...usual, words }));
  const runs = await Promise.all(all.map((wanted) => answers(definition, wanted, {})));
  const texts = runs.map(({ body }) => textOf(usual, body));
  reportAll(
    all.filter(({ words }, index) => !texts[index]?.includes(words)).map(({ words }) => `"${words}" got "${texts}"`),
  );
}

async function sendsAsItCame(definition: TextProviderDefinition): Promise<void> {
  for (const stream of [false, true]) {
    const wanted = { ...wantedOf(definition), stream };
    const { run, answer } = textCall(definition, wanted);
    const http = createFakeHttp(answer);
    const { provider } = await run({ http });
    const sent = Buffer.from((http.requests[0]?.body ?? '') as Uint8Array).toString();
    const model = firstModel(provider).id;
    const expected = requestBody(wanted, model)
      .toString()
      .replace(`"model":"${model}"`, `"model":"${definition.upstream?.model}"`);
    assert.equal(sent, expected, 'the body is not sent as it came');
  }
}

async function handsOn(definition: TextProviderDefinition, pieceLength?: number): Promise<void> {
  const { upstream } = definition;
  assert(upstream);
  for (const route of firstModel(await contributionOf(definition, textProviderOf)).routes) {
    if (upstream.format && route !== upstream.format) continue;
    for (const stream of [false, true]) {
      const wanted = { ...WANTED, route, stream };
      const { run, answer } = textCall(definition, wanted, { pieceLength });
      const ran = await run({ http: createFakeHttp(answer) });
      const { body, reply } = ran;
      assert(reply, `expected an answer, got ${outcomeOf(ran)}`);
      const { bytes } = answerContent(wanted, upstream.model);
      assert(body.equals(bytes), `the ${stream ? 'stream' : 'answer'} of ${route} is not handed on as it is`);
      assert.equal(reply.upstreamModel, upstream.model, 'upstreamModel is not what the upstream calls it');
    }
  }
}

async function answersTheSame(definition: TextProviderDefinition): Promise<void> {
  for (const route of OPEN_ROUTES) {
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
function answers(definition: TextProviderDefinition, wanted: Wanted, fields: TextFields): Promise<TextRun> {
  return succeeds(definition, textCall(definition, wanted, fields), ({ reply, body }, { requests, openBodies }) => {
    const isAsked = !definition.upstream || requests.length > 0;
    return (
      reply && [
        ...contentProblems(wanted, reply, body),
        ...unless(isAsked, 'it made no request for its answer'),
        ...unless(openBodies === 0, 'a connection stays open'),
      ]
    );
  });
}

async function breaks(definition: TextProviderDefinition): Promise<void> {
  const { reply, bytes } = halfAnswered(definition, 'break');
  const http = createFakeHttp(reply);
  const run = await textCall(definition, wantedOf(definition)).run({ http });
  const isNamed = contractErrorOf(run, 'text')?.code === 'upstream_error';
  reportAll([
    ...unless(isNamed, `expected upstream_error, got ${outcomeOf(run)}`),
    ...unless(run.body.equals(bytes), 'what came before it is not handed on'),
    ...unless(http.requests.length === 1, `it asked ${http.requests.length} times`),
  ]);
}

async function endsInTheMiddle(definition: TextProviderDefinition): Promise<void> {
  const call = { ...textCall(definition, wantedOf(definition)), method: 'the body of send()' };
  const reply = definition.upstream ? halfAnswered(definition, 'hang').reply : call.answer;
  const http = await leavesDuring(call, (_, request) => reply(request));
  assert.equal(http.openBodies, 0, 'the connection stays open');
}

async function closes(definition: TextProviderDefinition): Promise<void> {
  const http = createFakeHttp(halfAnswered(definition, 'hang').reply);
  const run = await atOnce(textCall(definition, wantedOf(definition), { pieces: 1 }).run({ http }));
  assert(run, 'leaving takes as long as the answer');
  assert.equal(run.error, undefined, `leaving is no failure, got ${outcomeOf(run)}`);
  assert.equal(http.openBodies, 0, 'the connection stays open');
}

/** Half a stream, and what follows it. */
function halfAnswered(definition: TextProviderDefinition, after: 'break' | 'hang') {
  const { upstream } = definition;
  assert(upstream);
  const content = answerContent(wantedOf(definition), upstream.model);
  const bytes = Buffer.from(content.bytes.subarray(0, content.bytes.length / 2));
  const reply = (request: SentRequest) => ({ ...answerOf(upstream, request, { ...content, bytes }), after });
  return { bytes, reply };
}
