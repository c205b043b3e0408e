/*
 * The options of the plugin, and the models that result from them. A model takes each value from itself or else from
 * the provider. Addresses are parsed once at the start, not for each request. A model that is listed twice, that names
 * an upstream that does not exist, or whose upstreams have none of its routes stops the start with an error that names
 * the field. Stored responses are found again by the name of their upstream, so that names must differ.
 */

import { createHash } from 'node:crypto';
import {
  BearerKeySchema,
  chooseUpstreams,
  ModelUpstreamFields,
  REASONING_EFFORTS,
  type ResponsesTask,
  type Static,
  type TextModel,
  TextOptionFields,
  type TextRoute,
  TextTimeFields,
  Type,
  UpstreamUrlSchema,
  UpstreamWeights,
} from 'mediagate/plugin';
import type { SystemMessages } from './system-messages.js';

const strict = { additionalProperties: false } as const;

const RoutesSchema = Type.Array(Type.Union([Type.Literal('chat_completions'), Type.Literal('responses')]), {
  minItems: 1,
  uniqueItems: true,
  default: ['chat_completions', 'responses'],
  description:
    'Formats of text that the upstream writes. Without `responses`, requests of that format are sent as chats. An upstream that has no such route is detected at the first request.',
});

const UpstreamSchema = Type.Object(
  {
    /** Base address, e.g. `https://api.openai.com/v1`; `/chat/completions` and `/responses` are put behind it. */
    url: UpstreamUrlSchema,
    apiKey: BearerKeySchema,
    ...TextOptionFields.upstream,
    routes: RoutesSchema,
    name: Type.Optional(
      Type.String({
        pattern: '^[\\w.-]{1,40}$',
        description:
          'Name in the log and for `models`; stored responses are found again under it. Default: derived from the address.',
      }),
    ),
  },
  strict,
);

const ModelRoutesSchema = Type.Array(
  Type.Union(
    (['chat_completions', 'responses', 'embeddings', 'moderations'] as const).map((route) => Type.Literal(route)),
  ),
  { minItems: 1, uniqueItems: true },
);

const MaxOutputTokensSchema = Type.Integer({ minimum: 1, maximum: 100_000_000 });
const OutputLimitFieldSchema = Type.String({ pattern: '^[A-Za-z_]{1,40}$' });
const ReasoningFieldSchema = Type.Union(
  (['reasoning_content', 'reasoning', 'none'] as const).map((name) => Type.Literal(name)),
);
const SystemMessagesSchema = Type.Union((['as_sent', 'system', 'first'] as const).map((name) => Type.Literal(name)));
const EffortsSchema = Type.Array(Type.String({ minLength: 1 }));

const ModelSchema = Type.Object(
  {
    ...TextOptionFields.model,
    ...TextOptionFields.silence,
    ...ModelUpstreamFields,
    routes: Type.Optional({
      ...ModelRoutesSchema,
      description: 'Routes of the model. Default: `routes` of the provider.',
    }),
    efforts: Type.Optional({ ...EffortsSchema, description: 'Default: `efforts` of the provider.' }),
    maxOutputTokens: Type.Optional({
      ...MaxOutputTokensSchema,
      description: 'Default: `maxOutputTokens` of the provider.',
    }),
    outputLimitField: Type.Optional({
      ...OutputLimitFieldSchema,
      description: 'Default: `outputLimitField` of the provider.',
    }),
    reasoningField: Type.Optional({
      ...ReasoningFieldSchema,
      description: 'Default: `reasoningField` of the provider.',
    }),
    systemMessages: Type.Optional({
      ...SystemMessagesSchema,
      description: 'Default: `systemMessages` of the provider.',
    }),
  },
  strict,
);

export const OptionsSchema = Type.Object(
  {
    models: Type.Union([Type.Array(ModelSchema, { minItems: 1 }), Type.String({ pattern: '[^,\\s]' })], {
      description: 'The models: a list of objects, or their names at the upstreams, separated by commas.',
    }),
    routes: Type.Optional({
      ...ModelRoutesSchema,
      description:
        'Routes of the models: `chat_completions`, `responses`, `embeddings`, `moderations`. Default: chats and responses, as far as the upstreams have them.',
    }),
    efforts: {
      ...EffortsSchema,
      default: [...REASONING_EFFORTS],
      description:
        'Reasoning efforts that clients may ask for. List fewer if the model has fewer; the others are refused with 400.',
    },
    maxOutputTokens: Type.Optional({
      ...MaxOutputTokensSchema,
      description:
        'Maximum output tokens of an answer; under a token budget, a request without a maximum gets it. Default 16,384.',
    }),
    outputLimitField: Type.Optional({
      ...OutputLimitFieldSchema,
      description:
        'Field of a chat that limits its output, for servers that know only one, such as `max_tokens`. Default: the field that the client sent, otherwise `max_completion_tokens`.',
    }),
    reasoningField: Type.Optional({
      ...ReasoningFieldSchema,
      description:
        "Field of a chat in which the upstream demands the model's thoughts back, for responses and messages that are sent as chats: `none` if it refuses thoughts. Default: `reasoning_content`, for thoughts that the client sends back in a turn with tool calls.",
    }),
    systemMessages: {
      ...SystemMessagesSchema,
      default: 'as_sent',
      description:
        'Messages of the system in chats: `as_sent`; `system` for servers that do not know the role `developer`; `first` for models that take one system message, at the beginning.',
    },
    upstreams: Type.Array(UpstreamSchema, { minItems: 1, maxItems: 16, description: 'Servers that have the models.' }),
    ...TextTimeFields,
    ...TextOptionFields.silence,
  },
  strict,
);

