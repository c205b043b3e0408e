/*
 * Declares the fields that ask for a transcript, and the transcript in an answer.
 */

import { type Cue, field, optional, type Static, Type } from '../../core/contracts/index.js';
import { Nullable, OneOf, Text } from '../http/index.js';

const MAX_LANGUAGES = 10;

/** What `transcript_languages` accepts, for error messages. */
export const TRANSCRIPT_LANGUAGES = `a list of 1 to ${MAX_LANGUAGES} language tags such as "en" or "pt-BR"`;

/** Fields of a request. */
export const TRANSCRIPT_FIELDS = {
  include_transcript: optional(
    Type.Boolean(),
    'Add the words that are spoken: from subtitles, else by speech recognition if the key may use audio models. Default false.',
  ),
  transcript_languages: optional(
    Type.Array(Type.String({ pattern: '^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$' }), {
      minItems: 1,
      maxItems: MAX_LANGUAGES,
    }),
    'Languages of the subtitles to use, the preferred one first. Default: the language of the item.',
  ),
};

const Segment = Type.Object({
  start: field(Type.Number(), 'Start in seconds.'),
  end: field(Type.Number(), 'End in seconds.'),
  text: field(Text, 'What is said.'),
});

/** `data.transcript`. */
export const TranscriptSchema = Type.Object({
  source: field(
    OneOf('captions', 'auto_captions', 'speech'),
    'Where the words come from: written subtitles, automatic ones of the platform, or speech recognition.',
  ),
  language: field(Nullable(Text), 'Language of the words. Null if it is not known.', 'en'),
  model: optional(Text, 'Model that recognised the speech.'),
  text: field(Text, 'All words as one text.'),
  segments: field(Type.Array(Segment), 'The words with their times. Empty if the model gives no times.'),
});
export type LinkTranscript = Static<typeof TranscriptSchema>;

/** The words of cues, as text and with their times. */
export function wordsOf(cues: readonly Cue[]): Pick<LinkTranscript, 'text' | 'segments'> {
  const segments = cues.map(({ start, end, text }) => ({
    start: milliseconds(start),
    end: milliseconds(end),
    text: text.replace(/\s+/g, ' ').trim(),
  }));
  return { text: segments.map(({ text }) => text).join(' '), segments };
}

function milliseconds(seconds: number): number {
  return Math.round(seconds * 1000) / 1000;
}
