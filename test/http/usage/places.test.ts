/** Every place of an answer where upstreams report usage. */

import { expect } from 'chai';
import anthropicText from 'mediagate/plugins/anthropic_text';
import openaiText from 'mediagate/plugins/openai_text';
import { createPrices } from '../../../server/prices/index.js';
import {
  dataEvents,
  namedEvents,
  type ScriptedVendor,
  startScriptedVendor,
} from '../../support/models/scripted-vendor.js';
import { until } from '../../support/until.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';

const KIMI = { prompt_tokens: 16_111, completion_tokens: 2, total_tokens: 16_113, cached_tokens: 15_872 };
const XAI = {
  prompt_tokens: 10_120,
  completion_tokens: 1_499,
  total_tokens: 14_428,
  completion_tokens_details: { reasoning_tokens: 2_809 },
};
const head = { id: 'chatcmpl-1', created: 1_760_000_000, model: 'vendor-1' };
const chunk = (choice: object, more: object = {}) => ({
  ...head,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta: {}, finish_reason: null, ...choice }],
  ...more,
});
const hello = chunk({ delta: { role: 'assistant', content: 'Ahoy.' } });
const end = { finish_reason: 'stop' };
const zeros = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
const usageEvent = (usage: object) => ({ ...head, object: 'chat.completion.chunk', choices: [], usage });
const whole = (choice: object, more: object = {}) =>
  JSON.stringify({
    ...head,
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Ahoy.' }, finish_reason: 'stop', ...choice }],
    ...more,
  });

const EVENTS = 'text/event-stream';
const JSON_TYPE = 'application/json';

/** Where chats have their usage: the upstream's answer, then input, cached, output and the cost. */
const CHATS: readonly [place: string, type: string, body: string, counts: readonly number[]][] = [
  [
    'in the last choice',
    EVENTS,
    dataEvents(hello, chunk({ ...end, usage: KIMI }), '[DONE]'),
    [16_111, 15_872, 2, 1_846],
  ],
  ['in the choice of a whole answer', JSON_TYPE, whole({ usage: KIMI }), [16_111, 15_872, 2, 1_846]],
  [
    'in x_groq',
    EVENTS,
    dataEvents(
      hello,
      chunk(end, { x_groq: { id: 'req_1', usage: { prompt_tokens: 500, completion_tokens: 7, total_tokens: 507 } } }),
      '[DONE]',
    ),
    [500, 0, 7, 570],
  ],
  [
    'in each event, with zeros at the end',
    EVENTS,
    dataEvents(hello, usageEvent(XAI), usageEvent(zeros), '[DONE]'),
    [10_120, 0, 4_308, 53_200],
  ],
  ['with reasoning apart', JSON_TYPE, whole({}, { usage: XAI }), [10_120, 0, 4_308, 53_200]],
  [
    'in a tier with its own prices',
    EVENTS,
    dataEvents(
      hello,
      { ...usageEvent({ prompt_tokens: 1_000, completion_tokens: 10, total_tokens: 1_010 }), service_tier: 'flex' },
      '[DONE]',
    ),
    [1_000, 0, 10, 550],
  ],
  [
    'in a tier, whole',
    JSON_TYPE,
    whole({}, { service_tier: 'flex', usage: { prompt_tokens: 1_000, completion_tokens: 10, total_tokens: 1_010 } }),
    [1_000, 0, 10, 550],
  ],
  [
    'of a long prompt',
    JSON_TYPE,
    whole({}, { usage: { prompt_tokens: 300_000, completion_tokens: 10, total_tokens: 300_010 } }),
    [300_000, 0, 10, 600_200],
  ],
];

