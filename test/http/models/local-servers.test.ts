/** Local model servers and their habits. */

import Anthropic from '@anthropic-ai/sdk';
import { expect } from 'chai';
import openaiText from 'mediagate/plugins/openai_text';
import OpenAI from 'openai';
import type { ResponseStreamEvent } from 'openai/resources/responses/responses';
import {
  type LocalServer,
  type LocalServerKind,
  PIECES,
  startLocalServer,
  THOUGHT,
} from '../../support/models/local-servers.js';
import { rejection } from '../../support/rejection.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';

const TEXT = PIECES.join('');
const KINDS: readonly LocalServerKind[] = ['ollama', 'vllm', 'llamacpp', 'lmstudio'];
const WEATHER = {
  type: 'function' as const,
  name: 'weather',
  description: 'Weather of a place.',
  parameters: {
    type: 'object',
    properties: { place: { type: 'string' } },
    required: ['place'],
    additionalProperties: false,
  },
  strict: true,
};

for (const kind of KINDS) {
  describe(`a local server that answers as ${kind} does`, () => {
    let server: LocalServer;
    let app: ListeningApp;
    let client: OpenAI;
    let key: string;

    before(async () => {
      server = await startLocalServer(kind);
      const upstreams = [{ url: server.baseUrl }];
      const models = [
        { id: 'local', model: server.model },
        { id: 'vectors', model: server.model, routes: ['embeddings'] },
        { id: 'gone', model: 'not-there' },
        { id: 'fresh', model: server.model },
      ];
      app = await startApp({
        messages: true,
        gateway: { plugins: [{ use: openaiText, options: { models, upstreams } }], services: { http: undefined } },
      });
      key = await app.makeKey({ grants: ['text'] });
      client = new OpenAI({ apiKey: key, baseURL: `${app.url}/v1`, maxRetries: 0 });
    });
    beforeEach(() => server.reset());
    after(() => Promise.all([app.close(), server.close()]));

    it('passes the check, which finds the model that it lacks', async () => {
      const checks = await app.gateway.checkUpstreams();
      const missing = checks.filter(({ result }) => result === 'unknown_model').flatMap(({ models }) => models);
      expect(checks[0]).to.include({ result: 'reachable', upstream: 'upstreams.0' });
      // A llama.cpp server answers with its one model to any name.
      expect(missing).to.deep.equal(kind === 'llamacpp' ? [] : ['gone']);
    });

    it('is not asked for a chat that cannot replace the response', async () => {
      const prompt = { id: 'pmpt_1' };
      const asked = client.responses.create({ model: 'fresh', input: 'Hi', prompt });
      expect(await rejection(asked)).to.include({ status: 400, param: 'prompt' });
      expect(server.requests.map(({ path }) => path)).to.deep.equal(['/v1/responses']);
    });

    it('is asked for a response once, and the result is remembered', async () => {
      for (const input of ['Hi', 'Hi again']) await client.responses.create({ model: 'local', input });
      const chats = ['/v1/chat/completions', '/v1/chat/completions'];
      expect(server.requests.map(({ path }) => path)).to.deep.equal(['/v1/responses', ...chats]);
    });

    it('chats, whole and as a stream, with tools', async () => {
      const messages = [{ role: 'user' as const, content: 'Where is Ostend?' }];
      const whole = await client.chat.completions.create({ model: 'local', messages });
      expect(whole.choices[0]?.message.content).to.equal(TEXT);
      expect(whole).to.include({ model: 'local' }).and.to.have.nested.property('usage.total_tokens', 17);
      const stream = client.chat.completions.stream({ model: 'local', messages });
      expect((await stream.finalChatCompletion()).choices[0]?.message.content).to.equal(TEXT);
      const { name, description, parameters } = WEATHER;
      const tools = [{ type: 'function' as const, function: { name, description, parameters } }];
      const called = await client.chat.completions.stream({ model: 'local', messages, tools }).finalChatCompletion();
      expect(called.choices[0]?.message.tool_calls?.[0]).to.have.nested.property(
        'function.arguments',
        '{"place":"Ostend"}',
      );
    });

    it("answers messages, and Anthropic's client reads them", async () => {
      const anthropic = new Anthropic({ apiKey: key, baseURL: app.url, maxRetries: 0 });
      const asked = {
        model: 'local',
        max_tokens: 100,
        messages: [{ role: 'user' as const, content: 'Where is Ostend?' }],
      };
      const whole = await anthropic.messages.create(asked);
      expect(whole.content.at(-1)).to.include({ type: 'text', text: TEXT });
      const streamed = await anthropic.messages.stream(asked).finalMessage();
      expect(streamed.content.at(-1)).to.include({ type: 'text', text: TEXT });
      expect(streamed.usage.output_tokens).to.equal(5);
    });

    it('makes embeddings', async () => {
      const made = await client.embeddings.create({ model: 'vectors', input: 'Ostend', encoding_format: 'float' });
      expect(made.data[0]?.embedding).to.deep.equal([0.25, -0.5]);
    });

    it('answers responses, translated to chats', async () => {
      const request = { model: 'local', instructions: 'Be brief.', input: 'Where is Ostend?', max_output_tokens: 90 };
      const answer = await client.responses.create({ ...request, reasoning: { effort: 'low' }, user: 'someone' });
      expect(server.requests.at(-1)?.members).to.deep.equal({
        model: server.model,
        user: 'someone',
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'Where is Ostend?' },
        ],
        max_tokens: 90,
        reasoning_effort: 'low',
      });
      expect(answer.output_text).to.equal(TEXT);
      expect(answer).to.deep.include({ object: 'response', model: 'local', status: 'completed', store: false });
      expect(answer.output.map(({ type }) => type)).to.deep.equal(['reasoning', 'message']);
      expect(answer.output[0]).to.deep.include({ content: [{ type: 'reasoning_text', text: THOUGHT }], summary: [] });
      expect(answer.usage).to.deep.equal({
        input_tokens: 12,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens: 5,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 17,
      });
    });

    it('streams responses with every event in its order', async () => {
      const events: ResponseStreamEvent[] = [];
      const stream = client.responses.stream({ model: 'local', input: 'Where is Ostend?' });
      stream.on('event', (event) => void events.push(event));
      const answer = await stream.finalResponse();
      expect(answer.output_text).to.equal(TEXT);
      expect(answer.usage?.total_tokens).to.equal(17);
      expect(events.map(({ sequence_number: number }) => number)).to.deep.equal(events.map((_, index) => index));
      expect(events.map(({ type }) => type)).to.deep.equal([
        'response.created',
        'response.in_progress',
        'response.output_item.added',
        'response.content_part.added',
        'response.reasoning_text.delta',
        'response.reasoning_text.done',
        'response.content_part.done',
        'response.output_item.done',
        'response.output_item.added',
        'response.content_part.added',
        ...PIECES.map(() => 'response.output_text.delta'),
        'response.output_text.done',
        'response.content_part.done',
        'response.output_item.done',
        'response.completed',
      ]);
    });

    it('calls tools in responses, and reads their output', async () => {
      const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'What is the weather in Ostend?' }];
      const request = { model: 'local', tools: [WEATHER], tool_choice: 'auto' as const };
      for (const isStream of [false, true]) {
        const first = isStream
          ? await client.responses.stream({ ...request, input }).finalResponse()
          : await client.responses.create({ ...request, input });
        const call = first.output.find(
          ({ type }) => type === 'function_call',
        ) as OpenAI.Responses.ResponseFunctionToolCall;
        expect(call).to.include({ name: 'weather', arguments: '{"place":"Ostend"}', status: 'completed' });
        expect(call.call_id).to.match(/./);
        const picture = {
          type: 'input_image' as const,
          image_url: 'data:image/png;base64,AA==',
          detail: 'auto' as const,
        };
        const output = [{ type: 'input_text' as const, text: 'Rain.' }, picture];
        const result = { type: 'function_call_output' as const, call_id: call.call_id, output };
        // Some clients name what the model thought by its id.
        const thought = { type: 'item_reference' as const, id: first.output[0]?.id ?? '' };
        const named = await client.responses.create({ ...request, input: [...input, thought, call, result] });
        expect(named.output_text).to.equal(TEXT);
        const second = await client.responses.create({
          ...request,
          input: [...input, ...(first.output as OpenAI.Responses.ResponseInput), result],
        });
        expect(second.output_text).to.equal(TEXT);
        const called = { name: 'weather', arguments: '{"place":"Ostend"}' };
        expect(server.requests.at(-1)?.members.messages).to.deep.equal([
          { role: 'user', content: 'What is the weather in Ostend?' },
          {
            role: 'assistant',
            content: null,
            reasoning_content: THOUGHT,
            tool_calls: [{ id: call.call_id, type: 'function', function: called }],
          },
          { role: 'tool', tool_call_id: call.call_id, content: 'Rain.' },
          { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }] },
        ]);
      }
    });

    it('parses structured output', async () => {
      const schema = {
        type: 'object',
        properties: { town: { type: 'string' } },
        required: ['town'],
        additionalProperties: false,
      };
      const format = { type: 'json_schema' as const, name: 'town', schema, strict: true };
      const answer = await client.responses.parse({ model: 'local', input: 'Name a town.', text: { format } });
      expect(answer).to.deep.include({ output_parsed: { town: 'Ostend' }, text: { format } });
      expect(server.requests.at(-1)?.members.response_format).to.deep.equal({
        type: 'json_schema',
        json_schema: { name: 'town', schema, strict: true },
      });
    });

    it('reports why an answer ended early', async () => {
      const short = await client.responses.create({ model: 'local', input: 'Hi', max_output_tokens: 3 });
      expect(short).to.deep.include({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } });
      server.breakAfter = 3;
      const types: string[] = [];
      const stream = await client.responses.create({ model: 'local', input: 'Hi', stream: true });
      for await (const event of stream) types.push(event.type);
      expect(types.at(-1)).to.equal('response.failed');
      expect(types).not.to.include('response.completed');
    });

    it('lacks a model, or loads it', async () => {
      const asked = client.responses.create({ model: 'gone', input: 'Hi' });
      if (kind === 'llamacpp') expect((await asked).output_text).to.equal(TEXT);
      else expect(await rejection(asked)).to.include({ status: 502, code: 'upstream_error' });
      server.loading = true;
      const loading = await rejection(client.responses.create({ model: 'local', input: 'Hi' }));
      expect(loading).to.have.property('status').that.is.oneOf([502, 503]);
    });
  });
}
