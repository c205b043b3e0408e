/*
 * The rules of text providers that do more for `/v1/responses` than answer: tasks such as compacting are sent to a
 * path of their own with the body unchanged, a stored response can be fetched, listed and deleted with the right
 * methods, and a response that does not exist is `response_not_found`, also for ids and upstream names that are made
 * to deceive. A provider without stored responses or tasks skips them.
 */

import assert from 'node:assert';
import { buffer, json } from 'node:stream/consumers';
import type {
  ResponsesTask,
  StoredResponseAction,
  StoredResponseCall,
  TextProvider,
  TextReply,
} from '../../contracts/index.js';
import { at } from '../../runtime/index.js';
import { createFakeHttp, type FakeHttp, type FakeReply } from '../fakes.js';
import { called } from '../limits.js';
import type { Table } from '../runner.js';
import { setUpPlugin, textProviderOf } from '../setup.js';
import { contractErrorOf, contributionOf } from './models.js';
import {
  answerOf,
  callOf,
  firstModel,
  type TextProviderDefinition,
  textCall,
  WANTED,
  type Wanted,
} from './text-run.js';

const RESPONSE: Wanted = { ...WANTED, route: 'responses', stream: false };
const METHODS: Readonly<Record<StoredResponseAction, string>> = {
  retrieve: 'GET',
  delete: 'DELETE',
  cancel: 'POST',
  input_items: 'GET',
};

const ANSWERS: Readonly<Record<ResponsesTask, object>> = {
  compact: { object: 'response.compaction', output: [] },
  input_tokens: { object: 'response.input_tokens', input_tokens: 9 },
};

export const RESPONSES_RULES: Table<TextProviderDefinition> = [
  { name: 'does what it says it does besides answering', run: doesTasks },
  { name: 'finds a response again where it stores them', run: findsAgain },
  { name: 'knows a response that is not there for one', run: knowsNothing },
];

async function opened(definition: TextProviderDefinition, http: FakeHttp): Promise<TextProvider> {
  const { plugin, options } = definition;
  return textProviderOf(await setUpPlugin({ plugin, options, http }));
}

function send(provider: TextProvider, task?: ResponsesTask): Promise<TextReply> {
  const { routes, translated = [] } = firstModel(provider);
  // A task is passed on as it is only in the format of the upstream.
  const isMessage = routes.includes('messages') && translated.includes('responses');
  const wanted: Wanted = isMessage ? { ...RESPONSE, route: 'messages' } : RESPONSE;
  return called('send()', () => provider.send({ ...callOf(provider, wanted), ...(task && { task }) }));
}

async function ask(provider: TextProvider, more: Partial<StoredResponseCall>): Promise<TextReply | undefined> {
  const { id: model } = firstModel(provider);
  const { signal } = new AbortController();
  const call = { action: 'retrieve', model, responseId: '', upstream: '', query: '', signal, ...more } as const;
  return called('stored()', () => provider.stored?.(call));
}

/** The code of what a question about a stored response ends with; undefined if it is answered. */
async function refusalOf(provider: TextProvider, more: Partial<StoredResponseCall>): Promise<string | undefined> {
  try {
    await ask(provider, more);
    return undefined;
  } catch (error) {
    return contractErrorOf({ error }, 'text')?.code;
  }
}

async function findsAgain(definition: TextProviderDefinition): Promise<void> {
  const { upstream } = definition;
  const http = upstream ? storingUpstream(definition) : createFakeHttp(textCall(definition, RESPONSE).answer);
  const provider = await opened(definition, http);
  if (!provider.stored || !firstModel(provider).routes.includes('responses')) return;
  const made = await send(provider);
  const [id, holder] = [String(at(await json(made.body), 'id')), made.upstream];
  for (const action of ['retrieve', 'input_items', 'delete'] as const) {
    const before = http.requests.length;
    const reply = await ask(provider, { action, responseId: id, upstream: holder });
    assert(reply, `${action} has no answer`);
    const answer = await json(reply.body);
    if (action !== 'input_items') assert.equal(at(answer, 'id'), id, `${action} is about another response`);
    else assert(Array.isArray(at(answer, 'data')), 'input_items is no list');
    if (!upstream) continue;
    const [request, ...others] = http.requests.slice(before);
    assert.equal(others.length, 0, `${action} took more than one request`);
    assert.equal(request?.method ?? 'GET', METHODS[action], `${action} was sent by another method`);
  }
  if (upstream) return;
  const code = await refusalOf(provider, { responseId: id, upstream: holder });
  assert.equal(code, 'response_not_found', 'a response that was deleted is still there');
}

async function knowsNothing(definition: TextProviderDefinition): Promise<void> {
  const body = { error: { message: 'Not found.', type: 'invalid_request_error', param: null, code: null } };
  const provider = await opened(definition, createFakeHttp([{ status: 404, body }]));
  if (!provider.stored) return;
  for (const responseId of ['resp_none', '../../models?x=', 'constructor']) {
    for (const holder of ['nobody', '']) {
      const code = await refusalOf(provider, { responseId, upstream: holder });
      assert.equal(code, 'response_not_found', `"${responseId}" of "${holder}" is found`);
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

async function doesTasks(definition: TextProviderDefinition): Promise<void> {
  const { tasks = [] } = await contributionOf(definition, textProviderOf);
  for (const task of tasks) {
    assert(task in ANSWERS, `there is no task "${task}"`);
    await (definition.upstream ? asksForTask(definition, task) : answersTask(definition, task));
  }
}

/** On a path of its own: an upstream on the usual path would answer the request. */
async function asksForTask(definition: TextProviderDefinition, task: ResponsesTask): Promise<void> {
  const { upstream } = definition;
  assert(upstream);
  const bytes = Buffer.from(`${JSON.stringify(ANSWERS[task])}\n`);
  const content = { ...RESPONSE, contentType: 'application/json', bytes };
  const http = createFakeHttp((request) => answerOf(upstream, request, content));
  const provider = await opened(definition, http);
  assert(
    (await buffer((await send(provider, task)).body)).equals(bytes),
    `the answer to ${task} is not handed on as it is`,
  );
  await buffer((await send(provider)).body);
  const [asked, usual, ...others] = http.requests;
  assert.equal(others.length, 0, `${task} took more than one request`);
  assert.notEqual(String(asked?.url), String(usual?.url), `${task} is asked for as if it were to be answered`);
  assert.deepEqual(asked?.body, usual?.body, `the body is not sent as it came where ${task} is asked for`);
}

async function answersTask(definition: TextProviderDefinition, task: ResponsesTask): Promise<void> {
  const provider = await opened(definition, createFakeHttp(textCall(definition, RESPONSE).answer));
  const answer = await json((await send(provider, task)).body);
  assert.equal(at(answer, 'object'), at(ANSWERS[task], 'object'), `the answer to ${task} is something else`);
}
