import { definePlugin, Type } from 'mediagate';
import { createSocialExtractor } from './extractor.js';

const options = Type.Object(
  {
    /** BCP 47 tag of the interface language that the site is asked in. */
    language: Type.String({ default: 'en-US', pattern: '^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$' }),
    /** Members of facts.json that an entry sets otherwise, in the same shape. */
    facts: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
  { additionalProperties: false },
);

/** Public posts, photos, videos and reels of Facebook. */
export default definePlugin<typeof options>({
  name: 'social',
  apiVersion: 1,
  summary: 'Public posts, photos, videos and reels of Facebook: text, author, counters, pictures, files and sound.',
  provides: ['extractor'],
  options,
  setup: (context) => ({ extractors: [createSocialExtractor(context)] }),
});