describe('the usage that upstreams report', () => {
  let vendor: ScriptedVendor;
  let app: ListeningApp;

  before(async () => {
    vendor = await startScriptedVendor();
    const upstreams = [{ url: vendor.url, routes: ['chat_completions'] }];
    const model = {
      input: 1,
      cachedInput: 0.1,
      cacheWrite: 1.25,
      cacheWrite1h: 2,
      output: 10,
      webSearch: 0.01,
      tiers: [{ above: 272_000, input: 2, output: 20 }],
      serviceTiers: { flex: { input: 0.5, output: 5 } },
    };
    app = await startApp({
      messages: true,
      prices: createPrices({ currency: 'USD', models: { 'vendor-1': model, claude: model, full: model } }),
      gateway: {
        plugins: [
          { use: openaiText, options: { models: [{ id: 'vendor-1' }], upstreams } },
          { use: openaiText, id: 'full', options: { models: [{ id: 'full' }], upstreams: [{ url: vendor.url }] } },
          { use: anthropicText, options: { models: [{ id: 'claude' }], upstreams: [{ url: vendor.url }] } },
        ],
        services: { http: undefined },
      },
    });
  });
  after(() => Promise.all([app.close(), vendor.close()]));

  /** Input, cached, output and the cost in millionths, as the usage of a new key has them. */
  async function used(path: string, model: string, stream: boolean): Promise<(number | null)[]> {
    const key = await app.makeKey({ grants: ['text'], rpm: null });
    const said = [{ role: 'user', content: 'Hi' }];
    const body = path === '/v1/responses' ? { input: said } : { messages: said, max_tokens: 100 };
    const answer = await app.request(path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, model, stream }),
    });
    expect(answer.status, answer.text).to.equal(200);
    const today = new Date().toISOString().slice(0, 10);
    const range = { from: today, to: today, keyId: key.slice(6, 14) };
    const [entry] = await until(async () => {
      await app.state.admissions.flush();
      const found = await app.state.usage.entries(range, 10);
      return found.length > 0 && found;
    });
    if (!entry) throw new Error('Nothing was logged.');
    expect(entry.estimated, 'estimated').to.equal(false);
    return [entry.inputTokens, entry.cachedTokens ?? 0, entry.outputTokens, entry.cost];
  }

  for (const [place, type, body, counts] of CHATS) {
    it(`is counted ${place}, on each route`, async () => {
      vendor.answer({ type, pieces: [body] });
      for (const path of ['/v1/chat/completions', '/v1/responses', '/v1/messages']) {
        expect(await used(path, 'vendor-1', type === EVENTS), path).to.deep.equal(counts);
      }
    });
  }

  it('is not replaced by later zeros, on the routes of a messages upstream', async () => {
    const start = {
      input_tokens: 1_500,
      output_tokens: 1,
      cache_creation_input_tokens: 12_304,
      cache_read_input_tokens: 0,
      cache_creation: { ephemeral_5m_input_tokens: 304, ephemeral_1h_input_tokens: 12_000 },
    };
    const events = namedEvents(
      {
        type: 'message_start',
        message: { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude', content: [], usage: start },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Ahoy.' } },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn' },
        usage: {
          input_tokens: 0,
          output_tokens: 23,
          cache_creation_input_tokens: 0,
          server_tool_use: { web_search_requests: 2 },
        },
      },
      { type: 'message_stop' },
    );
    vendor.answer({ type: EVENTS, pieces: [events] });
    const cost = 1_500 + 304 * 1.25 + 12_000 * 2 + 23 * 10 + 2 * 10_000;
    for (const path of ['/v1/messages', '/v1/chat/completions', '/v1/responses']) {
      expect(await used(path, 'claude', true), path).to.deep.equal([13_804, 0, 23, cost]);
    }
  });

  it('includes searches of a response, but not opened pages', async () => {
    const search = (id: string, type: string) => ({
      id,
      type: 'web_search_call',
      status: 'completed',
      action: { type },
    });
    const message = {
      id: 'msg_1',
      type: 'message',
      status: 'completed',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'Ahoy.', annotations: [] }],
    };
    const response = {
      id: 'resp_1',
      object: 'response',
      created_at: 1_760_000_000,
      model: 'full',
      status: 'completed',
      output: [search('ws_1', 'search'), search('ws_2', 'open_page'), search('ws_3', 'search'), message],
      usage: { input_tokens: 1_000, output_tokens: 10, total_tokens: 1_010 },
    };
    const counts = [1_000, 0, 10, 1_000 + 100 + 20_000];
    vendor.answer({ type: JSON_TYPE, pieces: [JSON.stringify(response)] });
    expect(await used('/v1/responses', 'full', false)).to.deep.equal(counts);
    vendor.answer({
      type: EVENTS,
      pieces: [
        namedEvents(
          {
            type: 'response.created',
            sequence_number: 0,
            response: { ...response, status: 'in_progress', output: [], usage: null },
          },
          { type: 'response.completed', sequence_number: 1, response },
        ),
      ],
    });
    expect(await used('/v1/responses', 'full', true)).to.deep.equal(counts);
  });
});
