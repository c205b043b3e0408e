/** The form of an answer, whatever the upstream sends. */

import Anthropic from '@anthropic-ai/sdk';
import { expect } from 'chai';
import anthropicText from 'mediagate/plugins/anthropic_text';
import openaiText from 'mediagate/plugins/openai_text';
import OpenAI from 'openai';
import {
  dataEvents,
  namedEvents,
  type ScriptedVendor,
  startScriptedVendor,
} from '../../support/models/scripted-vendor.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';

const BIG = '9007199254740993';
const ARGUMENTS = `{"id":${BIG}}`;
const HI = [{ role: 'user' as const, content: 'Hi' }];
const JSON_TYPE = 'application/json';

const chatHead = { id: 'chatcmpl-1', created: 1_760_000_000, model: 'vendor-1', system_fingerprint: 'fp_1' };
const call = { id: 'call_1', type: 'function', function: { name: 'find', arguments: ARGUMENTS } };
const chatUsage = {
  prompt_tokens: 11,
  completion_tokens: 5,
  total_tokens: 16,
  completion_tokens_details: { reasoning_tokens: 3 },
};
const CHAT_WHOLE = {
  ...chatHead,
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'Ahoy.', reasoning_content: 'Hm.', tool_calls: [call] },
      logprobs: null,
      finish_reason: 'tool_calls',
    },
  ],
  usage: chatUsage,
};
const chunkOf = (delta: object, finish: string | null = null) => ({
  ...chatHead,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, finish_reason: finish }],
});
const CHAT_EVENTS = dataEvents(
  chunkOf({ role: 'assistant', content: '' }),
  chunkOf({ reasoning_content: 'H' }),
  chunkOf({ reasoning_content: 'm.' }),
  chunkOf({ content: 'Ah' }),
  chunkOf({ content: 'oy.' }),
  chunkOf({
    tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'find', arguments: '' } }],
  }),
  chunkOf({ tool_calls: [{ index: 0, id: '', function: { name: '', arguments: `{"id":${BIG}` } }] }),
  chunkOf({ tool_calls: [{ index: 0, function: { arguments: '}' } }] }),
  chunkOf({}, 'tool_calls'),
  { ...chatHead, object: 'chat.completion.chunk', choices: [], usage: chatUsage },
  '[DONE]',
);

const items = [
  { id: 'rs_1', type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] },
  {
    id: 'msg_1',
    type: 'message',
    status: 'completed',
    role: 'assistant',
    content: [{ type: 'output_text', text: 'Ahoy.', annotations: [], logprobs: [] }],
  },
  { id: 'fc_1', type: 'function_call', status: 'completed', call_id: 'call_1', name: 'find', arguments: ARGUMENTS },
];
const RESPONSE_WHOLE = {
  id: 'resp_1',
  object: 'response',
  created_at: 1_760_000_000,
  model: 'vendor-1',
  status: 'completed',
  error: null,
  output: items,
  parallel_tool_calls: true,
  tools: [],
  usage: {
    input_tokens: 11,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 5,
    output_tokens_details: { reasoning_tokens: 3 },
    total_tokens: 16,
  },
};
const RESPONSE_EVENTS = namedEvents(
  {
    type: 'response.created',
    sequence_number: 0,
    response: { ...RESPONSE_WHOLE, status: 'in_progress', output: [], usage: null },
  },
  ...items.map((item, index) => ({
    type: 'response.output_item.done',
    sequence_number: index + 1,
    output_index: index,
    item,
  })),
  // Some servers repeat the output at the end, some do not.
  { type: 'response.completed', sequence_number: 5, response: { ...RESPONSE_WHOLE, output: [] } },
);

