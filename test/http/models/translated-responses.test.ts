/** Responses of an upstream that is configured for chats only. */

import { expect } from 'chai';
import openaiText from 'mediagate/plugins/openai_text';
import OpenAI from 'openai';
import type { UsageEntry } from '../../../server/usage/usage-log.js';
import { type LocalServer, PIECES, startLocalServer } from '../../support/models/local-servers.js';
import { startTextUpstream, type TextUpstream } from '../../support/models/text-upstream.js';
import { untilDayHasRoom } from '../../support/same-day.js';
import { until } from '../../support/until.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';
import { post } from './text-app.js';

const RESPONSES = '/v1/responses';
const ONLY_CHATS = 'The upstream of this model only has the chat format, which';
const today = () => new Date().toISOString().slice(0, 10);

describe('an upstream that is configured only for chats', () => {
  let server: LocalServer;
  let vendor: TextUpstream;
  let app: ListeningApp;
  let key: string;

  before(async () => {
    await untilDayHasRoom();
    [server, vendor] = await Promise.all([startLocalServer('vllm'), startTextUpstream()]);
    const chats = { name: 'chats', url: server.baseUrl, model: server.model, routes: ['chat_completions'] };
    const models = [
      { id: 'local', upstream: 'chats', outputLimitField: 'max_completion_tokens' },
      { id: 'mixed', upstreams: [{ name: 'chats' }, { name: 'vendor' }] },
      { id: 'plain', upstream: 'chats', routes: ['chat_completions'] },
    ];
    const upstreams = [chats, { name: 'vendor', url: vendor.baseUrl }];
    app = await startApp({
      gateway: { plugins: [{ use: openaiText, options: { models, upstreams } }], services: { http: undefined } },
    });
  });
  beforeEach(async () => {
    // Requests of the test before may still be settled.
    key = await app.makeKey({ grants: ['text'] });
    server.reset();
    vendor.reset();
  });
  after(() => Promise.all([app.close(), server.close(), vendor.close()]));

  const ask = (body: object) => post(app, RESPONSES, key, { model: 'local', input: 'Hi', ...body });

  it('gets only chat requests, and its usage is counted', async () => {
    expect((await ask({ max_output_tokens: 50 })).json.output[1].content[0].text).to.equal(PIECES.join(''));
    expect(server.requests.map(({ path }) => path)).to.deep.equal(['/v1/chat/completions']);
    expect(server.requests[0]?.members.max_completion_tokens).to.equal(50);
    const client = new OpenAI({ apiKey: key, baseURL: `${app.url}/v1`, maxRetries: 0 });
    await client.responses.stream({ model: 'local', input: 'Hi' }).finalResponse();
    const entries = await until(async () => {
      await app.state.admissions.flush();
      const range = { keyId: key.slice(6, 14), from: today(), to: today() };
      const found: readonly UsageEntry[] = await app.state.usage.entries(range, 100);
      return found.length >= 2 && found;
    });
    for (const entry of entries) expect(entry).to.include({ inputTokens: 12, outputTokens: 5, estimated: false });
  });

  const stored = `${ONLY_CHATS} stores no responses. Send the earlier items in "input" instead.`;
  const item = (fields: object) => ({ input: [fields] });
  const part = (fields: object) => item({ role: 'user', content: [fields] });
  for (const [what, body, param, message] of [
    ['a conversation', { conversation: 'conv_1' }, 'conversation', stored],
    ['a stored prompt', { prompt: { id: 'pmpt_1' } }, 'prompt', 'which has no stored prompts'],
    ['background work', { background: true }, 'background', 'which has no work in the background'],
    ['a stored item', item({ type: 'item_reference', id: 'msg_1' }), 'input[0].id', 'which stores no items'],
    ['an item by its id', item({ id: 'msg_1' }), 'input[0].id', 'which stores no items'],
    [
      'a stored image',
      part({ type: 'input_image', file_id: 'file-1' }),
      'input[0].content[0].file_id',
      'no stored files',
    ],
    [
      'a linked file',
      part({ type: 'input_file', file_url: 'https://a.example/' }),
      'input[0].content[0].file_url',
      'only takes the bytes of files',
    ],
    [
      'an unknown part',
      part({ type: 'input_video' }),
      'input[0].content[0].type',
      'no parts of the type "input_video"',
    ],
    ['an unknown format', { text: { format: { type: 'grammar' } } }, 'text.format.type', 'no format "grammar"'],
    ['an unknown role', item({ role: 'tool', content: 'x' }), 'input[0].role', 'must be "user", "assistant"'],
    ['no content', item({ role: 'user' }), 'input[0].content', 'must be a text or a list of parts'],
    ['an item that is none', { input: ['x'] }, 'input[0]', 'must be an object'],
    ['no input', { input: null }, 'input', '"input" is required'],
  ] as const) {
    it(`explains why it refuses ${what}`, async () => {
      const { status, json } = await ask(body);
      expect([status, json.error.param]).to.deep.equal([400, param]);
      expect(json.error.message).to.include(message);
      expect(server.requests).to.deep.equal([]);
    });
  }

  it("names the client's field if the upstream names one of the chat", async () => {
    for (const [refused, param] of [
      ['messages[0].content', 'input'],
      ['max_completion_tokens', 'max_output_tokens'],
      ['response_format', 'text.format'],
      ['temperature', 'temperature'],
    ]) {
      server.refusal = { message: 'Bad value.', type: 'invalid_request_error', param: refused, code: null };
      const { status, json } = await ask({});
      expect([status, json.error.param, json.error.message]).to.deep.equal([400, param, 'Bad value.']);
    }
  });

  it('is aborted when the client leaves a stream', async () => {
    server.stallAfter = 3;
    const leaving = new AbortController();
    const response = await fetch(`${app.url}${RESPONSES}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'local', input: 'Hi', stream: true }),
      signal: leaving.signal,
    });
    const first = await response.body?.getReader().read();
    expect(Buffer.from(first?.value ?? []).toString()).to.match(/^event: response\.created\n/);
    leaving.abort();
    expect(await server.requests[0]?.ended).to.deep.equal({ whole: false });
  });

  it('stores no responses', async () => {
    const { json } = await ask({ store: true });
    expect(json.store).to.equal(false);
    const next = await ask({ previous_response_id: json.id });
    expect([next.status, next.json.error.message]).to.deep.equal([400, stored]);
    const headers = { authorization: `Bearer ${key}` };
    expect((await app.request(`${RESPONSES}/${json.id}`, { headers })).status).to.equal(404);
    for (const task of ['compact', 'input_tokens']) {
      const { status, json } = await post(app, `${RESPONSES}/${task}`, key, { model: 'local', input: 'Hi' });
      expect([status, json.error.code]).to.deep.equal([400, 'model_not_supported']);
    }
  });

  it('supports custom tools, and only allowed ones', async () => {
    const patch = {
      type: 'custom',
      name: 'patch',
      format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
    };
    const lookup = { type: 'function', name: 'lookup', parameters: { type: 'object', properties: {} } };
    const tool_choice = { type: 'allowed_tools', mode: 'required', tools: [{ type: 'custom', name: 'patch' }] };
    const { json } = await ask({ tools: [lookup, patch], tool_choice, parallel_tool_calls: false });
    const sent = server.requests[0]?.members as { tools: { function: { name: string; description: string } }[] };
    expect(sent).to.include({ tool_choice: 'required', parallel_tool_calls: false });
    expect(sent.tools.map((tool) => tool.function.name)).to.deep.equal(['patch']);
    expect(sent.tools[0]?.function.description).to.include('lark grammar:\nstart: "x"');
    const [call] = json.output.filter(({ type }: { type: string }) => type === 'custom_tool_call');
    expect(call).to.include({ name: 'patch', input: 'Ostend', status: 'completed' });
    const result = { type: 'custom_tool_call_output', call_id: call.call_id, output: 'Done.' };
    await ask({ input: [{ role: 'user', content: 'Hi' }, call, result], tools: [patch] });
    const messages = server.requests[1]?.members.messages as { tool_calls?: { function: object }[] }[];
    expect(messages[1]?.tool_calls?.[0]?.function).to.deep.equal({ name: 'patch', arguments: '{"input":"Ostend"}' });
    expect(messages[2]).to.deep.equal({ role: 'tool', tool_call_id: call.call_id, content: 'Done.' });
  });

  it('gets the messages of an agent as its chat template needs them', async () => {
    const said = (role: string, type: string, ...texts: string[]) => ({
      type: 'message',
      role,
      content: texts.map((text) => ({ type, text })),
    });
    const file = { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA==' };
    const image = { type: 'input_image', image_url: 'https://a.example/1.png', detail: 'low' };
    await ask({
      instructions: 'First.',
      input: [
        said('developer', 'input_text', 'Second.'),
        said('user', 'input_text', 'One', 'Two'),
        { type: 'reasoning', id: 'rs_1', summary: [], content: [] },
        said('assistant', 'output_text', 'Yes.'),
        { role: 'user', content: [{ type: 'input_text', text: 'See' }, image, file] },
        said('system', 'input_text', 'Later.'),
      ],
      top_k: 5,
      text: { verbosity: 'low', format: { type: 'text' } },
      truncation: 'auto',
      include: ['reasoning.encrypted_content', 'message.output_text.logprobs'],
      metadata: { a: 'b' },
    });
    const { file_data, filename } = file;
    expect(server.requests[0]?.members).to.deep.equal({
      model: server.model,
      top_k: 5,
      messages: [
        { role: 'system', content: 'First.\n\nSecond.\n\nLater.' },
        { role: 'user', content: 'One\nTwo' },
        { role: 'assistant', content: 'Yes.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'See' },
            { type: 'image_url', image_url: { url: image.image_url, detail: 'low' } },
            { type: 'file', file: { filename, file_data } },
          ],
        },
      ],
      verbosity: 'low',
      logprobs: true,
    });
  });

  it('is not used if another upstream of the model has responses', async () => {
    const { status } = await ask({ model: 'mixed', tools: [{ type: 'web_search' }] });
    expect([status, vendor.requests.length, server.requests.length]).to.deep.equal([200, 1, 0]);
    const plain = await ask({ model: 'plain' });
    expect([plain.status, plain.json.error.code]).to.deep.equal([400, 'model_not_supported']);
  });
});
