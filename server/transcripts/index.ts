/*
 * The words that are spoken in an item of link data. Other folders import these from here alone.
 */

export { findCaptions, type TranscriptAnswer, without } from './captions.js';
export { LinkTranscripts, type TranscriptOptions, type TranscriptServices } from './link-transcripts.js';
export { TRANSCRIPT_FIELDS, TRANSCRIPT_LANGUAGES, TranscriptSchema } from './transcript-fields.js';
export { startTranscripts, type TranscriptSummary } from './transcript-jobs.js';