const messageHead = { id: 'msg_1', type: 'message', role: 'assistant', model: 'vendor-1' };
const MESSAGE_WHOLE = JSON.stringify({
  ...messageHead,
  content: [
    { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' },
    { type: 'text', text: 'Ahoy.' },
    { type: 'tool_use', id: 'toolu_1', name: 'find', input: { id: 'BIG' } },
  ],
  stop_reason: 'tool_use',
  stop_sequence: null,
  usage: { input_tokens: 11, output_tokens: 5 },
}).replace('"BIG"', BIG);
const MESSAGE_EVENTS = namedEvents(
  {
    type: 'message_start',
    message: {
      ...messageHead,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 11, output_tokens: 1 },
    },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Hm.' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'c2ln' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Ah' } },
  { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'oy.' } },
  { type: 'content_block_stop', index: 1 },
  {
    type: 'content_block_start',
    index: 2,
    content_block: { type: 'tool_use', id: 'toolu_1', name: 'find', input: {} },
  },
  { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '{"id":' } },
  { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: `${BIG}}` } },
  { type: 'content_block_stop', index: 2 },
  { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 5 } },
  { type: 'message_stop' },
);

/** What servers write otherwise: the same for every reader of the standard. */
const ODDITIES: Readonly<Record<string, (events: string) => string>> = {
  'as it is': (events) => events,
  'without spaces': (events) => events.replace(/^(data|event): /gm, '$1:'),
  'with CRLF': (events) => events.replaceAll('\n', '\r\n'),
  'with a byte order mark': (events) => `\ufeff${events}`,
  'with comments': (events) => `: OPENROUTER PROCESSING\n\n${events}`,
  'without the last blank line': (events) => events.trimEnd(),
};
const TYPES = ['text/event-stream', 'application/json', 'text/plain', 'application/octet-stream', null];

