/** Vendors' clients, directly at an upstream and through the gateway, with equal results. */

import { createOpenAI } from '@ai-sdk/openai';
import Anthropic, { APIError as AnthropicError } from '@anthropic-ai/sdk';
import { APICallError, generateObject, generateText, stepCountIs, streamText, tool } from 'ai';
import { expect } from 'chai';
import OpenAI, { APIError as OpenaiError } from 'openai';
import { z } from 'zod';
import { type AnthropicUpstream, type Behavior, startAnthropicUpstream } from '../support/models/anthropic-upstream.js';
import { startTextUpstream, type TextUpstream, type TextUpstreamAnswer } from '../support/models/text-upstream.js';
import { type GatewayProcess, startGatewayProcess } from '../support/processes/gateway-process.js';
import { rejection } from '../support/rejection.js';

/**
 * Each client asks the stand-in of its vendor once directly and once through the gateway. What the client gets, and what the
 * vendor gets, must be the same, except for what docs/guides/clients.md lists.
 */

const MODEL = 'gpt-5.5';
const EMBEDDINGS = 'text-embedding-3-small';
const CLAUDE = 'claude-opus-4-6';
const KEYS = { openai: 'sk-canary-of-the-upstream', anthropic: 'sk-ant-canary-of-the-upstream' };
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const QUESTION = 'Which tugs lie here?';
const HI = [{ role: 'user' as const, content: QUESTION }];
const TUGS = '{"tugs":["Zeeleeuw","Noordster"],"berths":4}';
const Tugs = z.object({ tugs: z.array(z.string()), berths: z.number() });
const PLACE = {
  type: 'object' as const,
  properties: { place: { type: 'string' } },
  required: ['place'],
  additionalProperties: false,
};
const SCHEMA = {
  type: 'object',
  properties: { tugs: { type: 'array', items: { type: 'string' } }, berths: { type: 'number' } },
  required: ['tugs', 'berths'],
  additionalProperties: false,
};
/** Each request has its own, and each run its own times. */
const OWN = new Set(['request_id', '_request_id', 'performance', 'timestamp', 'headers']);
/** Words of the gateway that an error has besides the vendor's. */
const ADDED = ['gateway_code', 'request_id'];

const USAGE = { include_usage: true };
const REFUSALS = {
  rate: {
    does: 'error',
    status: 429,
    code: 'rate_limit_exceeded',
    type: 'rate_limit_error',
    message: 'Slow down.',
    headers: { 'retry-after': '1' },
  },
  long: { does: 'error', status: 400, code: 'context_length_exceeded', param: 'messages', message: 'It is too long.' },
  sealed: { does: 'error', status: 400, code: 'invalid_encrypted_content', message: 'It cannot be verified.' },
} as const satisfies Record<string, TextUpstreamAnswer>;

/** Where a client is pointed to. Addresses have no version. */
interface Target {
  openai: { url: string; key: string };
  anthropic: { url: string; key: string };
}

interface Case {
  title: string;
  ask(target: Target): Promise<unknown>;
  /** What the vendor of the OpenAI formats does. Default: answers. */
  vendor?: TextUpstreamAnswer;
  /** The same for the vendor of the messages format. */
  anthropic?: Behavior;
}

