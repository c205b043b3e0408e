/*
 * The forms of a transcript: JSON, text, subtitles and events, with the schema of the JSON. The transcript of the model
 * is complete before it is encoded, so a stream changes the form of the answer and not its time: it has the segments if
 * they add up to the text, and otherwise the whole text. Values that a model does not report are null, not zero.
 */

import { type TranscriptionResult } from '../../core/audio/index.js';
import {
  field,
  optional,
  type TranscribeCall,
  type Transcript,
  type TranscriptSegment,
  Type,
} from '../../core/contracts/index.js';
import { encodeSubtitles } from '../../core/media/index.js';
import { encodeEvent } from '../../core/runtime/index.js';
import { EVENTS, JSON_TYPE, Nullable, OneOf, Text } from '../http/index.js';
import type { OutgoingAnswer } from '../idempotency/index.js';

const Second = Type.Number();

const Segment = Type.Object({
  id: field(Type.Integer(), 'Number of the segment, from 0.'),
  seek: field(Type.Integer(), 'Position that the model read from; 0 if it reports none.'),
  start: field(Second, 'Start in seconds.'),
  end: field(Second, 'End in seconds.'),
  text: field(Text, 'Text of the segment.'),
  tokens: field(Type.Array(Type.Integer()), 'Tokens of the text. Empty if the model reports none.'),
  temperature: field(Type.Number(), 'Temperature of the segment.'),
  avg_logprob: field(Nullable(Type.Number()), 'Mean log probability. Null if the model reports none.'),
  compression_ratio: field(Nullable(Type.Number()), 'Compression ratio. Null if the model reports none.'),
  no_speech_prob: field(Nullable(Type.Number()), 'Probability of silence. Null if the model reports none.'),
});

const Word = Type.Object({
  word: field(Text, 'The word.'),
  start: field(Second, 'Start in seconds.'),
  end: field(Second, 'End in seconds.'),
});

export const TranscriptSchema = Type.Object(
  {
    text: field(Text, 'The whole text.'),
    usage: optional(
      Type.Union([
        Type.Object({
          type: field(Type.Literal('duration'), 'Always `duration`.'),
          seconds: field(Second, 'Duration of the audio in seconds.'),
        }),
        Type.Object({
          type: field(Type.Literal('tokens'), 'Always `tokens`.'),
          input_tokens: field(Type.Integer(), 'Input tokens.'),
          input_token_details: optional(
            Type.Object({
              text_tokens: field(Type.Integer(), 'Those of text.'),
              audio_tokens: field(Type.Integer(), 'Those of audio.'),
            }),
            'Parts of the input tokens, if the model reports them.',
          ),
          output_tokens: field(Type.Integer(), 'Output tokens.'),
          total_tokens: field(Type.Integer(), 'Both together.'),
        }),
      ]),
      'Usage of the call: tokens if the model reports them, otherwise the duration.',
    ),
    task: optional(OneOf('transcribe', 'translate'), 'The task. Only in `verbose_json`.'),
    language: optional(Text, 'Language of the text; `und` if it is not known. Only in `verbose_json`.', 'en'),
    duration: optional(Second, 'Duration of the audio in seconds. Only in `verbose_json`.'),
    segments: optional(Type.Array(Segment), 'Segments with their times. Only in `verbose_json`, if asked for.'),
    words: optional(Type.Array(Word), 'Words with their times. Only in `verbose_json`, if asked for.'),
  },
  { description: 'A transcript.' },
);

export type Task = 'transcribe' | 'translate';

/** Encodes a transcript in the requested format, or as events. */
export function encodeTranscript(
  transcript: TranscriptionResult,
  input: TranscriptionInput,
  task: Task,
): OutgoingAnswer {
  if (input.stream) return answer(EVENTS, [...encodeEvents(transcript, input.format)].join(''));
  switch (input.format) {
    case 'text':
      return answer('text/plain; charset=utf-8', `${transcript.text}\n`);
    case 'srt':
      return answer('application/x-subrip; charset=utf-8', encodeSrt(transcript));
    case 'vtt':
      return answer('text/vtt; charset=utf-8', encodeSubtitles(cuesOf(transcript), 'vtt'));
    case 'verbose_json':
      return answer(JSON_TYPE, JSON.stringify(verbose(transcript, input, task)));
    case 'diarized_json':
      return answer(JSON_TYPE, JSON.stringify(diarized(transcript, task)));
    case 'json':
      return answer(JSON_TYPE, JSON.stringify(plain(transcript)));
  }
}

function answer(contentType: string, text: string): OutgoingAnswer {
  return { contentType, body: Buffer.from(text) };
}

function plain({ logprobs, ...transcript }: TranscriptionResult) {
  return { text: transcript.text, ...(logprobs && { logprobs }), usage: usageOf(transcript) };
}

