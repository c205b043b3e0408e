/*
 * The routes of chats and responses, and the handler that all text routes share. The handler reads the body within the
 * memory limit, removes what the key may not use of the vendor's account, prepares the upstream request, admits it
 * (rate limit and budget), sends it and passes the answer on. The gateway reads a few fields; all others reach the
 * model unchanged. The exchange ends when the client disconnects, its key is revoked or its account is suspended; only
 * a background response goes on at its upstream. An `Idempotency-Key` changes nothing of this: each text request is a
 * new one. Usage is settled once in every case.
 */

import type { Gateway } from 'mediagate';
import { field, optional, type TSchema, Type } from '../../core/contracts/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import {
  findVendorFields,
  lastUserText,
  type PreparedText,
  type TextAnswer,
  type TextExchange,
  type TextRequest,
} from '../../core/text/index.js';
import {
  AnyObject,
  defineRoute,
  type HeldBody,
  leaveWithClient,
  Nullable,
  type RequestContext,
  type Route,
  type ServerContext,
  sendText,
  streamed,
  Text,
  takeJsonBody,
} from '../http/index.js';
import { type ApiKeyRecord, type KeyTable, keyOf, quotaSubject } from '../keys/index.js';
import { type AdmittedWork, isModelAllowed, type UsageService } from '../usage/index.js';
import type { ClosableStoredResponses } from './response-store.js';
import { allowedVendorUse, paidExtrasOf } from './vendor-use.js';

/** Lists of tokens and long conversations with tools have many values. */
const LIMITS = { setting: 'TEXT_MAX_BYTES', maxValues: 500_000, brief: true, exact: 'text' } as const;

/** Errors of every model request. */
export const MODEL_ERRORS = [
  'model_not_found',
  'model_not_supported',
  'model_not_allowed',
  'vendor_id_not_allowed',
  'paid_tool_not_allowed',
  'insufficient_quota',
  'rate_limit_exceeded',
  'upstream_rate_limited',
  'upstream_conflict',
  'upstream_error',
  'upstream_timeout',
  'upstream_unavailable',
  'plugin_unavailable',
] as const;

/** Declarations that all text routes share. */
export const TEXT_ROUTE = { grant: 'text', format: 'model', tag: 'Models' } as const;

/** The field with the id of a model, for the API reference. */
export const modelField = (example: string) =>
  field(Type.String(), 'Id of a model; `GET /v1/models` lists them.', example);
export const ModelId = modelField('m-5.5');
export const Stream = optional(
  Type.Boolean(),
  'Send the answer as server-sent events while it is made. Default false.',
);
const Input = field(
  Type.Union([Type.String(), Type.Array(AnyObject)]),
  "A text, or a list of input items in OpenAI's format.",
);
/** Of a schema: further fields are passed on unchanged. */
export const PASSED_ON = { additionalProperties: true };

/**
 * The fields of a chat and of a response that the gateway reads; every other field is passed to the model unchanged.
 */
const ChatBody = Type.Object(
  {
    model: ModelId,
    stream: Stream,
    messages: field(Type.Array(AnyObject), "The conversation: messages in OpenAI's format."),
  },
  PASSED_ON,
);
const ResponseBody = Type.Object({ model: ModelId, stream: Stream, input: Input }, PASSED_ON);
const TaskBody = Type.Object({ model: ModelId, input: Type.Optional(Input) }, PASSED_ON);

const Choice = Type.Object(
  {
    message: field(
      Type.Object(
        {
          role: field(Text, 'Role of the author.', 'assistant'),
          content: optional(Nullable(Text), 'Text of the answer. Null or absent if the model only calls tools.'),
        },
        PASSED_ON,
      ),
      'The message of the model.',
    ),
    finish_reason: optional(Nullable(Text), 'Why the model stopped.', 'stop'),
  },
  PASSED_ON,
);

/** In the form of the upstream: the gateway passes it on. */
const passedOn = (description: string, fields: Readonly<Record<string, TSchema>>) =>
  Type.Object(
    {
      id: field(Text, 'Id of the answer.'),
      object: field(Text, 'Kind of the answer.'),
      model: field(Text, 'Id of the model.'),
      ...fields,
    },
    { ...PASSED_ON, description: `${description} Further fields are passed on from the model.` },
  );
