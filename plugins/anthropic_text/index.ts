/*
 * Serves models of servers with Anthropic's messages format. Messages pass through as they are; chats and responses are
 * converted before an upstream is asked, so that a request that cannot be converted is refused once. Large bodies are
 * converted in a worker thread. Counting tokens has its own fail-over state and cannot take an upstream out of service
 * for answers. Two refusals are specific to this vendor: an empty credit balance is the operator's account, and a 404
 * that names a file or container is the client's error.
 */

import { createHash } from 'node:crypto';
import {
  accountFailure,
  askTextUpstream,
  asString,
  at,
  callerFailure,
  checkModelList,
  chooseUpstreams,
  createUpstreams,
  definePlugin,
  GatewayError,
  ModelUpstreamFields,
  type PluginContext,
  REASONING_EFFORTS,
  readUpstreamRequestId,
  replaceFields,
  type Static,
  silenceLimit,
  sumUpstreamStates,
  type TextCall,
  type TextModel,
  TextOptionFields,
  type TextProvider,
  type TextReply,
  TextTimeFields,
  type TryFailure,
  Type,
  taskFailure,
  textFailure,
  translateToChat,
  type UpstreamCheck,
  UpstreamKeySchema,
  type UpstreamRefusal,
  type UpstreamState,
  type Upstreams,
  UpstreamUrlSchema,
  UpstreamWeights,
  withoutNames,
} from 'mediagate/plugin';
import { chatAnswer, countAnswer } from './answer.js';
import { withImageTypes } from './parts.js';
import { messageBody, type ThinkingOptions } from './request.js';

const strict = { additionalProperties: false } as const;
const ThinkingSchema = Type.Union([Type.Literal('adaptive'), Type.Literal('budget'), Type.Literal('none')]);
const MaxOutputTokensSchema = Type.Integer({ minimum: 1, maximum: 100_000_000 });

const ModelSchema = Type.Object(
  {
    ...TextOptionFields.model,
    ...TextOptionFields.silence,
    ...ModelUpstreamFields,
    efforts: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), { description: 'Default: `efforts` of the provider.' }),
    ),
    thinking: Type.Optional({ ...ThinkingSchema, description: 'Default: `thinking` of the provider.' }),
    maxOutputTokens: Type.Optional({
      ...MaxOutputTokensSchema,
      description: 'Default: `maxOutputTokens` of the provider.',
    }),
  },
  strict,
);

const UpstreamSchema = Type.Object(
  {
    url: {
      ...UpstreamUrlSchema,
      description: 'Base address of the API, such as https://api.anthropic.com. `/v1` is added if it has no path.',
    },
    apiKey: Type.Optional({
      ...UpstreamKeySchema,
      minLength: 1,
      description: 'Key of the API. Default: none is sent.',
    }),
    ...TextOptionFields.upstream,
    name: Type.Optional(
      Type.String({
        pattern: '^[\\w.-]{1,40}$',
        description: 'Name in the log and for `models`. Default: its number.',
      }),
    ),
  },
  strict,
);

const OptionsSchema = Type.Object(
  {
    models: Type.Union([Type.Array(ModelSchema, { minItems: 1 }), Type.String({ pattern: '[^,\\s]' })], {
      description: 'The models: a list of objects, or their names at the upstreams, separated by commas.',
    }),
    efforts: Type.Array(Type.String({ minLength: 1 }), {
      default: [...REASONING_EFFORTS],
      description: 'Reasoning efforts that chats may ask for. List fewer if the models have fewer.',
    }),
    thinking: {
      ...ThinkingSchema,
      default: 'adaptive',
      description:
        'How a chat with a reasoning effort asks for thinking: `adaptive` by that effort, `budget` by a number of tokens as older models know it, `none` not at all.',
    },
    maxOutputTokens: {
      ...MaxOutputTokensSchema,
      default: 16_384,
      description: 'Maximum output tokens of an answer, for chats that state none.',
    },
    upstreams: Type.Array(UpstreamSchema, { minItems: 1, maxItems: 16, description: 'Servers that have the models.' }),
    ...TextTimeFields,
    ...TextOptionFields.silence,
  },
  strict,
);

