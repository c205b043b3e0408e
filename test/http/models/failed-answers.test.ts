/** Answers that fail before the client has received anything. */

import { expect } from 'chai';
import anthropicText from 'mediagate/plugins/anthropic_text';
import openaiText from 'mediagate/plugins/openai_text';
import {
  chatChunk,
  dataEvents,
  goodAnswer,
  goodScript,
  messageObject,
  namedEvents,
  responseObject,
  type ScriptedVendor,
  startScriptedVendor,
  type VendorScript,
} from '../../support/models/scripted-vendor.js';
import { longIt } from '../../support/runner/variants.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';

const [CHAT, RESPONSES, MESSAGES] = ['/v1/chat/completions', '/v1/responses', '/v1/messages'] as const;
type Path = typeof CHAT | typeof RESPONSES | typeof MESSAGES;
const JSON_TYPE = 'application/json';
/** Of the models whose upstream is silent; the others must not reach it on a busy machine. */
const SILENCE_SECONDS = 1.5;

const quota = { code: 'insufficient_quota', type: 'insufficient_quota', message: 'You exceeded your current quota.' };
const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
const created = { type: 'response.created', sequence_number: 0, response: responseObject('in_progress') };
const failed = (error: object) => ({
  type: 'response.failed',
  sequence_number: 1,
  response: responseObject('failed', undefined, { error }),
});
const start = { type: 'message_start', message: messageObject() };
const whole = (value: object): VendorScript => ({ type: JSON_TYPE, pieces: [JSON.stringify(value)] });
const events = (...pieces: string[]): VendorScript => ({ pieces });

/** Answers with status 200 that are none. */
const NO_ANSWERS: readonly [string, Path, boolean, VendorScript][] = [
  ['an error as the first event', CHAT, true, events(dataEvents({ error: { message: 'Boom', type: 'server_error' } }))],
  ['an error as a text', CHAT, true, events(dataEvents({ error: 'model runner has stopped' }))],
  ['an event with the name of an error', CHAT, true, events('event: error\ndata: {"message":"Boom","code":500}\n\n')],
  ['an error object', CHAT, true, events(dataEvents({ object: 'error', message: 'Boom', code: 50001 }, '[DONE]'))],
  [
    'a role, then an error',
    CHAT,
    true,
    events(
      dataEvents(chatChunk({ role: 'assistant', content: '' })),
      dataEvents({ error: { code: 502, message: 'x' } }),
    ),
  ],
  [
    'an error in the choice',
    CHAT,
    true,
    events(dataEvents({ ...chatChunk({}), choices: [{ index: 0, delta: {}, finish_reason: 'error' }] }, '[DONE]')),
  ],
  ['comments only', CHAT, true, events(': PROCESSING\n\n', ': PROCESSING\n\n')],
  ['blank lines only', CHAT, true, events('\n\n', '\r\n\r\n')],
  ['the end mark only', CHAT, true, events('data: [DONE]\n\n')],
  ['a broken first event', CHAT, true, events('data: {"id":"chatc')],
  ['a break behind the role', CHAT, true, { pieces: [dataEvents(chatChunk({ role: 'assistant' }))], ends: 'break' }],
  ['an error as JSON', CHAT, true, whole({ error: { message: 'Boom', type: 'server_error', code: null } })],
  ['an error as JSON of a wrong type', CHAT, true, { ...whole({ error: quota }), type: 'text/event-stream' }],
  ['a text', CHAT, true, { type: 'text/plain', pieces: ['upstream connect error'] }],
  ['an error', CHAT, false, whole({ error: quota })],
  ['an error in pieces', CHAT, false, { type: JSON_TYPE, pieces: ['{ "er', 'ror" : {"message"', ':"Boom"}}'] }],
  ['an error beside no choices', CHAT, false, whole({ id: 'x', object: 'chat.completion', choices: [], error: quota })],
  ['an error behind a long id', CHAT, false, whole({ id: 'x'.repeat(9_000), error: { code: 529, message: 'Boom' } })],
  ['an error as events', CHAT, false, events(dataEvents({ error: quota }))],
  ['JSON that is cut off', CHAT, false, { type: JSON_TYPE, pieces: ['{"id":"chatcmpl-1","ob'] }],
  ['no JSON', CHAT, false, { type: JSON_TYPE, pieces: ['upstream connect error'] }],
  ['an answer that failed', CHAT, false, whole({ choices: [{ index: 0, finish_reason: 'error', message: {} }] })],
  ['created, then an error', RESPONSES, true, events(namedEvents(created), namedEvents({ ...quota, type: 'error' }))],
  ['created, then failed', RESPONSES, true, events(namedEvents(created, failed(quota)))],
  [
    'created, in progress, then failed by a limit',
    RESPONSES,
    true,
    events(
      namedEvents(created, {
        type: 'response.in_progress',
        sequence_number: 1,
        response: responseObject('in_progress'),
      }),
      namedEvents(failed({ code: 'rate_limit_exceeded', message: 'Slow down.' })),
    ),
  ],
  ['an error', RESPONSES, false, whole({ error: quota })],
  ['a response that failed', RESPONSES, false, whole(responseObject('failed', undefined, { error: quota }))],
  ['an error', MESSAGES, false, whole(overloaded)],
  ['an error as the first event', MESSAGES, true, events(namedEvents(overloaded))],
  ['a start, then an error', MESSAGES, true, events(namedEvents(start), namedEvents({ type: 'ping' }, overloaded))],
  ['pings only', MESSAGES, true, events(namedEvents({ type: 'ping' }), namedEvents({ type: 'ping' }))],
];

