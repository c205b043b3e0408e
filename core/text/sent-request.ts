/*
 * One request to a model on its way: it asks the plugin, gives the client the form of answer that it asked for, stores
 * the ids of responses and items for their owner, and estimates missing usage. A long request is released once it is
 * asked: nothing here keeps its body in memory while the answer streams. A background response is reported as soon as
 * it can be fetched later. Some servers always stream and some never do; an answer in the right form passes untouched.
 * A plugin's reply must have a 2xx status, headers and an iterable body.
 *
 * While the upstreams of a model fail, its fallbacks are asked, which may belong to another provider or format. Only a
 * failure before any byte reached the client leads to the next model, and never an error that the client must correct.
 * Each model has the tries and the time budget of its own provider. Requests that continue stored responses, or run in
 * the background, have no fallback. The fallbacks of a fallback are not asked.
 */

import type {
  BackgroundResponses,
  Clock,
  Logger,
  ResponsesTask,
  StoredResponses,
  TextCall,
  TextReply,
  TextRoute,
  Usage,
  WritingRoute,
} from '../contracts/index.js';
import { modelSpan, type OpenSpan, openSpan, runAsEntry, usageAttributes } from '../observability/index.js';
import type { InstancePolicy, PluginHost, RegisteredText, Registry } from '../plugins/index.js';
import { type ErrorCode, GatewayError, isGatewayError, type JsonRecord } from '../runtime/index.js';
import { type AbortCharge, type ChargedRequest, estimateUsage } from './charges.js';
import { convertBody } from './chats/translation.js';
import { MAX_STORED_BYTES, NO_TEXT, type PromptSample, samplePrompt, type TextSample } from './counting/samples.js';
import type { TokenCounter } from './counting/tokens.js';
import {
  type EstimatedAnswer,
  Exchange,
  type ExchangeServices,
  type ExchangeSubject,
  WHOLE_TYPES,
  type WholeResponse,
} from './exchange.js';
import { type BackgroundStart, isWriting, limitOutput, type ReservedTokens, type TextExchange } from './requests.js';
import type { EventReader } from './streams/events.js';
import { ResponseEvents } from './streams/response-events.js';
import { ChatEvents, MessageEvents } from './streams/usage-events.js';
import { type VectorForm, vectorFormOf } from './vectors.js';
import { createEventsToWhole } from './whole/events-to-whole.js';
import { createWholeToEvents } from './whole/whole-to-events.js';

/** The vectors of 2,048 texts, as many as a request may have: 3,072 numbers of 20 characters each. */
const MAX_VECTOR_BYTES = 128 * 1024 * 1024;

/** What text requests need of the gateway. */
export interface TextServices {
  host: PluginHost;
  tokens: TokenCounter;
  clock: Clock;
  logger: Logger;
  responses?: StoredResponses;
  background?: BackgroundResponses;
  exchanges: ExchangeServices;
  abortCharge: AbortCharge;
}

/** A request that is ready to be sent. */
export interface Sending extends RegisteredText {
  call: Omit<TextCall, 'signal'>;
  /** The name of the model in the request: its id, or an alias. */
  asked: string;
  /** Models that answer in its place while it fails. */
  fallbacks: readonly RegisteredText[];
  owner: string;
  requestId: string;
  /** Whether the upstream stores the response. */
  isStored: boolean;
  dropUsage: boolean;
  maxOutput: number;
  /** The input of the model. Default: it is taken from the call. */
  sample?: PromptSample;
  /** Tokens of the files in the request. Default: they were not counted. */
  fileTokens?: number;
  /** Default: the output is not limited. */
  reserved?: ReservedTokens;
}

/** Sends a request. */
export function sendRequest(services: TextServices, sending: Sending): TextExchange {
  const request = new SentRequest(services, sending);
  const exchange = new Exchange(request, services.exchanges);
  request.follow(exchange);
  return exchange;
}

