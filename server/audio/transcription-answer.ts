import type { Heard, TranscriptSegment } from 'mediagate';
import { encodeSrt, encodeVtt } from './subtitles.js';
import type { TranscriptionFormat, TranscriptionWish } from './transcription-request.js';

export interface EncodedTranscript {
  contentType: string;
  text: string;
}

type Task = 'transcribe' | 'translate';

/** What was heard, in the format that was asked for, or as events. */
export function encodeTranscript(heard: Heard, wish: TranscriptionWish, task: Task): EncodedTranscript {
  if (wish.stream) return { contentType: 'text/event-stream; charset=utf-8', text: [...encodeEvents(heard)].join('') };
  return ENCODERS[wish.format](heard, wish, task);
}

const json = (value: unknown): EncodedTranscript => ({
  contentType: 'application/json; charset=utf-8',
  text: JSON.stringify(value),
});

const ENCODERS: Readonly<
  Record<TranscriptionFormat, (heard: Heard, wish: TranscriptionWish, task: Task) => EncodedTranscript>
> = {
  json: (heard) => json({ text: heard.text, usage: usageOf(heard) }),
  text: ({ text }) => ({ contentType: 'text/plain; charset=utf-8', text: `${text}\n` }),
  srt: (heard) => ({ contentType: 'application/x-subrip; charset=utf-8', text: encodeSrt(heard) }),
  vtt: (heard) => ({ contentType: 'text/vtt; charset=utf-8', text: encodeVtt(heard) }),
  verbose_json: (heard, wish, task) => json(verbose(heard, wish, task)),
};

function verbose(heard: Heard, { call, granularities }: TranscriptionWish, task: Task) {
  const { text, language, durationSeconds, segments, words } = heard;
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
    usage: usageOf(heard),
  };
}

/** Clients expect every member; what the model does not tell is null, which is not zero. */
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

/** The segments, then all of it. */
function* encodeEvents(heard: Heard): Generator<string> {
  for (const delta of deltasOf(heard)) yield `data: ${JSON.stringify({ type: 'transcript.text.delta', delta })}\n\n`;
  yield `data: ${JSON.stringify({ type: 'transcript.text.done', text: heard.text, usage: usageOf(heard) })}\n\n`;
}

/** The segments where they add up to the text, with or without the spaces between them; else the text. */
function deltasOf({ text, segments }: Heard): readonly string[] {
  const pieces = segments.map((segment) => segment.text);
  const spaced = pieces.map((piece, index) => (index === 0 ? piece : ` ${piece}`));
  return [pieces, spaced].find((deltas) => deltas.join('') === text) ?? [text];
}

function usageOf({ durationSeconds }: Heard) {
  return { type: 'duration', seconds: toMilliseconds(durationSeconds) };
}

function toMilliseconds(seconds: number): number {
  return Math.round(seconds * 1000) / 1000;
}
