import { type Static, Type } from 'mediagate';
import { DEFAULT_VOICES } from './voices.js';

const strict = { additionalProperties: false } as const;

const OperationSchema = Type.Union([Type.Literal('speak'), Type.Literal('changeVoice'), Type.Literal('generateSound')]);

const ModelSchema = Type.Object(
  {
    /** Public name. */
    id: Type.String({ minLength: 1 }),
    operations: Type.Array(OperationSchema, { minItems: 1, uniqueItems: true }),
    /** The vendor's name of it, e.g. `eleven_multilingual_v2`. */
    upstreamModel: Type.String({ minLength: 1 }),
    /** Longest text it speaks, in characters. Default 4,096. */
    maxCharacters: Type.Optional(Type.Integer({ minimum: 1 })),
  },
  strict,
);

export const OptionsSchema = Type.Object(
  {
    /** Base address; `/text-to-speech` and its like are put behind it. */
    url: Type.String({
      pattern: '^https?://[^/?#@\\s]+[^?#@\\s]*$',
      description: 'an http or https address, such as https://api.example.com/v1',
      default: 'https://api.elevenlabs.io/v1',
    }),
    /** Sent as `xi-api-key`. */
    apiKey: Type.String({ minLength: 1 }),
    models: Type.Array(ModelSchema, { minItems: 1 }),
    /**
     * Which voice of the vendor a name stands for, names in lower case. The defaults give each name of the OpenAI format one of the
     * voices that every account has; name your own instead. An id of 20 letters and digits needs no name.
     */
    voices: Type.Record(Type.String({ pattern: '^[^A-Z]+$' }), Type.String({ minLength: 1 }), {
      default: DEFAULT_VOICES,
    }),
    /** Milliseconds for one call over all tries, to the first byte of a sound; less than the `timeoutMs` of the entry. */
    budgetMs: Type.Integer({ minimum: 1_000, maximum: 600_000, default: 230_000 }),
    /** Milliseconds that a sound may be silent on its way; it may take as long as it flows. */
    idleMs: Type.Integer({ minimum: 100, maximum: 600_000, default: 60_000 }),
    /** Milliseconds that the vendor is left alone at first once it kept failing. */
    restMs: Type.Integer({ minimum: 1, maximum: 600_000, default: 10_000 }),
  },
  strict,
);

export type Options = Static<typeof OptionsSchema>;
export type Model = Options['models'][number];
