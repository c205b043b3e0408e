/*
 * A large answer, or request, is converted in a thread, by the same functions as a short one. White space and comments make
 * a short one large: what comes out must not differ.
 */

import { expect } from 'chai';
import anthropicText from 'mediagate/plugins/anthropic_text';
import openaiText from 'mediagate/plugins/openai_text';
import {
  dataEvents,
  namedEvents,
  type ScriptedVendor,
  startScriptedVendor,
  type VendorRequest,
} from '../../support/models/scripted-vendor.js';
import { variants } from '../../support/runner/variants.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';

const BLANK = ' '.repeat(400_000);
const COMMENTS = `: ${'.'.repeat(998)}\n\n`.repeat(400);
/** An integer that JavaScript rounds, and a name that vendors refuse. */
const ARGUMENTS = '{"id":9007199254740993}';
const TOOL_NAME = 'harbour.find';
const SCHEMA = { type: 'object', properties: { id: { type: 'integer' } } };

const nameOf = ({ body }: VendorRequest) => {
  const [tool] = body.tools as { name?: string; function?: { name: string } }[];
  return tool?.function?.name ?? tool?.name;
};
const HEAD = { id: 'c', created: 1, model: 'v' };
const COUNTED = {
  prompt_tokens: 11,
  completion_tokens: 5,
  total_tokens: 16,
  prompt_tokens_details: { cached_tokens: 4 },
  completion_tokens_details: { reasoning_tokens: 3 },
};

const chatOf = (request: VendorRequest) => {
  const call = { id: 'call_1', type: 'function', function: { name: nameOf(request), arguments: ARGUMENTS } };
  const message = { role: 'assistant', content: 'Ahoy. ⚓', reasoning_content: 'Hm.', tool_calls: [call] };
  const choices = [{ index: 0, message, logprobs: null, finish_reason: 'tool_calls' }];
  return { ...HEAD, object: 'chat.completion', choices, usage: COUNTED };
};
const chatEventsOf = (request: VendorRequest) => {
  const { choices, usage } = chatOf(request);
  const { tool_calls: calls, ...texts } = choices[0]?.message ?? {};
  const chunk = (delta: object, finish_reason: string | null = null) => {
    return { ...HEAD, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] };
  };
  const called = chunk({ tool_calls: calls?.map((call, index) => ({ index, ...call })) });
  return dataEvents(chunk(texts), called, chunk({}, 'tool_calls'), { ...HEAD, choices: [], usage }, '[DONE]');
};
const MESSAGE = {
  ...{ id: 'm', type: 'message', role: 'assistant', model: 'v', stop_reason: 'tool_use', stop_sequence: null },
  usage: { input_tokens: 7, output_tokens: 5, cache_read_input_tokens: 4 },
};
const blocksOf = (request: VendorRequest) => [
  { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' },
  { type: 'text', text: 'Ahoy. ⚓' },
  { type: 'tool_use', id: 'toolu_1', name: nameOf(request), input: 'INPUT' },
];
const messageOf = (request: VendorRequest) =>
  JSON.stringify({ ...MESSAGE, content: blocksOf(request) }).replace('"INPUT"', ARGUMENTS);
const messageEventsOf = (request: VendorRequest) =>
  namedEvents(
    { type: 'message_start', message: { ...MESSAGE, content: [], stop_reason: null } },
    ...blocksOf(request).flatMap((block, index) => [
      {
        ...{ type: 'content_block_start', index },
        content_block: block.type === 'tool_use' ? { ...block, input: {} } : block,
      },
      ...(block.type === 'tool_use'
        ? [{ type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json: ARGUMENTS } }]
        : []),
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 5 } },
    { type: 'message_stop' },
  );

const FUNCTION = { name: TOOL_NAME, description: 'Finds one.', parameters: SCHEMA };
const HI = [{ role: 'user', content: 'Hi' }];
const ASKED: Readonly<Record<string, object>> = {
  'chat/completions': { messages: HI, tools: [{ type: 'function', function: FUNCTION }] },
  responses: { input: 'Hi', instructions: 'Be kind.', tools: [{ type: 'function', ...FUNCTION }] },
  messages: {
    ...{ messages: HI, max_tokens: 2_000, thinking: { type: 'enabled', budget_tokens: 1_024 } },
    tools: [{ name: TOOL_NAME, description: 'Finds one.', input_schema: SCHEMA }],
  },
};
const MODELS = ['chats', 'claude'];
const BROKEN = ['{"choices":[', '{"error":{"message":"no"}}', '<html>'];

/** Without what is drawn for each answer. */
const plain = (text: string) =>
  text
    .trim()
    .replace(/\b(resp|msg|rs_chat|fc|req|toolu)_[\w-]{8,}/g, '$1')
    .replace(/"(created|completed)(_at)?":\d+/g, '"$1":1')
    .replace(/^: .*\n\n/gm, '');

