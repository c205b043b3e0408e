/*
 * The service of text models. `prepare` checks a request without I/O, except for one read of the response that it
 * continues, and `send` of what it returns sends it (`sent-request.ts`). Stored responses are fetched from the upstream
 * that made them (`stored-texts.ts`). All exchanges share one timer of at most 250 ms.
 */

import type {
  BackgroundResponses,
  Clock,
  Logger,
  ResponsesTask,
  StoredResponse,
  StoredResponses,
  TextProvider,
  TextRoute,
} from '../contracts/index.js';
import type { PluginHost, RegisteredText, Registry } from '../plugins/index.js';
import { GatewayError, KEEP_ALIVE_MS, SharedTimer } from '../runtime/index.js';
import type { AbortCharge } from './charges.js';
import { demandFor } from './counting/demand.js';
import { inputTokensOf, samplePrompt } from './counting/samples.js';
import type { TokenCounter } from './counting/tokens.js';
import type { Watched } from './exchange.js';
import {
  askForUsage,
  checkChoices,
  checkEffort,
  isWriting,
  limitOutput,
  maxOutputTokens,
  modelOf,
  type PreparedText,
  previousResponseOf,
  type ReadyTextModel,
  type ReservedTokens,
  type StoredTextRequest,
  streamOf,
  type TextExchange,
  type TextRequest,
  type Texts,
} from './requests.js';
import { fallbacksOf, type Sending, sendRequest, type TextServices } from './sent-request.js';
import { StoredTexts } from './stored-texts.js';

/** Maximum delay of a deadline, in milliseconds. */
const MAX_TICK_MS = 250;
const IDLE_MS = 300_000;
const TOTAL_MS = 3_600_000;

export interface TextsOptions {
  /** Stores responses for later requests. Default: none, and no request can continue one. */
  responses?: StoredResponses;
  /** Stores background responses. Default: they are counted by an estimate. */
  background?: BackgroundResponses;
  /** Milliseconds between polls of those, growing for each of them. Default 5,000. */
  backgroundMs?: number;
  /** Milliseconds of silence after which a stream gets a comment. Default 15,000. */
  keepAliveMs?: number;
  /** Milliseconds without a byte after which an upstream is aborted. Default 300,000. */
  idleMs?: number;
  /** Milliseconds from a request to the end of its answer. Default 3,600,000. */
  totalMs?: number;
  /** How a request that ended early is charged. Default `used`. */
  abortCharge?: AbortCharge;
}

export interface TextsParts extends TextsOptions {
  registry: Registry;
  host: PluginHost;
  /** Answers are counted until they have ended, so it is closed after the host. */
  tokens: TokenCounter;
  clock: Clock;
  logger: Logger;
}

export class TextService implements Texts {
  readonly #registry: Registry;
  readonly #services: TextServices;
  readonly #stored: StoredTexts;
  readonly #watch: SharedTimer<Watched>;

  constructor({ registry, host, tokens, clock, logger, ...options }: TextsParts) {
    const { keepAliveMs = KEEP_ALIVE_MS, idleMs = IDLE_MS, totalMs = TOTAL_MS, abortCharge = 'used' } = options;
    const { responses, background, backgroundMs: pollMs } = options;
    const monotonic = () => clock.monotonic();
    this.#registry = registry;
    this.#watch = new SharedTimer(Math.min(MAX_TICK_MS, keepAliveMs / 4, idleMs / 4), monotonic);
    const exchanges = { host, times: { keepAliveMs, idleMs, totalMs }, monotonic, watch: this.#watch };
    this.#services = { host, tokens, clock, logger, responses, background, exchanges, abortCharge };
    this.#stored = new StoredTexts({ ...this.#services, registry, pollMs });
  }

  models(): ReadyTextModel[] {
    return this.#registry.texts.flatMap(({ entry, contribution }) =>
      contribution.models.map((model) => ({ ...model, entry })),
    );
  }