function diarized(transcript: TranscriptionResult, task: Task) {
  return {
    task,
    duration: toMilliseconds(transcript.durationSeconds),
    text: transcript.text,
    segments: transcript.segments.map(describeSpoken),
    usage: usageOf(transcript),
  };
}

/** A segment with its speaker, in a document and as an event. */
function describeSpoken({ start, end, text, speaker }: TranscriptSegment, index: number) {
  const id = `seg_${index + 1}`;
  const type = 'transcript.text.segment';
  return { type, id, start: toMilliseconds(start), end: toMilliseconds(end), text, speaker: speaker ?? null };
}

function verbose(transcript: TranscriptionResult, { call, granularities }: TranscriptionInput, task: Task) {
  const { text, language, durationSeconds, segments, words } = transcript;
  const fallback = task === 'translate' ? 'en' : (call.language ?? 'und');
  return {
    task,
    language: language ?? fallback,
    duration: toMilliseconds(durationSeconds),
    text,
    ...(granularities.includes('segment') && {
      segments: segments.map((segment, id) => describeSegment(segment, id, call.temperature)),
    }),
    ...(granularities.includes('word') &&
      words && {
        words: words.map(({ word, start, end }) => ({ word, start: toMilliseconds(start), end: toMilliseconds(end) })),
      }),
    usage: usageOf(transcript),
  };
}

/** Clients expect every field; a value that the model does not report is null, not zero. */
function describeSegment({ start, end, text, details = {} }: TranscriptSegment, id: number, asked = 0) {
  return {
    id,
    seek: details.seek ?? 0,
    start: toMilliseconds(start),
    end: toMilliseconds(end),
    text,
    tokens: details.tokens ?? [],
    temperature: details.temperature ?? asked,
    avg_logprob: details.averageLogProbability ?? null,
    compression_ratio: details.compressionRatio ?? null,
    no_speech_prob: details.noSpeechProbability ?? null,
  };
}

/** The segments, then the whole text. */
function* encodeEvents(transcript: TranscriptionResult, format: TranscriptionFormat): Generator<string> {
  if (format === 'diarized_json') {
    for (const segment of transcript.segments.map(describeSpoken)) yield encodeEvent(JSON.stringify(segment));
  }
  for (const delta of deltasOf(transcript)) yield encodeEvent(JSON.stringify({ type: 'transcript.text.delta', delta }));
  const done = { type: 'transcript.text.done', text: transcript.text, usage: usageOf(transcript) };
  yield encodeEvent(JSON.stringify(done));
}

/** The segments if they add up to the text, with or without spaces between them; otherwise the text. */
function deltasOf({ text, segments }: TranscriptionResult): readonly string[] {
  const pieces = segments.map((segment) => segment.text);
  const spaced = pieces.map((piece, index) => (index === 0 ? piece : ` ${piece}`));
  return [pieces, spaced].find((deltas) => deltas.join('') === text) ?? [text];
}

function usageOf({ durationSeconds, usage }: TranscriptionResult) {
  const {
    inputTokens: input,
    outputTokens: output,
    totalTokens,
    inputTextTokens: text,
    inputAudioTokens: audio,
  } = usage;
  if (input !== undefined && output !== undefined) {
    return {
      type: 'tokens',
      input_tokens: input,
      ...((text ?? audio) !== undefined && {
        input_token_details: { text_tokens: text ?? 0, audio_tokens: audio ?? 0 },
      }),
      output_tokens: output,
      total_tokens: totalTokens ?? input + output,
    };
  }
  return { type: 'duration', seconds: toMilliseconds(durationSeconds) };
}

function toMilliseconds(seconds: number): number {
  return Math.round(seconds * 1000) / 1000;
}

export const TRANSCRIPTION_FORMATS = ['json', 'text', 'srt', 'verbose_json', 'vtt', 'diarized_json'] as const;

export type TranscriptionFormat = (typeof TRANSCRIPTION_FORMATS)[number];

export type Granularity = 'segment' | 'word';

/** A transcription request, and the format of its answer. */
export interface TranscriptionInput {
  call: Omit<TranscribeCall, 'audio' | 'signal'>;
  format: TranscriptionFormat;
  /** Timestamps that `verbose_json` includes. */
  granularities: readonly Granularity[];
  stream: boolean;
  /** Names of ignored fields. */
  ignored: readonly string[];
}

type Subtitled = Pick<Transcript, 'text' | 'segments'> & { durationSeconds: number };

/** SubRip. */
export function encodeSrt(transcript: Subtitled): string {
  return encodeSubtitles(cuesOf(transcript), 'srt');
}

/** A model without times has one segment. */
function cuesOf({ text, segments, durationSeconds }: Subtitled): readonly TranscriptSegment[] {
  const cues = segments.length > 0 ? segments : [{ start: 0, end: durationSeconds, text }];
  return cues.filter((cue) => cue.text.trim() !== '');
}
