/** Chats as responses, whole and streamed. */

import { expect } from 'chai';
import { GatewayError } from 'mediagate';
import { type ChatTranslation, translateToChat } from '../../../core/text/chats/translation.js';
import { rejection } from '../../support/rejection.js';

type Fields = Record<string, unknown>;
type Event = Fields & { type: string; item?: Fields; response?: Fields };

describe('answers of chats as responses', () => {
  function translation(fields: Fields = {}): Promise<ChatTranslation> {
    const request = { model: 'm', input: 'Hi', ...fields };
    const { signal } = new AbortController();
    const body = Buffer.from(JSON.stringify(request));
    const call = {
      route: 'responses' as const,
      model: 'm',
      stream: fields.stream === true,
      body,
      parsed: request,
      signal,
    };
    return translateToChat(call, () => 1_760_000_000_000);
  }

  async function* bodyOf(contentType: string, pieces: readonly (string | Error)[], fields?: Fields) {
    const { replyOf } = await translation(fields);
    yield* replyOf({
      headers: { 'content-type': contentType },
      body: (async function* () {
        for (const piece of pieces) {
          if (piece instanceof Error) throw piece;
          yield Buffer.from(piece);
        }
      })(),
    }).body;
  }

  async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
    let text = '';
    for await (const chunk of body) text += Buffer.from(chunk).toString();
    return text;
  }

  const whole = async (answer: Fields, fields?: Fields): Promise<Fields & { output: Fields[] }> =>
    JSON.parse(await textOf(bodyOf('application/json', [JSON.stringify(answer)], fields)));

  const message = (fields: Fields, more: Fields = {}) => ({
    choices: [{ index: 0, message: fields, finish_reason: 'stop', ...more }],
  });

  async function events(deltas: readonly (Fields | string)[], fields?: Fields): Promise<Event[]> {
    const pieces = deltas.map((one) => (typeof one === 'string' ? one : `data: ${JSON.stringify(one)}\n\n`));
    // In pieces that end in the middle of events.
    const text = pieces.join('');
    const thirds = [text.slice(0, text.length / 3), text.slice(text.length / 3)];
    const sent = await textOf(bodyOf('text/event-stream', thirds, { stream: true, ...fields }));
    return sent.split('\n\n').flatMap((event) => {
      const data = /^data: (.*)$/m.exec(event)?.[1];
      return data === undefined ? [] : [JSON.parse(data)];
    });
  }

  const delta = (fields: Fields, finish: string | null = null) => ({
    choices: [{ index: 0, delta: fields, finish_reason: finish }],
  });
  const called = (fields: Fields) => delta({ tool_calls: [fields] });
  const itemsOf = (all: readonly Event[]) =>
    all.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item);

  it('have refusals, logprobs, lists of parts and complete calls', async () => {
    const refused = await whole(message({ content: null, refusal: 'No.' }));
    expect(refused.output[0]).to.deep.include({ type: 'message', content: [{ type: 'refusal', refusal: 'No.' }] });
    const content = [
      { type: 'thinking', thinking: [] },
      { type: 'text', text: 'Ostend' },
    ];
    const logprob = { token: 'Ostend', logprob: -0.1, bytes: [79], top_logprobs: [] };
    const listed = await whole(message({ content }, { logprobs: { content: [logprob] } }));
    expect(listed.output[0]?.content).to.deep.equal([
      { type: 'output_text', text: 'Ostend', annotations: [], logprobs: [logprob] },
    ]);
    const calls = await whole(
      message({
        content: 'Wait.',
        tool_calls: ['a', 'b'].map((id) => ({ id, function: { name: id, arguments: { x: 1 } } })),
      }),
    );
    expect(calls.output.map(({ type, call_id, arguments: args }) => [type, call_id, args])).to.deep.equal([
      ['message', undefined, undefined],
      ['function_call', 'a', '{"x":1}'],
      ['function_call', 'b', '{"x":1}'],
    ]);
  });

  it('have an empty message, and no usage, if the chat has none', async () => {
    const { output, usage, status } = await whole(message({ content: '' }));
    expect([output.length, usage, status]).to.deep.equal([1, null, 'completed']);
    const all = await events([delta({}, 'stop'), 'data: [DONE]\n\n']);
    expect(all.at(-1)?.type).to.equal('response.completed');
    expect(itemsOf(all)).to.have.length(1);
    expect(all.filter(({ type }) => type === 'response.output_text.delta')).to.deep.equal([]);
  });

  it('count details of the usage', async () => {
    const usage = {
      prompt_tokens: 20,
      completion_tokens: 7,
      prompt_tokens_details: { cached_tokens: 16, cache_write_tokens: 2 },
      completion_tokens_details: { reasoning_tokens: 5 },
    };
    expect((await whole({ ...message({ content: 'x' }), usage })).usage).to.deep.equal({
      input_tokens: 20,
      input_tokens_details: { cached_tokens: 16, cache_write_tokens: 2 },
      output_tokens: 7,
      output_tokens_details: { reasoning_tokens: 5 },
      total_tokens: 27,
    });
  });

  it('separate tool calls that are interleaved, late, or have the same index', async () => {
    const all = await events([
      delta({ content: 'Wait. ' }),
      called({ index: 0, id: 'a', function: { name: 'first', arguments: '{"x"' } }),
      called({ index: 1, id: 'b', function: { arguments: '{"y":' } }),
      called({ index: 0, function: { arguments: ':1}' } }),
      called({ index: 1, function: { name: 'second', arguments: '2}' } }),
      called({ index: 1, id: 'c', function: { name: 'third', arguments: '{}' } }),
      delta({}, 'tool_calls'),
      'data: [DONE]\n\n',
    ]);
    expect(itemsOf(all).map((item) => [item?.name, item?.call_id, item?.arguments])).to.deep.equal([
      [undefined, undefined, undefined],
      ['first', 'a', '{"x":1}'],
      ['second', 'b', '{"y":2}'],
      ['third', 'c', '{}'],
    ]);
    const deltas = all.filter(({ type }) => type === 'response.function_call_arguments.delta');
    expect(deltas.map((one) => [one.output_index, one.delta])).to.deep.equal([
      [1, '{"x"'],
      [1, ':1}'],
      [2, '{"y":2}'],
      [3, '{}'],
    ]);
    expect(((all.at(-1)?.response?.output ?? []) as Fields[]).map(({ status }) => status)).to.deep.equal(
      Array(4).fill('completed'),
    );
  });

  it('send the text of a custom tool at once', async () => {
    const tools = [{ type: 'custom', name: 'patch' }];
    const all = await events(
      [
        called({ index: 0, id: 'a', function: { name: 'patch', arguments: '{"input":"*** Be' } }),
        called({ index: 0, function: { arguments: 'gin"}' } }),
        delta({}, 'tool_calls'),
        'data: [DONE]\n\n',
      ],
      { tools },
    );
    expect(all.map(({ type }) => type).slice(2)).to.deep.equal([
      'response.output_item.added',
      'response.custom_tool_call_input.delta',
      'response.custom_tool_call_input.done',
      'response.output_item.done',
      'response.completed',
    ]);
    expect(itemsOf(all)[0]).to.include({ type: 'custom_tool_call', call_id: 'a', input: '*** Begin' });
  });

  it("end with the chat's reason", async () => {
    const filtered = await events([delta({ content: 'x' }), delta({}, 'content_filter')]);
    expect(filtered.at(-1)).to.deep.include({ type: 'response.incomplete' });
    expect(filtered.at(-1)?.response).to.deep.include({ incomplete_details: { reason: 'content_filter' } });
    expect(itemsOf(filtered)[0]).to.include({ status: 'incomplete' });
    const failed = await events([
      delta({ content: 'x' }),
      { error: { message: 'CUDA out of memory', code: 500 } },
      delta({}, 'stop'),
    ]);
    expect(failed.at(-1)?.response).to.deep.include({
      status: 'failed',
      error: { code: 'server_error', message: 'CUDA out of memory' },
    });
    // Without a reason and the word that ends it, it broke off: the gateway then says so.
    const broken = await events([delta({ content: 'x' })]);
    expect(broken.at(-1)?.type).to.equal('response.output_text.delta');
    const unended = await events([delta({ content: 'x' }), 'data: [DONE]\n\n']);
    expect(unended.at(-1)?.type).to.equal('response.completed');
  });

  it('pass heartbeats on, and skip what is not JSON', async () => {
    const body = bodyOf('text/event-stream', [': ping\n\n', 'data: {"choices"\n\n', 'data: 7\n\n'], { stream: true });
    expect(await textOf(body)).to.match(/^: keep-alive\n\n/);
  });

  it('rethrow errors of the body, and report invalid answers', async () => {
    const error = new GatewayError('upstream_error', 'gone');
    expect(await rejection(textOf(bodyOf('text/event-stream', [error], { stream: true })))).to.equal(error);
    for (const text of ['<html>', '{"error":{"message":"no"}}', '', '[]', 'null', '{}', '{"choices":[]}']) {
      expect(await rejection(textOf(bodyOf('application/json', [text])))).to.have.property('code', 'upstream_error');
    }
  });

  it('end their source when the reader leaves, also before the first byte', async () => {
    let closed = 0;
    const source = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise<never>(() => {}),
        return: async () => {
          closed += 1;
          return { done: true as const, value: undefined };
        },
      }),
    };
    const { replyOf } = await translation({ stream: true });
    const { body } = replyOf({
      headers: { 'content-type': 'text/event-stream' },
      body: source,
    });
    const reading = body[Symbol.asyncIterator]();
    void reading.next();
    await reading.return?.();
    expect(closed).to.equal(1);
  });
});
