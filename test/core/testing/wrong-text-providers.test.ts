/** Wrong text providers, each found by the kit. */

import { buffer, text } from 'node:stream/consumers';
import { expect } from 'chai';
import {
  GatewayError,
  type HttpStream,
  type StoredResponseCall,
  type TextCall,
  type TextProvider,
  type TextReply,
} from 'mediagate';
import { replaceFields } from 'mediagate/plugin';
import { type TextProviderDefinition, textProviderChecks } from '../../../core/testing/index.js';
import { firstVariants } from '../../support/runner/variants.js';
import {
  askingElsewhere,
  type Context,
  failing,
  failureOf,
  inventedProvider,
  KEY,
  telling,
  wrongCalls,
} from './invented-provider.js';

const MODEL = 'vendor-1';
type Send = (call: TextCall, context: Context) => Promise<TextReply>;

function definition(
  send: Send,
  more: Partial<TextProvider> = {},
  stored?: (call: StoredResponseCall, context: Context) => Promise<TextReply>,
) {
  return inventedProvider('text', (context) => ({
    textProviders: [
      {
        models: [{ id: 'm-1', routes: ['chat_completions', 'responses'], efforts: ['low'] }],
        send: (call) => send(call, context),
        ...(stored && { stored: (call: StoredResponseCall) => stored(call, context) }),
        ...more,
      },
    ],
  }));
}

const asking: Send = async (call, context) => {
  const response = await ask(call, context);
  if (response.status !== 200) throw await refusal(response);
  return answer(call, response);
};

function ask(call: TextCall, { http, options: { key = '' } }: Context): Promise<HttpStream> {
  call.signal.throwIfAborted();
  return http.stream({
    url: `https://invented.example/${call.task ?? call.route}`,
    method: 'POST',
    headers: { authorization: key },
    body: replaceFields(call.body, { model: MODEL }),
    signal: call.signal,
  });
}

async function refusal({ status, body }: HttpStream): Promise<GatewayError> {
  const upstream = { status, message: (await text(body)).replaceAll(KEY, '…') };
  if (status === 409) return new GatewayError('upstream_conflict', 'It conflicts.', { upstream });
  if (status === 400) return new GatewayError('context_length_exceeded', 'It is too long.');
  return failureOf(status, { upstream });
}

async function answer({ stream }: TextCall, { headers, body }: HttpStream): Promise<TextReply> {
  const type = headers['content-type'] ?? (stream ? 'text/event-stream' : 'application/json');
  const chunks = body[Symbol.asyncIterator]();
  const first = type === 'text/html' ? { done: true as const, value: undefined } : await chunks.next();
  if (first.done) {
    await chunks.return?.();
    throw new GatewayError('upstream_changed', 'This is no answer.');
  }
  let next: typeof first | undefined = first;
  const all = {
    next: async () => {
      const piece = next ?? (await chunks.next());
      next = undefined;
      return piece;
    },
    return: async () => (await chunks.return?.()) ?? { done: true as const, value: undefined },
  };
  const reply = { status: 200, headers: { 'content-type': type }, upstream: 'one', upstreamModel: MODEL };
  return { ...reply, body: { [Symbol.asyncIterator]: () => all } };
}

/** Asks about a response at the upstream. */
async function storing(
  { action, responseId, upstream, signal }: StoredResponseCall,
  { http }: Context,
): Promise<TextReply> {
  if (upstream !== 'one') throw new GatewayError('response_not_found', 'There is none.');
  const path = `${encodeURIComponent(responseId)}${action === 'input_items' ? '/input_items' : ''}`;
  const method = action === 'delete' ? 'DELETE' : 'GET';
  const { body } = await http.stream({ url: `https://invented.example/responses/${path}`, method, signal });
  const headers = { 'content-type': 'application/json' };
  return { status: 200, headers, body, upstream: 'one', upstreamModel: MODEL };
}

const upstream: TextProviderDefinition['upstream'] = {
  model: MODEL,
  tooLong: { status: 400, body: { error: 'too long' } },
};

async function* bodyOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** What comes after the bytes that another one sends. */
const altering =
  (change: (reply: TextReply) => TextReply): Send =>
  async (call, context) =>
    change(await asking(call, context));