describe('clients directly and through the gateway', () => {
  let vendor: TextUpstream;
  let anthropic: AnthropicUpstream;
  let gateway: GatewayProcess;
  let direct: Target;
  let through: Target;

  before(async () => {
    vendor = await startTextUpstream({ apiKey: KEYS.openai });
    // Its SDK sends a key in either header, by its version.
    anthropic = await startAnthropicUpstream();
    gateway = await startGatewayProcess({
      environment: {
        TEXT_UPSTREAM_URL: vendor.baseUrl,
        TEXT_UPSTREAM_KEY: KEYS.openai,
        TEXT_UPSTREAM_MODELS: MODEL,
        EMBEDDING_MODELS: EMBEDDINGS,
        ANTHROPIC_UPSTREAM_URL: anthropic.url,
        ANTHROPIC_UPSTREAM_KEY: KEYS.anthropic,
        ANTHROPIC_UPSTREAM_MODELS: CLAUDE,
        MESSAGES_ENABLED: 'true',
      },
    });
    const { key } = await gateway.makeKey({ grants: ['text'] });
    direct = {
      openai: { url: vendor.origin, key: KEYS.openai },
      anthropic: { url: anthropic.url, key: KEYS.anthropic },
    };
    through = { openai: { url: gateway.url, key }, anthropic: { url: gateway.url, key } };
  });
  after(async () => {
    await gateway.stop();
    await vendor.close();
    await anthropic.close();
  });

  /** What the client got, and what each vendor got; `whole` unless the connection ended before the answer. */
  async function run({ ask, vendor: answer, anthropic: behavior }: Case, target: Target) {
    vendor.reset();
    anthropic.reset();
    if (answer) vendor.behave(() => answer);
    if (behavior) anthropic.behave(behavior);
    const got = plain(await ask(target));
    const ends = await Promise.all(vendor.requests.map(({ ended }) => ended));
    const asked = [
      ...vendor.requests.map(({ path, members }, index) => ({ path, body: members, ...ends[index] })),
      ...anthropic.requests.map(({ path, body }) => ({ path, body })),
    ];
    return { got, asked };
  }

  for (const { client, cases } of clients()) {
    describe(client, () => {
      for (const one of cases) {
        it(one.title, async () => {
          const first = await run(one, direct);
          const second = await run(one, through);
          expect(first.asked, 'the vendor was asked').to.not.be.empty;
          expect(second.got).to.deep.equal(first.got);
          // Refusals that may pass are tried again by the gateway.
          expect(second.asked.slice(0, first.asked.length)).to.deep.equal(first.asked);
        });
      }
    });
  }
});

function clients(): { client: string; cases: readonly Case[] }[] {
  return [
    { client: 'OpenAI for chats and embeddings', cases: chatCases() },
    { client: 'OpenAI for responses', cases: responseCases() },
    { client: 'Anthropic', cases: messageCases() },
    { client: 'AI SDK with responses', cases: aiCases('responses') },
    { client: 'AI SDK with chats', cases: aiCases('chat') },
  ];
}

function openaiOf({ openai: { url, key } }: Target): OpenAI {
  return new OpenAI({ apiKey: key, baseURL: `${url}/v1`, maxRetries: 0 });
}

function chatCases(): Case[] {
  const chats = (target: Target) => openaiOf(target).chat.completions;
  const asked = { model: MODEL, messages: HI };
  const weather = { type: 'function' as const, function: { name: 'weather', parameters: PLACE, strict: true } };
  const format = { type: 'json_schema' as const, json_schema: { name: 'tugs', schema: SCHEMA, strict: true } };
  const url = `data:image/png;base64,${PIXEL}`;
  return [
    { title: 'whole', ask: (at) => chats(at).create({ ...asked, seed: 7, metadata: { trip: '12' }, logprobs: true }) },
    {
      title: 'streamed',
      vendor: { does: 'answer', thinks: 3, obfuscation: true },
      ask: async (at) => gather(await chats(at).create({ ...asked, stream: true, stream_options: USAGE })),
    },
    {
      title: 'with a tool, there and back',
      async ask(at) {
        const first = await chats(at).create({ ...asked, tools: [weather] });
        const { message } = first.choices[0] as (typeof first.choices)[number];
        const id = message.tool_calls?.[0]?.id ?? '';
        const result = { role: 'tool' as const, tool_call_id: id, content: 'drizzle' };
        return [first, await chats(at).create({ ...asked, tools: [weather], messages: [...HI, message, result] })];
      },
    },
    {
      title: 'with a tool, streamed',
      ask: async (at) =>
        gather(await chats(at).create({ ...asked, tools: [weather], stream: true, stream_options: USAGE })),
    },
    {
      title: 'by a schema',
      vendor: { does: 'answer', text: TUGS },
      ask: (at) => chats(at).parse({ ...asked, response_format: format }),
    },
    {
      title: 'with a picture',
      ask: (at) =>
        chats(at).create({
          model: MODEL,
          messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url, detail: 'low' } }] }],
        }),
    },
    {
      title: 'vectors',
      ask: async (at) => [
        await openaiOf(at).embeddings.create({ model: EMBEDDINGS, input: ['tug', 'quay'] }),
        await openaiOf(at).embeddings.create({ model: EMBEDDINGS, input: 'tug', encoding_format: 'float' }),
      ],
    },
    { title: 'a rate limit', vendor: REFUSALS.rate, ask: (at) => openaiFailure(chats(at).create(asked)) },
    { title: 'a refusal', vendor: REFUSALS.long, ask: (at) => openaiFailure(chats(at).create(asked)) },
    {
      title: 'left in the middle',
      vendor: { does: 'answer', text: 'word '.repeat(2000), pauseMs: 2 },
      async ask(at) {
        const stream = await chats(at).create({ ...asked, stream: true, stream_options: USAGE });
        for await (const { choices } of stream) if (choices[0]?.delta.content) stream.controller.abort();
        return stream.controller.signal.aborted;
      },
    },
  ];
}

