import { type Static, Type } from 'mediagate';

const strict = { additionalProperties: false } as const;

const UpstreamSchema = Type.Object(
  {
    /** Base address, e.g. `https://api.openai.com/v1`; `/images/generations` and `/images/edits` are put behind it. */
    url: Type.String({
      pattern: '^https?://[^/?#@\\s]+[^?#@\\s]*$',
      description: 'an http or https address, such as https://api.example.com/v1',
    }),
    /** Sent as a bearer token. Absent: none is sent. */
    apiKey: Type.Optional(Type.String({ minLength: 1 })),
    /** The upstream's own name of the model. */
    model: Type.String({ minLength: 1, default: 'gpt-image-2' }),
    /** Sizes it takes, as `WIDTHxHEIGHT`; the nearest shape is asked for. `any`: all that callers may ask for. */
    sizes: Type.Union([Type.Literal('any'), Type.Array(Type.String({ pattern: '^\\d+x\\d+$' }), { minItems: 1 })], {
      default: 'any',
    }),
    /** Reference images it takes; a call with more goes to another upstream. */
    maxReferences: Type.Integer({ minimum: 0, maximum: 16, default: 4 }),
    /** Send references as data URIs in JSON rather than as files of a form. */
    jsonEdits: Type.Boolean({ default: false }),
    /** Ask for base64 in so many words, which the vendor's own models refuse and some look-alikes need. */
    sendsResponseFormat: Type.Boolean({ default: false }),
    /** It makes one image for one `Idempotency-Key`, so a request whose answer was lost may be sent again. */
    idempotent: Type.Boolean({ default: false }),
  },
  strict,
);

export const OptionsSchema = Type.Object(
  {
    /** Servers of this format, best first. */
    upstreams: Type.Array(UpstreamSchema, { minItems: 1, maxItems: 16 }),
    /** Public names of the model. */
    models: Type.Array(Type.String({ minLength: 1 }), { minItems: 1, default: ['gen-img-2', 'gen-image-2'] }),
    /** Milliseconds for one image over all tries; less than the `timeoutMs` of the entry. */
    budgetMs: Type.Integer({ minimum: 1_000, maximum: 600_000, default: 230_000 }),
    /** Milliseconds that an upstream rests at first once it kept failing. */
    restMs: Type.Integer({ minimum: 1, maximum: 600_000, default: 10_000 }),
  },
  strict,
);

export type Options = Static<typeof OptionsSchema>;
export type Upstream = Static<typeof UpstreamSchema>;