export type Options = Static<typeof OptionsSchema>;

type ModelOptions = Static<typeof ModelSchema>;

/** An upstream of one model with nothing left open. */
export interface Upstream {
  /** Under which responses are found again. */
  name: string;
  /** In the log and in states: the configured name, or `upstreams.0` and so on. */
  member: string;
  url: string;
  /** Where each format is spoken, and each task done, parsed once for all requests. */
  addresses: Readonly<Record<TextRoute | ResponsesTask, URL>>;
  apiKey?: string;
  /** What it calls the model. */
  model: string;
  publicModel: string;
  weight: number;
  routes: readonly TextRoute[];
  systemMessages: SystemMessages;
}

/** A model that the provider serves. */
export interface ServedModel {
  model: TextModel;
  upstreams: readonly Upstream[];
  weights: UpstreamWeights<Upstream>;
  /** Default: by the request. */
  firstByteSeconds: number | undefined;
}

const WRITING: readonly TextRoute[] = ['chat_completions', 'responses'];

/** @throws Error naming the field, where a model is listed twice, or names an upstream that is not there. */
export function modelsOf(options: Options): ServedModel[] {
  const listed: readonly ModelOptions[] =
    typeof options.models === 'string'
      ? [...new Set(options.models.split(/[,\s]+/))].filter((id) => id !== '').map((id) => ({ id }))
      : options.models;
  const twice = listed.findIndex(({ id }, index) => listed.findIndex((other) => other.id === id) !== index);
  if (twice >= 0) throw new Error(`models.${twice} has the "id" of an earlier model`);
  const all = addressesOf(options);
  return listed.map((one, index) => servedModel(options, one, { at: `models.${index}`, all }));
}

function servedModel(
  options: Options,
  one: ModelOptions,
  { at, all }: { at: string; all: readonly Addressed[] },
): ServedModel {
  const { id, routes = options.routes ?? WRITING, contextLength } = one;
  const { maxOutputTokens = options.maxOutputTokens, outputLimitField = options.outputLimitField } = one;
  const { reasoningField = options.reasoningField, systemMessages = options.systemMessages } = one;
  const { upstreams: chosen, isOrdered } = chooseUpstreams(one, { at, all });
  const upstreams = chosen.map((upstream): Upstream => {
    const { name = nameOf(upstream.url), ...rest } = upstream;
    return { ...rest, name, publicModel: id, systemMessages };
  });
  const weights = new UpstreamWeights<Upstream>({ isOrdered });
  const served = routes.filter((route) => upstreams.some((upstream) => canServe(upstream, route)));
  if (served.length === 0) throw new Error(`${at}: no upstream of the model has one of its routes`);
  const isNative = (route: TextRoute) => upstreams.some(({ routes }) => routes.includes(route));
  const translated = served.filter((route) => !isNative(route));
  return {
    model: {
      id,
      routes: served,
      ...(translated.length > 0 && { translated }),
      efforts: served.some((route) => WRITING.includes(route)) ? (one.efforts ?? options.efforts) : [],
      ...(contextLength !== undefined && { contextLength }),
      ...(one.fallbacks && { fallbacks: one.fallbacks }),
      ...(maxOutputTokens !== undefined && { maxOutputTokens }),
      ...(outputLimitField !== undefined && { outputLimitField }),
      ...(reasoningField !== undefined && { reasoningField }),
      ...(one.outputTokensPerSecond !== undefined && { outputTokensPerSecond: one.outputTokensPerSecond }),
      upstreams: upstreams.map((upstream) => weights.describe(upstream)),
    },
    upstreams,
    weights,
    firstByteSeconds: one.firstByteSeconds ?? options.firstByteSeconds,
  };
}

/** Responses are also served by upstreams that only have chats: they are translated. */
export function canServe({ routes }: Pick<Upstream, 'routes'>, route: TextRoute): boolean {
  return routes.includes(route) || (route === 'responses' && routes.includes('chat_completions'));
}

interface Addressed extends Omit<Upstream, 'name' | 'model' | 'publicModel' | 'systemMessages'> {
  /** The configured one, which models may use. */
  name?: string;
  model?: string;
}

/** @throws Error where two have the same name, since a response could then not be found again. */
function addressesOf({ upstreams }: Options): Addressed[] {
  const all = upstreams.map((one, index) => ({
    ...one,
    addresses: {
      chat_completions: addressOf(one.url, 'chat/completions'),
      responses: addressOf(one.url, 'responses'),
      messages: addressOf(one.url, 'messages'),
      compact: addressOf(one.url, 'responses/compact'),
      input_tokens: addressOf(one.url, 'responses/input_tokens'),
      embeddings: addressOf(one.url, 'embeddings'),
      moderations: addressOf(one.url, 'moderations'),
    },
    routes: [...one.routes, 'embeddings', 'moderations'] as const,
    member: one.name ?? `upstreams.${index}`,
  }));
  const names = all.map(({ name, url }) => name ?? nameOf(url));
  const twice = names.findIndex((name, index) => names.indexOf(name) !== index);
  if (twice >= 0) throw new Error(`upstreams.${twice} has the same address as an earlier one and needs its own "name"`);
  return all;
}

function addressOf(url: string, path: string): URL {
  return new URL(`${url.replace(/\/+$/, '')}/${path}`);
}

/** The address itself is nothing to be stored beside what callers made. */
function nameOf(url: string): string {
  return createHash('sha256').update(url.replace(/\/+$/, '')).digest('base64url').slice(0, 12);
}