describe('answers that fail before anything reached the client', () => {
  let bad: ScriptedVendor;
  let good: ScriptedVendor;
  let app: ListeningApp;
  let key: string;

  before(async () => {
    [bad, good] = await Promise.all([startScriptedVendor(), startScriptedVendor()]);
    const both = [
      { name: 'bad', url: bad.url },
      { name: 'good', url: good.url },
    ];
    const ordered = both.map(({ name }) => ({ name }));
    // Each case has a model of its own, and so retries of its own.
    const models = (prefix: string) =>
      ['', ...NO_ANSWERS.keys()].flatMap((index) => {
        const limit = index === '' ? { firstByteSeconds: SILENCE_SECONDS } : {};
        return [
          { id: `${prefix}-both${index}`, upstreams: ordered, ...limit },
          { id: `${prefix}-single${index}`, upstreams: [{ name: 'bad' }], ...limit },
        ];
      });
    app = await startApp({
      messages: true,
      gateway: {
        plugins: [
          { use: openaiText, options: { models: models('chat'), upstreams: both, restMs: 1 } },
          { use: anthropicText, options: { models: models('claude'), upstreams: both, restMs: 1 } },
        ],
        services: { http: undefined },
      },
    });
    key = await app.makeKey({ grants: ['text'], rpm: null });
  });
  beforeEach(() => {
    bad.reset();
    good.reset();
    good.answer(goodScript('Here I am.'));
  });
  after(() => Promise.all([app.close(), bad.close(), good.close()]));

  function ask(path: Path, which: string, stream: boolean, more: object = {}): Promise<Response> {
    const said = path === RESPONSES ? { input: 'Hi' } : { messages: [{ role: 'user', content: 'Hi' }] };
    const limit = path === MESSAGES ? { max_tokens: 50 } : {};
    const model = `${path === MESSAGES ? 'claude' : 'chat'}-${which}`;
    return fetch(app.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': JSON_TYPE },
      body: JSON.stringify({ model, stream, ...said, ...limit, ...more }),
    });
  }

  for (const [index, [what, path, stream, script]] of NO_ANSWERS.entries()) {
    const form = stream ? 'stream' : 'whole answer';
    it(`${path}, ${form}: ${what} is passed over`, async () => {
      bad.answer(script);
      const answer = await ask(path, `both${index}`, stream);
      const text = await answer.text();
      expect([answer.status, bad.requests.length, good.requests.length], text).to.deep.equal([200, 1, 1]);
      expect(text).to.include('Here I am.');
      expect(text).to.not.match(/Boom|quota|Overloaded|Slow down/);
    });

    const isFirst = NO_ANSWERS.findIndex(([, other, isStream]) => other === path && isStream === stream) === index;
    (isFirst ? it : longIt)(`${path}, ${form}: ${what} is an HTTP error without another upstream`, async () => {
      bad.answer(script);
      const answer = await ask(path, `single${index}`, stream);
      expect(answer.headers.get('content-type')).to.include(JSON_TYPE);
      expect(answer.status).to.be.within(429, 504);
      expect(((await answer.json()) as { error: unknown }).error).to.have.property('message');
    });
  }

  for (const ends of ['silent', 'hang'] as const) {
    for (const stream of [true, false]) {
      it(`passes over an upstream that is ${ends}, ${stream ? 'for a stream' : 'for a whole answer'}`, async () => {
        bad.answer({ pieces: [], ends });
        const begun = performance.now();
        const answer = await ask(CHAT, 'both', stream);
        expect(await answer.text()).to.include('Here I am.');
        expect(performance.now() - begun).to.be.at.least(SILENCE_SECONDS * 1_000 - 50);
        await bad.idle();
      });
    }
  }

  it('waits longer without another upstream', async () => {
    bad.answer((request) => ({ pieces: [SILENCE_SECONDS * 2_000, goodAnswer(request.path, 'At last.').events] }));
    const answer = await ask(CHAT, 'single', true);
    expect(await answer.text()).to.include('At last.');
    expect(bad.requests).to.have.length(1);
  });

  it('keeps an upstream that has begun, although its next word is slow', async () => {
    const role = dataEvents(chatChunk({ role: 'assistant', content: '' }));
    const rest = dataEvents(chatChunk({ content: 'Slow but sure.' }), chatChunk({}, 'stop'), '[DONE]');
    bad.answer({ pieces: [role, SILENCE_SECONDS * 2_000, rest] });
    const text = await (await ask(CHAT, 'both', true)).text();
    expect(text).to.include('Slow but sure.');
    expect(text).to.include('"role":"assistant"');
    expect(good.requests).to.have.length(0);
  });

  it('never replaces bytes that reached the client', async () => {
    const told = dataEvents(chatChunk({ role: 'assistant', content: 'I begin' }), { error: { message: 'Boom' } });
    bad.answer(events(told));
    const answer = await ask(CHAT, 'both', true);
    const text = await answer.text();
    expect([answer.status, good.requests.length]).to.deep.equal([200, 0]);
    expect(text).to.include('I begin').and.to.include('"error"');
  });

  it('releases reasoning, calls of tools and an empty answer as content', async () => {
    const deltas = [
      [chatChunk({ reasoning_content: 'Hm.' })],
      [chatChunk({ tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name: 'f', arguments: '' } }] })],
      [chatChunk({ role: 'assistant', content: '' }), chatChunk({}, 'stop')],
      [chatChunk({ refusal: 'No.' })],
    ];
    for (const all of deltas) {
      bad.reset();
      bad.answer({ pieces: [dataEvents(...all), 30, dataEvents(chatChunk({}, 'stop'), '[DONE]')] });
      const answer = await ask(CHAT, 'both', true);
      await answer.text();
      expect([answer.status, bad.requests.length, good.requests.length]).to.deep.equal([200, 1, 0]);
    }
  });

  it('holds back at most 64 KiB', async () => {
    const comment = `: ${'x'.repeat(8_190)}\n\n`;
    bad.answer({ pieces: [...Array.from({ length: 9 }, () => comment), 10], ends: 'hang' });
    const leaving = new AbortController();
    const answer = await fetch(app.url + CHAT, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': JSON_TYPE },
      body: JSON.stringify({ model: 'chat-both', stream: true, messages: [{ role: 'user', content: 'Hi' }] }),
      signal: leaving.signal,
    });
    expect(answer.status).to.equal(200);
    leaving.abort();
    expect(good.requests).to.have.length(0);
  });

  it("reports the caller's fault, and asks no other upstream", async () => {
    const faults = [
      { error: { type: 'invalid_request_error', code: 'context_length_exceeded', message: 'Too long.' } },
      { error: { code: 'content_policy_violation', message: 'Not allowed.' } },
      { error: { code: 400, message: 'Bad field.' } },
    ];
    for (const fault of faults) {
      for (const stream of [true, false]) {
        bad.answer(stream ? events(dataEvents(fault)) : whole(fault));
        const answer = await ask(CHAT, 'both', stream);
        expect(answer.status, JSON.stringify(fault)).to.equal(400);
        const { error } = (await answer.json()) as { error: { message: string } };
        expect(error.message).to.equal(fault.error.message);
      }
    }
    expect(good.requests).to.have.length(0);
  });

  it('makes messages of chats and responses pass over a failed stream as well', async () => {
    bad.answer(events(dataEvents({ error: { message: 'Boom' } })));
    const answer = await fetch(app.url + MESSAGES, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': JSON_TYPE },
      body: JSON.stringify({
        model: 'chat-both',
        stream: true,
        max_tokens: 50,
        messages: [{ role: 'user', content: 'Hi' }],
      }),
    });
    expect(await answer.text()).to.include('Here I am.');
  });
});