const CHAT_COMPLETION = {
  name: 'ChatCompletion',
  schema: passedOn("A chat completion in OpenAI's format.", {
    choices: field(Type.Array(Choice), 'The answers: one, unless the request asks for more.'),
  }),
};
const CHAT_EVENTS = streamed(
  "With `stream`: server-sent events. The data of each is a chunk in OpenAI's format; the last one is `[DONE]`.",
);
export const RESPONSE_EVENTS = streamed(
  "With `stream`: server-sent events in OpenAI's format, such as `response.output_text.delta`, until `response.completed`.",
);
export const RESPONSE = {
  name: 'Response',
  schema: passedOn("A response in OpenAI's format.", {
    output: field(Type.Array(AnyObject), 'Messages, calls of tools and reasoning, in order.'),
  }),
};

const INPUT_EXAMPLE = { model: 'm-5.5', input: 'Name three harbours.' };

/** What the routes of text models work with. */
export interface TextServices extends ServerContext {
  keys: KeyTable;
  usage: UsageService;
  responses: Pick<ClosableStoredResponses, 'unknownItems'>;
  /** Maximum bytes of a body. */
  textMaxBytes: number;
}

/** Handles requests of a text route: reads the body, admits it and passes the answer on. */
export function textHandler(services: TextServices) {
  const { bodies, textMaxBytes: maxBytes, usage, keys } = services;
  return (path: string, work: Pick<TextRequest, 'route' | 'task'>) => async (context: RequestContext) => {
    const limits = { ...LIMITS, maxBytes, budget: bodies, owner: quotaSubject(keyOf(context)) };
    const { release, ...body } = await takeJsonBody(context.req, context.res, limits);
    try {
      const { prepared, uses } = await prepareAllowed(context, services, body, work);
      const { model, maxTokens: tokens, demand, fallbacks } = prepared;
      const input = usage.inputOf(context, () => (body.brief ? body.brief.asked : lastUserText(body.value)));
      await usage.admitted(context, { route: path, model, tokens, demand, uses, fallbacks, input }, (admitted) =>
        answer(context, keys, { prepared, release, work: admitted }),
      );
    } finally {
      release();
    }
  };
}

/** A request as its key may send it, ready to be sent. */
export async function prepareAllowed(
  context: RequestContext,
  { gateway, responses }: Pick<TextServices, 'gateway' | 'responses'>,
  { bytes: body, value: parsed, brief }: Omit<HeldBody, 'release'>,
  work: Pick<TextRequest, 'route' | 'task' | 'headers'>,
): Promise<{ prepared: PreparedText; uses: ReturnType<typeof paidExtrasOf> }> {
  const key = keyOf(context);
  checkFurtherModels(key, parsed);
  const sent = { body, parsed, findFields: () => brief?.vendorFields ?? findVendorFields(parsed) };
  const judged = allowedVendorUse(context, sent, responses);
  const allowed = judged instanceof Promise ? await judged : judged;
  const { requestId } = context.state;
  const from = { owner: key.accountId, requestId, allows: allowedModels(key, gateway) };
  const ready = { ...work, body: allowed.body, parsed: allowed.parsed, ...from, prompt: brief?.prompt };
  const prepared = await gateway.text.prepare(ready);
  return { prepared, uses: paidExtrasOf(allowed.parsed) };
}

/** For fallbacks of the model that a request names. Undefined if the key may use every model. */
export function allowedModels(key: ApiKeyRecord, { resolveModel }: Pick<Gateway, 'resolveModel'>) {
  return key.models === null ? undefined : (model: string) => isModelAllowed(key, model, resolveModel);
}

