import { definePlugin, Type } from 'mediagate';
import { createVidsiteExtractor } from './extractor.js';

const options = Type.Object(
  {
    /** Key of the official Data API: then it is asked first. Empty or absent: it is not used. */
    apiKey: Type.Optional(Type.String()),
    /** BCP 47 tag of the interface language that the site is asked in. */
    language: Type.String({ default: 'en', pattern: '^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$' }),
    /** ISO 3166-1 alpha-2 code of the market that the site is asked for. */
    region: Type.String({ default: 'US', pattern: '^[A-Z]{2}$' }),
    /** Members of facts.json that an entry sets otherwise, in the same shape. */
    facts: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
  { additionalProperties: false },
);

/** Public videos of YouTube. */
export default definePlugin<typeof options>({
  name: 'vidsite',
  apiVersion: 1,
  summary: 'Public videos of YouTube: metadata, counters, channel, formats, subtitles and sound.',
  provides: ['extractor'],
  options,
  setup: (context) => ({ extractors: [createVidsiteExtractor(context)] }),
});
