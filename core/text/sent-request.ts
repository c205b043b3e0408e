/*
 * One request to a model on its way: it asks the plugin, or the fallbacks of the model while it fails, gives the client
 * the form of answer that it asked for, stores the ids of responses and items for their owner, and estimates missing
 * usage. A long request is released once it is asked: nothing here keeps its body in memory while the answer streams.
 * A background response is reported as soon as it can be fetched later.
 */

import type {
  BackgroundResponses,
  Clock,
  Logger,
  StoredResponses,
  TextCall,
  TextReply,
  Usage,
} from '../contracts/index.js';
import { modelSpan, type OpenSpan, openSpan, runAsEntry, usageAttributes } from '../observability/index.js';
import type { InstancePolicy, PluginHost, RegisteredText } from '../plugins/index.js';
import type { GatewayError } from '../runtime/index.js';
import { checkReply, inFormOf } from './answer-form.js';
import { type AbortCharge, type ChargedRequest, estimateUsage, hidesThoughts } from './charges.js';
import { MAX_STORED_BYTES, type PromptSample, samplePrompt, type TextSample } from './counting/prompts.js';
import type { TokenCounter } from './counting/tokens.js';
import { NO_TEXT } from './counting/written-text.js';
import type { EventReader } from './events.js';
import {
  type EstimatedAnswer,
  Exchange,
  type ExchangeServices,
  type ExchangeSubject,
  type WholeResponse,
} from './exchange.js';
import { askModels } from './fallbacks.js';
import { type BackgroundStart, isWriting, type ReservedTokens, type TextExchange } from './requests.js';
import { ResponseEvents } from './response-events.js';
import { ChatEvents, MessageEvents } from './usage-events.js';
import { type VectorForm, vectorFormOf } from './vectors.js';

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
      return await inFormOf(reply, { route, stream: this.stream, signal });
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