  async prepare(request: TextRequest): Promise<PreparedText> {
    const { route, task, parsed, prompt, headers, owner, requestId, allows } = request;
    const asked = modelOf(parsed);
    const found = this.#modelFor(asked, route, task);
    const { id } = found.model;
    const stream = isWriting(route) && streamOf(parsed);
    if (isWriting(route)) checkEffort(parsed, route, found.model);
    if (route === 'chat_completions') checkChoices(parsed);
    const previous = route === 'responses' ? await this.#previousOf(previousResponseOf(parsed), owner) : undefined;
    const maxOutput = maxOutputTokens(parsed, route);
    const sent =
      stream && route === 'chat_completions'
        ? askForUsage(request.body, parsed)
        : { body: request.body, parsed, asked: false };
    const call = {
      route,
      model: id,
      body: sent.body,
      parsed: sent.parsed,
      stream,
      ...(headers && { headers }),
      ...(task && { task }),
      ...(previous && { upstream: previous.upstream }),
    };
    const maxTokens = task === 'input_tokens' ? 1 : inputTokensOf(sent.body.length) + maxOutput;
    return this.#readyToSend(id, maxTokens, {
      ...found,
      fallbacks: fallbacksOf(this.#registry, found, { route, task, parsed, allows }),
      asked,
      call,
      owner,
      requestId,
      isStored: route === 'responses' && task === undefined && parsed.store !== false,
      dropUsage: sent.asked,
      maxOutput,
      sample: prompt,
    });
  }

  countTokens(parsed: TextRequest['parsed'], prompt = samplePrompt(parsed)): Promise<number> {
    return this.#services.tokens.count(prompt);
  }

  stored(request: StoredTextRequest): Promise<TextExchange> {
    return this.#stored.fetch(request);
  }

  /** Starts polling background responses; call it once models are ready. */
  start(): void {
    this.#stored.start();
  }

  /** Stops polling. */
  stop(): Promise<void> {
    return this.#stored.stop();
  }

  cutOff(): void {
    const error = new GatewayError('shutting_down', 'The gateway is shutting down. Retry the request.');
    this.#watch.visit((exchange) => exchange.giveUp(error));
  }

  #modelFor(id: string, route: TextRoute, task: ResponsesTask | undefined): RegisteredText {
    const model = this.#registry.resolve(id);
    this.#registry.checkOpen(model);
    const found = this.#registry.textProvider(model);
    if (found?.model.routes.includes(route) && does(found.contribution, task)) return found;
    const known = found ?? this.#registry.models().find((model) => model.id === id);
    const [code, message] = known
      ? (['model_not_supported', `The model ${id} is not available on this route`] as const)
      : (['model_not_found', `There is no model "${id.slice(0, 100)}"`] as const);
    throw new GatewayError(code, `${message}. Available: ${this.#modelsFor(route, task)}.`, { param: 'model' });
  }

  #modelsFor(route: TextRoute, task: ResponsesTask | undefined): string {
    const able = this.#registry.texts.filter(({ contribution }) => does(contribution, task));
    const models = able.flatMap(({ contribution }) => contribution.models);
    const ids = models
      .filter(({ id, routes }) => routes.includes(route) && this.#registry.isOpen(id))
      .map(({ id }) => id);
    return ids.join(', ') || 'none, since no provider of such models is ready';
  }

  async #previousOf(id: string | undefined, owner: string): Promise<StoredResponse | undefined> {
    if (id === undefined) return undefined;
    const found = await this.#services.responses?.find(id, owner);
    if (found) return found;
    throw new GatewayError('previous_response_not_found', 'There is no such response to continue.', {
      param: 'previous_response_id',
    });
  }

  #readyToSend(model: string, maxTokens: number, sending: Sending): PreparedText {
    const services = this.#services;
    const { call, asked, fallbacks } = sending;
    let left: Sending | undefined = sending;
    return {
      model,
      asked,
      maxTokens,
      ...(fallbacks.length > 0 && { fallbacks: fallbacks.map(({ model }) => model.id) }),
      ...(call.task !== 'input_tokens' && { demand: () => demandFor(services.tokens, sending) }),
      send(reserved) {
        const sent = left;
        left = undefined;
        if (!sent) throw new Error('a request is sent once');
        return sendRequest(services, reserved ? limited(sent, reserved) : sent);
      },
    };
  }
}

function does({ tasks = [] }: TextProvider, task: ResponsesTask | undefined): boolean {
  return task === undefined || tasks.includes(task);
}

/** Compacting has no limit of its own: its upstream does not know such a field. Embeddings have no output. */
function limited(sending: Sending, reserved: ReservedTokens): Sending {
  const { call, model } = sending;
  const { output } = reserved;
  const { route, task } = call;
  if (task !== undefined || !isWriting(route)) return { ...sending, reserved };
  const limit = { route, output, field: model.outputLimitField };
  return { ...sending, reserved, call: { ...call, ...limitOutput(call.body, call.parsed, limit) } };
}