type Options = Static<typeof OptionsSchema>;

/** Text from any server with Anthropic's messages format. */
export default definePlugin<typeof OptionsSchema>({
  name: 'anthropic_text',
  apiVersion: 1,
  summary: "Text from servers of Anthropic's messages format, for messages as they are and for chats.",
  provides: ['text'],
  options: OptionsSchema,
  setup: (context) => ({
    textProviders: [new AnthropicTextProvider(context)],
    checkUpstreams: ({ signal }) => checkUpstreams(context, signal),
  }),
});

/** A model may think long before its first word, and its client learns by then that there is an answer. */
const FIRST_BYTES_MS = 2_000;
/** Clients of the formats wait by themselves. */
const LONGEST_WAIT_MS = 5_000;
const RETRY_SHARE = 0.2;
const BYTES_PER_TOKEN = 4;
/** Chats that are converted again here. Thoughts of a chat have no signature, without which the vendor refuses them. */
const CHAT_FORMAT = { limitField: 'max_completion_tokens', reasoningField: 'none' } as const;
/** The version for clients that name none. */
const VERSION = { 'anthropic-version': '2023-06-01' };

interface Upstream {
  name: string;
  member: string;
  /** Base address with its version. */
  url: string;
  apiKey?: string;
  /** What it calls the model. */
  model: string;
  publicModel: string;
  weight: number;
}

interface Served {
  model: TextModel;
  weights: UpstreamWeights<Upstream>;
  asking: ThinkingOptions;
  answering: Upstreams<Upstream>;
  /** Fails, and is limited, by itself: an upstream that does not count tokens still answers. */
  counting: Upstreams<Upstream>;
  /** Default: by the request. */
  firstByteSeconds: number | undefined;
}

class AnthropicTextProvider implements TextProvider {
  readonly tasks = ['input_tokens'] as const;
  readonly models: readonly TextModel[];
  readonly #context: PluginContext<Options>;
  readonly #all: ReadonlyMap<string, Served>;