/** Chats and responses, complete or streamed, and the tasks of the responses route. */
export function textRoutes(server: TextServices): Route[] {
  const handle = textHandler(server);

  return [
    defineRoute({
      ...TEXT_ROUTE,
      method: 'POST',
      path: '/v1/chat/completions',
      endpoint: 'chatCompletions',
      summary: 'Create a chat completion',
      description: 'Answers a conversation, complete or streamed, in the format of the OpenAI SDKs.',
      body: {
        schema: ChatBody,
        example: { model: 'm-5.5', messages: [{ role: 'user', content: 'Name three harbours.' }] },
      },
      answers: {
        200: { description: 'The answer, or with `stream` its events.', ...CHAT_COMPLETION, also: CHAT_EVENTS },
      },
      errors: [...MODEL_ERRORS, 'invalid_prompt', 'content_filter', 'context_length_exceeded'],
      handler: handle('/v1/chat/completions', { route: 'chat_completions' }),
    }),
    defineRoute({
      ...TEXT_ROUTE,
      method: 'POST',
      path: '/v1/responses',
      endpoint: 'responses',
      summary: 'Create a response',
      description:
        'Answers an input, complete or streamed, in the responses format of the OpenAI SDKs and coding agents.',
      body: { schema: ResponseBody, example: INPUT_EXAMPLE },
      answers: {
        200: { description: 'The response, or with `stream` its events.', ...RESPONSE, also: RESPONSE_EVENTS },
      },
      errors: [...MODEL_ERRORS, 'previous_response_not_found', 'context_length_exceeded'],
      handler: handle('/v1/responses', { route: 'responses' }),
    }),
    defineRoute({
      ...TEXT_ROUTE,
      method: 'POST',
      path: '/v1/responses/compact',
      endpoint: 'responsesCompact',
      summary: 'Compact a conversation',
      description: 'Shortens a long conversation, if the upstream of the model can do that.',
      body: { schema: TaskBody, example: INPUT_EXAMPLE },
      answers: { 200: { description: 'What the conversation goes on from.', schema: AnyObject } },
      errors: [...MODEL_ERRORS, 'previous_response_not_found', 'context_length_exceeded'],
      handler: handle('/v1/responses/compact', { route: 'responses', task: 'compact' }),
    }),
    defineRoute({
      ...TEXT_ROUTE,
      method: 'POST',
      path: '/v1/responses/input_tokens',
      endpoint: 'responsesInputTokens',
      summary: 'Count input tokens',
      description: 'Counts the input tokens that a request would have.',
      body: { schema: TaskBody, example: INPUT_EXAMPLE },
      answers: {
        200: {
          description: 'The number of tokens.',
          schema: Type.Object({
            object: field(Text, 'Kind of the answer.'),
            input_tokens: field(Type.Integer(), 'Input tokens of the request.'),
          }),
        },
      },
      errors: [...MODEL_ERRORS, 'previous_response_not_found'],
      handler: handle('/v1/responses/input_tokens', { route: 'responses', task: 'input_tokens' }),
    }),
  ];
}

interface Admitted {
  prepared: PreparedText;
  /** Releases the body's reservation. */
  release: () => void;
  work: AdmittedWork;
}

async function answer(context: RequestContext, keys: Pick<KeyTable, 'follow'>, admitted: Admitted): Promise<void> {
  const { work } = admitted;
  const { exchange, reply } = await sendAdmitted(context, keys, admitted);
  if (reply.body instanceof Uint8Array) {
    if (exchange.background) await work.settled();
    await work.sendCost?.();
  }
  return sendText(context, reply);
}

/** Sends a request, and waits until its answer begins. */
export async function sendAdmitted(
  context: RequestContext,
  keys: Pick<KeyTable, 'follow'>,
  { prepared, release, work }: Admitted,
): Promise<{ exchange: TextExchange; reply: TextAnswer }> {
  const exchange = prepared.send(work.reserved);
  const brokenBy = () => (exchange.isBroken ? (exchange.failure?.code ?? 'upstream_error') : undefined);
  work.uses(exchange.ended, exchange.background, brokenBy);
  endWithCaller(context, keys, exchange);
  const reply = await exchange.answer;
  work.answerBegan();
  // The upstream has the body; its answer may take long.
  release();
  return { exchange, reply };
}

/** Ends the exchange when its client disconnects, its key is revoked or its account is suspended. */
export function endWithCaller(context: RequestContext, keys: Pick<KeyTable, 'follow'>, exchange: TextExchange): void {
  leaveWithClient(context.res, exchange);
  const leave = keys.follow(keyOf(context).id, (error) => exchange.abort(error));
  void exchange.ended.then(leave);
}

/** Fields by which some servers use other models than the one of the request. */
const FURTHER_MODELS = ['models', 'fallbacks', 'fallback_models'] as const;

/**
 * A key for certain models may not name others for its upstream to use.
 * @throws GatewayError `model_not_allowed`.
 */
function checkFurtherModels({ models }: ApiKeyRecord, parsed: Readonly<Record<string, unknown>>): void {
  if (models === null) return;
  const param = FURTHER_MODELS.find((name) => parsed[name] !== undefined && parsed[name] !== null);
  if (param === undefined) return;
  const message = `This API key is for certain models, and ${param} names others for the upstream. Send model alone.`;
  throw new GatewayError('model_not_allowed', message, { param });
}
