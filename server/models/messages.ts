/*
 * `POST /v1/messages` and its token count, for clients of Anthropic's format. A model whose upstream has that format
 * gets the body as it came, and its answer is passed on. For every other model the request is converted to
 * `/v1/responses` or `/v1/chat/completions`, and the answer or its stream of events is converted back. Requests above
 * `LARGE_TEXT` are converted in a worker thread. The reservation of the body's memory ends as soon as the upstream has
 * the body. Unless the operator sets `MESSAGES_ENABLED`, both routes answer 403 and name the routes to use.
 */

import type { Gateway } from 'mediagate';
import { field, optional, type TextRoute, Type } from '../../core/contracts/index.js';
import { GatewayError, isGatewayError, type JsonRecord } from '../../core/runtime/index.js';
import {
  LARGE_TEXT,
  lastUserText,
  markNumbers,
  type PreparedText,
  type PromptSample,
  restoreNumbers,
  type TextAnswer,
  type TextRequest,
  ToolNames,
  workOn,
} from '../../core/text/index.js';
import {
  AnyObject,
  Count,
  clientSignal,
  defineRoute,
  type HeldBody,
  Nullable,
  nameIgnored,
  type RequestContext,
  type Route,
  sendText,
  streamed,
  Text,
  takeJsonBody,
} from '../http/index.js';
import { GRANTS, keyOf, quotaSubject } from '../keys/index.js';
import { type MessageAnswerOptions, messageEvents, wholeMessage } from './messages/answer.js';
import { readInputTokens } from './messages/request.js';
import { ignoredEffort } from './messages/upstream-requests.js';
import { encodeMessage, type HowToEncode, LARGE_MESSAGE, type LargeRequest } from './messages/whole-request.js';
import {
  allowedModels,
  endWithCaller,
  MODEL_ERRORS,
  ModelId,
  PASSED_ON,
  prepareAllowed,
  Stream,
  sendAdmitted,
  type TextServices,
} from './text.js';
import type { paidExtrasOf } from './vendor-use.js';

const MESSAGES = '/v1/messages';
const COUNT_TOKENS = '/v1/messages/count_tokens';
const LIMITS = { setting: 'TEXT_MAX_BYTES', maxValues: 50_000, exact: 'text' } as const;
/** Counting uses no tokens, but it is refused if the budget is used up. */
const MIN_TOKENS = 1;

/** Fields of a message that the gateway reads; the documentation describes the others. */
const MessageBody = {
  model: ModelId,
  messages: field(
    Type.Array(AnyObject, { minItems: 1 }),
    "The conversation: messages in Anthropic's format, with a user's message first.",
  ),
  system: optional(Type.Union([Type.String(), Type.Array(AnyObject)]), 'Instructions of the system.'),
  tools: optional(Type.Array(AnyObject), "Functions that the model may call, in Anthropic's format."),
};

const Message = Type.Object(
  {
    id: field(Text, 'Id of the message.'),
    type: field(Type.Literal('message'), 'Always `message`.'),
    role: field(Type.Literal('assistant'), 'Always `assistant`.'),
    model: field(Text, 'Id of the model.'),
    content: field(
      Type.Array(
        Type.Object(
          { type: field(Text, 'Kind of the block: `text`, `thinking`, `tool_use`, or one of the vendor.') },
          PASSED_ON,
        ),
      ),
      'Blocks of the answer, in order.',
    ),
    stop_reason: field(
      Nullable(Text),
      'Why the model stopped: `end_turn`, `max_tokens`, `stop_sequence`, `tool_use`, `refusal`, or a reason of the vendor. Null if it is not known.',
    ),
    stop_sequence: field(Nullable(Text), 'The stop sequence that was reached. Null if none was.'),
    usage: field(
      Type.Object({
        input_tokens: field(Count, 'Input tokens, without those from the cache and those written to it.'),
        cache_read_input_tokens: field(Count, 'Input tokens that the model vendor had cached.'),
        cache_creation_input_tokens: field(Count, 'Input tokens that the model vendor wrote to its cache.'),
        output_tokens: field(Count, 'Output tokens.'),
      }),
      'Tokens of the call.',
    ),
  },
  { description: "A message in Anthropic's format." },
);

