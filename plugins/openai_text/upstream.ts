import { createHash } from 'node:crypto';
import {
  BearerKeySchema,
  bearerToken,
  callerFailure,
  GatewayError,
  type HttpRequest,
  openaiError,
  REASONING_EFFORTS,
  type ResponsesTask,
  RestMsSchema,
  replaceFields,
  type Static,
  type StoredResponseAction,
  type StoredResponseCall,
  type TextCall,
  type TextRoute,
  TryFailure,
  Type,
  textFailure,
  type UpstreamNames,
  type UpstreamRefusal,
  UpstreamUrlSchema,
} from 'mediagate/plugin';

const strict = { additionalProperties: false } as const;

const RoutesSchema = Type.Array(Type.Union([Type.Literal('chat_completions'), Type.Literal('responses')]), {
  minItems: 1,
  uniqueItems: true,
  default: ['chat_completions', 'responses'],
  description: 'Formats of text that the upstream writes.',
});

const UpstreamSchema = Type.Object(
  {
    /** Base address, e.g. `https://api.openai.com/v1`; `/chat/completions` and `/responses` are put behind it. */
    url: UpstreamUrlSchema,
    apiKey: BearerKeySchema,
    model: Type.Optional(
      Type.String({ minLength: 1, description: 'Name of the model at this upstream. Default: `upstreamModel`.' }),
    ),
    weight: Type.Number({
      minimum: 0,
      maximum: 1_000,
      default: 1,
      description: 'Share of the requests in relation to the other upstreams. 0: only while no other upstream works.',
    }),
    routes: RoutesSchema,
    name: Type.Optional(
      Type.String({
        pattern: '^[\\w.-]{1,40}$',
        description: 'Name under which stored responses are found again. Default: derived from the address.',
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

const ModelSchema = Type.Object(
  {
    id: Type.String({ minLength: 1, description: 'Public name of the model.' }),
    upstreamModel: Type.Optional(
      Type.String({ minLength: 1, description: 'Name of the model at the upstreams. Default: the public name.' }),
    ),
    routes: Type.Optional({
      ...ModelRoutesSchema,
      description: 'Routes of the model. Default: `routes` of the provider.',
    }),
  },
  strict,
);

export const OptionsSchema = Type.Object(
  {
    model: Type.Optional(Type.String({ minLength: 1, description: 'Public name of the model.' })),
    models: Type.Optional(
      Type.Union([Type.Array(ModelSchema, { minItems: 1 }), Type.String({ pattern: '[^,\\s]' })], {
        description:
          'Several models of the same upstreams, in place of `model`: a list of objects with `id`, `upstreamModel` and `routes`, or the names at the upstreams, separated by commas.',
      }),
    ),
    routes: Type.Optional({
      ...ModelRoutesSchema,
      description:
        'Routes of the models: `chat_completions`, `responses`, `embeddings`, `moderations`. Default: chats and responses, as far as the upstreams have them.',
    }),
    upstreamModel: Type.Optional(
      Type.String({ minLength: 1, description: 'Name of the model at the upstreams. Default: the public name.' }),
    ),
    efforts: Type.Array(Type.String({ minLength: 1 }), {
      default: [...REASONING_EFFORTS],
      description:
        'Reasoning efforts that clients may ask for. List fewer if the model has fewer; the others are refused with 400.',
    }),
    maxOutputTokens: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 100_000_000,
        description:
          'Maximum output tokens of an answer; under a token budget, a request without a maximum gets it. Default 16,384.',
      }),
    ),
    outputLimitField: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z_]{1,40}$',
        description:
          'Field of a chat that limits its output, for servers that know only one, such as `max_tokens`. Default: the field that the client sent, otherwise `max_completion_tokens`.',
      }),
    ),
    upstreams: Type.Array(UpstreamSchema, { minItems: 1, maxItems: 16, description: 'Servers that have the model.' }),
    budgetMs: Type.Integer({
      minimum: 1_000,
      maximum: 600_000,
      default: 590_000,
      description: 'Milliseconds until an answer begins, over all tries; less than the `timeoutMs` of the entry.',
    }),
    idleMs: Type.Integer({
      minimum: 1,
      maximum: 3_600_000,
      default: 300_000,
      description: 'Most milliseconds that an upstream may be silent in the middle of an answer.',
    }),
    restMs: RestMsSchema,
  },
  strict,
);

