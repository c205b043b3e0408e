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
  type StoredResponseCall,
  silenceLimit,
  sumUpstreamStates,
  type TextCall,
  type TextModel,
  type TextProvider,
  type TextReply,
  type TextRoute,
  taskFailure,
  textFailure,
  translateToChat,
  type UpstreamCall,
  type UpstreamState,
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
    textProviders: [new OpenaiTextProvider(context)],
    checkUpstreams: ({ signal }) => checkTextUpstreams(context, signal),
  }),
});

/** A model may think long before its first word, and its client shall see by then that there is an answer. */
const FIRST_BYTES_MS = 2_000;
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

class OpenaiTextProvider implements TextProvider {
  readonly tasks = TASKS;
  readonly models: readonly TextModel[];
  readonly #context: PluginContext<Options>;
  readonly #all: ReadonlyMap<string, Served>;
  /** Upstreams of a model that refused a response and answered a chat → monotonic milliseconds until that counts. */
  readonly #chatOnly = new Map<Upstream, number>();
  /** Upstreams that refused `stream_options` → monotonic milliseconds until that counts. */
  readonly #withoutOptions = new Map<Upstream, number>();
  /** Upstreams that refused a form of vectors. */
  readonly #oneForm = new Set<Upstream>();

  constructor(context: PluginContext<Options>) {
    const all = modelsOf(context.options).map((served) => withFailOver(context, served));
    this.#context = context;
    this.#all = new Map(all.map((served) => [served.model.id, served]));
    this.models = all.map(({ model }) => model);
  }