const MESSAGE_EVENTS = streamed(
  "With `stream`: server-sent events in Anthropic's format, from `message_start` to `message_stop`.",
);
const EXAMPLE = [{ role: 'user', content: 'Name three harbours.' }];

interface MessageServices extends TextServices {
  /** Whether the routes are enabled. */
  messagesEnabled: boolean;
}

/**
 * The text models for clients of Anthropic's format. A model whose upstream has the format gets each request as it came,
 * and its answer is passed on. For other models, the request is converted to their format, and its answer back.
 */
export function messageRoutes(server: MessageServices): Route[] {
  const { bodies, messagesEnabled, textMaxBytes: maxBytes } = server;

  const handle = (ready: typeof readyToAnswer) => async (context: RequestContext) => {
    const limits = { ...LIMITS, maxBytes, budget: bodies, owner: quotaSubject(keyOf(context)) };
    const { bytes, value, release } = await takeJsonBody(context.req, context.res, limits);
    try {
      const work = await ready(context, server, { bytes, parsed: value });
      await work(release);
    } finally {
      release();
    }
  };

  const common = {
    method: 'POST',
    // If the routes are disabled, clients with any key receive the names of the routes to use.
    grant: messagesEnabled ? 'text' : GRANTS,
    apiKeyHeader: true,
    format: 'anthropic',
    tag: 'Models',
    errors: [...MODEL_ERRORS, 'unsupported_value', 'context_length_exceeded'],
  } as const;
  return [
    defineRoute({
      ...common,
      path: MESSAGES,
      endpoint: 'messages',
      summary: 'Create a message',
      description:
        "Answers a conversation, complete or streamed, in Anthropic's format. 403 unless the operator has set `MESSAGES_ENABLED`. Accepts `X-API-Key`.",
      body: {
        schema: Type.Object(
          {
            ...MessageBody,
            max_tokens: field(Type.Integer({ minimum: 1 }), 'Most tokens of the answer.'),
            stream: Stream,
          },
          PASSED_ON,
        ),
        example: { model: 'm-5.5', max_tokens: 500, messages: EXAMPLE },
      },
      answers: {
        200: {
          description: 'The message, or with `stream` its events.',
          name: 'Message',
          schema: Message,
          also: MESSAGE_EVENTS,
        },
      },
      handler: messagesEnabled ? handle(readyToAnswer) : refuseDisabled,
    }),
    defineRoute({
      ...common,
      path: COUNT_TOKENS,
      endpoint: 'messagesCountTokens',
      summary: 'Count message tokens',
      description:
        'Counts the input tokens that a message would have. 403 unless the operator has set `MESSAGES_ENABLED`. Accepts `X-API-Key`.',
      body: { schema: Type.Object(MessageBody, PASSED_ON), example: { model: 'm-5.5', messages: EXAMPLE } },
      answers: {
        200: {
          description: 'The number of tokens.',
          schema: Type.Object({ input_tokens: field(Type.Integer(), 'Input tokens of the request.') }),
        },
      },
      handler: messagesEnabled ? handle(readyToCount) : refuseDisabled,
    }),
  ];
}

function refuseDisabled(): never {
  const message = 'The messages route is disabled. Use /v1/responses or /v1/chat/completions.';
  throw new GatewayError('route_not_allowed', message);
}

/**
 * The work of a valid request; its body is not kept in memory during the answer.
 * @param release Releases the body's reservation.
 */
type Work = (release: () => void) => Promise<void>;

interface Sent {
  bytes: HeldBody['bytes'];
  parsed: HeldBody['value'];
}

async function readyToAnswer(context: RequestContext, server: MessageServices, sent: Sent): Promise<Work> {
  const input = server.usage.inputOf(context, () => lastUserText(sent.parsed));
  const isNative = formatOf(server.gateway, sent.parsed.model).route === 'messages';
  const message = isNative
    ? await prepareNative(context, server, sent)
    : await prepareMessage(context, server.gateway, sent);
  return (release) => answerMessage(context, server, { ...message, input }, release);
}

