/*
 * Serves text from servers of the OpenAI chat-completions and responses formats. Each model has its own fail-over over
 * its upstreams. The provider learns what an upstream refuses: one that has no responses gets chats for ten minutes,
 * one that refuses `stream_options` gets none for that time, and one that refuses a form of vectors is not asked for it
 * again. A learned refusal costs one more request. Chats and responses pass through unchanged except for the model name
 * and configured fields. Reading stored responses has its own fail-over state, so that its failures do not take an
 * upstream out of service.
 */

import {
  askTextUpstream,
  type ChatTranslation,
  callerFailure,
  createUpstreams,
  definePlugin,
  GatewayError,
  type HttpStream,
  isGatewayError,
  noSuchTask,
  type PluginContext,
  type ResponsesTask,
  readUpstreamRequestId,
  silenceLimit,
  sumUpstreamStates,
  type TextCall,
  type TextProvider,
  type TextReply,
  type TextRoute,
  taskFailure,
  textFailure,
  translateToChat,
  type UpstreamCall,
  type Upstreams,
  withoutNames,
} from 'mediagate/plugin';
import { canServe, modelsOf, type Options, OptionsSchema, type ServedModel, type Upstream } from './options.js';
import {
  checkTextUpstreams,
  NoResponses,
  NoStreamOptions,
  NoSuchForm,
  refusesStreamOptions,
  responsesFailure,
  storedFailure,
  storedRequest,
  textRequest,
  translatedFailure,
  vectorsFailure,
  type WireRequest,
  withoutForm,
  withoutStreamOptions,
} from './upstream.js';

/** Text from any server of the OpenAI chat-completions or responses format. */
export default definePlugin<typeof OptionsSchema>({
  name: 'openai_text',
  apiVersion: 1,
  summary:
    'Text from servers of the OpenAI chat-completions and responses formats: one or several models, weights, fail-over.',
  provides: ['text'],
  options: OptionsSchema,
  setup: (context) => ({
    textProviders: [createOpenaiTextProvider(context)],
    checkUpstreams: ({ signal }) => checkTextUpstreams(context, signal),
  }),
});

/** A model may think long before its first word, and its client shall see by then that there is an answer. */
const PATIENCE_MS = 2_000;
/** Clients of the format know how to wait, and give up on who keeps them waiting. */
const LONGEST_WAIT_MS = 5_000;
const RETRY_SHARE = 0.2;
const BYTES_PER_TOKEN = 4;
const WRITING: readonly TextRoute[] = ['chat_completions', 'responses'];
const TASKS: readonly ResponsesTask[] = ['compact', 'input_tokens'];
/** Milliseconds until an upstream is asked again for what it did not know: it may have been updated. */
const FORGET_MS = 600_000;
/** What clients of the gateway may want to know; ids, limits and cookies are between the upstream and us. */
const PASSED_FIELDS = ['openai-processing-ms', 'openai-version'];

/** Work for one of the upstreams. */
interface Asked extends Omit<UpstreamCall<Upstream, TextReply>, 'model' | 'ask'> {
  request(upstream: Upstream): WireRequest;
  refuse: typeof textFailure;
  /** Milliseconds to wait for the beginning of the answer. Default: no limit. */
  firstBytesMs?: number;
  route?: TextRoute;
  /** Its silence is limited while another upstream is left. Default: it is not. */
  call?: TextCall;
  /** Tries so far. */
  tries: number;
  /** Whether events may be none. */
  mayHaveNone?: boolean;
}

/** One try of an upstream. */
interface Try {
  upstream: Upstream;
  remainingMs: number;
  /** Whether another upstream is left. */
  hasOther: boolean;
}

/** A model, and the fail-over of its upstreams. */
interface Served extends ServedModel {
  answering: Upstreams<Upstream>;
  /**
   * What makes no answer fails, and is limited, by itself: an upstream whose responses cannot be looked at still makes
   * them.
   */
  looking: Upstreams<Upstream>;
}

