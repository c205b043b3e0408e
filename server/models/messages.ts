import { setImmediate } from 'node:timers/promises';
import type { Gateway } from 'mediagate';
import { field, optional, type TextRoute, Type } from '../../core/contracts/index.js';
import { GatewayError, isGatewayError } from '../../core/runtime/index.js';
import type { PreparedText, TextAnswer } from '../../core/text/index.js';
import {
  AnyObject,
  BIG_BYTES,
  Count,
  defineRoute,
  Nullable,
  nameIgnored,
  OneOf,
  type RequestContext,
  type Route,
  type ServerContext,
  sendText,
  streamed,
  Text,
  takeJsonBody,
} from '../http/index.js';
import { GRANTS, keyOf, quotaSubject } from '../keys/index.js';
import { type MessageAnswerOptions, messageEvents, wholeMessage } from './messages/answer.js';
import { markNumbers, restoreNumbers } from './messages/exact-json.js';
import { decodeCounted, decodeMessage, type MessageRequest, readInputTokens } from './messages/request.js';
import { encodeChat, encodeResponses, encodeResponsesInput, ignoredEffort } from './messages/upstream-requests.js';
import { endWithCaller, MODEL_ERRORS, ModelId, PASSED_ON, Stream } from './text.js';

type JsonRecord = Readonly<Record<string, unknown>>;