function responseCases(): Case[] {
  const responses = (target: Target) => openaiOf(target).responses;
  const weather = { type: 'function' as const, name: 'weather', parameters: PLACE, strict: true };
  const format = { type: 'json_schema' as const, name: 'tugs', schema: SCHEMA, strict: true };
  return [
    {
      title: 'whole',
      ask: (at) =>
        responses(at).create({
          model: MODEL,
          input: QUESTION,
          instructions: 'Be brief.',
          store: false,
          include: ['reasoning.encrypted_content'],
        }),
    },
    {
      title: 'streamed',
      vendor: { does: 'answer', thinks: 3 },
      ask: async (at) =>
        gather(
          await responses(at).create({ model: MODEL, input: QUESTION, stream: true, reasoning: { effort: 'xhigh' } }),
        ),
    },
    {
      title: 'with a tool, there and back',
      async ask(at) {
        const asked = { model: MODEL, tools: [weather] };
        const first = await responses(at).create({ ...asked, input: HI });
        const call = first.output.find(({ type }) => type === 'function_call') as { call_id: string };
        const result = { type: 'function_call_output' as const, call_id: call.call_id, output: 'drizzle' };
        const input = [...HI, ...first.output, result] as OpenAI.Responses.ResponseInput;
        return [first, await responses(at).create({ ...asked, input })];
      },
    },
    {
      title: 'by a schema',
      vendor: { does: 'answer', text: TUGS },
      ask: (at) => responses(at).parse({ model: MODEL, input: QUESTION, text: { format } }),
    },
    {
      title: 'with a picture',
      ask(at) {
        const picture = {
          type: 'input_image' as const,
          image_url: `data:image/png;base64,${PIXEL}`,
          detail: 'auto' as const,
        };
        return responses(at).create({ model: MODEL, input: [{ role: 'user', content: [picture] }] });
      },
    },
    {
      title: 'a refusal of encrypted content',
      vendor: REFUSALS.sealed,
      ask: (at) => openaiFailure(responses(at).create({ model: MODEL, input: QUESTION })),
    },
  ];
}

function messageCases(): Case[] {
  const messages = ({ anthropic: { url, key } }: Target) =>
    new Anthropic({ apiKey: key, baseURL: url, maxRetries: 0 }).messages;
  const asked = { model: CLAUDE, max_tokens: 4000, messages: HI };
  const cache_control = { type: 'ephemeral' as const };
  const weather = { name: 'weather', input_schema: PLACE, cache_control };
  const refusal = (status: number, type: string, message: string): Behavior => ({
    does: 'refuse',
    status,
    type,
    message,
  });
  return [
    {
      title: 'whole',
      ask: (at) =>
        messages(at).create({
          ...asked,
          stop_sequences: ['X'],
          system: [{ type: 'text', text: 'Brief.', cache_control }],
        }),
    },
    {
      title: 'streamed, with thoughts',
      ask: async (at) => gather(await messages(at).create({ ...asked, stream: true, thinking: { type: 'adaptive' } })),
    },
    {
      title: 'with a tool, there and back',
      async ask(at) {
        const first = await messages(at).create({ ...asked, tools: [weather] });
        const results = first.content.flatMap((block) =>
          block.type === 'tool_use'
            ? [{ type: 'tool_result' as const, tool_use_id: block.id, content: 'drizzle' }]
            : [],
        );
        const turns = [
          ...HI,
          { role: 'assistant' as const, content: first.content },
          { role: 'user' as const, content: results },
        ];
        return [first, await messages(at).create({ ...asked, tools: [weather], messages: turns })];
      },
    },
    {
      title: 'by a schema',
      ask: (at) =>
        messages(at).create({ ...asked, output_config: { format: { type: 'json_schema', schema: SCHEMA } } }),
    },
    {
      title: 'with a picture',
      ask(at) {
        const source = { type: 'base64' as const, media_type: 'image/png' as const, data: PIXEL };
        return messages(at).create({ ...asked, messages: [{ role: 'user', content: [{ type: 'image', source }] }] });
      },
    },
    { title: 'counted', ask: (at) => messages(at).countTokens({ model: CLAUDE, messages: HI }) },
    {
      title: 'a refusal',
      anthropic: refusal(400, 'invalid_request_error', 'prompt is too long: 5 tokens > 3 maximum'),
      ask: (at) => anthropicFailure(messages(at).create(asked)),
    },
    {
      title: 'an error in a stream',
      anthropic: { does: 'answer', ends: 'error', after: 4 },
      ask: async (at) => anthropicFailure(gather(await messages(at).create({ ...asked, stream: true }))),
    },
  ];
}

