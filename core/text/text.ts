/*
 * The service of text models. `prepare` checks a request without I/O, except for one read of the response that it
 * continues. `send` calls the plugin, follows the exchange, stores ids of responses and items for their owner, and
 * estimates missing usage. Stored responses are fetched from the upstream that made them, and only for their owner.
 * Background responses are polled until their usage is known. A long request is released once it is sent, so its body
 * does not stay in memory while the answer streams. All exchanges share one timer of at most 250 ms.
 */

import type {
  BackgroundResponse,
  BackgroundResponses,
  Clock,
  Logger,
  ResponsesTask,
  Span,
  StoredResponse,
  StoredResponseAction,
  StoredResponses,
  TextCall,
  TextModel,
  TextProvider,
  TextReply,
  TextRoute,
} from '../contracts/index.js';
import { modelSpan, openSpan, runAsEntry, usageAttributes } from '../observability/index.js';
import type { PluginHost, RegisteredText, Registry } from '../plugins/index.js';
import { GatewayError, KEEP_ALIVE_MS } from '../runtime/index.js';
import { bodyFailures, checkReply, inFormOf } from './answer-form.js';
import { correctionOf, startBackgroundPolls } from './background.js';
import { type AbortCharge, createEstimate, hidesThoughts } from './charges.js';
import { demandFor } from './counting/demand.js';
import { inputTokensOf, MAX_STORED_BYTES, type PromptSample, samplePrompt } from './counting/prompts.js';
import { NO_TEXT, type TokenCounter } from './counting/tokens.js';
import type { EventReader } from './events.js';
import { createWatch, type ExchangeTimes, startExchange } from './exchange.js';
import { askModels, fallbacksOf } from './fallbacks.js';
import {
  askForUsage,
  type BackgroundStart,
  checkChoices,
  checkEffort,
  isWriting,
  limitOutput,
  maxOutputTokens,
  modelOf,
  type PreparedText,
  previousResponseOf,
  type ReservedTokens,
  streamOf,
  type TextExchange,
  type TextRequest,
  type Texts,
} from './requests.js';
import { createChatReader, createMessagesReader, createResponsesReader } from './usage-events.js';
import { vectorFormOf } from './vectors.js';

/** Maximum delay of a deadline, in milliseconds. */
const MAX_TICK_MS = 250;
/** The vectors of 2,048 texts, as many as a request may have: 3,072 numbers of 20 characters each. */
const MAX_VECTOR_BYTES = 128 * 1024 * 1024;
const TIMES: ExchangeTimes = { keepAliveMs: KEEP_ALIVE_MS, idleMs: 300_000, totalMs: 3_600_000 };

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

export interface TextService extends Texts {
  /** Starts polling background responses; call it once models are ready. */
  start(): void;
  /** Stops polling. */
  stop(): Promise<void>;
}

