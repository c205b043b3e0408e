import { definePlugin, Type } from 'mediagate';
import { createClipVideoExtractor } from './extractor.js';

const options = Type.Object(
  {
    /** BCP 47 tag of the interface language that the site is asked in. */
    language: Type.String({ default: 'en', pattern: '^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$' }),
    /** Members of facts.json that an entry sets otherwise, in the same shape. */
    facts: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
  { additionalProperties: false },
);

/** Public videos and slideshows of TikTok. */
export default definePlugin<typeof options>({
  name: 'clip_video',
  apiVersion: 1,
  summary: 'Public videos and slideshows of TikTok: caption, counters, author, music, files, subtitles and sound.',
  provides: ['extractor'],
  options,
  setup: (context) => ({ extractors: [createClipVideoExtractor(context)] }),
});