class SentRequest implements ExchangeSubject {
  readonly entry: string;
  /** Of the model that answers. */
  terms: InstancePolicy;
  readonly model: string;
  readonly modelText: Buffer;
  readonly askMs: number;
  readonly stream: boolean;
  readonly isResponse: boolean;
  readonly maxWholeBytes: number | undefined;
  readonly vectors: VectorForm | undefined;
  readonly background: TextExchange['background'];
  readonly continuesAlone: boolean;
  readonly #services: TextServices;
  readonly #sent: Omit<Sending, 'call'>;
  readonly #route: TextCall['route'];
  readonly #task: TextCall['task'];
  readonly #charged: ChargedRequest;
  readonly #span: OpenSpan | undefined;
  readonly #started: PromiseWithResolvers<BackgroundStart | undefined> | undefined;
  #isStarting = false;
  /** Undefined once it was asked. */
  #call: Sending['call'] | undefined;
  /** The fallback that answers; undefined if the model itself does. */
  #fallback: RegisteredText | undefined;

  constructor(services: TextServices, sending: Sending) {
    const { call, ...sent } = sending;
    const { route, task, stream, model, parsed } = call;
    const isWritten = isWriting(route);
    this.#services = services;
    this.#sent = sent;
    this.#call = call;
    this.#route = route;
    this.#task = task;
    this.entry = sent.entry;
    this.terms = services.host.policy(sent.entry);
    this.model = model;
    this.modelText = Buffer.from(JSON.stringify(sent.asked));
    this.askMs = this.terms.timeoutMs * (1 + sent.fallbacks.length);
    this.stream = stream;
    this.isResponse = route === 'responses';
    this.maxWholeBytes = isWritten ? undefined : MAX_VECTOR_BYTES;
    this.vectors = route === 'embeddings' ? vectorFormOf(parsed) : undefined;
    this.continuesAlone = sent.isStored && parsed.background === true;
    this.#started = sent.isStored && services.background ? Promise.withResolvers() : undefined;
    this.background = this.#started?.promise;
    this.#charged = {
      prompt: call.body.length > MAX_STORED_BYTES ? { sample: sent.sample ?? samplePrompt(parsed) } : { parsed },
      model: sent.model,
      isWriting: isWritten,
      countsOnly: task === 'input_tokens',
      stream,
      hidesThoughts: hidesThoughts(route, parsed),
      reserved: sent.reserved,
      fileTokens: sent.fileTokens,
      maxOutput: sent.maxOutput,
      abortCharge: services.abortCharge,
    };
    this.#span = openSpan(modelSpan(isWritten ? 'chat' : route, model, sent.entry));
  }

  /** Ends its span, and the wait for its response, with the exchange. */
  follow({ ended }: TextExchange): void {
    const span = this.#span?.span;
    if (!span && !this.#started) return;
    ended.then(({ usage, failure }) => {
      if (!this.#isStarting) this.#started?.resolve(undefined);
      span?.set(usageAttributes(usage));
      span?.end(failure && { failure: failure.code });
    });
  }

  async ask(signal: AbortSignal): Promise<TextReply> {
    const call = this.#call;
    this.#call = undefined;
    if (!call) throw new Error('a request is asked once');
    try {
      const ask = () => this.#send(call, signal);
      const reply = checkReply(await (this.#span ? this.#span.run(ask) : ask()));
      const route = this.#route;
      if (this.#task !== undefined || !isWriting(route) || this.continuesAlone) return reply;
      const formed = inFormOf(reply, { route, stream: this.stream, signal });
      return formed instanceof Promise ? await formed : formed;
    } catch (error) {
      throw this.terms.failureOf('text', error, signal);
    }
  }

  #send(call: Sending['call'], signal: AbortSignal): Promise<TextReply> {
    const { entry, contribution, fallbacks } = this.#sent;
    return fallbacks.length > 0
      ? this.#sendToAll(call, signal)
      : runAsEntry(entry, () => contribution.send({ ...call, signal }));
  }

  async #sendToAll(call: Sending['call'], signal: AbortSignal): Promise<TextReply> {
    const { host, logger } = this.#services;
    const { requestId, reserved, fallbacks } = this.#sent;
    const models = [this.#sent, ...fallbacks];
    const { reply, by } = await askModels({ host, logger, requestId, models, reserved }, call, signal);
    this.#fallback = by.model === this.#sent.model ? undefined : by;
    this.terms = host.policy(by.entry);
    return reply;
  }

  answeredBy(): string | undefined {
    return this.#fallback?.model.id;
  }

  readerOf(reply: TextReply): EventReader {
    const { requestId, dropUsage, asked } = this.#sent;
    if (this.#route === 'messages') return new MessageEvents(requestId);
    if (this.#route !== 'responses') return new ChatEvents({ requestId, dropUsage });
    const reader: EventReader = new ResponseEvents({
      model: asked,
      now: () => this.#services.clock.now(),
      onResponseId: (id) => {
        this.#remember(id, reply);
        if (this.continuesAlone && !reader.ended) void this.#startAlone(id, reply);
      },
      onItemId: (id) => this.#rememberItem(id),
    });
    return reader;
  }

  onWhole({ id, itemIds, open }: WholeResponse, reply: TextReply): void {
    this.#remember(id, reply);
    for (const itemId of itemIds) this.#rememberItem(itemId);
    if (this.#sent.isStored && open) void this.#startAlone(id, reply);
  }

  onCut(error: GatewayError, upstreamRequestId: string | undefined): void {
    const { requestId } = this.#sent;
    const fields = {
      requestId,
      model: this.model,
      entry: this.entry,
      ...(upstreamRequestId !== undefined && { upstreamRequestId }),
    };
    this.#services.logger.warn('an answer was interrupted', { ...fields, code: error.code, error });
  }

  estimate(sample: TextSample, answer: EstimatedAnswer): Promise<Usage | undefined> {
    return estimateUsage(this.#services.tokens, this.#charged, sample, answer);
  }

  #remember(id: string, { upstream }: TextReply): void {
    const { owner, asked, isStored } = this.#sent;
    if (!isStored) return;
    const createdAt = this.#services.clock.now();
    this.#services.responses?.remember({ id, owner, model: this.answeredBy() ?? asked, upstream, createdAt });
  }

  #rememberItem(id: string): void {
    const { owner, isStored } = this.#sent;
    if (isStored) this.#services.responses?.rememberItem?.({ id, owner, createdAt: this.#services.clock.now() });
  }

  /** Reports a response that goes on without its client. */
  async #startAlone(responseId: string, { upstream, status }: TextReply): Promise<void> {
    this.#isStarting = true;
    const [usage] = await Promise.all([
      this.estimate(NO_TEXT, { continues: true, hasAnswered: true, seconds: 0 }),
      this.#services.responses?.flushInTime(),
    ]);
    this.#started?.resolve(usage && { responseId, upstream, status, usage });
  }
}

/** Whether a request makes the model think, where its stream does not show what it thinks. */
function hidesThoughts(route: string, { reasoning_effort: ofChat, reasoning }: JsonRecord): boolean {
  const effort = route === 'chat_completions' ? ofChat : (reasoning as JsonRecord | null | undefined)?.effort;
  return typeof effort === 'string' && effort !== 'none';
}

const EVENTS_TYPE = 'text/event-stream';
const JSON_TYPE = 'application/json';
/**
 * The reply as events if a stream was asked for, else whole. A type that is neither is left to its reader.
 * @throws GatewayError `upstream_error` where events are to be made of an answer that is none.
 */
export function inFormOf(
  reply: TextReply,
  { route, stream, signal }: { route: WritingRoute; stream: boolean; signal: AbortSignal },
): TextReply | Promise<TextReply> {
  const type = reply.headers['content-type'] ?? '';
  if (type.startsWith(EVENTS_TYPE) ? stream : !stream || !WHOLE_TYPES.test(type)) return reply;
  if (stream) return asEvents(reply, route, signal);
  const headers = { ...reply.headers, 'content-type': JSON_TYPE };
  return { ...reply, headers, body: convertBody(reply.body, createEventsToWhole(route)) };
}

/** Read as a whole first, so that an error in it is an HTTP error for the client. */
async function asEvents(reply: TextReply, route: WritingRoute, signal: AbortSignal): Promise<TextReply> {
  const converter = createWholeToEvents(route);
  for await (const chunk of reply.body) converter.push(chunk);
  signal.addEventListener('abort', () => converter.close?.(), { once: true });
  const text = await converter.finish();
  const events = typeof text === 'string' ? Buffer.from(text) : text;
  const headers = { ...reply.headers, 'content-type': EVENTS_TYPE };
  return { ...reply, headers, body: bodyOf(events) };
}

async function* bodyOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** @throws Error if a plugin broke its contract; the message is not shown to callers. */
export function checkReply(reply: TextReply): TextReply {
  const { status, headers, body } = reply ?? {};
  if (!(status >= 200 && status <= 299)) throw new Error('the status of a reply must be one of 200 to 299');
  if (typeof headers !== 'object' || headers === null) throw new Error('the headers of a reply must be an object');
  if (typeof body?.[Symbol.asyncIterator] !== 'function')
    throw new Error('the body of a reply must be an async iterable');
  return reply;
}

/** Failures of the upstreams of a model, or of its plugin. */
const FAILURES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'upstream_rate_limited',
  'upstream_refused',
  'upstream_changed',
  'upstream_error',
  'upstream_timeout',
  'upstream_unavailable',
  'upstream_auth_error',
  'plugin_unavailable',
]);

interface FallbackRequest {
  route: TextRoute;
  task: ResponsesTask | undefined;
  parsed: Readonly<Record<string, unknown>>;
  /** Whether the caller may use the model. Default: any. */
  allows: ((model: string) => boolean) | undefined;
}

const NONE: readonly RegisteredText[] = [];

/** The models that may answer a request in place of `found`, in their order: those that are ready and have the route. */
export function fallbacksOf(
  registry: Pick<Registry, 'textProvider' | 'resolve' | 'isOpen'>,
  { model }: RegisteredText,
  { route, task, parsed, allows }: FallbackRequest,
): readonly RegisteredText[] {
  if (!model.fallbacks || task !== undefined) return NONE;
  // What an upstream stores is there alone.
  const isBound = [parsed.previous_response_id, parsed.conversation].some((id) => id !== undefined && id !== null);
  if (isBound || parsed.background === true) return NONE;
  return model.fallbacks.flatMap((name) => {
    const found = registry.textProvider(registry.resolve(name));
    const isOpen = found !== undefined && registry.isOpen(found.model.id);
    const isAble = isOpen && found.model.routes.includes(route) && (!allows || allows(found.model.id));
    return isAble && found.model.id !== model.id ? [found] : [];
  });
}

interface ModelsAsked {
  host: Pick<PluginHost, 'policy'>;
  logger: Logger;
  requestId: string;
  /** The model of the request, and then its fallbacks. */
  models: readonly RegisteredText[];
  /** Default: the output is not limited. */
  reserved: ReservedTokens | undefined;
}

interface ModelsAnswer {
  reply: TextReply;
  by: RegisteredText;
}

/**
 * Sends a request to the first model that answers.
 * @throws GatewayError of the last model that was asked.
 */
async function askModels(
  { host, logger, requestId, models, reserved }: ModelsAsked,
  call: Omit<TextCall, 'signal'>,
  signal: AbortSignal,
): Promise<ModelsAnswer> {
  let tries = 0;
  for (const [index, by] of models.entries()) {
    const { entry, contribution, model } = by;
    const hasFallback = index < models.length - 1;
    const sent = { ...(index === 0 ? call : callOf(call, by, reserved)), hasFallback, signal };
    try {
      const reply = await runAsEntry(entry, () => contribution.send(sent));
      return { reply: { ...reply, tries: tries + (reply.tries ?? 1) }, by };
    } catch (thrown) {
      const error = host.policy(entry).failureOf('text', thrown, signal);
      tries += isGatewayError(error) ? (error.tries ?? 1) : 1;
      const isFailure = isGatewayError(error) && FAILURES.has(error.code) && !signal.aborted;
      if (!isFailure || !hasFallback) throw isGatewayError(error) ? withTries(error, tries) : error;
      const fallback = models[index + 1]?.model.id;
      logger.warn(`a model failed; its fallback ${fallback} is asked`, {
        requestId,
        model: model.id,
        code: error.code,
      });
    }
  }
  throw new GatewayError('plugin_unavailable', 'No model is left to ask.');
}

function withTries(error: GatewayError, tries: number): GatewayError {
  const { code, message, cause, ...details } = error;
  return tries > 1 ? new GatewayError(code, message, { ...details, cause, tries }) : error;
}

/** The same request for another model; its output has the limit of the reservation, in the field that the model knows. */
function callOf(
  call: Omit<TextCall, 'signal'>,
  { model }: RegisteredText,
  reserved: ReservedTokens | undefined,
): Omit<TextCall, 'signal'> {
  const { id, outputLimitField: field } = model;
  if (!reserved) return { ...call, model: id };
  const route = call.route as WritingRoute;
  return { ...call, model: id, ...limitOutput(call.body, call.parsed, { route, output: reserved.output, field }) };
}
