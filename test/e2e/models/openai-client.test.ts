/** OpenAI's client through a running gateway: chats, responses and failures. */

import { expect } from 'chai';
import OpenAI from 'openai';
import { zodResponseFormat, zodTextFormat } from 'openai/helpers/zod';
import type { ResponseInput, ResponseStreamEvent } from 'openai/resources/responses/responses';
import { z } from 'zod';
import { startTextSite, type TextSite } from '../../support/models/text-site.js';
import { rejection } from '../../support/rejection.js';

const MODEL = 'm-5.4';
const HI = [{ role: 'user' as const, content: 'Which tugs lie here?' }];
const PARAMETERS = { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] };
const TOOL = { name: 'weather', description: 'Weather of a place.', parameters: PARAMETERS };
const Tugs = z.object({ tugs: z.array(z.string()), berths: z.number() });
const TUGS = '{"tugs":["Zeeleeuw","Noordster"],"berths":4}';

describe("the vendor's client before a running gateway", () => {
  let site: TextSite;
  let client: OpenAI;

  before(async () => {
    site = await startTextSite();
    client = site.openai();
  });
  beforeEach(() => site.upstream.reset());
  after(() => site.close());

  /** Without the gateway's own looks at what is made in the background, which come when they come. */
  const asked = () => site.upstream.requests.filter(({ method }) => method === 'POST');

  describe('chats', () => {
    it("are complete, with all fields, and without the upstream's own", async () => {
      const { data, response, request_id } = await client.chat.completions
        .create({ model: MODEL, messages: HI, reasoning_effort: 'high', seed: 7, metadata: { trip: '12' } })
        .withResponse();
      expect(data).to.include({ object: 'chat.completion', model: MODEL, system_fingerprint: 'fp_0123456789' });
      expect(data.choices[0]).to.deep.include({ index: 0, finish_reason: 'stop' });
      expect(data.choices[0]?.message.content).to.equal('You said: Which tugs lie here?');
      const { input, output, cached } = asked()[0]?.usage ?? { input: -1, output: -1, cached: -1 };
      expect(data.usage).to.deep.include({ prompt_tokens: input, completion_tokens: output });
      expect(data.usage?.prompt_tokens_details?.cached_tokens).to.equal(cached);
      expect(request_id).to.match(/^req_[\w-]{16}$/);
      expect(response.headers.get('x-upstream-request-id')).to.equal('req_0a1b2c3d4e5f');
      const told = JSON.stringify([...response.headers].filter(([name]) => name !== 'x-upstream-request-id'));
      for (const secret of ['cookie', 'org-of-the-operator', 'req_0a1b2c3d4e5f', '"9999"', 'gpt-']) {
        expect(told).not.to.contain(secret);
      }
      expect(asked()[0]?.members).to.deep.include({ reasoning_effort: 'high', seed: 7, metadata: { trip: '12' } });
    });

    it('are streamed, with usage only on request', async () => {
      for (const include_usage of [true, false]) {
        site.upstream.reset();
        site.upstream.behave([{ does: 'answer', chunks: 9, odd: ['comments', 'crlf'] }]);
        const more = include_usage ? { stream_options: { include_usage } } : {};
        const stream = client.chat.completions.stream({ model: MODEL, messages: HI, ...more });
        const pieces: string[] = [];
        let chunks = 0;
        stream
          .on('content', (delta) => pieces.push(delta))
          .on('chunk', ({ model, choices, usage }) => {
            expect(model).to.equal(MODEL);
            if (choices.length === 0) expect(usage?.completion_tokens).to.equal(asked()[0]?.usage?.output);
            chunks += choices.length === 0 ? 1 : 0;
          });
        expect(await stream.finalContent()).to.equal('You said: Which tugs lie here?');
        expect([pieces.join(''), chunks]).to.deep.equal(['You said: Which tugs lie here?', include_usage ? 1 : 0]);
      }
    });

    it('call tools, streamed, in both directions', async () => {
      const calls: unknown[] = [];
      const weather = (given: string) => {
        calls.push(JSON.parse(given));
        return 'gulls and drizzle';
      };
      const runner = client.chat.completions.runTools({
        model: MODEL,
        messages: HI,
        stream: true,
        tools: [{ type: 'function', function: { ...TOOL, function: weather } }],
      });
      expect(await runner.finalContent()).to.equal('You said: gulls and drizzle');
      expect(calls).to.deep.equal([{ place: 'Ostend at dawn' }]);
      expect(asked()).to.have.length(2);
      const [, back] = asked();
      const said = back?.members.messages as { role: string; tool_call_id?: string }[];
      expect(said.map(({ role }) => role)).to.deep.equal(['user', 'assistant', 'tool']);
      expect(said[2]?.tool_call_id).to.equal('call_1');
    });

    it('follow a schema', async () => {
      site.upstream.behave([{ does: 'answer', text: TUGS }]);
      const response_format = zodResponseFormat(Tugs, 'tugs');
      const { choices } = await client.chat.completions.parse({ model: MODEL, messages: HI, response_format });
      expect(choices[0]?.message.parsed).to.deep.equal(JSON.parse(TUGS));
      expect(asked()[0]?.members.response_format).to.deep.equal(JSON.parse(JSON.stringify(response_format)));
    });

    it('throw in the client when they break off, with the reason', async () => {
      site.upstream.behave([{ does: 'answer', cut: { events: 4 } }]);
      const stream = await client.chat.completions.create({ model: MODEL, messages: HI, stream: true });
      let text = '';
      const failure = await rejection(
        (async () => {
          for await (const { choices } of stream) text += choices[0]?.delta.content ?? '';
        })(),
      );
      expect(text).to.match(/^You said:/);
      expect(failure).to.be.instanceOf(OpenAI.APIError);
      expect(failure).to.include({ code: 'upstream_error', type: 'server_error' });
      expect(asked()).to.have.length(1);
    });
  });

  describe('responses', () => {
    it('are complete, follow a schema, and continue the conversation', async () => {
      site.upstream.behave([{ does: 'answer', text: TUGS, thinks: 5 }]);
      const first = await client.responses.parse({
        model: MODEL,
        input: 'Which tugs?',
        text: { format: zodTextFormat(Tugs, 'tugs') },
        reasoning: { effort: 'xhigh', summary: 'auto' },
      });
      expect(first.output_parsed).to.deep.equal(JSON.parse(TUGS));
      expect(first).to.include({ status: 'completed', model: MODEL });
      expect(first.usage?.output_tokens_details.reasoning_tokens).to.equal(5);
      const next = await client.responses.create({ model: MODEL, input: 'And now?', previous_response_id: first.id });
      expect(next.previous_response_id).to.equal(first.id);
      const stranger = client.responses.create({ model: MODEL, input: 'x', previous_response_id: 'resp_nobodys' });
      expect(await rejection(stranger)).to.include({ status: 400, code: 'previous_response_not_found' });
    });

    it('are streamed, and the client combines every event', async () => {
      site.upstream.behave([{ does: 'answer', thinks: 5, odd: ['keepalive', 'fields'], obfuscation: true }]);
      const stream = client.responses.stream({ model: MODEL, input: 'Which tugs?', reasoning: { effort: 'low' } });
      const types: string[] = [];
      stream.on('event', ({ type }) => types.push(type));
      const final = await stream.finalResponse();
      expect(final.output_text).to.equal('You said: Which tugs?');
      expect(final.output.map(({ type }) => type)).to.deep.equal(['reasoning', 'message']);
      expect(final.usage?.output_tokens).to.equal(asked()[0]?.usage?.output);
      expect(types[0]).to.equal('response.created');
      expect(types.at(-1)).to.equal('response.completed');
      expect(new Set(types)).to.include.keys('response.reasoning_summary_text.delta', 'response.output_text.delta');
    });

    it('call tools, streamed, in both directions', async () => {
      const tools = [{ type: 'function' as const, strict: false, ...TOOL }];
      const input: ResponseInput = [{ role: 'user', content: 'Weather?' }];
      const called = await client.responses.stream({ model: MODEL, input, tools }).finalResponse();
      const [call] = called.output;
      if (call?.type !== 'function_call') throw new Error(`called ${call?.type}`);
      expect(JSON.parse(call.arguments)).to.deep.equal({ place: 'Ostend at dawn' });
      const output = { type: 'function_call_output' as const, call_id: call.call_id, output: 'drizzle' };
      const { name, call_id, arguments: given } = call;
      const next = [...input, { type: 'function_call' as const, name, call_id, arguments: given }, output];
      const final = await client.responses.stream({ model: MODEL, input: next, tools }).finalResponse();
      expect(final.output_text).to.equal('You said: drizzle');
    });

    it('are stored, retrieved, cancelled and deleted', async () => {
      const made = await client.responses.create({ model: MODEL, input: 'Keep this.' });
      expect(await client.responses.retrieve(made.id)).to.deep.include({ model: MODEL, status: 'completed' });
      const items = await client.responses.inputItems.list(made.id);
      expect(items.data[0]).to.deep.include({ role: 'user' });
      const slow = await client.responses.create({ model: MODEL, input: 'Slowly.', background: true });
      expect(slow.status).to.equal('queued');
      expect((await client.responses.cancel(slow.id)).status).to.equal('cancelled');
      expect(await rejection(client.responses.cancel(made.id))).to.be.instanceOf(OpenAI.BadRequestError);
      await client.responses.delete(made.id);
      expect(await rejection(client.responses.retrieve(made.id))).to.be.instanceOf(OpenAI.NotFoundError);
      const kept = await client.responses.create({ model: MODEL, input: 'Not this.', store: false });
      expect(await rejection(client.responses.retrieve(kept.id))).to.include({ code: 'response_not_found' });
    });

    it('are resumed at the event where the client left', async () => {
      const stream = await client.responses.create({
        model: MODEL,
        input: 'Slowly now.',
        background: true,
        stream: true,
      });
      const begun: ResponseStreamEvent[] = [];
      for await (const event of stream) if (begun.push(event) === 3) break;
      const [created] = begun;
      if (created?.type !== 'response.created') throw new Error(`began with ${created?.type}`);
      const after = begun.at(-1)?.sequence_number ?? -1;
      const resume = async (starting_after: number) => {
        const events: ResponseStreamEvent[] = [];
        const rest = await client.responses.retrieve(created.response.id, { stream: true, starting_after });
        for await (const event of rest) events.push(event);
        return events;
      };
      const all = [...begun, ...(await resume(after))];
      expect(all.map(({ sequence_number }) => sequence_number)).to.deep.equal([...all.keys()]);
      const last = all.at(-1);
      expect(last?.type === 'response.completed' && last.response.model).to.equal(MODEL);
      expect(await resume(all.length - 1), 'behind the last there is nothing, and nothing went wrong').to.deep.equal(
        [],
      );
    });

    it('are counted and compacted when they grow long', async () => {
      const input: ResponseInput = [{ role: 'user', content: 'Which tugs lie here?' }];
      const { input_tokens } = await client.responses.inputTokens.count({ model: MODEL, input });
      expect(input_tokens).to.equal(asked()[0]?.usage?.input);
      const { output } = await client.responses.compact({ model: MODEL, input });
      expect(output.map(({ type }) => type)).to.include('compaction');
      await client.responses.create({
        model: MODEL,
        input: [...output, { role: 'user', content: 'And now?' }] as ResponseInput,
      });
      expect(asked().map(({ path }) => path)).to.deep.equal([
        '/v1/responses/input_tokens',
        '/v1/responses/compact',
        '/v1/responses',
      ]);
      expect(asked()[2]?.members.input).to.deep.include(output.at(-1));
    });

    it('end as failed in the client when they break off', async () => {
      site.upstream.behave([{ does: 'answer', cut: { events: 6 } }]);
      const stream = await client.responses.create({ model: MODEL, input: 'x', stream: true });
      const events = [];
      for await (const event of stream) events.push(event);
      const last = events.at(-1);
      expect(last?.type).to.equal('response.failed');
      if (last?.type === 'response.failed') expect(last.response.error?.code).to.equal('server_error');
    });
  });

  it('answers a retry under a new request id', async () => {
    const asking = () =>
      client.responses.create({ model: MODEL, input: 'x', store: false }, { idempotencyKey: 'one-and-the-same' });
    const [first, second] = [await asking(), await asking()];
    expect(first.id).not.to.equal(second.id);
    expect(asked()).to.have.length(2);
  });

  it('lists the models, and returns one', async () => {
    const ids = [];
    for await (const { id, owned_by, object } of client.models.list()) {
      expect([owned_by, object]).to.deep.equal(['gateway', 'model']);
      ids.push(id);
    }
    // Own names first. The others of OpenAI are not in the list of the upstream.
    expect(ids.indexOf('gpt-5.4')).to.be.within(0, ids.indexOf('m-5.4') - 1);
    expect(ids).to.include.members(['m-5.4', 'stt-large-v3', 'tts_v3', 'gen-image-2']);
    expect(await client.models.retrieve('m-5.4')).to.include({ id: 'm-5.4', object: 'model' });
    expect(await rejection(client.models.retrieve('gpt-4o'))).to.be.instanceOf(OpenAI.NotFoundError);
  });

  describe('failures', () => {
    const ask = (one = client, model = MODEL) => rejection(one.chat.completions.create({ model, messages: HI }));

    /** The client as it is by default, and the statuses it was answered with. */
    function patientClient() {
      const statuses: number[] = [];
      const counting: typeof fetch = async (...given) => {
        const answer = await fetch(...given);
        statuses.push(answer.status);
        return answer;
      };
      return { patient: site.openai({ maxRetries: 2, fetch: counting }), statuses };
    }

    it("are the client's own error classes, each with the request id", async () => {
      const { key: pictures } = await site.gateway.makeKey({ grants: ['images'] });
      const { key: free } = await site.makePlanKey('free');
      const { key: slow } = await site.gateway.makeKey({ grants: ['text'], rpm: 1 });
      await site.openai({ apiKey: slow }).chat.completions.create({ model: MODEL, messages: HI });
      const refusals: [work: Promise<unknown>, type: unknown, code: string][] = [
        [
          rejection(client.chat.completions.create({ model: '', messages: HI })),
          OpenAI.NotFoundError,
          'model_not_found',
        ],
        [ask(client, 'stt-large-v3'), OpenAI.BadRequestError, 'model_not_supported'],
        [ask(client, 'gpt-4o'), OpenAI.NotFoundError, 'model_not_found'],
        [ask(site.openai({ apiKey: 'sk-mg-wrong' })), OpenAI.AuthenticationError, 'invalid_api_key'],
        [ask(site.openai({ apiKey: pictures })), OpenAI.PermissionDeniedError, 'route_not_allowed'],
        [ask(site.openai({ apiKey: free })), OpenAI.PermissionDeniedError, 'model_not_allowed'],
        [ask(site.openai({ apiKey: slow })), OpenAI.RateLimitError, 'rate_limit_exceeded'],
      ];
      for (const [work, type, code] of refusals) {
        const refusal = await work;
        expect(refusal, code)
          .to.be.instanceOf(type as typeof OpenAI.APIError)
          .and.to.include({ code });
        expect((refusal as InstanceType<typeof OpenAI.APIError>).requestID, code).to.match(/^req_/);
      }
      site.upstream.reset();
      site.upstream.behave(() => ({ does: 'error', status: 500 }));
      expect(await ask())
        .to.be.instanceOf(OpenAI.InternalServerError)
        .and.to.include({ status: 502 });
      expect(asked().length, 'tries of the gateway itself').to.be.within(1, 3);
    });

    it('are retried by the client after the stated wait if they are temporary', async () => {
      const { patient, statuses } = patientClient();
      // More tries than the gateway has of its own.
      const limited = { does: 'error', status: 429, headers: { 'retry-after-ms': '300' } } as const;
      site.upstream.behave([limited, limited, limited]);
      const begun = performance.now();
      const { choices } = await patient.chat.completions.create({ model: MODEL, messages: HI });
      expect(choices[0]?.message.content).to.match(/^You said/);
      expect(statuses).to.deep.equal([429, 200]);
      expect(performance.now() - begun).to.be.greaterThan(999);
    });

    it('are not retried otherwise', async () => {
      const { patient, statuses } = patientClient();
      expect(await ask(patient, 'gpt-4o')).to.be.instanceOf(OpenAI.NotFoundError);
      site.upstream.behave([{ does: 'error', status: 400, code: 'context_length_exceeded', message: 'Too long.' }]);
      expect(await ask(patient)).to.include({ code: 'context_length_exceeded' });
      expect(statuses).to.deep.equal([404, 400]);
    });
  });
});
