/** Estimated usage of whole answers and streams. */

import { expect } from 'chai';
import { createGateway, type Gateway, type TextRoute, type Usage } from 'mediagate';
import { inPieces, type Script, scriptedText } from '../../support/models/scripted-text.js';

const BASE64 = Buffer.alloc(9_000, 'a picture').toString('base64');
const LOGPROBS = Array.from({ length: 3 }, () => ({
  token: 'tug',
  logprob: -0.1,
  bytes: [116, 117, 103],
  top_logprobs: [],
}));
const ID = 'rs_0123456789abcdef0123456789abcdef0123456789abcdef';

interface Answer {
  name: string;
  route: TextRoute;
  whole: object;
  events: readonly object[];
  /** Default: any number above 0. */
  tokens?: number;
}

const choice = (message: object, index = 0) => ({
  index,
  message,
  finish_reason: 'stop',
  logprobs: { content: LOGPROBS },
});
const delta = (fields: object, index = 0) => ({
  id: ID,
  choices: [{ index, delta: fields, logprobs: { content: LOGPROBS }, finish_reason: null }],
  obfuscation: 'x'.repeat(40),
});
const call = (fields: object) => ({ id: ID, type: 'function', function: fields });
const event = (type: string, fields: object) => ({
  type: `response.${type}`,
  item_id: ID,
  obfuscation: 'x'.repeat(40),
  ...fields,
});
const message = (text: string) => ({
  id: ID,
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [
    { type: 'output_text', text, annotations: [{ type: 'url_citation', title: 'T'.repeat(99) }], logprobs: LOGPROBS },
  ],
});

const ANSWERS: readonly Answer[] = [
  {
    name: 'words with log probabilities',
    route: 'chat_completions',
    whole: { choices: [choice({ role: 'assistant', content: 'Three old tugs', refusal: null })] },
    events: [delta({ role: 'assistant', content: '' }), delta({ content: 'Three old' }), delta({ content: ' tugs' })],
    tokens: 4,
  },
  {
    name: 'thoughts, words and calls of tools',
    route: 'chat_completions',
    whole: {
      choices: [
        choice({
          content: 'Let me look.\n"Now"',
          tool_calls: [call({ name: 'find_tugs', arguments: '{"harbour":"Ostend"}' })],
          reasoning_content: 'They want tugs.',
          reasoning_details: [{ type: 'reasoning.text', text: 'They want tugs.', signature: BASE64 }],
          audio: { id: ID, data: BASE64, transcript: 'Hello' },
        }),
      ],
    },
    events: [
      delta({ reasoning_content: 'They want' }),
      delta({ reasoning_content: ' tugs.' }),
      delta({ content: 'Let me look.\n"N' }),
      delta({ content: 'ow"' }),
      delta({ tool_calls: [{ index: 0, ...call({ name: 'find_tugs', arguments: '' }) }] }),
      delta({ tool_calls: [{ index: 0, function: { arguments: '{"harbour":"Os' } }] }),
      delta({ tool_calls: [{ index: 0, function: { arguments: 'tend"}' } }] }),
      delta({ audio: { id: ID, data: BASE64, transcript: 'Hello' } }),
    ],
  },
  {
    name: 'several choices whose pieces alternate',
    route: 'chat_completions',
    whole: {
      choices: [choice({ content: 'The lighthouse of Ostend' }), choice({ content: 'A harbour in Belgium' }, 1)],
    },
    events: [
      delta({ content: 'The lightho' }),
      delta({ content: 'A harb' }, 1),
      delta({ content: 'use of Ostend' }),
      delta({ content: 'our in Belgium' }, 1),
    ],
  },
  {
    name: 'reasoning, words, a call and a picture',
    route: 'responses',
    whole: {
      id: 'resp_1',
      status: 'completed',
      instructions: 'Be brief. '.repeat(50),
      tools: [{ type: 'function', name: 'find', description: 'It finds. '.repeat(50) }],
      output: [
        { id: ID, type: 'reasoning', summary: [{ type: 'summary_text', text: 'Tugs?' }], encrypted_content: BASE64 },
        message('Three old tugs'),
        { id: ID, type: 'function_call', call_id: ID, name: 'find', arguments: '{"a":"é"}' },
        { id: ID, type: 'image_generation_call', status: 'completed', result: BASE64 },
        { id: ID, type: 'file_search_call', queries: ['tugs'], results: [{ text: 'Of a file. '.repeat(50) }] },
      ],
    },
    events: [
      event('output_item.added', { item: { id: ID, type: 'reasoning', summary: [], encrypted_content: BASE64 } }),
      event('reasoning_summary_text.delta', { delta: 'Tugs?' }),
      event('output_text.delta', { delta: 'Three ', logprobs: LOGPROBS }),
      event('output_text.delta', { delta: 'old tugs', logprobs: LOGPROBS }),
      event('output_text.done', { text: 'Three old tugs' }),
      event('function_call_arguments.delta', { delta: '{"a":"é"}' }),
      event('audio.delta', { delta: BASE64 }),
      event('image_generation_call.partial_image', { partial_image_b64: BASE64 }),
    ],
  },
  {
    name: 'one word',
    route: 'responses',
    whole: { id: 'resp_2', status: 'completed', output: [message('tug')] },
    // Some servers send all of it at once.
    events: [],
    tokens: 2,
  },
  {
    name: 'no words at all',
    route: 'responses',
    whole: { id: 'resp_3', status: 'completed', output: [{ id: ID, type: 'compaction', encrypted_content: BASE64 }] },
    events: [],
    tokens: 0,
  },
];