export type Options = Static<typeof OptionsSchema>;

/** A model that the provider serves. */
export interface ServedModel {
  /** Public name. */
  id: string;
  /** Its name at the upstreams. Default: the public name. */
  upstreamModel?: string;
  routes?: readonly TextRoute[];
}

/** @throws Error if there are none. */
export function modelsOf({ model, upstreamModel, models = [], routes }: Options): ServedModel[] {
  const listed: readonly ServedModel[] =
    typeof models === 'string'
      ? [...new Set(models.split(/[,\s]+/))].filter((name) => name !== '').map((id) => ({ id }))
      : models;
  const all = [...(model === undefined ? [] : [{ id: model, upstreamModel }]), ...listed];
  if (all.length === 0) throw new Error('"model" or "models" must name the models');
  return all.map((one) => ({ routes, ...one }));
}

/** An upstream with nothing left open. */
export interface Upstream {
  /** Under which responses are found again. */
  name: string;
  url: string;
  /** Where each format is spoken, and each task done, parsed once for all requests. */
  addresses: Readonly<Record<TextRoute | ResponsesTask, URL>>;
  apiKey?: string;
  /** What it calls the model. */
  model: string;
  publicModel: string;
  weight: number;
  routes: readonly TextRoute[];
}

/** @throws Error where two have the same name, since a response could then not be found again. */
export function upstreamsOf({ upstreams }: Options, { id, upstreamModel = id }: ServedModel): Upstream[] {
  const all = upstreams.map((one) => ({
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
    name: one.name ?? nameOf(one.url),
    model: one.model ?? upstreamModel,
    publicModel: id,
  }));
  const twice = all.findIndex(({ name }, index) => all.findIndex((other) => other.name === name) !== index);
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

/** A request in the upstream's format. */
export type WireRequest = Pick<HttpRequest, 'url' | 'method' | 'headers' | 'body'>;

const STORED: Readonly<Record<StoredResponseAction, { method: 'GET' | 'POST' | 'DELETE'; path: string }>> = {
  retrieve: { method: 'GET', path: '' },
  delete: { method: 'DELETE', path: '' },
  cancel: { method: 'POST', path: '/cancel' },
  input_items: { method: 'GET', path: '/input_items' },
};

/** The caller's body as it is, but for the name of the model. */
export function textRequest({ route, task, body, stream }: TextCall, upstream: Upstream): WireRequest {
  return {
    url: upstream.addresses[task ?? route],
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: stream ? 'text/event-stream' : 'application/json',
      ...credentials(upstream),
    },
    body: replaceFields(body, { model: upstream.model }),
  };
}

export function storedRequest({ action, responseId, query }: StoredResponseCall, upstream: Upstream): WireRequest {
  const { method, path } = STORED[action];
  const url = `${upstream.addresses.responses}/${encodeURIComponent(responseId)}${path}`;
  return {
    url: query === '' ? url : `${url}?${query}`,
    method,
    headers: { accept: 'application/json, text/event-stream', ...credentials(upstream) },
  };
}

/** Some servers refuse requests without a user agent. Events are not to be gathered until a compressor has enough of them. */
function credentials({ apiKey }: Upstream): Record<string, string> {
  return { 'user-agent': 'mediagate', 'accept-encoding': 'identity', ...bearerToken(apiKey) };
}

/** Of a look-alike that only answers requests. */
const NO_SUCH_TASK = new Set([404, 405, 501]);

/** The same for a stored response, where "not found" is about that. */
export function storedFailure(refusal: UpstreamRefusal, upstream: UpstreamNames, now: number): TryFailure {
  if (refusal.status === 404)
    return callerFailure(new GatewayError('response_not_found', 'There is no such response.'));
  return textFailure(refusal, upstream, now);
}

/** The same for what not every upstream does. */
export function taskFailure(refusal: UpstreamRefusal, upstream: UpstreamNames, now: number): TryFailure {
  const failure = textFailure(refusal, upstream, now);
  const isCallers = failure.consequence.again === 'nowhere';
  if (!NO_SUCH_TASK.has(refusal.status) || isCallers || openaiError(refusal).about === 'model') return failure;
  const error = new GatewayError('model_not_supported', 'The upstream of the model does not support this.', {
    param: 'model',
  });
  return new TryFailure(error, { again: 'elsewhere', counts: false });
}