const piecewise =
  (change: (piece: Uint8Array) => Uint8Array): Send =>
  async (call, context) => {
    const reply = await asking(call, context);
    const changed = async function* () {
      for await (const piece of reply.body) yield change(piece);
    };
    return { ...reply, body: changed() };
  };
interface Wrong {
  send?: Send;
  more?: Partial<TextProvider>;
  stored?: typeof storing;
  finds: readonly string[];
}

describe('the testing kit for text providers', () => {
  describe('with an upstream', () => {
    const check = ({ send = asking, more, stored }: Omit<Wrong, 'finds'>, only?: readonly string[]) =>
      failing(textProviderChecks({ ...definition(send, more, stored), secrets: [KEY], upstream }), only);

    it('passes one that keeps to the rules', async () => expect(await check({})).to.deep.equal([]));
    it('passes one that stores responses', async () => expect(await check({ stored: storing })).to.deep.equal([]));

    it('passes one that does more than answer', async () =>
      expect(await check({ more: { tasks: ['compact', 'input_tokens'] } })).to.deep.equal([]));

    const routes = ['chat_completions', 'responses'] as const;
    const wrong: Readonly<Record<string, Wrong>> = {
      'no models': { more: { models: [] }, finds: ['names its models'] },
      'a model named twice': {
        more: { models: [1, 2].map(() => ({ id: 'm-1', routes, efforts: [] })) },
        finds: ['names its models'],
      },
      'a model without routes': {
        more: { models: [{ id: 'm-1', routes: [], efforts: [] }] },
        finds: ['names its models'],
      },
      'a body that is written anew': {
        async send(call, context) {
          const body = Buffer.from(JSON.stringify(call.parsed));
          return asking({ ...call, body }, context);
        },
        finds: ['sends the body byte by byte as it came, but for the model'],
      },
      'a model that keeps its public name': {
        async send(call, { http, options: { key = '' } }) {
          const { body, signal } = call;
          const headers = { authorization: key };
          return answer(
            call,
            await http.stream({ url: 'https://invented.example', method: 'POST', headers, body, signal }),
          );
        },
        finds: ['sends the body byte by byte as it came, but for the model'],
      },
      'bytes that go through a text': {
        send: piecewise((piece) => Buffer.from(Buffer.from(piece).toString())),
        finds: ['hands an answer on byte by byte that comes in pieces of 1'],
      },
      'lines that end in another way': {
        send: piecewise((piece) => Buffer.from(Buffer.from(piece).toString('latin1').replaceAll('\r', ''), 'latin1')),
        finds: ['hands an answer on byte by byte'],
      },
      'a body that is written over': {
        async send(call, context) {
          const reply = await asking(call, context);
          call.body.fill(0x20);
          return reply;
        },
        finds: ['leaves what it is given alone'],
      },
      'one answer for all': {
        send: (() => {
          let kept: Promise<Buffer> | undefined;
          const send: Send = async (call, context) => {
            const reply = await asking(call, context);
            kept ??= buffer(reply.body);
            const bytes = await kept;
            return { ...reply, body: bodyOf(bytes) };
          };
          return send;
        })(),
        finds: ['keeps calls beside each other apart'],
      },
      'an answer that is cut': {
        send: piecewise((piece) => piece.subarray(0, piece.length - 9)),
        finds: [
          'answers chat_completions at once with each model that has it',
          'answers responses as a stream with each model that has it',
        ],
      },
      'a content type of something else': {
        send: altering((reply) => ({ ...reply, headers: { 'content-type': 'text/plain' } })),
        finds: ['answers responses at once with each model that has it'],
      },
      "the upstream's cookies": {
        send: altering((reply) => ({ ...reply, headers: { ...reply.headers, 'set-cookie': 'a=1' } })),
        finds: ['answers chat_completions at once with each model that has it'],
      },
      "the upstream's words in an error": {
        async send(call, context) {
          const response = await ask(call, context);
          if (response.status !== 500)
            return response.status === 200 ? answer(call, response) : Promise.reject(await refusal(response));
          throw new GatewayError('upstream_error', await text(response.body));
        },
        finds: ['HTTP 500 is named'],
      },
      'a limit and a conflict without the words of the vendor': {
        send: telling(asking, (error) => (error.upstream ? new GatewayError(error.code, error.message) : error)),
        finds: ['HTTP 429 is named', 'HTTP 409 is named'],
      },
      'anything that comes as an answer': {
        async send(call, context) {
          const { headers, body } = await ask(call, context);
          const reply = { headers: { 'content-type': 'text/event-stream', ...headers }, upstream: 'one' };
          return { ...reply, status: 200, body, upstreamModel: MODEL };
        },
        finds: ['a page is named', 'an empty body is named', 'a redirect is named', 'HTTP 500 is named'],
      },
      'a status before the first byte': {
        async send(call, context) {
          const { status, headers, body } = await ask(call, context);
          if (status !== 200) throw new GatewayError('upstream_error', 'It failed.');
          return { status, headers, body, upstream: 'one', upstreamModel: MODEL };
        },
        finds: ['a connection that breaks before the first byte is named'],
      },
      'a stream that is begun again': {
        async send(call, context) {
          const reply = await asking(call, context);
          const again = async function* () {
            try {
              yield* reply.body;
            } catch {
              yield* (await asking(call, context)).body;
            }
          };
          return { ...reply, body: again() };
        },
        finds: ['a stream that breaks ends, and is not asked for again'],
      },
      'a stream whose break is silent': {
        async send(call, context) {
          const reply = await asking(call, context);
          const quiet = async function* () {
            try {
              yield* reply.body;
            } catch {}
          };
          return { ...reply, body: quiet() };
        },
        finds: [
          'a stream that breaks ends, and is not asked for again',
          'ends at once when the caller leaves in the middle',
        ],
      },
      'a connection that nobody closes': {
        send: altering((reply) => {
          const chunks = reply.body[Symbol.asyncIterator]();
          return { ...reply, body: { [Symbol.asyncIterator]: () => ({ next: () => chunks.next() }) } };
        }),
        finds: ['closes the connection of a reader who leaves'],
      },
      'tokens that are counted by having them answered': {
        send: ({ task, ...call }, context) => asking(call, context),
        more: { tasks: ['input_tokens'] },
        finds: ['does what it says it does besides answering'],
      },
      'work that nobody knows': {
        more: { tasks: ['shorten' as 'compact'] },
        finds: ['does what it says it does besides answering'],
      },
      'responses that are looked for anywhere': {
        stored: (call, context) => storing({ ...call, upstream: 'one' }, context),
        finds: ['knows a response that is not there for one'],
      },
      'a response mistaken for another': {
        stored: async (call, context) => ({
          ...(await storing(call, context)),
          body: bodyOf(Buffer.from('{"id":"resp_2","data":[]}')),
        }),
        finds: ['finds a response again where it stores them'],
      },
    };

    for (const [name, { finds, ...provider }] of firstVariants(Object.entries(wrong), ([, { finds }]) => finds)) {
      it(`finds ${name}`, async () => expect(await check(provider, finds)).to.have.members([...finds]));
    }

    const wrongly = wrongCalls(asking, {
      usual: 'answers chat_completions at once with each model that has it',
      refusal: "a caller's fault is told, once",
      refusalCode: 'context_length_exceeded',
      leaving: [
        'ends at once when the caller leaves before it begins',
        'ends while it waits for the upstream when the caller leaves',
      ],
    });
    for (const [name, { ask: send, finds }] of firstVariants(Object.entries(wrongly), ([, { finds }]) => finds)) {
      it(`finds ${name}`, async () => expect(await check({ send }, finds)).to.have.members([...finds]));
    }
  });

  describe('without one', () => {
    const check = (send: Send, only?: readonly string[], stored?: typeof storing, more?: Partial<TextProvider>) =>
      failing(textProviderChecks(definition(send, more, stored)), only);
    const said = (call: TextCall) => {
      const { messages, input } = call.parsed as { messages?: { content: string }[]; input?: string };
      return input ?? messages?.[0]?.content ?? '';
    };
    const usage = (tokens: number) => ({ prompt_tokens: 1, completion_tokens: tokens, total_tokens: tokens + 1 });

    /** Events or JSON with these words. */
    function format(call: TextCall, words: string, tokens: number): string[] {
      const event = (data: object | string, name?: string) =>
        `${name ? `event: ${name}\n` : ''}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
      if (call.route === 'chat_completions') {
        const message = { role: 'assistant', content: words };
        const choice = (more: object) => ({ choices: [{ index: 0, ...more }] });
        if (!call.stream) {
          return [JSON.stringify({ object: 'chat.completion', ...choice({ message }), usage: usage(tokens) })];
        }
        const pieces = (words.match(/.{1,4}/gsu) ?? []).map((content) => event(choice({ delta: { content } })));
        return [...pieces, event({ choices: [], usage: usage(tokens) }), event('[DONE]')];
      }
      const output = [{ type: 'message', content: [{ type: 'output_text', text: words }] }];
      const responseUsage = { input_tokens: 1, output_tokens: tokens, total_tokens: tokens + 1 };
      const response = { id: 'resp_1', object: 'response', output, usage: responseUsage };
      if (!call.stream) return [JSON.stringify(response)];
      const type = 'response.output_text.delta';
      const pieces = (words.match(/.{1,4}/gsu) ?? []).map((delta) => event({ type, delta }, type));
      const end = 'response.completed';
      return [...pieces, event({ type: end, response }, end)];
    }

    const speaking =
      (words: (call: TextCall) => string, tokens: (call: TextCall) => number = () => 3): Send =>
      async (call) => {
        const { stream, signal } = call;
        signal.throwIfAborted();
        const flow = async function* () {
          for (const piece of format(call, words(call), tokens(call))) {
            signal.throwIfAborted();
            yield Buffer.from(piece);
            // As one that takes some time.
            await new Promise((resolve) => setTimeout(resolve, 2));
          }
        };
        const headers = { 'content-type': stream ? 'text/event-stream' : 'application/json' };
        return { status: 200, headers, body: flow(), upstream: 'own', upstreamModel: 'm-1' };
      };
    const own = speaking(said);

    it('passes one that keeps to the rules', async () => expect(await check(own)).to.deep.equal([]));

    const wrong: Readonly<Record<string, Wrong & { send: Send }>> = {
      'another text as a stream': {
        send: speaking((call) => said(call) + (call.stream ? '!' : '')),
        finds: ['says the same at once and as a stream, and counts it the same'],
      },
      'another count as a stream': {
        send: speaking(said, ({ stream }) => (stream ? 3 : 4)),
        finds: ['says the same at once and as a stream, and counts it the same'],
      },
      'a secret request': {
        send: askingElsewhere(own),
        finds: ['answers chat_completions at once with each model that has it'],
      },
      'a stream without its end': {
        async send(call, context) {
          const reply = await own(call, context);
          const cut = async function* () {
            for await (const piece of reply.body) {
              if (!/DONE|completed/.test(Buffer.from(piece).toString()) || !call.stream) yield piece;
            }
          };
          return { ...reply, body: cut() };
        },
        finds: [
          'answers chat_completions as a stream with each model that has it',
          'answers responses as a stream with each model that has it',
        ],
      },
      'a stream that goes on alone': {
        send: (call, context) => own({ ...call, signal: new AbortController().signal }, context),
        finds: [
          'ends at once when the caller leaves before it begins',
          'ends at once when the caller leaves in the middle',
        ],
      },
      'an answer in the place of a count': {
        send: own,
        more: { tasks: ['input_tokens'] },
        finds: ['does what it says it does besides answering'],
      },
      'a response that cannot be deleted': {
        send: own,
        async stored() {
          const body = bodyOf(Buffer.from('{"id":"resp_1","data":[]}'));
          const headers = { 'content-type': 'application/json' };
          return { status: 200, headers, body, upstream: 'own', upstreamModel: 'm' };
        },
        finds: ['finds a response again where it stores them', 'knows a response that is not there for one'],
      },
    };
    for (const [name, { send, stored, more, finds }] of firstVariants(
      Object.entries(wrong),
      ([, { finds }]) => finds,
    )) {
      it(`finds ${name}`, async () => expect(await check(send, finds, stored, more)).to.have.members([...finds]));
    }
  });
});