async function answerMessage(
  context: RequestContext,
  { usage, clock, keys }: MessageServices,
  { prepared, uses, converted, input }: PreparedMessage & { input: string | undefined },
  release: () => void,
): Promise<void> {
  const { model, asked, maxTokens: tokens, demand, fallbacks } = prepared;
  await usage.admitted(context, { route: MESSAGES, model, tokens, demand, uses, fallbacks, input }, async (work) => {
    const { exchange, reply } = await sendAdmitted(context, keys, { prepared, release, work });
    if (!converted) {
      await sendText(context, reply);
      return;
    }
    const { stream, ignored, ...how } = converted;
    nameIgnored(context, ignored);
    const { requestId } = context.state;
    const { res } = context;
    const flow = { exchange, requestId, monotonic: () => clock.monotonic(), signal: () => clientSignal(res) };
    const options = { ...how, ...flow, model: asked };
    const body = stream ? messageEvents(reply, options) : await wholeMessage(reply, options);
    if (!stream) await work.sendCost?.();
    await sendText(context, { ...inJson(reply), body });
  });
}

type HowToAnswer = Pick<MessageAnswerOptions, 'route' | 'stops' | 'includesThinking' | 'names'>;

/** What is kept of a request during the call of the model. */
interface PreparedMessage {
  prepared: PreparedText;
  /** What it asks of the vendor beside tokens. Default: nothing. */
  uses?: ReturnType<typeof paidExtrasOf>;
  /** How the answer is converted. Default: it is passed on. */
  converted?: HowToAnswer & { stream: boolean; ignored: readonly string[] };
}

/** A request for an upstream of this format. Keys of a plan may use as little of the vendor's account as in the others. */
function prepareNative(
  context: RequestContext,
  server: MessageServices,
  { bytes, parsed: value }: Sent,
  task?: 'input_tokens',
): Promise<PreparedMessage> {
  const work = { route: 'messages', ...(task && { task }), headers: formatHeaders(context) } as const;
  return prepareAllowed(context, server, { bytes, value }, work);
}

/** The version and the betas that the client has chosen. */
function formatHeaders({ req }: RequestContext): Record<string, string> {
  const named = ['anthropic-version', 'anthropic-beta'].map((name) => [name, req.headers[name]] as const);
  return Object.fromEntries(named.flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])));
}

async function prepareMessage(context: RequestContext, gateway: Gateway, sent: Sent): Promise<PreparedMessage> {
  const { route, efforts, reasoningField } = formatOf(gateway, sent.parsed.model);
  const { body, request } = await encode(context, sent, { route, efforts, reasoningField, counts: false });
  const prepared = await gateway.text.prepare({ route, ...body, allows: allowedModels(keyOf(context), gateway) });
  const { stream, stopSequences: stops, thinking, names, ignored } = request;
  const includesThinking = thinking.isVisible;
  const allIgnored = [...ignored, ...ignoredEffort(thinking, efforts)];
  return { prepared, converted: { stream, route, stops, includesThinking, names, ignored: allIgnored } };
}

interface Encoded {
  body: Pick<TextRequest, 'body' | 'parsed' | 'prompt' | 'owner' | 'requestId'>;
  request: LargeRequest['decoded'] & { names: ToolNames };
}

async function encode(context: RequestContext, sent: Sent, how: HowToEncode): Promise<Encoded> {
  const from = { owner: keyOf(context).accountId, requestId: context.state.requestId };
  if (sent.bytes.length > LARGE_TEXT) {
    const signal = clientSignal(context.res);
    const { body, parsed, prompt, decoded, tools } = await workOn(LARGE_MESSAGE, sent.bytes, how, signal);
    return {
      body: { ...from, body, parsed, prompt },
      request: { ...decoded, names: new ToolNames(tools) },
    };
  }
  const { request, encoded } = encodeMessage(exactly(sent), how);
  return { body: { ...from, ...bodyOf(encoded) }, request };
}