function aiCases(format: 'chat' | 'responses'): Case[] {
  const base = ({ openai: { url, key } }: Target) => ({
    model: createOpenAI({ apiKey: key, baseURL: `${url}/v1` })[format](MODEL),
    maxRetries: 0,
  });
  const weather = tool({ inputSchema: z.object({ place: z.string() }), execute: () => 'drizzle' });
  const summary = ({
    text,
    reasoningText,
    finishReason,
    usage,
    warnings,
  }: Awaited<ReturnType<typeof generateText>>) => ({
    ...{ text, reasoningText, finishReason, usage, warnings },
  });
  return [
    { title: 'whole', ask: async (at) => summary(await generateText({ ...base(at), prompt: QUESTION })) },
    {
      title: 'streamed',
      vendor: { does: 'answer', thinks: 2 },
      async ask(at) {
        const parts = await gather(streamText({ ...base(at), prompt: QUESTION }).fullStream);
        return parts.map((part) => ({ ...part, request: undefined, response: undefined }));
      },
    },
    {
      title: 'with a tool, there and back',
      async ask(at) {
        const tools = { weather };
        const { text, steps } = await generateText({ ...base(at), prompt: QUESTION, stopWhen: stepCountIs(3), tools });
        return [text, steps.map(({ finishReason, toolCalls, usage }) => ({ finishReason, toolCalls, usage }))];
      },
    },
    {
      title: 'by a schema',
      vendor: { does: 'answer', text: TUGS },
      async ask(at) {
        const { object, usage, finishReason } = await generateObject({ ...base(at), prompt: QUESTION, schema: Tugs });
        return { object, usage, finishReason };
      },
    },
    {
      title: 'a refusal',
      vendor: REFUSALS.long,
      async ask(at) {
        const failure = await rejection(generateText({ ...base(at), prompt: QUESTION }));
        expect(failure).to.be.instanceOf(APICallError);
        const { statusCode, message, isRetryable, data } = failure as unknown as APICallError;
        return { statusCode, message, isRetryable, data };
      },
    },
  ];
}

async function gather<T>(parts: AsyncIterable<T>): Promise<T[]> {
  const gathered: T[] = [];
  for await (const part of parts) gathered.push(part);
  return gathered;
}

async function openaiFailure(asked: Promise<unknown>): Promise<object> {
  const failure = (await rejection(asked)) as Error;
  expect(failure).to.be.instanceOf(OpenaiError);
  const { status, code, type, param, message, error, headers } = failure as OpenaiError;
  const wait = headers?.get('retry-after') ?? null;
  return { name: failure.constructor.name, status, code, type, param, message, wait, error: withoutAdded(error) };
}

async function anthropicFailure(asked: Promise<unknown>): Promise<object> {
  const failure = (await rejection(asked)) as Error;
  expect(failure).to.be.instanceOf(AnthropicError);
  const { status, type, error } = failure as AnthropicError;
  return { name: failure.constructor.name, status, type, error: withoutAdded(error) };
}

function withoutAdded(error: unknown): object {
  return Object.fromEntries(Object.entries((error ?? {}) as object).filter(([name]) => !ADDED.includes(name)));
}

/** As JSON, without what belongs to one request only. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null, (name, member) => (OWN.has(name) ? undefined : member)));
}
