/*
 * Transcription and translation of audio, answered as JSON, text, subtitles or events. The transcript of the model is
 * complete before it is encoded, so `stream` changes the form of the answer and not its time. Fields that only some
 * vendors know are left out and named if the model does not take them; a request for speakers is refused by a model
 * that cannot tell them apart. Language codes are checked and reduced to the code without a region. Values that a model
 * does not report are null, not zero.
 */

import type { TranscriptionResult } from '../../core/audio/index.js';
import {
  field,
  optional,
  type TranscribeCall,
  type Transcript,
  type TranscriptSegment,
  Type,
} from '../../core/contracts/index.js';
import { encodeEvent, GatewayError } from '../../core/runtime/index.js';
import {
  defineRoute,
  type FormFields,
  fieldOf,
  Nullable,
  OneOf,
  type Route,
  requiredField,
  streamed,
  Text,
} from '../http/index.js';
import {
  AUDIO_ROUTE,
  type AudioServices,
  FORM_FIELDS,
  MAX_NAME_LENGTH,
  MAX_TEXT_LENGTH,
  useUpload,
  workOnAudio,
} from './audio.js';

const ROUTES = [
  {
    path: '/v1/audio/transcriptions',
    operation: 'transcribe',
    endpoint: 'audioTranscriptions',
    summary: 'Transcribe audio',
    description: 'Transcribes audio in its own language: as JSON, text or subtitles.',
  },
  {
    path: '/v1/audio/translations',
    operation: 'translate',
    endpoint: 'audioTranslations',
    summary: 'Translate audio',
    description: 'Transcribes audio of any language in English: as JSON, text or subtitles.',
  },
] as const;

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
const TranscriptSchema = Type.Object(
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

/** Transcriptions, in the language of the audio or in English. */
export function transcriptionRoutes(server: AudioServices): Route[] {
  const { gateway } = server;
  const body = {
    type: 'multipart/form-data',
    schema: Type.Object({
      ...FORM_FIELDS,
      language: optional(
        Text,
        'Language of the audio: a code of two or three letters, also with a region. Not for translations. Default: detected.',
        'en',
      ),
      prompt: optional(Text, `Text that comes before the audio, as a hint; at most ${MAX_TEXT_LENGTH} characters.`),
      response_format: optional(
        Type.Union(TRANSCRIPTION_FORMATS.map((one) => Type.Literal(one))),
        'Format of the transcript. Default `json`.',
      ),
      'timestamp_granularities[]': optional(
        Type.Array(OneOf('segment', 'word')),
        'Times that `verbose_json` includes. Default `segment`.',
      ),
      'include[]': optional(
        Type.Array(Text),
        'Further parts of the answer, such as `logprobs`, if the model has them.',
      ),
      chunking_strategy: optional(Text, 'How the audio is cut, such as `auto`, if the model can choose.'),
      'known_speaker_names[]': optional(Type.Array(Text), 'Names of speakers, with `diarized_json`.'),
      'known_speaker_references[]': optional(
        Type.Array(Text),
        'Samples of their voices as data URIs, in the same order; at most 1 MiB each.',
      ),
      temperature: optional(Type.Number({ minimum: 0, maximum: 1 }), 'Temperature of the model, from 0 to 1.'),
      stream: optional(Type.Boolean(), 'Send the text as server-sent events. Default false.'),
    }),
  } as const;
  const answers = {
    200: {
      description: 'The transcript, in the requested format.',
      name: 'Transcript',
      schema: TranscriptSchema,
      also: {
        'text/plain': { schema: Type.String({ description: 'With `text`: the text and a line end.' }) },
        'application/x-subrip': { schema: Type.String({ description: 'With `srt`: subtitles.' }) },
        'text/vtt': { schema: Type.String({ description: 'With `vtt`: subtitles.' }) },
        ...streamed('With `stream`: server-sent events `transcript.text.delta`, then `transcript.text.done`.'),
      },
    },
  };

  return ROUTES.map(({ operation, ...route }) => {
    const { path } = route;
    return defineRoute({
      ...AUDIO_ROUTE,
      ...route,
      body,
      answers,
      async handler(context) {
        await useUpload(
          context,
          server,
          {
            audioFields: ['file'],
            exact: [...FIELDS, 'language', 'file', 'chunking_strategy', ...OPTION_LISTS],
            longFields: ['known_speaker_references', 'known_speaker_references[]'],
          },
          async ({ fields, audio, ...keyed }) => {
            const input = decodeTranscription(fields, operation);
            const { takesOptions } = gateway.audio.match(input.call.model, operation);
            const { call, ignored } = fitOptions(input, takesOptions);
            await workOnAudio(context, server, {
              ...keyed,
              route: path,
              model: input.call.model,
              operation,
              audio,
              ignored,
              isWhole: !input.stream,
              ask: (signal, recording = audio) => gateway.audio[operation]({ ...call, audio: recording, signal }),
              encode(transcript) {
                const { contentType, text } = encodeTranscript(transcript, input, operation);
                return { contentType, body: Buffer.from(text) };
              },
            });
          },
        );
      },
    });
  });
}

export interface EncodedTranscript {
  contentType: string;
  text: string;
}

type Task = 'transcribe' | 'translate';

/** Encodes a transcript in the requested format, or as events. */
export function encodeTranscript(
  transcript: TranscriptionResult,
  input: TranscriptionInput,
  task: Task,
): EncodedTranscript {
  if (input.stream)
    return {
      contentType: 'text/event-stream; charset=utf-8',
      text: [...encodeEvents(transcript, input.format)].join(''),
    };
  return ENCODERS[input.format](transcript, input, task);
}

const json = (value: unknown): EncodedTranscript => ({
  contentType: 'application/json; charset=utf-8',
  text: JSON.stringify(value),
});

const ENCODERS: Readonly<
  Record<
    TranscriptionFormat,
    (transcript: TranscriptionResult, input: TranscriptionInput, task: Task) => EncodedTranscript
  >
> = {
  json: ({ logprobs, ...transcript }) =>
    json({ text: transcript.text, ...(logprobs && { logprobs }), usage: usageOf(transcript) }),
  text: ({ text }) => ({ contentType: 'text/plain; charset=utf-8', text: `${text}\n` }),
  srt: (transcript) => ({ contentType: 'application/x-subrip; charset=utf-8', text: encodeSrt(transcript) }),
  vtt: (transcript) => ({ contentType: 'text/vtt; charset=utf-8', text: encodeVtt(transcript) }),
  verbose_json: (transcript, input, task) => json(verbose(transcript, input, task)),
  diarized_json: (transcript, _input, task) =>
    json({
      task,
      duration: toMilliseconds(transcript.durationSeconds),
      text: transcript.text,
      segments: transcript.segments.map(describeSpoken),
      usage: usageOf(transcript),
    }),
};

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
type Granularity = 'segment' | 'word';

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

const FIELDS: ReadonlySet<string> = new Set([
  'model',
  'prompt',
  'temperature',
  'response_format',
  'timestamp_granularities',
  'timestamp_granularities[]',
  'stream',
]);
/** Fields that only some vendors know. */
const OPTION_LISTS = ['include', 'known_speaker_names', 'known_speaker_references'].flatMap((name) => [
  name,
  `${name}[]`,
]);
/** SDKs send an object as a field for each of its members: `chunking_strategy[type]`. */
const CHUNKING = /^chunking_strategy(?:\[[a-z_]{1,40}\])?$/;

function isOption(name: string): boolean {
  return OPTION_LISTS.includes(name) || CHUNKING.test(name);
}

/**
 * Leaves the options out, and names them, if the model does not take them.
 * @throws GatewayError `unsupported_value` if it cannot tell speakers apart.
 */
function fitOptions(
  { call, ignored }: TranscriptionInput,
  takesOptions: boolean,
): Pick<TranscriptionInput, 'call' | 'ignored'> {
  if (takesOptions) return { call, ignored };
  const { options = {}, speakers, ...others } = call;
  if (!speakers) return { call: others, ignored: [...ignored, ...Object.keys(options)] };
  const param = 'response_format';
  const message = `The model ${call.model} does not tell speakers apart: response_format must not be diarized_json.`;
  throw new GatewayError('unsupported_value', message, { param });
}

/**
 * Reads the fields of a transcription or a translation.
 * @throws GatewayError `missing_required_parameter`, `invalid_value` with `param`.
 */
export function decodeTranscription(fields: FormFields, task: 'transcribe' | 'translate'): TranscriptionInput {
  const model = requiredField(fields, 'model', 'the name of a transcription model');
  if (model.length > MAX_NAME_LENGTH) throw invalid('model', 'the name of a model');
  const prompt = fieldOf(fields, 'prompt');
  if (prompt !== undefined && prompt.length > MAX_TEXT_LENGTH) {
    throw invalid('prompt', `a text of at most ${MAX_TEXT_LENGTH} characters`);
  }
  const language = task === 'transcribe' ? readLanguage(fieldOf(fields, 'language')) : undefined;
  const temperature = readTemperature(fieldOf(fields, 'temperature'));
  const format = oneOf('response_format', TRANSCRIPTION_FORMATS, fieldOf(fields, 'response_format') ?? 'json');
  const granularities = readGranularities(fields, format);
  const isTranscription = task === 'transcribe';
  if (format === 'diarized_json' && !isTranscription) {
    throw invalid('response_format', 'another format than diarized_json, which translations do not have');
  }
  const options = isTranscription ? [...fields].filter(([name]) => isOption(name)) : [];
  const call = {
    model,
    granularity: granularities.includes('word') ? ('word' as const) : ('segment' as const),
    ...(language !== undefined && { language }),
    ...(prompt !== undefined && { prompt }),
    ...(temperature !== undefined && { temperature }),
    ...(format === 'diarized_json' && { speakers: true }),
    ...(options.length > 0 && { options: Object.fromEntries(options) }),
  };
  return {
    call,
    format,
    granularities,
    stream: oneOf('stream', ['true', 'false'], fieldOf(fields, 'stream') ?? 'false') === 'true',
    ignored: [...fields.keys()].filter(
      (name) => !FIELDS.has(name) && !(isTranscription && (name === 'language' || isOption(name))),
    ),
  };
}

/** Loaded on first use: it takes longer than most of the gateway's files. */
let languages: Intl.DisplayNames | undefined;

/** Of three letters, a provider may know more than this machine. */
function isLanguage(code: string): boolean {
  languages ??= new Intl.DisplayNames('en', { type: 'language', fallback: 'none' });
  return code.length === 3 || languages.of(code) !== undefined;
}

/** A code, and a script or a region, which no transcription needs. */
const LANGUAGE = /^([a-z]{2,3})(?:[-_](?:[a-z]{2,4}|\d{3})){0,2}$/;

/** @returns The code alone: that of two letters where the language has one. */
function readLanguage(text: string | undefined): string | undefined {
  const sent = text?.toLowerCase();
  if (sent === undefined || sent === 'auto') return undefined;
  const [, code] = LANGUAGE.exec(sent) ?? [];
  if (code === undefined || !isLanguage(code)) {
    throw invalid('language', 'a language code of two or three letters, e.g. "en", "yue" or "pt-BR"');
  }
  if (code.length === 2) return code;
  const { language } = new Intl.Locale(code);
  return language.length === 2 ? language : code;
}

function readTemperature(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  // Rounded, since 0.1 + 0.2 prints 17 digits.
  const value = /^\d(\.\d{1,20})?$/.test(text) ? Number(text) : Number.NaN;
  if (value >= 0 && value <= 1) return value;
  throw invalid('temperature', 'a number from 0 to 1');
}

function readGranularities(fields: FormFields, format: TranscriptionFormat): readonly Granularity[] {
  const param = 'timestamp_granularities';
  const sent = [...(fields.get(`${param}[]`) ?? []), ...(fields.get(param) ?? [])];
  if (sent.length === 0) return ['segment'];
  if (format !== 'verbose_json') {
    const message = `${param} needs response_format=verbose_json: no other format has timestamps.`;
    throw new GatewayError('invalid_value', message, { param });
  }
  return sent.map((one) => oneOf(param, ['segment', 'word'], one));
}

function oneOf<Choice extends string>(param: string, choices: readonly Choice[], text: string): Choice {
  const found = choices.find((choice) => choice === text);
  if (found !== undefined) return found;
  throw invalid(param, choices.map((choice) => `"${choice}"`).join(' or '));
}

function invalid(param: string, accepted: string): GatewayError {
  return new GatewayError('invalid_value', `${param} must be ${accepted}.`, { param });
}

type Subtitled = Pick<Transcript, 'text' | 'segments'> & { durationSeconds: number };

/** SubRip. */
export function encodeSrt(transcript: Subtitled): string {
  return cuesOf(transcript)
    .map(
      ({ start, end, text }, index) => `${index + 1}\n${clock(start, ',')} --> ${clock(end, ',')}\n${lineOf(text)}\n\n`,
    )
    .join('');
}

/** WebVTT. */
export function encodeVtt(transcript: Subtitled): string {
  const cues = cuesOf(transcript).map(
    ({ start, end, text }) => `${clock(start, '.')} --> ${clock(end, '.')}\n${escapeCue(lineOf(text))}\n\n`,
  );
  return `WEBVTT\n\n${cues.join('')}`;
}

/** A model without times has one segment. */
function cuesOf({ text, segments, durationSeconds }: Subtitled): readonly TranscriptSegment[] {
  const cues = segments.length > 0 ? segments : [{ start: 0, end: durationSeconds, text }];
  return cues.filter((cue) => cue.text.trim() !== '');
}

function clock(seconds: number, point: ',' | '.'): string {
  const total = Math.round(seconds * 1000);
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0');
  const whole = `${two(total / 3_600_000)}:${two((total / 60_000) % 60)}:${two((total / 1000) % 60)}`;
  return `${whole}${point}${String(total % 1000).padStart(3, '0')}`;
}

/** An empty line would end the cue. */
function lineOf(text: string): string {
  const lines = text.split(/[\r\n\u2028\u2029]/).map((line) => line.trim());
  return lines.filter((line) => line !== '').join('\n');
}

function escapeCue(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
}