const MESSAGES = '/v1/messages';
const COUNT_TOKENS = '/v1/messages/count_tokens';
const LIMITS = { setting: 'TEXT_MAX_BYTES', maxValues: 50_000 };
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
      Type.Array(Type.Object({ type: field(OneOf('text', 'thinking', 'tool_use'), 'Kind of the block.') }, PASSED_ON)),
      'Blocks of the answer, in order.',
    ),
    stop_reason: field(
      Nullable(OneOf('end_turn', 'max_tokens', 'stop_sequence', 'tool_use', 'refusal')),
      'Why the model stopped. Null if it is not known.',
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

/**
 * The text models for clients of Anthropic's format: each request is converted to a format of the models, and its
 * answer back.
 */
export function messageRoutes(server: ServerContext): Route[] {
  const { bodies, messagesEnabled, textMaxBytes: maxBytes } = server;

  const handle = (ready: typeof readyToAnswer) => async (context: RequestContext) => {
    const limits = { ...LIMITS, maxBytes, budget: bodies, owner: quotaSubject(keyOf(context)) };
    const { bytes, value, release } = await takeJsonBody(context.req, context.res, limits);
    try {
      const work = await ready(context, server, { fields: exactly(bytes, value), pause: pauseFor(bytes.length) });
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

function pauseFor(bytes: number): Sent['pause'] {
  return async () => bytes > BIG_BYTES && (await setImmediate());
}

interface Sent {
  fields: JsonRecord;
  /** Lets the event loop continue between two steps over a long body. */
  pause(): Promise<unknown>;
}

async function readyToAnswer(context: RequestContext, server: ServerContext, sent: Sent): Promise<Work> {
  const message = await prepareMessage(context, server.gateway, sent);
  return (release) => answerMessage(context, server, message, release);
}

async function answerMessage(
  context: RequestContext,
  { usage, clock, keys }: ServerContext,
  { prepared, stream, ignored, ...how }: PreparedMessage,
  release: () => void,
): Promise<void> {
  const { model, maxTokens: tokens, demand } = prepared;
  await usage.admitted(context, { route: MESSAGES, model, tokens, demand }, async (work) => {
    const exchange = prepared.send(work.reserved);
    work.uses(exchange.ended, undefined, () => exchange.isBroken === true);
    endWithCaller(context, keys, exchange);
    const reply = await exchange.answer;
    // The upstream has the body; its answer may take long.
    release();
    nameIgnored(context, ignored);
    const { requestId } = context.state;
    const options = { ...how, model, exchange, requestId, monotonic: () => clock.monotonic() };
    const body = stream ? messageEvents(reply, options) : await wholeMessage(reply, options);
    if (!stream) await work.sendCost?.();
    await sendText(context, { ...inJson(reply), body });
  });
}

type HowToAnswer = Pick<MessageAnswerOptions, 'route' | 'stops' | 'includesThinking'>;

/** What is kept of a request during the call of the model. */
interface PreparedMessage extends HowToAnswer {
  prepared: PreparedText;
  stream: boolean;
  ignored: readonly string[];
}

async function prepareMessage(context: RequestContext, gateway: Gateway, sent: Sent): Promise<PreparedMessage> {
  await sent.pause();
  const request = decodeMessage(sent.fields);
  const { route, efforts } = formatOf(gateway, request);
  await sent.pause();
  const encoded = route === 'responses' ? encodeResponses(request, efforts) : encodeChat(request, efforts);
  const body = bodyOf(context, encoded);
  await sent.pause();
  const prepared = await gateway.text.prepare({ route, ...body });
  const { stream, stopSequences: stops, thinking, ignored } = request;
  const includesThinking = thinking.isVisible;
  return {
    prepared,
    stream,
    route,
    stops,
    includesThinking,
    ignored: [...ignored, ...ignoredEffort(thinking, efforts)],
  };
}

/** If a model has both formats, the richer one is used. An unknown model is refused later. */
function formatOf(gateway: Gateway, { model }: MessageRequest) {
  const found = gateway.text.models().find(({ id }) => id === model);
  const { routes = ['responses'], translated = [], efforts = [] } = found ?? {};
  const isNative = routes.includes('responses') && !translated.includes('responses');
  const route: TextRoute = isNative ? 'responses' : 'chat_completions';
  return { isThere: found !== undefined, route, efforts };
}

function bodyOf(context: RequestContext, encoded: JsonRecord) {
  const { accountId } = keyOf(context);
  const marked = JSON.stringify(encoded);
  const text = restoreNumbers(marked);
  const parsed: JsonRecord = text === marked ? encoded : JSON.parse(text);
  return { body: Buffer.from(text), parsed, owner: accountId, requestId: context.state.requestId };
}

/** @param parsed The parsed bytes, which are usually exact. */
function exactly(bytes: Buffer, parsed: JsonRecord): JsonRecord {
  const text = bytes.toString('utf8');
  const marked = markNumbers(text);
  return marked === text ? parsed : JSON.parse(marked);
}

/** Headers of an upstream describe its own format, so they are dropped. */
function inJson({ status, standIn, upstreamRequestId }: TextAnswer): Omit<TextAnswer, 'body'> {
  return { status, headers: { 'content-type': 'application/json' }, standIn, upstreamRequestId };
}

/** Uses the upstream's count if it supports counting; otherwise the gateway estimates. It counts as one request. */
async function readyToCount(
  context: RequestContext,
  { gateway, usage, keys }: ServerContext,
  sent: Sent,
): Promise<Work> {
  await sent.pause();
  const request = decodeCounted(sent.fields);
  const { isThere, route, efforts } = formatOf(gateway, request);
  const { model } = request;
  await sent.pause();
  const encoded = route === 'responses' ? encodeResponsesInput(request, efforts) : encodeChat(request, efforts);
  const body = bodyOf(context, encoded);
  await sent.pause();
  const prepare = () => gateway.text.prepare({ route, task: 'input_tokens', ...body });
  const prepared = isThere ? await whereAble(prepare) : await prepare();
  const { parsed } = body;
  return () =>
    usage.admitted(context, { route: COUNT_TOKENS, model, tokens: MIN_TOKENS }, async (work) => {
      const counted = await whereAble(async () => {
        const exchange = prepared?.send();
        if (!exchange) return undefined;
        work.uses(exchange.ended);
        endWithCaller(context, keys, exchange);
        const reply = await exchange.answer;
        return readInputTokens(reply);
      });
      context.body = { input_tokens: counted ?? (await gateway.text.countTokens(parsed)) };
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