describe('large translations', () => {
  let vendor: ScriptedVendor;
  let app: ListeningApp;
  let key: string;

  before(async () => {
    vendor = await startScriptedVendor();
    app = await startApp({
      messages: true,
      gateway: {
        plugins: [
          {
            use: openaiText,
            options: { models: [{ id: 'chats' }], upstreams: [{ url: vendor.url, routes: ['chat_completions'] }] },
          },
          { use: anthropicText, options: { models: [{ id: 'claude' }], upstreams: [{ url: vendor.url }] } },
        ],
        services: { http: undefined },
      },
    });
    key = await app.makeKey({ grants: ['text'], rpm: null });
  });
  after(() => Promise.all([app.close(), vendor.close()]));

  async function post(route: string, more: object, blank = ''): Promise<[number, string]> {
    const response = await fetch(`${app.url}/v1/${route}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...ASKED[route], ...more }) + blank,
    });
    return [response.status, plain(await response.text())];
  }

  const WHOLE = 'application/json';

  for (const route of Object.keys(ASKED)) {
    for (const model of MODELS) {
      const isChat = model === 'chats';
      it(`of ${route} by ${model} return what short ones return`, async () => {
        for (const stream of [false, true]) {
          for (const isWhole of [false, true]) {
            const answer = (padding: string) => {
              vendor.answer((request) => {
                const whole = isChat ? JSON.stringify(chatOf(request)) : messageOf(request);
                const events = isChat ? chatEventsOf(request) : messageEventsOf(request);
                return isWhole ? { type: WHOLE, pieces: [whole + padding] } : { pieces: [padding + events] };
              });
              return post(route, { model, stream });
            };
            const short = await answer('');
            // A stream is converted piece by piece.
            if (stream && !isWhole) continue;
            const large = await answer(isWhole ? BLANK : COMMENTS);
            const kind = `stream ${stream}, whole ${isWhole}`;
            expect(short, kind).to.deep.equal([200, short[1]]);
            expect(large, kind).to.deep.equal(short);
            expect(short[1], kind).to.include('9007199254740993').and.include(TOOL_NAME);
          }
        }
      });

      it(`of ${route} by ${model} fail like short ones`, async () => {
        for (const broken of variants(BROKEN, (one) => one === BROKEN[0] || (isChat && route === 'responses'))) {
          for (const stream of [false, true]) {
            vendor.answer({ type: WHOLE, pieces: [broken] });
            const short = await post(route, { model, stream });
            vendor.answer({ type: WHOLE, pieces: [broken + BLANK] });
            const large = await post(route, { model, stream });
            // The beginning of an answer is read for errors; behind it, an upstream's words are replaced.
            for (const [status, text] of [short, large]) {
              expect(status, `${broken} ${stream}`).to.equal(502);
              expect(text).to.match(
                /"error":\{("type":"api_error",|"message":"[^"]+","type":"server_error",.*"upstream_error")/,
              );
            }
          }
        }
      });

      it(`of ${route} by ${model} request what short ones request`, async () => {
        vendor.answer((request) => ({
          type: WHOLE,
          pieces: [isChat ? JSON.stringify(chatOf(request)) : messageOf(request)],
        }));
        const short = await post(route, { model });
        const asked = vendor.requests.at(-1);
        expect(await post(route, { model }, BLANK)).to.deep.equal(short);
        expect(vendor.requests.at(-1)?.body).to.deep.equal(asked?.body);
        const wrong = await post(route, { model, temperature: 'hot' });
        expect(await post(route, { model, temperature: 'hot' }, BLANK)).to.deep.equal(wrong);
      });
    }
  }

  it('split long texts into short events, and lose no character', async () => {
    const text = '⚓🚢 "tug"\n'.repeat(60_000);
    vendor.answer({
      type: WHOLE,
      pieces: [
        JSON.stringify({
          ...HEAD,
          choices: [{ index: 0, message: { content: text }, finish_reason: 'stop' }],
          usage: COUNTED,
        }),
      ],
    });
    const [, events] = await post('chat/completions', { model: 'chats', stream: true });
    const data = events.split('\n\n').map((event) => event.replace('data: ', ''));
    expect(Math.max(...data.map(({ length }) => length))).to.be.below(64_000);
    const said = data.slice(0, -1).map((one) => JSON.parse(one).choices[0]?.delta.content ?? '');
    expect(said.join('') === text).to.equal(true);
  });

  it('are aborted when the client disconnects', async () => {
    const left = new AbortController();
    vendor.answer({ type: WHOLE, pieces: [BLANK, 20, BLANK], ends: 'hang' });
    const body = JSON.stringify({ ...ASKED.responses, model: 'chats' }) + BLANK;
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const sent = fetch(`${app.url}/v1/responses`, { method: 'POST', headers, body, signal: left.signal });
    setTimeout(() => left.abort(), 200);
    expect(await sent.catch(() => 'left')).to.equal('left');
    vendor.answer((request) => ({ type: WHOLE, pieces: [JSON.stringify(chatOf(request)) + BLANK] }));
    expect((await post('responses', { model: 'chats' }))[0]).to.equal(200);
  });
});
