import { definePlugin, Type } from 'mediagate';
import { createSketchProvider } from './provider.js';

const options = Type.Object(
  {
    /** Public names of the model that it stands for. */
    models: Type.Array(Type.String({ minLength: 1 }), { minItems: 1, default: ['gen-img-2', 'gen-image-2'] }),
    /** Another number draws other pictures of the same words. */
    seed: Type.Integer({ default: 0 }),
  },
  { additionalProperties: false },
);

/** Drawings made here, offline, from the words of the prompt; no model has a part in them. */
export default definePlugin<typeof options>({
  name: 'sketch_image',
  apiVersion: 1,
  summary: 'Stand-in for an image model: an offline drawing with the words of the prompt, marked as a sketch.',
  provides: ['image'],
  standIn: true,
  options,
  setup: (context) => ({ imageProviders: [createSketchProvider(context.options)] }),
});