function createOpenaiTextProvider(context: PluginContext<Options>): TextProvider {
  const { options, http, clock, logger } = context;
  const { budgetMs, idleMs, restMs } = options;
  const limits = { budgetMs, restMs, longestWaitMs: LONGEST_WAIT_MS, retryShare: RETRY_SHARE };
  /** Upstreams of a model that refused a response and answered a chat → monotonic milliseconds until that counts. */
  const chatOnly = new Map<Upstream, number>();
  /** Upstreams that refused `stream_options` → monotonic milliseconds until that counts. */
  const withoutOptions = new Map<Upstream, number>();
  /** Upstreams that refused a form of vectors. */
  const oneForm = new Set<Upstream>();
  const all = new Map(modelsOf(options).map((model) => [model.model.id, withFailOver(model)]));

  function withFailOver(model: ServedModel): Served {
    const { upstreams, isOrdered } = model;
    const names = upstreams.map(({ member }) => member);
    const weightOf = isOrdered ? undefined : ({ weight }: Upstream) => weight;
    const create = () => createUpstreams({ upstreams, clock, logger, weightOf, names, ...limits });
    return { ...model, answering: create(), looking: create() };
  }

  function servedBy(id: string): Served {
    const served = all.get(id);
    if (!served) throw new Error('a model was asked for that this provider does not list');
    return served;
  }

  function silenceOf(call: TextCall): number {
    return silenceLimit(call, { seconds: servedBy(call.model).firstByteSeconds, budgetMs });
  }

  /** The request without `stream_options`, while it is remembered that the upstream refuses them. */
  function fittingRequest(asked: Asked, upstream: Upstream): WireRequest {
    const request = asked.request(upstream);
    const until = withoutOptions.get(upstream);
    if (until === undefined) return request;
    if (until > clock.monotonic()) return withoutStreamOptions(request);
    withoutOptions.delete(upstream);
    return request;
  }

  /** Asks once more without `stream_options` if the upstream refuses them: the gateway adds them to learn the usage. */
  async function ask(asked: Asked, tried: Try): Promise<TextReply> {
    const end = clock.monotonic() + tried.remainingMs;
    try {
      return await askOnce(asked, tried);
    } catch (error) {
      if (!(error instanceof NoStreamOptions)) throw error;
      withoutOptions.set(tried.upstream, clock.monotonic() + FORGET_MS);
      return askOnce(asked, { ...tried, remainingMs: end - clock.monotonic() });
    }
  }

  async function askOnce(asked: Asked, { upstream, remainingMs, hasOther }: Try): Promise<TextReply> {
    const { signal, refuse, firstBytesMs, route, mayHaveNone } = asked;
    const isLimited = hasOther || asked.call?.hasFallback === true;
    const silenceMs = isLimited && asked.call ? silenceOf(asked.call) : undefined;
    const request = fittingRequest(asked, upstream);
    const timeoutMs = Math.max(1, remainingMs);
    const sent = {
      ...request,
      signal,
      timeoutMs,
      idleMs,
      firstBytesMs,
      silenceMs,
      route,
      names: upstream,
      mayHaveNone,
    };
    const { status, headers, body } = await askTextUpstream({ http, clock }, sent, (refusal) => {
      const failure = refuse(refusal, upstream, clock.now());
      return refusesStreamOptions(refusal, request) ? new NoStreamOptions(failure.error, failure.consequence) : failure;
    });
    return {
      status,
      headers: passed(headers, asked.firstBytesMs !== undefined),
      body,
      upstream: upstream.name,
      upstreamModel: upstream.model,
      upstreamRequestId: readUpstreamRequestId(headers),
      vendorHeaders: headers,
      tries: asked.tries,
      plainWords: (words) => withoutNames(words, upstream),
    };
  }

  /** Sends a response as a chat to an upstream that only has chats: it is configured so, or has refused one. */
  async function askForResponse(
    asked: Asked,
    translated: () => ChatTranslation | Promise<ChatTranslation>,
    tried: Try,
  ): Promise<TextReply> {
    const { upstream, remainingMs } = tried;
    const end = clock.monotonic() + remainingMs;
    const isKnown = !upstream.routes.includes('responses') || (chatOnly.get(upstream) ?? 0) > clock.monotonic();
    if (!isKnown) {
      try {
        return await ask({ ...asked, refuse: responsesFailure }, tried);
      } catch (error) {
        if (!(error instanceof NoResponses)) throw error;
      }
    }
    const { call, replyOf } = await translate(translated);
    const reply = await ask(
      { ...asked, route: call.route, request: () => textRequest(call, upstream), refuse: translatedFailure },
      { ...tried, remainingMs: end - clock.monotonic() },
    );
    if (!isKnown) chatOnly.set(upstream, clock.monotonic() + FORGET_MS);
    return replyOf(reply);
  }

  /** Asks for vectors in the upstream's own form where it refuses the one that the client wants. */
  async function askForVectors(asked: Asked, call: TextCall, tried: Try): Promise<TextReply> {
    const { upstream, remainingMs } = tried;
    const end = clock.monotonic() + remainingMs;
    if (!oneForm.has(upstream)) {
      try {
        return await ask({ ...asked, refuse: vectorsFailure }, tried);
      } catch (error) {
        if (!(error instanceof NoSuchForm) || call.parsed.encoding_format === undefined) throw error;
      }
    }
    const request = () => textRequest(withoutForm(call), upstream);
    const reply = await ask({ ...asked, request }, { ...tried, remainingMs: end - clock.monotonic() });
    oneForm.add(upstream);
    return reply;
  }

  /** @param askOne Makes one try of an upstream. */
  const run = (
    model: string,
    upstreams: Upstreams<Upstream>,
    asked: Asked,
    askOne = (tried: Try) => ask(asked, tried),
  ): Promise<TextReply> =>
    upstreams.run({
      ...asked,
      model,
      ask(upstream, remainingMs, hasOther) {
        asked.tries += 1;
        return askOne({ upstream, remainingMs, hasOther });
      },
    });

  return {
    upstreams: () => sumUpstreamStates([...all.values()].flatMap(({ answering }) => answering.states())),
    tasks: TASKS,
    models: [...all.values()].map(({ model }) => model),
    async send(call) {
      const { route, task, model, upstream: earlier, stream, signal } = call;
      const { upstreams, answering, looking } = servedBy(model);
      const isNamed = ({ name }: Upstream) => earlier === undefined || name === earlier;
      const native = upstreams.filter(({ routes }) => routes.includes(route));
      // Chats stand in for responses where no upstream of the model has them.
      const able = native.length > 0 || task ? native : upstreams.filter((upstream) => canServe(upstream, route));
      if (able.length === 0) throw noSuchTask();
      const suits = (upstream: Upstream) => able.includes(upstream) && isNamed(upstream);
      if (!able.some(isNamed)) {
        const message = 'The upstream of the earlier response is no longer configured.';
        throw new GatewayError('previous_response_not_found', message, { param: 'previous_response_id' });
      }
      const asked: Asked = {
        signal,
        tries: 0,
        tokens: Math.ceil(call.body.length / BYTES_PER_TOKEN),
        suits,
        // Clients of the format ask again by themselves where no answer came.
        lost: 'anywhere',
        request: (upstream) => textRequest(call, upstream),
        refuse: task || !WRITING.includes(route) ? taskFailure : textFailure,
        call,
        // What runs in the background has nothing to say at first.
        ...(call.parsed.background !== true && { route }),
        ...(stream && { firstBytesMs: PATIENCE_MS }),
      };
      const upstreamsOfCall = task === 'input_tokens' ? looking : answering;
      if (route === 'embeddings') {
        return run(model, upstreamsOfCall, asked, (tried) => askForVectors(asked, call, tried));
      }
      if (route !== 'responses' || task) return run(model, upstreamsOfCall, asked);
      const { outputLimitField: limitField, reasoningField } = servedBy(model).model;
      let translation: ReturnType<typeof translateToChat> | undefined;
      const translated = () => {
        translation ??= translateToChat(call, () => clock.now(), { limitField, reasoningField });
        return translation;
      };
      return run(model, upstreamsOfCall, asked, (tried) => askForResponse(asked, translated, tried));
    },
    async stored(call) {
      const { model, signal } = call;
      const { upstreams, looking } = servedBy(model);
      const suits = ({ name }: Upstream) => name === call.upstream;
      const made = upstreams.find(suits);
      if (!made) {
        throw new GatewayError('response_not_found', 'The upstream of this response is no longer configured.');
      }
      if (!made.routes.includes('responses')) {
        throw new GatewayError('response_not_found', 'The upstream of this response stores none.');
      }
      return run(model, looking, {
        signal,
        tries: 0,
        suits,
        // What is deleted is not there the next time.
        lost: call.action === 'delete' ? 'nowhere' : 'anywhere',
        request: (upstream) => storedRequest(call, upstream),
        refuse: storedFailure,
        firstBytesMs: PATIENCE_MS,
        // Who resumes a stream behind its last event is told nothing more.
        mayHaveNone: true,
      });
    },
  };
}

/** A request that a chat cannot express is the caller's to change, and says nothing about the upstream. */
async function translate(translated: () => ChatTranslation | Promise<ChatTranslation>): Promise<ChatTranslation> {
  try {
    return await translated();
  } catch (error) {
    throw isGatewayError(error) ? callerFailure(error) : error;
  }
}

function passed(headers: HttpStream['headers'], stream: boolean): Record<string, string> {
  const type = headers['content-type'] ?? (stream ? 'text/event-stream' : 'application/json');
  const fields: Record<string, string> = { 'content-type': type };
  for (const name of PASSED_FIELDS) {
    const value = headers[name];
    if (value !== undefined) fields[name] = value;
  }
  return fields;
}
