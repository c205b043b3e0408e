/** Anthropic's client on the messages route, with a model of OpenAI's format. */

import Anthropic, { type ClientOptions } from '@anthropic-ai/sdk';
import { expect } from 'chai';
import type { UsageEntry } from '../../../server/usage/usage-log.js';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { startTextUpstream, type TextUpstream } from '../../support/models/text-upstream.js';
import { rejection } from '../../support/rejection.js';
import { onceIt } from '../../support/runner/variants.js';
import { untilDayHasRoom } from '../../support/same-day.js';
import { until } from '../../support/until.js';
import type { ListeningApp } from '../http/listening-app.js';
import { startUpstreamApp } from './text-app.js';

const MESSAGES = '/v1/messages';
const TEXT = { grants: ['text'] } as const;
const HI = [{ role: 'user' as const, content: 'Which tugs lie here?' }];
const ASKED = { model: 'm-5.5', max_tokens: 500, messages: HI };
const WEATHER = {
  name: 'weather',
  description: 'Weather of a place.',
  input_schema: { type: 'object' as const, properties: { place: { type: 'string' } }, required: ['place'] },
};

const today = () => new Date().toISOString().slice(0, 10);

describeOnStacks("messages of the vendor's client", (stack) => {
  const once = onceIt(stack);
  let upstream: TextUpstream;
  let app: ListeningApp;
  let key: string;
  beforeEach(untilDayHasRoom);
  before(async () => {
    upstream = await startTextUpstream();
  });
  beforeEach(async () => {
    upstream.reset();
    app = await startUpstreamApp(upstream, { stack, messages: true });
    key = await app.makeKey({ ...TEXT });
  });
  afterEach(() => app.close());
  after(() => upstream.close());

  const clientOf = (options: ClientOptions = {}) =>
    new Anthropic({ apiKey: key, baseURL: app.url, maxRetries: 0, ...options });

  /** What the ledger has, once there are so many. */
  function ledgerOf(count: number): Promise<readonly UsageEntry[]> {
    return until(async () => {
      await app.state.admissions.flush();
      const entries = await app.state.usage.entries({ from: today(), to: today() }, 100);
      return entries.length >= count && entries;
    });
  }

  once('return every field of the format', async () => {
    const { data, request_id, response } = await clientOf().messages.create(ASKED).withResponse();
    const { usage } = upstream.requests[0] ?? {};
    expect(data.id).to.match(/^msg_[\w-]{24}$/);
    expect(data).to.deep.include({
      type: 'message',
      role: 'assistant',
      model: 'm-5.5',
      container: null,
      content: [{ type: 'text', text: 'You said: Which tugs lie here?', citations: null }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      stop_details: null,
    });
    expect(data.usage).to.deep.include({
      input_tokens: (usage?.input ?? 0) - (usage?.cached ?? 0),
      cache_read_input_tokens: usage?.cached,
      cache_creation_input_tokens: 0,
      output_tokens: usage?.output,
      output_tokens_details: { thinking_tokens: 0 },
    });
    expect(request_id).to.match(/^req_/).and.to.equal(response.headers.get('x-request-id'));
    const told = JSON.stringify([...response.headers]);
    for (const secret of ['cookie', 'openai', 'org-of-the-operator', 'vendor/secret-name']) {
      expect(told).not.to.contain(secret);
    }
    const [entry, ...others] = await ledgerOf(1);
    expect(others).to.deep.equal([]);
    expect(entry).to.include({ route: MESSAGES, model: 'm-5.5', status: 200, estimated: false });
    expect([entry?.inputTokens, entry?.outputTokens]).to.deep.equal([usage?.input, usage?.output]);
  });

  it('are streamed, combined by the client, and counted once', async () => {
    upstream.behave([{ does: 'answer', chunks: 9, thinks: 5, odd: ['comments', 'crlf', 'keepalive'] }]);
    const stream = clientOf().messages.stream({ ...ASKED, thinking: { type: 'adaptive' } });
    const [texts, thoughts]: string[][] = [[], []];
    stream.on('text', (text) => texts?.push(text)).on('thinking', (thought) => thoughts?.push(thought));
    const message = await stream.finalMessage();
    expect(message.content).to.deep.equal([
      { type: 'thinking', thinking: 'Looking at the question.', signature: '' },
      { type: 'text', text: 'You said: Which tugs lie here?', citations: null },
    ]);
    expect(texts?.join('')).to.equal('You said: Which tugs lie here?');
    expect([texts?.length, thoughts?.length]).to.deep.equal([6, 5]);
    const { usage } = upstream.requests[0] ?? {};
    expect(message.stop_reason).to.equal('end_turn');
    expect(message.usage).to.deep.include({
      input_tokens: (usage?.input ?? 0) - (usage?.cached ?? 0),
      output_tokens: usage?.output,
      output_tokens_details: { thinking_tokens: 5 },
    });
    const [entry, ...others] = await ledgerOf(1);
    expect(others).to.deep.equal([]);
    expect(entry).to.include({ route: MESSAGES, status: 200, estimated: false, outputTokens: usage?.output });
  });

  once('call tools, streamed and whole, in both directions', async () => {
    for (const stream of [true, false]) {
      upstream.reset();
      const ask = (messages: Anthropic.MessageParam[]) => {
        const body = { ...ASKED, messages, tools: [WEATHER] };
        return stream ? clientOf().messages.stream(body).finalMessage() : clientOf().messages.create(body);
      };
      const called = await ask(HI);
      expect(called.stop_reason).to.equal('tool_use');
      const caller = { type: 'direct' };
      const input = { place: 'Ostend at dawn' };
      expect(called.content).to.deep.equal([{ type: 'tool_use', id: 'call_1', name: 'weather', input, caller }]);
      const result = { type: 'tool_result' as const, tool_use_id: 'call_1', content: 'gulls and drizzle' };
      const answered = await ask([
        ...HI,
        { role: 'assistant', content: called.content },
        { role: 'user', content: [result] },
      ]);
      expect(answered.content[0]).to.include({ type: 'text', text: 'You said: gulls and drizzle' });
      const { tools, input: sent, store } = upstream.requests[1]?.members ?? {};
      const { input_schema: parameters, ...tool } = WEATHER;
      expect(tools).to.deep.equal([{ type: 'function', ...tool, parameters, strict: false }]);
      expect(store).to.equal(false);
      expect(sent).to.deep.equal([
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: HI[0]?.content }] },
        { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: JSON.stringify(input) },
        { type: 'function_call_output', call_id: 'call_1', output: 'gulls and drizzle' },
      ]);
    }
  });

  once('follow a schema', async () => {
    const schema = { type: 'object', properties: { tugs: { type: 'array', items: { type: 'string' } } } };
    upstream.behave([{ does: 'answer', text: '{"tugs":["Zeeleeuw"]}' }]);
    const format = { type: 'json_schema' as const, schema };
    const { content } = await clientOf().messages.create({ ...ASKED, output_config: { format } });
    expect(content[0]).to.include({ text: '{"tugs":["Zeeleeuw"]}' });
    expect(upstream.requests[0]?.members.text).to.deep.equal({
      format: { type: 'json_schema', name: 'answer', schema, strict: true },
    });
  });

  once('end at a stop sequence, abort the upstream, and have the same usage whole and streamed', async () => {
    upstream.behave([{ does: 'answer', text: 'one two three four', stall: { events: 9 } }]);
    const seen = upstream.next();
    const message = await clientOf()
      .messages.stream({ ...ASKED, stop_sequences: ['four', 'o thr'] })
      .finalMessage();
    expect(message.content).to.deep.equal([{ type: 'text', text: 'one tw', citations: null }]);
    expect(message).to.include({ stop_reason: 'stop_sequence', stop_sequence: 'o thr' });
    expect((await (await seen).ended).whole).to.equal(false);
    const [entry] = await ledgerOf(1);
    expect(entry).to.include({ status: 200, estimated: true });
    expect([message.usage.input_tokens, message.usage.output_tokens]).to.deep.equal([
      entry?.inputTokens,
      entry?.outputTokens,
    ]);
    upstream.behave([{ does: 'answer', text: 'one two three four' }]);
    const whole = await clientOf().messages.create({ ...ASKED, stop_sequences: ['four', 'o thr'] });
    expect(whole.content).to.deep.equal(message.content);
    expect(whole).to.include({ stop_reason: 'stop_sequence', stop_sequence: 'o thr' });
  });

  once('state why they ended', async () => {
    for (const [stop, reason] of [
      ['length', 'max_tokens'],
      ['content_filter', 'refusal'],
    ] as const) {
      upstream.behave(() => ({ does: 'answer', stop }));
      const whole = await clientOf().messages.create(ASKED);
      const streamed = await clientOf().messages.stream(ASKED).finalMessage();
      for (const message of [whole, streamed]) {
        expect(message.stop_reason).to.equal(reason);
        expect(message.stop_details?.type).to.equal(reason === 'refusal' ? 'refusal' : undefined);
      }
    }
  });

  once('abort the upstream when the client disconnects, and are counted', async () => {
    for (const [place, status] of [
      [{ events: 6 }, 200],
      ['before_headers', 499],
    ] as const) {
      upstream.reset();
      upstream.behave([{ does: 'answer', stall: place }]);
      const seen = upstream.next();
      const stream = clientOf().messages.stream(ASKED);
      stream.on('error', () => {}).on('abort', () => {});
      const { ended } = await seen;
      if (status === 200) await new Promise((resolve) => stream.once('text', resolve));
      stream.abort();
      expect((await ended).whole).to.equal(false);
      const entries = await until(async () => {
        const all = await ledgerOf(1);
        return all.some((one) => one.status === status) && all;
      });
      const entry = entries.find((one) => one.status === status);
      // A stream that never began used nothing.
      expect(entry).to.include({ route: MESSAGES, estimated: status === 200 });
      if (status === 200) expect(entry?.inputTokens).to.be.greaterThan(3);
      else expect(entry?.inputTokens).to.equal(null);
    }
  });

  once('throw in the client when they break off, with the reason', async () => {
    upstream.behave([{ does: 'answer', cut: { events: 6 } }]);
    let text = '';
    const stream = await clientOf().messages.create({ ...ASKED, stream: true });
    const failure = await rejection(
      (async () => {
        for await (const event of stream) {
          if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') text += event.delta.text;
        }
      })(),
    );
    expect(text).to.match(/^You said:/);
    expect(failure).to.be.instanceOf(Anthropic.APIError).and.to.include({ type: 'api_error' });
    upstream.behave([{ does: 'answer', cut: { bytes: 300 } }]);
    const refusal = await rejection(clientOf().messages.create(ASKED));
    expect(refusal).to.be.instanceOf(Anthropic.InternalServerError).and.to.include({ status: 502, type: 'api_error' });
    const entries = await ledgerOf(2);
    expect(entries.map(({ status, estimated }) => [status, estimated])).to.have.deep.members([
      [200, true],
      [502, true],
    ]);
  });

  once("are refused in the client's error classes, with the request id and the wait", async () => {
    const slow = await app.makeKey({ ...TEXT, rpm: 1 });
    const used = await app.makeKey({ ...TEXT }, { budgetId: 'budget' });
    const budget = { id: 'budget', accountId: 'local', planId: 'free', tokenLimit: 1, dailyTokenLimit: null };
    await app.state.budgets.create({
      ...budget,
      ...({ requestLimit: null, resets: 'never', expiresAt: null, createdAt: Date.now() } as const),
    });
    const narrow = await app.makeKey({ ...TEXT }, { models: ['m-5.4'] });
    const pictures = await app.makeKey({ grants: ['images'] });
    await clientOf({ apiKey: slow }).messages.create(ASKED);
    const ask = (apiKey: string, more: object = {}) =>
      rejection(clientOf({ apiKey }).messages.create({ ...ASKED, ...more }));
    const refusals: [work: Promise<unknown>, of: unknown, type: string, words: RegExp][] = [
      [ask(key, { model: 'gpt-5' }), Anthropic.NotFoundError, 'not_found_error', /no model "gpt-5".*m-5\.5/],
      [ask(key, { max_tokens: undefined }), Anthropic.BadRequestError, 'invalid_request_error', /max_tokens/],
      [ask('sk-mg-wrong'), Anthropic.AuthenticationError, 'authentication_error', /./],
      [ask(pictures), Anthropic.PermissionDeniedError, 'permission_error', /not granted/],
      [ask(narrow), Anthropic.PermissionDeniedError, 'permission_error', /m-5\.5/],
      [ask(slow), Anthropic.RateLimitError, 'rate_limit_error', /./],
      [ask(used), Anthropic.RateLimitError, 'rate_limit_error', /./],
    ];
    for (const [work, of, type, words] of refusals) {
      const refusal = (await work) as InstanceType<typeof Anthropic.APIError>;
      expect(refusal, String(words)).to.be.instanceOf(of as typeof Anthropic.APIError);
      expect(refusal.type).to.equal(type);
      expect(refusal.apiMessage).to.match(words);
      expect(refusal.requestID).to.match(/^req_/);
    }
    const limited = (await ask(slow)) as InstanceType<typeof Anthropic.APIError>;
    expect(Number(limited.headers?.get('retry-after'))).to.be.within(1, 60);
    const exhausted = (await ask(used)) as InstanceType<typeof Anthropic.APIError>;
    expect(exhausted.headers?.get('x-should-retry')).to.equal('false');
    expect(upstream.requests).to.have.length(1);
  });

  once('forward failures of the upstream', async () => {
    for (const end of ['failed', 'error', 'nested_error'] as const) {
      upstream.behave([{ does: 'answer', end }]);
      const failure = await rejection(clientOf().messages.stream(ASKED).finalMessage());
      expect(failure, end).to.be.instanceOf(Anthropic.APIError).and.to.include({ type: 'api_error' });
    }
    for (const [behaviour, status, type] of [
      [{ status: 400, code: 'context_length_exceeded', message: 'Too long.' }, 400, 'invalid_request_error'],
      [{ status: 401, message: 'Wrong key.' }, 502, 'api_error'],
      // Behind it the upstream rests.
      [{ status: 429, headers: { 'retry-after': '9' } }, 429, 'rate_limit_error'],
    ] as const) {
      upstream.behave(() => ({ does: 'error', ...behaviour }));
      const failure = (await rejection(clientOf().messages.create(ASKED))) as InstanceType<typeof Anthropic.APIError>;
      expect([failure.status, failure.type]).to.deep.equal([status, type]);
      if (status === 429) expect(failure.headers?.get('retry-after')).to.equal('9');
      if (status === 400) expect(failure.message).to.contain('Too long.');
    }
  });

  once('accept the key in either header, and refuse two different ones', async () => {
    const bearer = clientOf({ apiKey: null, authToken: key });
    expect((await bearer.messages.create(ASKED)).stop_reason).to.equal('end_turn');
    const two = clientOf({ defaultHeaders: { authorization: 'Bearer sk-mg-other' } });
    const both = await rejection(two.messages.create(ASKED));
    expect(both).to.be.instanceOf(Anthropic.AuthenticationError);
  });

  once('list omitted fields', async () => {
    // Clients of older versions still send the first.
    const older: object = { top_k: 5 };
    const body = { ...ASKED, ...older, speed: 'fast', cache_control: { type: 'ephemeral' } } as const;
    const { response } = await clientOf().messages.create(body).withResponse();
    expect(response.headers.get('x-ignored-params')).to.equal('top_k, speed');
  });

  once('count tokens by the upstream, free of charge', async () => {
    const counted = await clientOf().messages.countTokens({ model: 'm-5.5', messages: HI, system: 'Be brief.' });
    const [asked] = upstream.requests;
    expect(asked?.path).to.equal('/v1/responses/input_tokens');
    expect(counted).to.deep.equal({ input_tokens: asked?.usage?.input });
    expect(Object.keys(asked?.members ?? {})).to.have.members(['model', 'instructions', 'input']);
    const [entry, ...others] = await ledgerOf(1);
    expect(others).to.deep.equal([]);
    expect(entry).to.include({
      route: '/v1/messages/count_tokens',
      status: 200,
      inputTokens: null,
      outputTokens: null,
    });
  });

  once('count tokens by the gateway if the upstream does not', async () => {
    upstream.behave(() => ({ does: 'error', status: 404, text: 'Not found' }));
    const words = Array.from({ length: 200 }, () => 'tug').join(' ');
    const messages = [{ role: 'user' as const, content: words }];
    const { input_tokens: tokens } = await clientOf().messages.countTokens({ model: 'm-5.5', messages });
    expect(tokens).to.be.within(200, 220);
    upstream.behave(() => ({ does: 'error', status: 401 }));
    const failure = await rejection(clientOf().messages.countTokens({ model: 'm-5.5', messages }));
    expect(failure).to.include({ status: 502, type: 'api_error' });
    const unknown = await rejection(clientOf().messages.countTokens({ model: 'gpt-5', messages }));
    expect(unknown).to.be.instanceOf(Anthropic.NotFoundError);
  });

  once('report an upstream that cannot count, and log it', async () => {
    const question = { model: 'm-5.5', messages: HI };
    for (const contentType of ['text/event-stream', 'application/json']) {
      upstream.behave([{ does: 'bytes', bytes: contentType.endsWith('json') ? '{}' : 'data: {}\n\n', contentType }]);
      expect(await rejection(clientOf().messages.countTokens(question)), contentType).to.include({ status: 502 });
    }
    for (const { status } of await ledgerOf(2)) expect(status).to.equal(502);
  });
});