  constructor(context: PluginContext<Options>) {
    const addressed = addressesOf(context.options);
    const all = modelsOf(context.options).map((one, index) =>
      serve(context, one, { at: `models.${index}`, addressed }),
    );
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

  async send(call: TextCall): Promise<TextReply> {
    const { clock } = this.#context;
    const { route, task, model, signal } = call;
    const served = this.#all.get(model);
    if (!served) throw new Error('a model was asked for that this provider does not list');
    // Before an upstream is asked: what cannot be converted is refused once.
    const translation = route === 'responses' ? await translateToChat(call, () => clock.now(), CHAT_FORMAT) : undefined;
    const chat = translation?.call ?? (route === 'chat_completions' ? call : undefined);
    const how = { ...served.asking, model, onlyCounts: task !== undefined };
    const converted = chat && (await messageBody(chat.body, how, signal));
    const body = converted?.body ?? withImageTypes(call.body);
    let tries = 0;
    return (task ? served.counting : served.answering).run({
      model,
      signal,
      tokens: Math.ceil(body.length / BYTES_PER_TOKEN),
      // Clients of the formats ask again by themselves where no answer came.
      lost: 'anywhere',
      ask: async (upstream, remainingMs, hasOther) => {
        tries += 1;
        const isLimited = hasOther || call.hasFallback === true;
        const silenceMs = isLimited ? this.#silenceOf(call, served) : undefined;
        const reply = await this.#ask({ ...call, body }, { upstream, remainingMs, silenceMs, tries });
        if (!converted) return reply;
        if (task) return { ...reply, body: countAnswer(reply.body) };
        const { tools, ignored } = converted;
        const created = Math.floor(clock.now() / 1_000);
        const stream = reply.headers['content-type']?.startsWith('text/event-stream') ?? false;
        const answered = { ...reply, ignored, body: chatAnswer(reply.body, { stream, created, tools }) };
        return translation ? translation.replyOf(answered) : answered;
      },
    });
  }

  #silenceOf(call: TextCall, { firstByteSeconds: seconds }: Served): number {
    return silenceLimit(call, { seconds, budgetMs: this.#context.options.budgetMs });
  }

  /** Makes one try of an upstream. */
  async #ask(call: TextCall, { upstream, remainingMs, silenceMs, tries }: Try): Promise<TextReply> {
    const { http, clock, options } = this.#context;
    const { task, stream, signal } = call;
    const refuse = task ? taskFailure : failureOf;
    const sent = {
      ...wireRequest(call, upstream),
      signal,
      idleMs: options.idleMs,
      timeoutMs: Math.max(1, remainingMs),
      names: upstream,
      ...(!task && { route: 'messages' as const }),
      ...(silenceMs !== undefined && { silenceMs }),
      ...(stream && { firstBytesMs: FIRST_BYTES_MS }),
    };
    const { status, headers, body } = await askTextUpstream({ http, clock }, sent, (refusal) =>
      refuse(refusal, upstream, clock.now()),
    );
    return {
      status,
      headers: { 'content-type': headers['content-type'] ?? (stream ? 'text/event-stream' : 'application/json') },
      body,
      upstream: upstream.name,
      upstreamModel: upstream.model,
      upstreamRequestId: readUpstreamRequestId(headers),
      vendorHeaders: headers,
      tries,
      plainWords: (words) => withoutNames(words, upstream),
    };
  }
}

/** One try of an upstream. */
interface Try {
  upstream: Upstream;
  remainingMs: number;
  /** Milliseconds until its first byte. Default: no limit. */
  silenceMs: number | undefined;
  /** Tries so far, with this one. */
  tries: number;
}

function serve(
  { options, clock, hints, logger }: PluginContext<Options>,
  one: Static<typeof ModelSchema>,
  { at, addressed }: { at: string; addressed: readonly Addressed[] },
): Served {
  const { id, contextLength, efforts = options.efforts, thinking = options.thinking } = one;
  const { maxOutputTokens = options.maxOutputTokens } = one;
  const chosen = chooseUpstreams(one, { at, all: addressed });
  const upstreams = chosen.upstreams.map((upstream): Upstream => {
    const { name = nameOf(upstream.url, upstream.place), ...rest } = upstream;
    return { ...rest, name, publicModel: id };
  });
  const { budgetMs, restMs } = options;
  const names = upstreams.map(({ member }) => member);
  const limits = { budgetMs, restMs, longestWaitMs: LONGEST_WAIT_MS, retryShare: RETRY_SHARE };
  const weights = new UpstreamWeights<Upstream>(chosen);
  const weightOf = weights.of;
  const create = (task: string) =>
    createUpstreams({ upstreams, clock, hints, name: `${id} ${task}`, logger, names, weightOf, ...limits });
  return {
    model: {
      id,
      routes: ['messages', 'chat_completions', 'responses'],
      translated: ['chat_completions', 'responses'],
      efforts: thinking === 'none' ? [] : efforts,
      maxOutputTokens,
      ...(one.outputTokensPerSecond !== undefined && { outputTokensPerSecond: one.outputTokensPerSecond }),
      ...(contextLength !== undefined && { contextLength }),
      ...(one.fallbacks && { fallbacks: one.fallbacks }),
      upstreams: upstreams.map((upstream) => weights.describe(upstream)),
    },
    asking: { thinking, maxOutputTokens },
    weights,
    answering: create('answering'),
    counting: create('counting'),
    firstByteSeconds: one.firstByteSeconds ?? options.firstByteSeconds,
  };
}

interface Addressed extends Omit<Upstream, 'name' | 'model' | 'publicModel'> {
  /** The configured one, which models may use. */
  name?: string;
  model?: string;
  place: number;
}

/** @throws Error where two upstreams have the same name. */
function addressesOf({ upstreams }: Options): Addressed[] {
  const twice = upstreams.findIndex(
    ({ name }, index) => name !== undefined && upstreams.findIndex((other) => other.name === name) !== index,
  );
  if (twice >= 0) throw new Error(`upstreams.${twice} has the "name" of an earlier one`);
  return upstreams.map((one, place) => {
    return { ...one, url: baseOf(one.url), member: one.name ?? `upstreams.${place}`, place };
  });
}

/** @throws Error naming a model that is listed twice. */
function modelsOf({ models }: Options): readonly Static<typeof ModelSchema>[] {
  if (typeof models !== 'string') {
    const twice = models.findIndex(({ id }, index) => models.findIndex((other) => other.id === id) !== index);
    if (twice >= 0) throw new Error(`models.${twice} has the "id" of an earlier model`);
    return models;
  }
  return [...new Set(models.split(/[,\s]+/))].filter((id) => id !== '').map((id) => ({ id }));
}

/** Asks each upstream for its list of models, all at once. */
async function checkUpstreams(context: PluginContext<Options>, signal: AbortSignal): Promise<UpstreamCheck[]> {
  const { options } = context;
  const addressed = addressesOf(options);
  const chosen = modelsOf(options).map((one, index) => {
    return { id: one.id, ...chooseUpstreams(one, { at: `models.${index}`, all: addressed }) };
  });
  const checks = addressed.map(({ url, apiKey, member, model, place: index }) => {
    const place = `upstreams.${index}`;
    const models = chosen.flatMap(({ id, upstreams }) => {
      const found = upstreams.find((one) => one.place === index);
      return found ? [{ id, upstreamModel: found.model }] : [];
    });
    if (models.length === 0) return [];
    return checkModelList({
      context,
      upstream: member,
      url,
      headers: apiKey === undefined ? {} : { ...VERSION, 'x-api-key': apiKey },
      models,
      options: {
        url: `${place}.url`,
        key: `${place}.apiKey`,
        model: model === undefined ? 'models' : `${place}.model`,
      },
      query: '?limit=1000',
      emptyRequest: '/messages',
      signal,
    });
  });
  return (await Promise.all(checks)).flat();
}

/** The vendor's own base address has no version, those of other formats do. */
function baseOf(url: string): string {
  const base = url.replace(/\/+$/, '');
  return new URL(base).pathname === '/' ? `${base}/v1` : base;
}

function nameOf(url: string, place: number): string {
  return createHash('sha256').update(`${place} ${url}`).digest('base64url').slice(0, 12);
}

/** The caller's body as it is, except for the name of the model. */
function wireRequest(
  { task, body, stream, headers }: Pick<TextCall, 'task' | 'body' | 'stream' | 'headers'>,
  upstream: Upstream,
) {
  const { url, apiKey, model } = upstream;
  return {
    url: `${url}/messages${task ? '/count_tokens' : ''}`,
    method: 'POST',
    headers: {
      ...VERSION,
      ...headers,
      'user-agent': 'mediagate',
      'content-type': 'application/json',
      accept: stream ? 'text/event-stream' : 'application/json',
      // Events are not to be gathered until a compressor has enough of them.
      'accept-encoding': 'identity',
      ...(apiKey !== undefined && { 'x-api-key': apiKey }),
    },
    body: replaceFields(body, { model }),
  } as const;
}

const NO_CREDIT = /\bcredit balance is too low\b/i;
/** What a 404 names, if it is not the model. */
const THING = /^(?:file|container|skill|session|thread|message)\b/i;

/** The format shares its statuses and words with the others; these two are its own. */
function failureOf(refusal: UpstreamRefusal, upstream: Upstream, now: number): TryFailure {
  const words = asString(at(refusal.json, 'error', 'message')) ?? '';
  if (NO_CREDIT.test(words)) return accountFailure();
  if (refusal.status === 404 && THING.test(words)) {
    return callerFailure(new GatewayError('invalid_value', withoutNames(words.slice(0, 1_000), upstream)));
  }
  return textFailure(refusal, upstream, now);
}