  upstreams(): UpstreamState[] {
    return sumUpstreamStates([...this.#all.values()].flatMap(({ answering }) => answering.states()));
  }

  weigh(model: string, weights?: Readonly<Record<string, number>>): void {
    this.#all.get(model)?.weights.change(weights);
  }

  // Async, so that what is refused before a request rejects, as the contract says.
  async send(call: TextCall): Promise<TextReply> {
    const { route, task, model, stream, signal } = call;
    const served = this.#servedBy(model);
    const asked: Asked = {
      signal,
      tries: 0,
      tokens: Math.ceil(call.body.length / BYTES_PER_TOKEN),
      suits: suitsCall(call, served),
      // Clients of the format ask again by themselves where no answer came.
      lost: 'anywhere',
      request: (upstream) => textRequest(call, upstream),
      refuse: task || !WRITING.includes(route) ? taskFailure : textFailure,
      call,
      // What runs in the background has nothing to say at first.
      ...(call.parsed.background !== true && { route }),
      ...(stream && { firstBytesMs: FIRST_BYTES_MS }),
    };
    const upstreams = task === 'input_tokens' ? served.looking : served.answering;
    if (route === 'embeddings') {
      return run(model, upstreams, asked, (tried) => this.#askForVectors(asked, call, tried));
    }
    if (route !== 'responses' || task) return run(model, upstreams, asked, (tried) => this.#ask(asked, tried));
    const { outputLimitField: limitField, reasoningField } = served.model;
    let translation: ReturnType<typeof translateToChat> | undefined;
    const translated = () => {
      translation ??= translateToChat(call, () => this.#context.clock.now(), { limitField, reasoningField });
      return translation;
    };
    return run(model, upstreams, asked, (tried) => this.#askForResponse(asked, translated, tried));
  }

  async stored(call: StoredResponseCall): Promise<TextReply> {
    const { model, signal } = call;
    const { upstreams, looking } = this.#servedBy(model);
    const suits = ({ name }: Upstream) => name === call.upstream;
    const made = upstreams.find(suits);
    if (!made) {
      throw new GatewayError('response_not_found', 'The upstream of this response is no longer configured.');
    }
    if (!made.routes.includes('responses')) {
      throw new GatewayError('response_not_found', 'The upstream of this response stores none.');
    }
    const asked: Asked = {
      signal,
      tries: 0,
      suits,
      // What is deleted is not there the next time.
      lost: call.action === 'delete' ? 'nowhere' : 'anywhere',
      request: (upstream) => storedRequest(call, upstream),
      refuse: storedFailure,
      firstBytesMs: FIRST_BYTES_MS,
      // Who resumes a stream behind its last event is told nothing more.
      mayHaveNone: true,
    };
    return run(model, looking, asked, (tried) => this.#ask(asked, tried));
  }

  #servedBy(id: string): Served {
    const served = this.#all.get(id);
    if (!served) throw new Error('a model was asked for that this provider does not list');
    return served;
  }

  /** Sends a response as a chat to an upstream that only has chats: it is configured so, or has refused one. */
  async #askForResponse(
    asked: Asked,
    translated: () => ChatTranslation | Promise<ChatTranslation>,
    tried: Try,
  ): Promise<TextReply> {
    const { clock } = this.#context;
    const { upstream, remainingMs } = tried;
    const end = clock.monotonic() + remainingMs;
    const isKnown = !upstream.routes.includes('responses') || (this.#chatOnly.get(upstream) ?? 0) > clock.monotonic();
    if (!isKnown) {
      try {
        return await this.#ask({ ...asked, refuse: responsesFailure }, tried);
      } catch (error) {
        if (!(error instanceof NoResponses)) throw error;
      }
    }
    const { call, replyOf } = await translate(translated);
    const reply = await this.#ask(
      { ...asked, route: call.route, request: () => textRequest(call, upstream), refuse: translatedFailure },
      { ...tried, remainingMs: end - clock.monotonic() },
    );
    if (!isKnown) this.#chatOnly.set(upstream, clock.monotonic() + FORGET_MS);
    return replyOf(reply);
  }

  /** Asks for vectors in the upstream's own form where it refuses the one that the client wants. */
  async #askForVectors(asked: Asked, call: TextCall, tried: Try): Promise<TextReply> {
    const { clock } = this.#context;
    const { upstream, remainingMs } = tried;
    const end = clock.monotonic() + remainingMs;
    if (!this.#oneForm.has(upstream)) {
      try {
        return await this.#ask({ ...asked, refuse: vectorsFailure }, tried);
      } catch (error) {
        if (!(error instanceof NoSuchForm) || call.parsed.encoding_format === undefined) throw error;
      }
    }
    const request = () => textRequest(withoutForm(call), upstream);
    const reply = await this.#ask({ ...asked, request }, { ...tried, remainingMs: end - clock.monotonic() });
    this.#oneForm.add(upstream);
    return reply;
  }

  /** Asks once more without `stream_options` if the upstream refuses them: the gateway adds them to learn the usage. */
  async #ask(asked: Asked, tried: Try): Promise<TextReply> {
    const { clock } = this.#context;
    const end = clock.monotonic() + tried.remainingMs;
    try {
      return await this.#askOnce(asked, tried);
    } catch (error) {
      if (!(error instanceof NoStreamOptions)) throw error;
      this.#withoutOptions.set(tried.upstream, clock.monotonic() + FORGET_MS);
      return this.#askOnce(asked, { ...tried, remainingMs: end - clock.monotonic() });
    }
  }

  async #askOnce(asked: Asked, { upstream, remainingMs, hasOther }: Try): Promise<TextReply> {
    const { http, clock, options } = this.#context;
    const { signal, refuse, firstBytesMs, route, mayHaveNone } = asked;
    const isLimited = hasOther || asked.call?.hasFallback === true;
    const request = this.#fittingRequest(asked, upstream);
    const sent = {
      ...request,
      signal,
      timeoutMs: Math.max(1, remainingMs),
      idleMs: options.idleMs,
      firstBytesMs,
      silenceMs: isLimited && asked.call ? this.#silenceOf(asked.call) : undefined,
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
      headers: passed(headers, firstBytesMs !== undefined),
      body,
      upstream: upstream.name,
      upstreamModel: upstream.model,
      upstreamRequestId: readUpstreamRequestId(headers),
      vendorHeaders: headers,
      tries: asked.tries,
      plainWords: (words) => withoutNames(words, upstream),
    };
  }

  #silenceOf(call: TextCall): number {
    const { budgetMs } = this.#context.options;
    return silenceLimit(call, { seconds: this.#servedBy(call.model).firstByteSeconds, budgetMs });
  }

  /** The request without `stream_options`, while it is remembered that the upstream refuses them. */
  #fittingRequest(asked: Asked, upstream: Upstream): WireRequest {
    const request = asked.request(upstream);
    const until = this.#withoutOptions.get(upstream);
    if (until === undefined) return request;
    if (until > this.#context.clock.monotonic()) return withoutStreamOptions(request);
    this.#withoutOptions.delete(upstream);
    return request;
  }
}

function withFailOver({ options, clock, hints, logger }: PluginContext<Options>, model: ServedModel): Served {
  const { upstreams, weights } = model;
  const { budgetMs, restMs } = options;
  const limits = { budgetMs, restMs, longestWaitMs: LONGEST_WAIT_MS, retryShare: RETRY_SHARE };
  const names = upstreams.map(({ member }) => member);
  const weightOf = weights.of;
  const create = (task: string) =>
    createUpstreams({ upstreams, clock, hints, name: `${model.model.id} ${task}`, logger, weightOf, names, ...limits });
  return { ...model, answering: create('answering'), looking: create('looking') };
}

/**
 * Which upstreams can serve the call.
 * @throws GatewayError if there is none, or the one that holds the earlier response is gone.
 */
function suitsCall(
  { route, task, upstream: earlier }: TextCall,
  { upstreams }: Served,
): (upstream: Upstream) => boolean {
  const isNamed = ({ name }: Upstream) => earlier === undefined || name === earlier;
  const native = upstreams.filter(({ routes }) => routes.includes(route));
  // Chats stand in for responses where no upstream of the model has them.
  const able = native.length > 0 || task ? native : upstreams.filter((upstream) => canServe(upstream, route));
  if (able.length === 0) throw noSuchTask();
  if (!able.some(isNamed)) {
    const message = 'The upstream of the earlier response is no longer configured.';
    throw new GatewayError('previous_response_not_found', message, { param: 'previous_response_id' });
  }
  return (upstream) => able.includes(upstream) && isNamed(upstream);
}

/** @param askOne Makes one try of an upstream. */
function run(
  model: string,
  upstreams: Upstreams<Upstream>,
  asked: Asked,
  askOne: (tried: Try) => Promise<TextReply>,
): Promise<TextReply> {
  return upstreams.run({
    ...asked,
    model,
    ask(upstream, remainingMs, hasOther) {
      asked.tries += 1;
      return askOne({ upstream, remainingMs, hasOther });
    },
  });
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
