import assert from 'node:assert';
import type { ResponsesTask, TextProvider, TextReply } from '../contracts/index.js';
import { at } from '../extraction/scraping/index.js';
import type { Check } from './check.js';
import { createFakeHttp } from './fake-http.js';
import { setUpPlugin, textProviderOf } from './setup.js';
import { requestBody, type Wanted } from './text-contents.js';
import type { TextProviderDefinition } from './text-definition.js';
import { answerOf, firstModel, readBody, WANTED, willingUpstream } from './text-run.js';

const RESPONSE: Wanted = { ...WANTED, route: 'responses', stream: false };
const ANSWERS: Readonly<Record<ResponsesTask, object>> = {
  compact: { object: 'response.compaction', output: [] },
  input_tokens: { object: 'response.input_tokens', input_tokens: 9 },
};

/** Only for a provider with additional tasks. */
export function taskChecks(definition: TextProviderDefinition): Check[] {
  return [{ name: 'does what it says it does besides answering', run: () => doesTasks(definition) }];
}

async function doesTasks(definition: TextProviderDefinition): Promise<void> {
  const { plugin, options, upstream } = definition;
  const known = createFakeHttp([{ fail: 'connection' }]);
  const { tasks = [] } = textProviderOf(await setUpPlugin({ plugin, options, http: known }));
  for (const task of tasks) {
    assert(task in ANSWERS, `there is no task "${task}"`);
    await (upstream ? asksForTask(definition, task) : answersTask(definition, task));
  }
}

/** On a path of its own: an upstream on the usual path would answer the request. */
async function asksForTask(definition: TextProviderDefinition, task: ResponsesTask): Promise<void> {
  const { plugin, options, upstream } = definition;
  assert(upstream);
  const bytes = Buffer.from(`${JSON.stringify(ANSWERS[task])}\n`);
  const content = { ...RESPONSE, contentType: 'application/json', bytes };
  const http = createFakeHttp((request) => answerOf(upstream, request, content));
  const provider = textProviderOf(await setUpPlugin({ plugin, options, http }));
  assert((await readBody(await send(provider, task))).equals(bytes), `the answer to ${task} is not handed on as it is`);
  await readBody(await send(provider));
  const [asked, usual, ...others] = http.requests;
  assert.equal(others.length, 0, `${task} took more than one request`);
  assert.notEqual(String(asked?.url), String(usual?.url), `${task} is asked for as if it were to be answered`);
  assert.deepEqual(asked?.body, usual?.body, `the body is not sent as it came where ${task} is asked for`);
}

async function answersTask(definition: TextProviderDefinition, task: ResponsesTask): Promise<void> {
  const { plugin, options } = definition;
  const provider = textProviderOf(await setUpPlugin({ plugin, options, http: willingUpstream(definition, RESPONSE) }));
  const answer: unknown = JSON.parse((await readBody(await send(provider, task))).toString());
  assert.equal(at(answer, 'object'), at(ANSWERS[task], 'object'), `the answer to ${task} is something else`);
}

function send(provider: TextProvider, task?: ResponsesTask): Promise<TextReply> {
  const { id: model } = firstModel(provider);
  const body = requestBody(RESPONSE, model);
  const { route, stream } = RESPONSE;
  const { signal } = new AbortController();
  return provider.send({
    route,
    stream,
    model,
    body,
    parsed: JSON.parse(body.toString()),
    signal,
    ...(task && { task }),
  });
}
