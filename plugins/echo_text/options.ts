import { type Static, Type } from 'mediagate';

export const OptionsSchema = Type.Object(
  {
    /** Public name of the model that it stands for. */
    model: Type.String({ minLength: 1 }),
    /** Reasoning efforts that callers may ask for; nothing comes of them. */
    efforts: Type.Array(Type.String({ minLength: 1 }), { default: ['low', 'medium', 'high', 'xhigh'] }),
    /** Milliseconds between two tokens of a stream. */
    paceMs: Type.Integer({ minimum: 0, maximum: 10_000, default: 5 }),
  },
  { additionalProperties: false },
);

export type Options = Static<typeof OptionsSchema>;
