import assert from 'node:assert';
import type { TextRoute } from '../contracts/index.js';
import { type Check, describeChecks, reportAll } from './check.js';
import { createFakeHttp } from './fake-http.js';
import { leakedSecrets } from './secrets.js';
import { setUpPlugin, textProviderOf } from './setup.js';
import { contentProblems, textOf, usageOf } from './text-answers.js';
import { answerContent, requestBody, type Wanted } from './text-contents.js';
import type { TextProviderDefinition } from './text-definition.js';
import { textFaultChecks } from './text-fault-checks.js';
import { answerOf, describeOutcome, firstModel, runText, type TextRun, WANTED, willingUpstream } from './text-run.js';
import { storedResponseChecks } from './text-stored-checks.js';
import { taskChecks } from './text-task-checks.js';

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
