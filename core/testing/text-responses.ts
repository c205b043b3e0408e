import assert from 'node:assert';
import type {
  ResponsesTask,
  StoredResponseAction,
  StoredResponseCall,
  TextProvider,
  TextReply,
} from '../contracts/index.js';
import { at } from '../extraction/scraping/index.js';
import { createFakeHttp, type FakeHttp, type FakeReply } from './fakes.js';
import { type Check, modelErrorOf } from './runner.js';
import { setUpPlugin, textProviderOf } from './setup.js';
import type { TextProviderDefinition } from './text.js';
import { answerOf, firstModel, readBody, requestBody, WANTED, type Wanted, willingUpstream } from './text-run.js';

const RESPONSE: Wanted = { ...WANTED, route: 'responses', stream: false };
const METHODS: Readonly<Record<StoredResponseAction, string>> = {
  retrieve: 'GET',
  delete: 'DELETE',
  cancel: 'POST',
  input_items: 'GET',
};

/** Only for a provider that stores responses. */
export function storedResponseChecks(definition: TextProviderDefinition): Check[] {
  return [
    { name: 'finds a response again where it stores them', run: () => findsAgain(definition) },
    { name: 'knows a response that is not there for one', run: () => knowsNothing(definition) },
  ];
}

async function opened(definition: TextProviderDefinition, http: FakeHttp): Promise<TextProvider> {
  const { plugin, options } = definition;
  return textProviderOf(await setUpPlugin({ plugin, options, http }));
}

async function make(provider: TextProvider): Promise<{ id: string; upstream: string }> {
  const { id: model } = firstModel(provider);
  const body = requestBody(RESPONSE, model);
  const parsed = JSON.parse(body.toString());
  const { route, stream } = RESPONSE;
  const signal = new AbortController().signal;
  const reply = await provider.send({ route, stream, model, body, parsed, signal });
  const made: unknown = JSON.parse((await readBody(reply)).toString());
  return { id: String(at(made, 'id')), upstream: reply.upstream };
}

function ask(provider: TextProvider, more: Partial<StoredResponseCall>) {
  const { id: model } = firstModel(provider);
  const signal = new AbortController().signal;
  return provider.stored?.({ action: 'retrieve', model, responseId: '', upstream: '', query: '', signal, ...more });
}

async function findsAgain(definition: TextProviderDefinition): Promise<void> {
  const { upstream } = definition;
  const http = upstream ? storingUpstream(definition) : willingUpstream(definition, RESPONSE);
  const provider = await opened(definition, http);
  if (!provider.stored || !firstModel(provider).routes.includes('responses')) return;
  const { id, upstream: holder } = await make(provider);
  for (const action of ['retrieve', 'input_items', 'delete'] as const) {
    const before = http.requests.length;
    const reply = await ask(provider, { action, responseId: id, upstream: holder });
    assert(reply, `${action} has no answer`);
    const answer: unknown = JSON.parse((await readBody(reply)).toString());
    if (action !== 'input_items') assert.equal(at(answer, 'id'), id, `${action} is about another response`);
    else assert(Array.isArray(at(answer, 'data')), 'input_items is no list');
    if (!upstream) continue;
    const [request, ...others] = http.requests.slice(before);
    assert.equal(others.length, 0, `${action} took more than one request`);
    assert.equal(request?.method ?? 'GET', METHODS[action], `${action} was sent by another method`);
  }
  if (upstream) return;
  const gone = await Promise.resolve(ask(provider, { responseId: id, upstream: holder })).catch(
    (error: unknown) => error,
  );
  assert.equal(modelErrorOf({ error: gone })?.code, 'response_not_found', 'a response that was deleted is still there');
}

async function knowsNothing(definition: TextProviderDefinition): Promise<void> {
  const body = { error: { message: 'Not found.', type: 'invalid_request_error', param: null, code: null } };
  const provider = await opened(definition, createFakeHttp([{ status: 404, body }]));
  if (!provider.stored) return;
  for (const responseId of ['resp_none', '../../models?x=', 'constructor']) {
    for (const holder of ['nobody', '']) {
      const error = await Promise.resolve(ask(provider, { responseId, upstream: holder })).catch((thrown) => thrown);
      assert.equal(modelErrorOf({ error })?.code, 'response_not_found', `"${responseId}" of "${holder}" is found`);
    }
  }
}

/** Answers requests about the response that it made. */
function storingUpstream(definition: TextProviderDefinition): FakeHttp {
  const { upstream } = definition;
  assert(upstream);
  return createFakeHttp((request): FakeReply => {
    if (request.body !== undefined && request.method === 'POST') {
      const bytes = Buffer.from(
        JSON.stringify({ id: 'resp_1', object: 'response', model: upstream.model, output: [] }),
      );
      return answerOf(upstream, request, { ...RESPONSE, contentType: 'application/json', bytes });
    }
    const isList = String(request.url).includes('/input_items');
    return { body: isList ? { object: 'list', data: [] } : { id: 'resp_1', object: 'response', deleted: true } };
  });
}

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