describe('form of an answer', () => {
  let vendor: ScriptedVendor;
  let app: ListeningApp;
  let key: string;
  let openai: OpenAI;
  let anthropic: Anthropic;

  before(async () => {
    vendor = await startScriptedVendor();
    const upstreams = [{ url: vendor.url }];
    app = await startApp({
      messages: true,
      gateway: {
        plugins: [
          { use: openaiText, options: { models: [{ id: 'vendor-1' }], upstreams } },
          {
            use: openaiText,
            id: 'chats',
            options: { models: [{ id: 'chat-only' }], upstreams: [{ url: vendor.url, routes: ['chat_completions'] }] },
          },
          { use: anthropicText, options: { models: [{ id: 'claude' }], upstreams } },
        ],
        services: { http: undefined },
      },
    });
    key = await app.makeKey({ grants: ['text'], rpm: null });
    openai = new OpenAI({ apiKey: key, baseURL: `${app.url}/v1`, maxRetries: 0 });
    anthropic = new Anthropic({ apiKey: key, baseURL: app.url, maxRetries: 0 });
  });
  beforeEach(() => vendor.reset());
  after(() => Promise.all([app.close(), vendor.close()]));

  function expectChat({ choices, usage, model }: OpenAI.ChatCompletion): void {
    const [choice] = choices as unknown as typeof CHAT_WHOLE.choices;
    if (!choice) throw new Error('The chat has no choice.');
    const { content, tool_calls: calls, reasoning_content: thought } = choice.message;
    expect({ content, thought, finish: choices[0]?.finish_reason, model }).to.deep.equal({
      content: 'Ahoy.',
      thought: 'Hm.',
      finish: 'tool_calls',
      model: 'vendor-1',
    });
    expect(calls).to.have.length(1);
    expect(calls[0]).to.deep.include({ id: 'call_1', type: 'function' });
    expect(calls[0]?.function).to.include({ name: 'find', arguments: ARGUMENTS });
    expect(usage).to.deep.equal(chatUsage);
  }

  /** The deltas of a chat together, as a simple reader joins them. */
  async function streamChat(model: string): Promise<{ chat: Record<string, unknown>; usages: number }> {
    const stream = await openai.chat.completions.create({
      model,
      messages: HI,
      stream: true,
      stream_options: { include_usage: true },
    });
    const said = { content: '', reasoning_content: '', arguments: '', name: '', finish: '' };
    let usages = 0;
    for await (const { choices, usage } of stream) {
      if (usage) usages += 1;
      const [choice] = choices;
      const {
        content,
        reasoning_content: thought,
        tool_calls: calls,
      } = (choice?.delta ?? {}) as {
        content?: string;
        reasoning_content?: string;
        tool_calls?: { function: { name?: string; arguments?: string } }[];
      };
      said.content += content ?? '';
      said.reasoning_content += thought ?? '';
      said.name += calls?.[0]?.function.name ?? '';
      said.arguments += calls?.[0]?.function.arguments ?? '';
      said.finish ||= choice?.finish_reason ?? '';
    }
    return { chat: said, usages };
  }

  const SAID = { content: 'Ahoy.', reasoning_content: 'Hm.', arguments: ARGUMENTS, name: 'find', finish: 'tool_calls' };

  it('is events for a stream if the upstream sends a whole chat', async () => {
    for (const type of TYPES) {
      vendor.answer({ type, pieces: [JSON.stringify(CHAT_WHOLE)] });
      expect(await streamChat('vendor-1'), String(type)).to.deep.equal({ chat: SAID, usages: 1 });
    }
  });

  it('has no usage event unless requested', async () => {
    vendor.answer({ type: JSON_TYPE, pieces: [JSON.stringify(CHAT_WHOLE)] });
    const stream = await openai.chat.completions.create({ model: 'vendor-1', messages: HI, stream: true });
    for await (const { choices } of stream) expect(choices).to.have.length(1);
  });

  it('is events for a stream if the upstream sends a whole response', async () => {
    vendor.answer({ type: JSON_TYPE, pieces: [JSON.stringify(RESPONSE_WHOLE)] });
    const types: string[] = [];
    const numbers: number[] = [];
    const stream = openai.responses.stream({ model: 'vendor-1', input: 'Hi' });
    for await (const event of stream) {
      types.push(event.type);
      numbers.push(event.sequence_number);
    }
    const final = await stream.finalResponse();
    expect(final.output_text).to.equal('Ahoy.');
    expect(final.output.map(({ type }) => type)).to.deep.equal(['reasoning', 'message', 'function_call']);
    expect(final.usage).to.deep.equal(RESPONSE_WHOLE.usage);
    expect(numbers).to.deep.equal(numbers.map((_, index) => index));
    expect(types).to.deep.equal([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.reasoning_summary_part.added',
      'response.reasoning_summary_text.delta',
      'response.reasoning_summary_text.done',
      'response.reasoning_summary_part.done',
      'response.output_item.done',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.output_item.added',
      'response.function_call_arguments.delta',
      'response.function_call_arguments.done',
      'response.output_item.done',
      'response.completed',
    ]);
  });

  it('is events for a stream if the upstream sends a whole message', async () => {
    vendor.answer({ type: JSON_TYPE, pieces: [MESSAGE_WHOLE] });
    const stream = anthropic.messages.stream({ model: 'claude', max_tokens: 50, messages: HI });
    const final = await stream.finalMessage();
    expect(final.content.slice(0, 2)).to.deep.equal([
      { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' },
      { type: 'text', text: 'Ahoy.' },
    ]);
    expect(final.content[2]).to.include({ type: 'tool_use', id: 'toolu_1', name: 'find' });
    expect(final).to.include({ stop_reason: 'tool_use', model: 'claude' });
    expect(final.usage).to.include({ input_tokens: 11, output_tokens: 5 });
    const raw = await post('/v1/messages', { model: 'claude', max_tokens: 50, messages: HI, stream: true });
    expect(await raw.text()).to.include(BIG);
  });

  for (const [how, change] of Object.entries(ODDITIES)) {
    it(`is whole for a whole request if events arrive, ${how}`, async () => {
      for (const type of TYPES) {
        vendor.answer({ type, pieces: [change(CHAT_EVENTS)] });
        expectChat(await openai.chat.completions.create({ model: 'vendor-1', messages: HI }));
        vendor.answer({ type, pieces: [change(RESPONSE_EVENTS)] });
        const response = await openai.responses.create({ model: 'vendor-1', input: 'Hi' });
        expect(response.output).to.deep.equal(items);
        expect(response.usage).to.deep.equal(RESPONSE_WHOLE.usage);
        vendor.answer({ type, pieces: [change(MESSAGE_EVENTS)] });
        const answer = await post('/v1/messages', { model: 'claude', max_tokens: 50, messages: HI });
        expect(await answer.text()).to.equal(MESSAGE_WHOLE.replace('vendor-1', 'claude'));
      }
    });

    it(`is an event stream under any content type, ${how}`, async () => {
      for (const type of TYPES) {
        vendor.answer({ type, pieces: [change(CHAT_EVENTS)] });
        expect(await streamChat('vendor-1'), String(type)).to.deep.equal({ chat: SAID, usages: 1 });
        vendor.answer({ type, pieces: [change(RESPONSE_EVENTS)] });
        const answer = await post('/v1/responses', { model: 'vendor-1', input: 'Hi', stream: true });
        expect(answer.headers.get('content-type'), String(type)).to.include('text/event-stream');
        expect(await answer.text()).to.include('response.completed');
      }
    });
  }

  it('is converted whole and streamed: responses of chats, chats and responses of messages', async () => {
    for (const stream of [true, false]) {
      vendor.answer(stream ? { type: JSON_TYPE, pieces: [JSON.stringify(CHAT_WHOLE)] } : { pieces: [CHAT_EVENTS] });
      const translated = await post('/v1/responses', { model: 'chat-only', input: 'Hi', stream });
      expect(translated.headers.get('content-type')).to.include(stream ? 'text/event-stream' : JSON_TYPE);
      expect(await translated.text())
        .to.include('"Ahoy."')
        .and.to.include('completed');
      vendor.answer(stream ? { type: JSON_TYPE, pieces: [MESSAGE_WHOLE] } : { pieces: [MESSAGE_EVENTS] });
      for (const [path, said] of [
        ['/v1/chat/completions', { messages: HI }],
        ['/v1/responses', { input: 'Hi' }],
      ] as const) {
        const converted = await post(path, { model: 'claude', stream, ...said });
        expect(converted.headers.get('content-type'), path).to.include(stream ? 'text/event-stream' : JSON_TYPE);
        const text = await converted.text();
        expect(text, path).to.include('Ahoy.').and.to.include(BIG);
      }
      vendor.answer(stream ? { type: JSON_TYPE, pieces: [JSON.stringify(CHAT_WHOLE)] } : { pieces: [CHAT_EVENTS] });
      const messages = await post('/v1/messages', { model: 'chat-only', max_tokens: 50, messages: HI, stream });
      expect(messages.headers.get('content-type')).to.include(stream ? 'text/event-stream' : JSON_TYPE);
      expect(await messages.text()).to.include('Ahoy.');
    }
  });

  it('is an error if the events break off, or the model sends nothing', async () => {
    const broken = CHAT_EVENTS.slice(0, CHAT_EVENTS.indexOf('"tool_calls"}'));
    vendor.answer({ pieces: [broken.slice(0, broken.lastIndexOf('data:'))] });
    const answer = await post('/v1/chat/completions', { model: 'vendor-1', messages: HI });
    expect(answer.status).to.equal(502);
    expect(((await answer.json()) as { error: object }).error).to.include({ code: 'upstream_error' });
  });

  function post(path: string, body: object): Promise<Response> {
    return fetch(app.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': JSON_TYPE, 'anthropic-version': '2023-06-01' },
      body: JSON.stringify(body),
    });
  }
});
