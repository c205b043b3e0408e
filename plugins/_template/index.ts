import { definePlugin, Type } from 'mediagate';
import { createReelboxExtractor } from './extractor.js';

const options = Type.Object(
  {
    /** Key of the platform's public API. Without one, only the page is read. */
    apiKey: Type.Optional(Type.String({ minLength: 1 })),
    language: Type.String({ default: 'en', pattern: '^[a-z]{2}$' }),
  },
  { additionalProperties: false },
);

export default definePlugin<typeof options>({
  name: '_template',
  apiVersion: 1,
  summary: 'Clips of Reelbox, an invented platform: the example to copy.',
  provides: ['extractor'],
  options,
  setup: (context) => ({ extractors: [createReelboxExtractor(context)] }),
});
