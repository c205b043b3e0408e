import { type Static, Type } from 'mediagate';

const strict = { additionalProperties: false } as const;

const FormatSchema = Type.Union([
  Type.Literal('mp3'),
  Type.Literal('opus'),
  Type.Literal('aac'),
  Type.Literal('flac'),
  Type.Literal('wav'),
  Type.Literal('pcm'),
]);

const UpstreamSchema = Type.Object(
  {
    /** Base address, e.g. `https://api.openai.com/v1`; `/audio/transcriptions` and its like are put behind it. */
    url: Type.String({
      pattern: '^https?://[^/?#@\\s]+[^?#@\\s]*$',
      description: 'an http or https address, such as https://api.example.com/v1',
    }),
    /** Sent as a bearer token. Absent: none is sent. */
    apiKey: Type.Optional(Type.String({ minLength: 1 })),
    /** The upstream's own name of every model. Default: what the model says. */
    model: Type.Optional(Type.String({ minLength: 1 })),
    /** `json` where it has no times of segments. One that refuses `verbose_json` is found out by itself, at the first call. */
    transcripts: Type.Union([Type.Literal('verbose_json'), Type.Literal('json')], { default: 'verbose_json' }),
    /** Formats of speech it makes; of another one the first is made instead, which the gateway converts. */
    formats: Type.Array(FormatSchema, { minItems: 1, default: ['pcm', 'mp3', 'opus', 'aac', 'flac', 'wav'] }),
  },
  strict,
);

const OperationSchema = Type.Union([Type.Literal('transcribe'), Type.Literal('translate'), Type.Literal('speak')]);

const ModelSchema = Type.Object(
  {
    /** Public name. */
    id: Type.String({ minLength: 1 }),
    operations: Type.Array(OperationSchema, { minItems: 1, uniqueItems: true }),
    /** What upstreams call it that name none themselves. Default: its public name. */
    upstreamModel: Type.Optional(Type.String({ minLength: 1 })),
  },
  strict,
);

export const OptionsSchema = Type.Object(
  {
    /** Servers of this format, best first. */
    upstreams: Type.Array(UpstreamSchema, { minItems: 1, maxItems: 16 }),
    models: Type.Array(ModelSchema, { minItems: 1 }),
    /** Milliseconds for one call over all tries, to a transcript or the first byte of a sound; less than the `timeoutMs` of the entry. */
    budgetMs: Type.Integer({ minimum: 1_000, maximum: 600_000, default: 230_000 }),
    /** Milliseconds that a sound may be silent on its way; it may take as long as it flows. */
    idleMs: Type.Integer({ minimum: 100, maximum: 600_000, default: 60_000 }),
    /** Milliseconds that an upstream rests at first once it kept failing. */
    restMs: Type.Integer({ minimum: 1, maximum: 600_000, default: 10_000 }),
  },
  strict,
);

export type Options = Static<typeof OptionsSchema>;
export type Upstream = Static<typeof UpstreamSchema>;