export function createTexts(parts: TextsParts): TextService {
  const { registry, host, tokens, clock, logger, responses, background, backgroundMs, ...given } = parts;
  const { abortCharge = 'used' } = given;
  const times: ExchangeTimes = {
    keepAliveMs: given.keepAliveMs ?? TIMES.keepAliveMs,
    idleMs: given.idleMs ?? TIMES.idleMs,
    totalMs: given.totalMs ?? TIMES.totalMs,
  };
  const monotonic = () => clock.monotonic();
  const tickMs = Math.min(MAX_TICK_MS, times.keepAliveMs / 4, times.idleMs / 4);
  const watch = createWatch(tickMs, monotonic);
  const clockwork = { times, monotonic, watch };
  const modelTexts = new Map<string, Buffer>();

  /** Only ids of known models reach this point. */
  function modelTextOf(model: string): Buffer {
    let text = modelTexts.get(model);
    if (!text) {
      text = Buffer.from(JSON.stringify(model));
      modelTexts.set(model, text);
    }
    return text;
  }

  function modelFor(id: string, route: TextRoute, task: ResponsesTask | undefined) {
    const found = registry.textProvider(registry.resolve(id));
    if (found?.model.routes.includes(route) && does(found.contribution, task)) return found;
    const known = found ?? registry.models().find((model) => model.id === id);
    const [code, message] = known
      ? (['model_not_supported', `The model ${id} is not available on this route`] as const)
      : (['model_not_found', `There is no model "${id.slice(0, 100)}"`] as const);
    throw new GatewayError(code, `${message}. Available: ${modelsFor(route, task)}.`, { param: 'model' });
  }

  function modelsFor(route: TextRoute, task: ResponsesTask | undefined): string {
    const able = registry.texts.filter(({ contribution }) => does(contribution, task));
    const models = able.flatMap(({ contribution }) => contribution.models);
    const ids = models.filter(({ routes }) => routes.includes(route)).map(({ id }) => id);
    return ids.join(', ') || 'none, since no provider of such models is ready';
  }

  async function previousOf(id: string | undefined, owner: string): Promise<StoredResponse | undefined> {
    if (id === undefined) return undefined;
    const found = await responses?.find(id, owner);
    if (found) return found;
    throw new GatewayError('previous_response_not_found', 'There is no such response to continue.', {
      param: 'previous_response_id',
    });
  }

  function readerFor(route: TextRoute, options: ReaderOptions): EventReader {
    const { requestId, dropUsage, model, resumed, onResponseId, onItemId } = options;
    if (route === 'messages') return createMessagesReader({ requestId });
    if (route !== 'responses') return createChatReader({ requestId, dropUsage });
    return createResponsesReader({ model, now: () => clock.now(), resumed, onResponseId, onItemId });
  }

  function rememberItem(id: string, owner: string): void {
    responses?.rememberItem?.({ id, owner, createdAt: clock.now() });
  }

  async function prepare(request: TextRequest): Promise<PreparedText> {
    const { route, task, parsed, prompt, headers, owner, requestId, allows } = request;
    const asked = modelOf(parsed);
    const found = modelFor(asked, route, task);
    const { id } = found.model;
    const stream = isWriting(route) && streamOf(parsed);
    if (isWriting(route)) checkEffort(parsed, route, found.model);
    if (route === 'chat_completions') checkChoices(parsed);
    const previous = route === 'responses' ? await previousOf(previousResponseOf(parsed), owner) : undefined;
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
    const isStored = route === 'responses' && task === undefined && parsed.store !== false;
    const maxTokens = task === 'input_tokens' ? 1 : inputTokensOf(sent.body.length) + maxOutput;
    return readyToSend(id, maxTokens, {
      ...found,
      fallbacks: fallbacksOf(registry, found, { route, task, parsed, allows }),
      asked,
      call,
      owner,
      requestId,
      isStored,
      dropUsage: sent.asked,
      maxOutput,
      sample: prompt,
    });
  }

  function readyToSend(model: string, maxTokens: number, sending: Sending): PreparedText {
    let left: Sending | undefined = sending;
    const { call, asked, fallbacks } = sending;
    return {
      model,
      asked,
      maxTokens,
      ...(fallbacks.length > 0 && { fallbacks: fallbacks.map(({ model }) => model.id) }),
      ...(call.task !== 'input_tokens' && { demand: () => demandFor(tokens, sending) }),
      send(reserved) {
        const sent = left;
        left = undefined;
        if (!sent) throw new Error('a request is sent once');
        return send(reserved ? limited(sent, reserved) : sent);
      },
    };
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

  /** A long request is released after sending: nothing here may keep it in memory during its answer. */
  function send(sending: Sending): TextExchange {
    const { entry, contribution: provider, owner, requestId, isStored, dropUsage, maxOutput, reserved } = sending;
    const { asked: name, fallbacks } = sending;
    /** The fallback that answers; undefined if the model itself does. */
    let fallback: RegisteredText | undefined;
    const { route, task, model, stream } = sending.call;
    let call: Sending['call'] | undefined = sending.call;
    const { body, parsed } = call;
    const prompt: { sample: PromptSample } | { parsed: TextCall['parsed'] } =
      body.length > MAX_STORED_BYTES ? { sample: sending.sample ?? samplePrompt(parsed) } : { parsed };

    const continuesAlone = isStored && parsed.background === true;
    const started = isStored && background ? Promise.withResolvers<BackgroundStart | undefined>() : undefined;
    let isStarting = false;

    function remember(id: string, { upstream }: TextReply): void {
      if (isStored)
        responses?.remember({ id, owner, model: fallback?.model.id ?? name, upstream, createdAt: clock.now() });
    }

    async function startAlone(responseId: string, { upstream, status }: TextReply): Promise<void> {
      isStarting = true;
      const [usage] = await Promise.all([
        estimate(NO_TEXT, { continues: true, hasAnswered: true, seconds: 0 }),
        responses?.flushInTime(),
      ]);
      started?.resolve(usage && { responseId, upstream, status, usage });
    }

    const estimate = createEstimate(tokens, prompt, {
      model: sending.model,
      isWriting: isWriting(route),
      countsOnly: task === 'input_tokens',
      stream,
      hidesThoughts: hidesThoughts(route, parsed),
      reserved,
      fileTokens: sending.fileTokens,
      maxOutput,
      abortCharge,
    });

    function readerOf(reply: TextReply): EventReader {
      const reader: EventReader = readerFor(route, {
        requestId,
        dropUsage,
        model: name,
        onResponseId(id) {
          remember(id, reply);
          if (continuesAlone && !reader.ended) startAlone(id, reply);
        },
        onItemId(id) {
          if (isStored) rememberItem(id, owner);
        },
      });
      return reader;
    }
    let terms = host.policy(entry);
    const opened = openSpan(modelSpan(isWriting(route) ? 'chat' : route, model, entry));
    const hasFallback = fallbacks.length > 0;
    async function askAll(asked: Sending['call'], flow: AbortSignal): Promise<TextReply> {
      const { reply, by } = await askModels(
        { host, logger, requestId, models: [sending, ...fallbacks], reserved },
        asked,
        flow,
      );
      fallback = by.model === sending.model ? undefined : by;
      terms = host.policy(by.entry);
      return reply;
    }
    const exchange = startExchange({
      ...clockwork,
      askMs: terms.timeoutMs * (1 + fallbacks.length),
      modelText: modelTextOf(name),
      model,
      standIn: terms.standIn,
      stream,
      ...(hasFallback && { answeredBy: () => fallback?.model.id }),
      async ask(flow) {
        const asked = call;
        call = undefined;
        if (!asked) throw new Error('a request is asked once');
        try {
          const ask = hasFallback
            ? () => askAll(asked, flow)
            : () => runAsEntry(entry, () => provider.send({ ...asked, signal: flow }));
          const reply = checkReply(await (opened ? opened.run(ask) : ask()));
          if (task !== undefined || !isWriting(route) || continuesAlone) return reply;
          return await inFormOf(reply, { route, stream, signal: flow });
        } catch (error) {
          throw terms.failureOf('text', error, flow);
        }
      },
      failureOf: bodyFailures(terms),
      hideOptions: hasFallback ? (text) => terms.hideOptions(text) : terms.hideOptions,
      watchAborted: (work) => host.watchAborted(entry, work),
      onCut: (error, upstreamRequestId) => {
        const fields = { requestId, model, entry, ...(upstreamRequestId !== undefined && { upstreamRequestId }) };
        logger.warn('an answer was interrupted', { ...fields, code: error.code, error });
      },
      readerOf,
      vectors: route === 'embeddings' ? vectorFormOf(parsed) : undefined,
      isResponse: route === 'responses',
      ...(!isWriting(route) && { maxWholeBytes: MAX_VECTOR_BYTES }),
      onWhole({ id, itemIds, open }, reply) {
        remember(id, reply);
        if (isStored) for (const itemId of itemIds) rememberItem(itemId, owner);
        if (isStored && open) startAlone(id, reply);
      },
      background: started?.promise,
      continuesAlone,
      estimate,
    });
    if (started) {
      exchange.ended.then(() => {
        if (!isStarting) started.resolve(undefined);
      });
    }
    if (opened) endWith(exchange, opened.span);
    return exchange;
  }

  /** @param follows Whether the reported usage is to be counted. */
  function askStored(response: StoredAsked, follows: boolean): TextExchange | undefined {
    const { action, id: responseId, owner, model, upstream, query, requestId } = response;
    const found = registry.textProvider(registry.resolve(model));
    const provider = found?.contribution;
    if (!found || !provider?.stored) return undefined;
    const { id: modelId } = found.model;
    const terms = host.policy(found.entry);
    const exchange = startExchange({
      ...clockwork,
      askMs: terms.timeoutMs,
      modelText: modelTextOf(model),
      model: modelId,
      standIn: terms.standIn,
      stream: false,
      async ask(flow) {
        try {
          const reply = await runAsEntry(found.entry, () =>
            provider.stored?.({ action, model: modelId, responseId, upstream, query, signal: flow }),
          );
          if (!reply) throw new Error('a provider lost a method');
          if (action === 'delete') await responses?.forget(responseId, owner);
          return checkReply(reply);
        } catch (error) {
          throw terms.failureOf('text', error, flow);
        }
      },
      failureOf: bodyFailures(terms),
      hideOptions: terms.hideOptions,
      readerOf: () =>
        readerFor('responses', {
          requestId,
          dropUsage: false,
          model,
          resumed: responseId,
          onResponseId: () => {},
          onItemId: (id) => rememberItem(id, owner),
        }),
      isResponse: true,
      onWhole({ itemIds }) {
        for (const id of itemIds) rememberItem(id, owner);
      },
      watchAborted: (work) => host.watchAborted(found.entry, work),
      onCut: () => {},
      continuesAlone: false,
      async estimate(sample) {
        return follows && sample.text !== ''
          ? { outputTokens: await tokens.count(sample), estimated: true }
          : undefined;
      },
    });
    if (follows) {
      exchange.ended.then(({ usage, final }) => {
        // An upstream that was just aborted may not have the final usage yet.
        const isLast = action === 'cancel' && usage === undefined ? false : final;
        background?.correct(correctionOf({ responseId, owner, upstream }, { usage, final: isLast }));
      });
    }
    return exchange;
  }

  /** Reads the usage of a response that the caller is about to delete, as far as it is known. */
  async function readLast(response: StoredAsked): Promise<void> {
    const exchange = askStored({ ...response, action: 'retrieve', query: '' }, true);
    await exchange?.answer.catch(() => undefined);
    await exchange?.ended;
    await background?.flushInTime();
  }

  let polls: ReturnType<typeof startBackgroundPolls> | undefined;

  return {
    models: () =>
      registry.texts.flatMap(({ entry, contribution }) => contribution.models.map((model) => ({ ...model, entry }))),
    prepare,
    countTokens: (parsed, prompt = samplePrompt(parsed)) => tokens.count(prompt),
    async stored({ action, responseId, owner, query, requestId }) {
      const row = await responses?.find(responseId, owner);
      const follows = row !== undefined && action !== 'input_items' && (await background?.isOpen(responseId, owner));
      const asked = row && { ...row, action, query, requestId };
      if (asked && follows && action === 'delete') await readLast(asked);
      const exchange = asked && askStored(asked, follows === true && action !== 'delete');
      if (!exchange) throw new GatewayError('response_not_found', 'There is no such response.');
      return exchange;
    },
    start() {
      if (!background) return;
      const ask = (response: BackgroundResponse) =>
        askStored({ ...response, action: 'retrieve', query: '', requestId: response.id }, true);
      polls = startBackgroundPolls({
        background,
        ask,
        logger,
        ...(backgroundMs !== undefined && { pollMs: backgroundMs }),
      });
    },
    stop: async () => polls?.close(),
    cutOff: () =>
      watch.giveUpAll(new GatewayError('shutting_down', 'The gateway is shutting down. Retry the request.')),
  };
}

function does({ tasks = [] }: TextProvider, task: ResponsesTask | undefined): boolean {
  return task === undefined || tasks.includes(task);
}

/** The end of an exchange is never an error. */
function endWith({ ended }: TextExchange, span: Span): void {
  ended.then(({ usage, failure }) => {
    span.set(usageAttributes(usage));
    span.end(failure && { failure: failure.code });
  });
}

/** A request on its way out. */
interface Sending {
  entry: string;
  /** The name of the model in the request: its id, or an alias. */
  asked: string;
  contribution: TextProvider;
  model: TextModel;
  /** Models that answer in its place while it fails. */
  fallbacks: readonly RegisteredText[];
  call: Omit<TextCall, 'signal'>;
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

/** A stored response that is fetched from its upstream. */
interface StoredAsked extends Pick<StoredResponse, 'id' | 'owner' | 'model' | 'upstream'> {
  action: StoredResponseAction;
  query: string;
  requestId: string;
}

interface ReaderOptions {
  requestId: string;
  dropUsage: boolean;
  model: string;
  resumed?: string;
  onResponseId(id: string): void;
  onItemId(id: string): void;
}
