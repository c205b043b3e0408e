import { createHash } from 'node:crypto';
import { type ResponsesTask, type Static, type TextRoute, Type } from 'mediagate';

const strict = { additionalProperties: false } as const;

const RoutesSchema = Type.Array(Type.Union([Type.Literal('chat_completions'), Type.Literal('responses')]), {
  minItems: 1,
  uniqueItems: true,
  default: ['chat_completions', 'responses'],
});

const UpstreamSchema = Type.Object(
  {
    /** Base address, e.g. `https://api.openai.com/v1`; `/chat/completions` and `/responses` are put behind it. */
    url: Type.String({
      pattern: '^https?://[^/?#@\\s]+[^?#@\\s]*$',
      description: 'an http or https address, such as https://api.example.com/v1',
    }),
    /** Sent as a bearer token. Absent: none is sent. */
    apiKey: Type.Optional(Type.String({ minLength: 1 })),
    /** What this upstream calls the model. Absent: as `upstreamModel` says. */
    model: Type.Optional(Type.String({ minLength: 1 })),
    /** Share of the requests it gets against the others; 0: only while no other is well. */
    weight: Type.Number({ minimum: 0, maximum: 1_000, default: 1 }),
    /** Formats it speaks. */
    routes: RoutesSchema,
    /** Under this name responses are found again that are stored there. Absent: one made of the address. */
    name: Type.Optional(Type.String({ pattern: '^[\\w.-]{1,40}$' })),
  },
  strict,
);

export const OptionsSchema = Type.Object(
  {
    /** Public name of the model. */
    model: Type.String({ minLength: 1 }),
    /** What upstreams call it that say nothing else. Absent: the same. */
    upstreamModel: Type.Optional(Type.String({ minLength: 1 })),
    /** Reasoning efforts that callers may ask for. */
    efforts: Type.Array(Type.String({ minLength: 1 }), { default: ['low', 'medium', 'high', 'xhigh'] }),
    /** Maximum output tokens of an answer. Under a token budget, a request that names no maximum gets it. Absent: 16,384. */
    maxOutputTokens: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000_000 })),
    /**
     * Field of a chat that limits its output, for servers that know only one, such as `max_tokens`. Absent: the field
     * that the caller sent, otherwise `max_completion_tokens`.
     */
    outputLimitField: Type.Optional(Type.String({ pattern: '^[A-Za-z_]{1,40}$' })),
    /** Servers of these formats that have the model. */
    upstreams: Type.Array(UpstreamSchema, { minItems: 1, maxItems: 16 }),
    /** Milliseconds until an answer begins, over all tries; less than the `timeoutMs` of the entry. */
    budgetMs: Type.Integer({ minimum: 1_000, maximum: 600_000, default: 590_000 }),
    /** Milliseconds that an upstream may be silent in the middle of an answer. */
    idleMs: Type.Integer({ minimum: 1, maximum: 3_600_000, default: 300_000 }),
    /** Milliseconds that an upstream rests at first once it kept failing. */
    restMs: Type.Integer({ minimum: 1, maximum: 600_000, default: 10_000 }),
  },
  strict,
);

export type Options = Static<typeof OptionsSchema>;

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
export function upstreamsOf({ model, upstreamModel = model, upstreams }: Options): Upstream[] {
  const all = upstreams.map((one) => ({
    ...one,
    addresses: {
      chat_completions: addressOf(one.url, 'chat/completions'),
      responses: addressOf(one.url, 'responses'),
      compact: addressOf(one.url, 'responses/compact'),
      input_tokens: addressOf(one.url, 'responses/input_tokens'),
    },
    name: one.name ?? nameOf(one.url),
    model: one.model ?? upstreamModel,
    publicModel: model,
  }));
  const twice = all.findIndex(({ name }, index) => all.findIndex((other) => other.name === name) !== index);
  if (twice >= 0) throw new Error(`upstreams.${twice} has the address of one before it, and no "name" of its own`);
  return all;
}

function addressOf(url: string, path: string): URL {
  return new URL(`${url.replace(/\/+$/, '')}/${path}`);
}

/** The address itself is nothing to be stored beside what callers made. */
function nameOf(url: string): string {
  return createHash('sha256').update(url.replace(/\/+$/, '')).digest('base64url').slice(0, 12);
}
