/** The local text upstream itself, by the vendor's SDK. */

import { once } from 'node:events';
import { request } from 'node:http';
import { expect } from 'chai';
import OpenAI from 'openai';
import { startTextUpstream, type TextUpstream } from '../support/models/text-upstream.js';

const KEY = 'sk-of-the-stand-in';
const model = 'vendor-1';
const messages = [{ role: 'user' as const, content: 'one two three' }];
const tool = {
  type: 'function' as const,
  function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
};

describe('the scripted text vendor', () => {
  let upstream: TextUpstream;
  let client: OpenAI;

  before(async () => {
    upstream = await startTextUpstream({ apiKey: KEY });
    client = new OpenAI({ apiKey: KEY, baseURL: upstream.baseUrl, maxRetries: 0 });
  });
  beforeEach(() => upstream.reset());
  after(() => upstream.close());

  it('answers chat completions to the SDK, whole and streamed', async () => {
    const whole = await client.chat.completions.create({ model, messages });
    expect(whole.choices[0]?.message.content).to.equal('You said: one two three');
    for (const chunks of ['event', 'whole', 1, 7] as const) {
      upstream.behave([{ does: 'answer', chunks, thinks: 3 }]);
      const stream = client.chat.completions.stream({ model, messages, stream_options: { include_usage: true } });
      const { choices, usage } = await stream.finalChatCompletion();
      expect(choices[0]?.message.content, String(chunks)).to.equal('You said: one two three');
      expect(usage?.completion_tokens_details?.reasoning_tokens).to.equal(3);
      expect(usage?.completion_tokens).to.equal(upstream.requests.at(-1)?.usage?.output);
    }
  });

  it('answers responses to the SDK, whole and streamed', async () => {
    const whole = await client.responses.create({ model, input: 'one two three' });
    expect(whole.output_text).to.equal('You said: one two three');
    for (const chunks of ['event', 'whole', 1, 7] as const) {
      upstream.behave([{ does: 'answer', chunks, thinks: 3, odd: ['keepalive', 'comments'] }]);
      const stream = client.responses.stream({ model, input: 'one two three', reasoning: { effort: 'low' } });
      const final = await stream.finalResponse();
      expect(final.output_text, String(chunks)).to.equal('You said: one two three');
      expect(final.output.map(({ type }) => type)).to.deep.equal(['reasoning', 'message']);
      expect(final.usage?.output_tokens_details.reasoning_tokens).to.equal(3);
    }
  });

  it('calls a tool, and reads its result', async () => {
    const stream = client.chat.completions.stream({ model, messages, tools: [tool] });
    const [choice] = (await stream.finalChatCompletion()).choices;
    const [call] = choice?.message.tool_calls ?? [];
    expect(choice?.finish_reason).to.equal('tool_calls');
    if (call?.type !== 'function') throw new Error('no function is called');
    expect(JSON.parse(call.function.arguments)).to.have.keys('city');
    const answered = await client.chat.completions.create({
      model,
      tools: [tool],
      messages: [...messages, { role: 'tool', tool_call_id: call.id, content: 'fog' }],
    });
    expect(answered.choices[0]?.message.content).to.equal('You said: fog');
    const response = client.responses.stream({
      model,
      input: 'x',
      tools: [{ type: 'function', strict: false, ...tool.function }],
    });
    const [item] = (await response.finalResponse()).output;
    expect(item?.type === 'function_call' && item.name).to.equal('weather');
  });

  it('stores responses unless scripted otherwise', async () => {
    const made = await client.responses.create({ model, input: 'one' });
    expect((await client.responses.retrieve(made.id)).output_text).to.equal('You said: one');
    const items = await client.responses.inputItems.list(made.id);
    expect(items.data).to.have.length(1);
    const next = await client.responses.create({ model, input: 'two', previous_response_id: made.id });
    expect(next.previous_response_id).to.equal(made.id);
    await client.responses.delete(made.id);
    const gone = await client.responses.retrieve(made.id).catch((error) => error);
    expect(gone).to.be.instanceOf(OpenAI.NotFoundError);
    const background = await client.responses.create({ model, input: 'x', background: true });
    expect((await client.responses.cancel(background.id)).status).to.equal('cancelled');
    await client.responses.create({ model, input: 'x', store: false });
    expect(upstream.stored).to.equal(2);
  });

  it("refuses with the vendor's errors", async () => {
    const thief = new OpenAI({ apiKey: 'sk-wrong', baseURL: upstream.baseUrl, maxRetries: 0 });
    const refused = await thief.models.list().catch((error) => error);
    expect(refused).to.be.instanceOf(OpenAI.AuthenticationError);
    upstream.behave([{ does: 'error', status: 429, code: 'rate_limit_exceeded', headers: { 'retry-after-ms': '20' } }]);
    const limited = await client.chat.completions.create({ model, messages }).catch((error) => error);
    expect(limited).to.be.instanceOf(OpenAI.RateLimitError);
    expect(limited.code).to.equal('rate_limit_exceeded');
  });

  it('fails in the middle as the vendor does', async () => {
    for (const end of ['failed', 'error', 'nested_error'] as const) {
      upstream.behave([{ does: 'answer', end }]);
      const types: string[] = [];
      const stream = await client.responses.create({ model, input: 'x', stream: true });
      const read = async () => {
        for await (const { type } of stream) types.push(type);
      };
      const error = await read().catch((thrown) => thrown);
      expect(types.at(-1) === 'response.failed' || error instanceof OpenAI.APIError, end).to.equal(true);
    }
  });

  it('cuts and stalls as scripted, and notices when a client leaves', async () => {
    const read = async (behaviour: object) => {
      upstream.behave([{ does: 'answer', ...behaviour }]);
      const sent = request(`${upstream.baseUrl}/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${KEY}` },
      });
      sent.end(JSON.stringify({ model, messages, stream: true }));
      const [response] = await once(sent, 'response');
      const pieces: Buffer[] = [];
      const ended = new Promise<string>((resolve) => {
        response.on('data', (piece: Buffer) => {
          pieces.push(piece);
          if (behaviour && 'stall' in behaviour && pieces.length === 1) setTimeout(() => sent.destroy(), 50);
        });
        response.on('end', () => resolve('whole'));
        response.on('error', () => resolve('cut'));
      });
      return { end: await ended, bytes: Buffer.concat(pieces), request: upstream.requests.at(-1) };
    };
    for (const bytes of [0, 1, 100]) {
      const cut = await read({ cut: { bytes } });
      expect([cut.end, cut.bytes.length]).to.deep.equal(['cut', bytes]);
    }
    const [first = 0, second = 0] = (await read({})).request?.content?.boundaries ?? [];
    expect((await read({ cut: { events: 1 } })).bytes.length).to.equal(first);
    expect((await read({ cut: { events: 2 } })).bytes.length).to.equal(second);
    const stalled = await read({ stall: { events: 2 } });
    expect(stalled.bytes.length).to.equal(second);
    expect((await stalled.request?.ended)?.whole).to.equal(false);
    expect((await (await read({})).request?.ended)?.whole).to.equal(true);
  });
});