const FORMATS: readonly TextRoute[] = ['messages', 'responses'];

/** If a model has several formats, this one is used, otherwise the richer one. An unknown model is refused later. */
function formatOf(gateway: Gateway, model: unknown) {
  const found = typeof model === 'string' ? gateway.textProvider(model)?.model : undefined;
  const { routes = ['responses'], translated = [], efforts = [], reasoningField } = found ?? {};
  const isNative = (format: TextRoute) => routes.includes(format) && !translated.includes(format);
  const route: TextRoute = FORMATS.find(isNative) ?? 'chat_completions';
  return { isThere: found !== undefined, route, efforts, reasoningField };
}

function bodyOf(encoded: JsonRecord): Pick<TextRequest, 'body' | 'parsed'> {
  const marked = JSON.stringify(encoded);
  const text = restoreNumbers(marked);
  const parsed: JsonRecord = text === marked ? encoded : JSON.parse(text);
  return { body: Buffer.from(text), parsed };
}

/** The parsed bytes are usually exact. */
function exactly({ bytes, parsed }: Pick<Sent, 'bytes' | 'parsed'>): JsonRecord {
  const text = bytes.toString('utf8');
  const marked = markNumbers(text);
  return marked === text ? parsed : JSON.parse(marked);
}

/** Headers of an upstream describe its own format, so they are dropped. */
function inJson(answer: TextAnswer): Omit<TextAnswer, 'body'> {
  const { body: _body, ...rest } = answer;
  return { ...rest, headers: { 'content-type': 'application/json' } };
}

/** Uses the upstream's count if it supports counting; otherwise the gateway estimates. It counts as one request. */
async function readyToCount(context: RequestContext, server: MessageServices, sent: Sent): Promise<Work> {
  const { gateway } = server;
  const { isThere, route, efforts } = formatOf(gateway, sent.parsed.model);
  if (route === 'messages') {
    const native = await whereAble(() => prepareNative(context, server, sent, 'input_tokens'));
    const { parsed } = sent;
    return () => count(context, server, { prepared: native?.prepared, parsed, isNative: true });
  }
  const { body } = await encode(context, sent, { route, efforts, counts: true });
  const prepare = () => gateway.text.prepare({ route, task: 'input_tokens', ...body });
  const prepared = isThere ? await whereAble(prepare) : await prepare();
  const { parsed, prompt } = body;
  return () => count(context, server, { prepared, parsed, prompt, isNative: false });
}

interface Counted {
  /** Undefined if the model's upstream does not count. */
  prepared: PreparedText | undefined;
  parsed: JsonRecord;
  /** What the model reads, if `parsed` lacks it. */
  prompt?: PromptSample | undefined;
  /** Whether the answer of the upstream is passed on. */
  isNative: boolean;
}

function count(
  context: RequestContext,
  { gateway, usage, keys }: MessageServices,
  { prepared, parsed, prompt, isNative }: Counted,
): Promise<void> {
  const model = String(parsed.model);
  return usage.admitted(context, { route: COUNT_TOKENS, model, tokens: MIN_TOKENS }, async (work) => {
    const reply = await whereAble(async () => {
      const exchange = prepared?.send();
      if (!exchange) return undefined;
      work.uses(exchange.ended);
      endWithCaller(context, keys, exchange);
      return exchange.answer;
    });
    if (reply && isNative) await sendText(context, reply);
    else {
      if (reply?.standIn !== undefined) context.set('x-mediagate-stand-in', reply.standIn);
      const tokens = reply ? await readInputTokens(reply) : await gateway.text.countTokens(parsed, prompt);
      context.body = { input_tokens: tokens };
    }
  });
}

/** @returns Undefined if the model's upstream does not support it. */
async function whereAble<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await work();
  } catch (error) {
    if (isGatewayError(error) && error.code === 'model_not_supported') return undefined;
    throw error;
  }
}
