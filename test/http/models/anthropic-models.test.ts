/** Models of a server with the messages format. */

import Anthropic from '@anthropic-ai/sdk';
import { expect } from 'chai';
import { createGateway } from 'mediagate';
import anthropicText from 'mediagate/plugins/anthropic_text';
import OpenAI from 'openai';
import { type AnthropicUpstream, startAnthropicUpstream } from '../../support/models/anthropic-upstream.js';
import { untilDayHasRoom } from '../../support/same-day.js';
import { until } from '../../support/until.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';
import { post } from './text-app.js';

const KEY = 'sk-ant-canary-of-the-upstream';
const VENDOR = 'claude-vendor-9';
const MODEL = 'claude-public';
const CHATS = '/v1/chat/completions';
const HI = [{ role: 'user' as const, content: 'Which tugs lie here?' }];
const SAID = 'You said: Which tugs lie here?';
const BIG = '9007199254740993';
const TOOL = {
  type: 'function' as const,
  function: { name: 'weather', description: 'Weather.', parameters: { type: 'object', properties: {} } },
};

describe('models of a server with the messages format', () => {
  let upstream: AnthropicUpstream;
  let app: ListeningApp;
  let key: string;
  let openai: OpenAI;
  let anthropic: Anthropic;

  beforeEach(untilDayHasRoom);
  before(async () => {
    upstream = await startAnthropicUpstream({ apiKey: KEY });
    app = await startApp({
      messages: true,
      gateway: {
        plugins: [
          {
            use: anthropicText,
            options: {
              models: [
                { id: MODEL, model: VENDOR, contextLength: 200_000 },
                { id: 'claude-older', model: VENDOR, thinking: 'budget' },
              ],
              upstreams: [{ url: upstream.url, apiKey: KEY }],
              restMs: 1,
            },
            timeoutMs: 30_000,
          },
        ],
        services: { http: undefined },
      },
    });
  });
  // Requests of the test before may still be settled.
  beforeEach(async () => {
    key = await app.makeKey({ grants: ['text'], rpm: null });
    openai = new OpenAI({ apiKey: key, baseURL: `${app.url}/v1`, maxRetries: 0 });
    anthropic = new Anthropic({ apiKey: key, baseURL: app.url, maxRetries: 0 });
  });
  beforeEach(() => upstream.reset());
  after(async () => {
    await app.close();
    await upstream.close();
  });

  const chat = (more: object = {}) => post(app, CHATS, key, { model: MODEL, messages: HI, ...more });
  const asked = () => upstream.requests.at(-1)?.body ?? {};
  /** What the key used, once that are so many requests. */
  async function usesOf(count: number) {
    return until(async () => {
      await app.state.admissions.flush();
      const today = new Date().toISOString().slice(0, 10);
      const all = await app.state.usage.entries({ keyId: key.slice(6, 14), from: today, to: today }, 100);
      return all.length >= count && all;
    });
  }

  describe("as Anthropic's client uses them", () => {
    const ASKED = { model: MODEL, max_tokens: 300, messages: HI };

    it('pass cache_control, thinking, server tools and betas through', async () => {
      const body = {
        ...ASKED,
        system: [{ type: 'text' as const, text: 'Sail.', cache_control: { type: 'ephemeral' as const } }],
        thinking: { type: 'adaptive' as const },
        tools: [{ type: 'web_search_20250305' as const, name: 'web_search' as const, max_uses: 1 }],
        tool_choice: { type: 'none' as const },
      };
      const message = await anthropic.beta.messages.create({ ...body, betas: ['context-1m-2025-08-07'] });
      expect(message.content).to.deep.equal([
        { type: 'thinking', thinking: 'Two tugs, I think.', signature: 'c2lnbmF0dXJl' },
        { type: 'text', text: SAID },
      ]);
      expect([message.model, message.usage.cache_creation_input_tokens]).to.deep.equal([MODEL, 20]);
      const [request] = upstream.requests;
      expect(request?.body).to.deep.equal({ ...body, model: VENDOR });
      expect(request?.path).to.equal('/v1/messages');
      expect(request?.headers['anthropic-version']).to.match(/^\d{4}-\d\d-\d\d$/);
      expect(request?.headers).to.include({
        'anthropic-beta': 'context-1m-2025-08-07',
        'x-api-key': KEY,
        'user-agent': 'mediagate',
      });
    });

    it('stream every event, and count cache reads and writes', async () => {
      for (const pieces of [undefined, 1, 13]) {
        upstream.behave({ does: 'answer', ...(pieces && { pieces }) });
        const stream = anthropic.messages.stream({ ...ASKED, thinking: { type: 'adaptive' } });
        const { content, usage, model } = await stream.finalMessage();
        expect(content).to.have.length(2);
        expect(content[0]).to.include({ signature: 'c2lnbmF0dXJl' });
        expect(content[1]).to.include({ text: SAID });
        expect([model, usage.output_tokens, usage.cache_read_input_tokens]).to.deep.equal([MODEL, 17, 300]);
      }
      for (const one of await usesOf(3)) {
        expect(one).to.include({ route: '/v1/messages', inputTokens: 331, cachedTokens: 300, outputTokens: 17 });
      }
    });

    it('count tokens by the upstream', async () => {
      const { max_tokens: _, ...rest } = ASKED;
      expect((await anthropic.messages.countTokens(rest)).input_tokens).to.equal(42);
      expect(upstream.requests.map(({ path }) => path)).to.deep.equal(['/v1/messages/count_tokens']);
      upstream.behave({ does: 'refuse', status: 404, type: 'not_found_error', message: 'Not found' });
      expect((await anthropic.messages.countTokens(rest)).input_tokens).to.be.within(1, 30);
    });

    it('forward the reason of a refusal, without the names of the upstream', async () => {
      const words = `${VENDOR}: messages.0: a fault of ${KEY}`;
      upstream.behave({ does: 'refuse', status: 400, type: 'invalid_request_error', message: words });
      const error = await anthropic.messages.create(ASKED).catch((thrown: unknown) => thrown);
      expect(error).to.be.instanceOf(Anthropic.BadRequestError);
      expect(String(error)).to.include(`${MODEL}: messages.0: a fault of`);
      expect(String(error)).not.to.match(new RegExp(`${VENDOR}|${KEY}`));
    });

    it('end with an error if a stream breaks off, or the upstream sends one', async () => {
      for (const ends of ['break', 'error'] as const) {
        upstream.behave({ does: 'answer', ends });
        const stream = anthropic.messages.stream(ASKED);
        const error = await stream.finalMessage().catch((thrown: unknown) => thrown);
        expect(String(error), ends).to.include(ends === 'error' ? 'overloaded_error' : 'api_error');
        expect(String(error)).not.to.include(VENDOR);
      }
    });

    it('close the request of the upstream when the client leaves', async () => {
      upstream.behave({ does: 'answer', ends: 'stall' });
      const stream = anthropic.messages.stream(ASKED);
      await new Promise((resolve) => stream.once('text', resolve));
      stream.abort();
      await until(() => upstream.left === 1);
    });
  });

  it('name the missing setting with their list', async () => {
    const variables = { names: [], ofOptions: {}, ofUnset: { models: 'ANTHROPIC_UPSTREAM_MODELS' } };
    const options = { upstreams: [{ url: upstream.url }] };
    const gateway = await createGateway({ plugins: [{ use: anthropicText, options, variables }] });
    expect(gateway.plugins()[0]?.reason).to.equal('ANTHROPIC_UPSTREAM_MODELS must be set');
    await gateway.close();
  });

  it('are checked against their list of models, with dates of versions', async () => {
    const plugin = (apiKey: string, model: string) => ({
      use: anthropicText,
      id: `${apiKey} ${model}`.replace(/\W/g, '_'),
      options: { models: [{ id: model }], upstreams: [{ url: upstream.url, apiKey }] },
    });
    const plugins = [plugin(KEY, VENDOR), plugin(KEY, 'claude-none'), plugin('sk-ant-other', 'claude-2')];
    const gateway = await createGateway({ plugins, services: { http: undefined } });
    const checks = await gateway.checkUpstreams(new AbortController().signal);
    expect(checks.map(({ result }) => result)).to.have.members(['reachable', 'unknown_model', 'refused_key']);
    await gateway.close();
  });

  describe('in chats', () => {
    it("answer OpenAI's client, whole and streamed alike, with finish and usage", async () => {
      for (const pieces of [undefined, 1, 13]) {
        upstream.behave({ does: 'answer', ...(pieces && { pieces }) });
        const whole = await openai.chat.completions.create({ model: MODEL, messages: HI, reasoning_effort: 'low' });
        const stream = openai.chat.completions.stream({
          model: MODEL,
          messages: HI,
          reasoning_effort: 'low',
          stream_options: { include_usage: true },
        });
        const streamed = await stream.finalChatCompletion();
        for (const { model, choices, usage, id } of [whole, streamed]) {
          expect([model, id]).to.deep.equal([MODEL, 'msg_01']);
          expect(choices).to.have.length(1);
          expect(choices[0]?.finish_reason).to.equal('stop');
          expect(choices[0]?.message).to.include({ content: SAID, reasoning_content: 'Two tugs, I think.' });
          expect(usage).to.deep.include({ prompt_tokens: 331, completion_tokens: 17, total_tokens: 348 });
          expect(usage?.prompt_tokens_details).to.include({ cached_tokens: 300 });
        }
      }
      expect(asked()).to.deep.include({
        model: VENDOR,
        max_tokens: 16_384,
        thinking: { type: 'adaptive', display: 'summarized' },
        output_config: { effort: 'low' },
      });
    });

    it('count the tokens of a response', async () => {
      const { status, json } = await post(app, '/v1/responses/input_tokens', key, {
        model: MODEL,
        input: 'Which tugs lie here?',
        instructions: 'Sail.',
        max_output_tokens: 9,
      });
      expect([status, json]).to.deep.equal([200, { object: 'response.input_tokens', input_tokens: 42 }]);
      expect(upstream.requests.at(-1)?.path).to.equal('/v1/messages/count_tokens');
      expect(asked()).to.have.all.keys('model', 'system', 'messages');
    });

    it('answer whole and streamed alike', async () => {
      const body = { model: MODEL, input: 'Which tugs lie here?', reasoning: { effort: 'low' as const }, store: false };
      const whole = await openai.responses.create(body);
      const streamed = await openai.responses.stream(body).finalResponse();
      for (const { model, status, output_text: text, output, usage } of [whole, streamed]) {
        expect([model, status, text]).to.deep.equal([MODEL, 'completed', SAID]);
        expect(output.map(({ type }) => type)).to.deep.equal(['reasoning', 'message']);
        expect(usage).to.deep.include({ input_tokens: 331, output_tokens: 17, total_tokens: 348 });
        expect(usage?.input_tokens_details.cached_tokens).to.equal(300);
      }
      expect(asked()).to.deep.include({ output_config: { effort: 'low' }, max_tokens: 16_384 });
      const { name, parameters } = TOOL.function;
      const tools = [{ type: 'function' as const, name, parameters, strict: false }];
      const called = await openai.responses.create({ ...body, tools });
      const call = called.output.find(({ type }) => type === 'function_call');
      expect(call).to.include({ name: 'weather', arguments: `{"place":"Ostend \\"quay\\"","id":${BIG}}` });
    });

    it('call tools with exact arguments, and read their results', async () => {
      const none = { ...TOOL, function: { name: 'tide' } };
      const body = { model: MODEL, messages: HI, tools: [TOOL, none], parallel_tool_calls: false };
      const [whole] = (await openai.chat.completions.create(body)).choices;
      const [streamed] = (await openai.chat.completions.stream(body).finalChatCompletion()).choices;
      for (const choice of [whole, streamed]) {
        expect(choice?.finish_reason).to.equal('tool_calls');
        expect(choice?.message.content).to.equal('A moment.');
        const calls = choice?.message.tool_calls?.map((call) => ('function' in call ? call.function : undefined));
        expect(calls?.map((call) => [call?.name, call?.arguments])).to.deep.equal([
          ['weather', `{"place":"Ostend \\"quay\\"","id":${BIG}}`],
          ['tide', '{}'],
        ]);
      }
      expect(asked().tool_choice).to.deep.equal({ type: 'auto', disable_parallel_tool_use: true });
      const calls = (whole?.message.tool_calls ?? []).map((call) => ({ ...call, id: `${call.id}:x` }));
      const answered = await openai.chat.completions.create({
        ...body,
        messages: [
          { role: 'system', content: 'Be brief.' },
          ...HI,
          { role: 'assistant', content: 'A moment.', tool_calls: calls },
          ...calls.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: 'drizzle' })),
          { role: 'user', content: 'And?' },
        ],
      });
      expect(answered.choices[0]?.message.content).to.equal('You said: drizzle');
      expect(upstream.requests.at(-1)?.text).to.include(`"input":{"place":"Ostend \\"quay\\"","id":${BIG}}`);
      const { system, messages } = asked() as { system: unknown; messages: { role: string; content: object[] }[] };
      expect(system).to.deep.equal([{ type: 'text', text: 'Be brief.' }]);
      expect(messages.map(({ role }) => role)).to.deep.equal(['user', 'assistant', 'user']);
      expect(messages[2]?.content).to.have.length(3);
    });

    it('convert the fields of a request', async () => {
      const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' } };
      const linked = { type: 'image_url', image_url: { url: 'https://pier.example/tug.png' } };
      const pdf = { type: 'file', file: { filename: 'tides.pdf', file_data: 'data:application/pdf;base64,JVBERg==' } };
      const schema = { type: 'object', properties: { tugs: { type: 'integer', maximum: 1 } } };
      const { status, json } = await chat({
        messages: [
          { role: 'developer', content: [{ type: 'text', text: 'Sail.', cache_control: { type: 'ephemeral' } }] },
          { role: 'user', content: [{ type: 'text', text: 'Look' }, image, linked, pdf] },
        ],
        max_tokens: 700,
        max_completion_tokens: 900,
        temperature: 0.5,
        top_p: 0.9,
        stop: 'END',
        user: 'u_1',
        service_tier: 'default',
        tools: [TOOL],
        tool_choice: { type: 'function', function: { name: 'weather' } },
        response_format: { type: 'json_schema', json_schema: { name: 'x', schema, strict: true } },
        n: 1,
        logit_bias: {},
        frequency_penalty: 0,
        seed: 7,
        metadata: { a: 'b' },
      });
      expect(status, JSON.stringify(json)).to.equal(200);
      expect(asked()).to.deep.equal({
        model: VENDOR,
        max_tokens: 900,
        system: [{ type: 'text', text: 'Sail.', cache_control: { type: 'ephemeral' } }],
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'Look' },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } },
              { type: 'image', source: { type: 'url', url: 'https://pier.example/tug.png' } },
              {
                type: 'document',
                title: 'tides.pdf',
                source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERg==' },
              },
            ],
          },
        ],
        tools: [{ name: 'weather', description: 'Weather.', input_schema: { type: 'object', properties: {} } }],
        tool_choice: { type: 'tool', name: 'weather' },
        output_config: { format: { type: 'json_schema', schema } },
        temperature: 0.5,
        stop_sequences: ['END'],
        metadata: { user_id: 'u_1' },
        service_tier: 'standard_only',
      });
    });

    it('request thinking in the form of the model', async () => {
      const older = { model: 'claude-older', max_tokens: 9_000 };
      for (const [more, thinking] of [
        [{ reasoning_effort: 'none' }, { type: 'disabled' }],
        [{}, undefined],
        [
          { ...older, reasoning_effort: 'low' },
          { type: 'enabled', budget_tokens: 4_096 },
        ],
        [
          { ...older, reasoning_effort: 'max' },
          { type: 'enabled', budget_tokens: 4_500 },
        ],
        [{ ...older, max_tokens: 900, reasoning_effort: 'max' }, undefined],
      ] as const) {
        const { status, json } = await chat(more);
        expect(status, JSON.stringify(json)).to.equal(200);
        expect(asked().thinking, JSON.stringify(more)).to.deep.equal(thinking);
      }
    });

    it('refuse what the format cannot express before the upstream is asked', async () => {
      const part = (content: object) => ({ messages: [{ role: 'user', content: [content] }] });
      for (const [more, code, param] of [
        [{ n: 2 }, 'unsupported_parameter', 'n'],
        [{ logprobs: true }, 'unsupported_parameter', 'logprobs'],
        [{ frequency_penalty: 1 }, 'unsupported_parameter', 'frequency_penalty'],
        [{ functions: [{ name: 'x' }] }, 'unsupported_parameter', 'functions'],
        [{ temperature: 2.5 }, 'invalid_value', 'temperature'],
        [{ max_tokens: 'many' }, 'invalid_value', 'max_completion_tokens'],
        [{ response_format: { type: 'json_object' } }, 'unsupported_value', 'response_format'],
        [{ service_tier: 'flex' }, 'unsupported_value', 'service_tier'],
        [part({ type: 'input_audio', input_audio: {} }), 'unsupported_value', 'messages[0].content[0].type'],
        [part({ type: 'file', file: { file_id: 'f' } }), 'unsupported_value', 'messages[0].content[0].file.file_id'],
        [part({ type: 'image_url', image_url: { url: 'data:image/bmp;base64,x' } }), 'invalid_value', undefined],
        [{ messages: undefined }, 'missing_required_parameter', 'messages'],
        [{ messages: ['x'] }, 'invalid_value', 'messages[0]'],
        [{ reasoning_effort: 'much' }, 'unsupported_value', 'reasoning_effort'],
      ] as const) {
        const { status, json } = await chat(more);
        expect([status, json.error.code], JSON.stringify([more, json])).to.deep.equal([400, code]);
        if (param) expect(json.error.param).to.equal(param);
        expect(json.error.message).to.match(/\w{3,}.*\.$/);
      }
      expect(upstream.requests).to.have.length(0);
    });

    it("end with the model's reason: limit, refusal, stop sequence", async () => {
      for (const [stopReason, finish] of [
        ['max_tokens', 'length'],
        ['model_context_window_exceeded', 'length'],
        ['refusal', 'content_filter'],
        ['stop_sequence', 'stop'],
        ['constructor', 'stop'],
      ] as const) {
        upstream.behave({ does: 'answer', stopReason });
        expect((await chat()).json.choices[0].finish_reason).to.equal(finish);
        const stream = openai.chat.completions.stream({ model: MODEL, messages: HI });
        expect(
          (await stream.finalChatCompletion().catch((error) => error)).choices?.[0]?.finish_reason ?? finish,
        ).to.equal(finish);
      }
    });

    it('end with an error if a stream breaks off, or the upstream sends one', async () => {
      for (const ends of ['break', 'error'] as const) {
        upstream.behave({ does: 'answer', ends });
        const stream = await openai.chat.completions.create({ model: MODEL, messages: HI, stream: true });
        const texts: string[] = [];
        const read = async () => {
          for await (const { choices } of stream) texts.push(choices[0]?.delta.content ?? '');
        };
        const error = await read().then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
        expect(texts.join(''), ends).to.equal('You sai');
        expect(error, ends).to.be.instanceOf(OpenAI.APIError);
        expect(String(error)).not.to.include(VENDOR);
      }
    });

    it('map refusals of the upstream to the client, the operator, or a retry', async () => {
      for (const [args, status, code] of [
        [[400, 'invalid_request_error', 'prompt is too long: 9 > 8'], 400, 'context_length_exceeded'],
        [[413, 'request_too_large', 'Too large'], 413, 'context_length_exceeded'],
        [[404, 'not_found_error', 'File not found: file_1'], 400, 'invalid_value'],
        [[404, 'not_found_error', `model: ${VENDOR}`], 502, 'upstream_error'],
        [
          [400, 'invalid_request_error', 'Your credit balance is too low to access the API.'],
          502,
          'upstream_auth_error',
        ],
        [[402, 'billing_error', 'Pay.'], 502, 'upstream_auth_error'],
        [[403, 'permission_error', 'No.'], 502, 'upstream_auth_error'],
        [[529, 'overloaded_error', 'Overloaded', { 'x-should-retry': 'false' }], 502, 'upstream_error'],
        [[429, 'rate_limit_error', 'Slow down.', { 'retry-after': '30' }], 429, 'upstream_rate_limited'],
      ] as const) {
        const [refused, type, message, headers = {}] = args;
        upstream.behave({ does: 'refuse', status: refused, type, message, headers });
        const answer = await chat();
        expect(answer.status, JSON.stringify([args, answer.json])).to.equal(status);
        expect(answer.json.error.code).to.equal(code);
        expect(JSON.stringify(answer.json)).not.to.include(VENDOR);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    });
  });
});
