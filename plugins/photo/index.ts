import { definePlugin, Type } from 'mediagate';
import { createPhotoExtractor } from './extractor.js';

const options = Type.Object(
  {
    /** Members of facts.json that an entry sets otherwise, in the same shape. */
    facts: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
  { additionalProperties: false },
);

/** Public posts and reels of Instagram. */
export default definePlugin<typeof options>({
  name: 'photo',
  apiVersion: 1,
  summary: 'Public posts and reels of Instagram: caption, counters, author, pictures, videos and sound.',
  provides: ['extractor'],
  options,
  setup: (context) => ({ extractors: [createPhotoExtractor(context)] }),
});