describe('estimated usage of a model', () => {
  let gateway: Gateway;
  let script: () => Script;
  const model = scriptedText(() => script());
  before(async () => {
    gateway = await createGateway({ plugins: [{ use: model.plugin }] });
  });
  after(() => gateway.close());

  async function usageOf(route: TextRoute, stream: boolean, more: object = {}): Promise<Usage> {
    const input = route === 'responses' ? { input: 'Hi' } : { messages: [{ role: 'user', content: 'Hi' }] };
    const parsed = { model: 'm-5.5', stream, ...input, ...more };
    const body = Buffer.from(JSON.stringify(parsed));
    const prepared = await gateway.text.prepare({ route, body, parsed, owner: 'one', requestId: 'req_1' });
    const exchange = prepared.send();
    const answer = await exchange.answer;
    if (!(answer.body instanceof Uint8Array)) for await (const _ of answer.body);
    const { usage = {} } = await exchange.ended;
    expect(usage.estimated).to.equal(true);
    return usage;
  }

  function answerWhole(whole: object): void {
    script = () => ({ contentType: 'application/json', pieces: [Buffer.from(JSON.stringify(whole))] });
  }

  function answerInEvents({ route, events, whole }: Answer): void {
    const last = route === 'responses' ? JSON.stringify({ type: 'response.completed', response: whole }) : '[DONE]';
    const lines = [...events.map((one) => JSON.stringify(one)), last].map((data) => `data: ${data}\n\n`);
    script = () => ({ pieces: inPieces(Buffer.from(lines.join('')), 4_000) });
  }

  for (const answer of ANSWERS) {
    it(`is the same for a whole answer and for its stream: ${answer.name}`, async () => {
      answerWhole(answer.whole);
      const { outputTokens: whole = -1 } = await usageOf(answer.route, false);
      answerInEvents(answer);
      const { outputTokens: streamed } = await usageOf(answer.route, true);
      expect(streamed).to.equal(whole);
      if (answer.tokens !== undefined) expect(whole).to.be.at.most(answer.tokens);
      else expect(whole).to.be.within(4, 60);
    });
  }

  it('is that of the received words if an answer breaks off', async () => {
    const text = JSON.stringify({
      id: ID,
      choices: [choice({ content: 'Three old tugs lie in the harbour', id: ID })],
    });
    const pieces = [Buffer.from(text.slice(0, text.indexOf(' lie'))), new Error('It broke.')];
    script = () => ({ contentType: 'application/json', pieces });
    const parsed = { model: 'm-5.5', messages: [] };
    const body = Buffer.from(JSON.stringify(parsed));
    const prepared = await gateway.text.prepare({
      route: 'chat_completions',
      body,
      parsed,
      owner: 'one',
      requestId: 'r',
    });
    const exchange = prepared.send();
    await exchange.answer.catch(() => undefined);
    expect((await exchange.ended).usage?.outputTokens).to.be.within(3, 4);
  });

  it('excludes ids, types, encrypted content and images of the input', async () => {
    answerWhole({ id: 'resp_1', status: 'completed', output: [message('tug')] });
    const input = [
      { id: ID, type: 'reasoning', summary: [], encrypted_content: BASE64 },
      { id: ID, type: 'image_generation_call', status: 'completed', result: BASE64 },
      { id: ID, type: 'function_call_output', call_id: ID, output: 'ok' },
      {
        type: 'message',
        role: 'user',
        content: [{ type: 'input_image', image_url: `data:image/png;base64,${BASE64}` }],
      },
      { type: 'message', role: 'user', content: 'Three old tugs' },
    ];
    expect((await usageOf('responses', false, { input })).inputTokens).to.be.within(4, 8);
  });

  it('still reserves for encrypted content and images of the input', async () => {
    const parsed = { model: 'm-5.5', input: [{ id: ID, type: 'reasoning', summary: [], encrypted_content: BASE64 }] };
    const body = Buffer.from(JSON.stringify(parsed));
    const prepared = await gateway.text.prepare({ route: 'responses', body, parsed, owner: 'one', requestId: 'r' });
    expect((await prepared.demand?.())?.input).to.be.at.least(BASE64.length / 4);
  });
});
