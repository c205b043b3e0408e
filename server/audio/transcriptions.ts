/*
 * Transcription and translation of audio, answered as JSON, text, subtitles or events. Fields that only some vendors
 * know are left out and named if the model does not take them; a request for speakers is refused by a model that cannot
 * tell them apart. Language codes are checked and reduced to the code without a region.
 */

import type { UploadedAudio } from '../../core/audio/index.js';
import { optional, Type } from '../../core/contracts/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import {
  type FormFields,
  fieldOf,
  missing,
  OneOf,
  type RequestContext,
  type Route,
  requiredField,
  streamed,
  Text,
} from '../http/index.js';
import { keyOf } from '../keys/index.js';
import { EXAMPLE_LINK, LinkUsage, REFUSALS } from '../links/index.js';
import {
  AUDIO_ROUTE,
  type AudioServices,
  FORM_FIELDS,
  MAX_NAME_LENGTH,
  MAX_TEXT_LENGTH,
  useUpload,
  workOnAudio,
} from './audio.js';
import {
  encodeTranscript,
  type Granularity,
  type Task,
  TRANSCRIPTION_FORMATS,
  type TranscriptionFormat,
  type TranscriptionInput,
  TranscriptSchema,
} from './transcripts.js';

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

/** Body of both routes. */
const BODY = {
  type: 'multipart/form-data',
  schema: Type.Object({
    ...FORM_FIELDS,
    file: Type.Optional(FORM_FIELDS.file),
    url: optional(
      Text,
      'A link of a supported platform, in place of the file: its audio is transcribed. It counts as a link as well, and needs the grant `extract`.',
      EXAMPLE_LINK,
    ),
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
    'include[]': optional(Type.Array(Text), 'Further parts of the answer, such as `logprobs`, if the model has them.'),
    chunking_strategy: optional(Text, 'How the audio is cut, such as `auto`, if the model can choose.'),
    'known_speaker_names[]': optional(Type.Array(Text), 'Names of speakers, with `diarized_json`.'),
    'known_speaker_references[]': optional(
      Type.Array(Text),
      'Samples of their voices as data URIs, in the same order; at most 1 MiB each.',
    ),
    temperature: optional(Type.Number({ minimum: 0, maximum: 1 }), 'Temperature of the model, from 0 to 1.'),
    stream: optional(Type.Boolean(), 'Send the text as server-sent events. Default false.'),
  }),
  example: { file: 'recording.mp3', model: 'stt-large-v3' },
} as const;

const ANSWERS = {
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

/** Transcriptions, in the language of the audio or in English. */
export function transcriptionRoutes(services: AudioServices): Route[] {
  return ROUTES.map(({ operation, ...route }) => ({
    ...AUDIO_ROUTE,
    ...route,
    errors: [...AUDIO_ROUTE.errors, ...REFUSALS, 'audio_unavailable', 'audio_timeout'],
    body: BODY,
    answers: ANSWERS,
    handler: (context) => transcribe(services, context, route.path, operation),
  }));
}

async function transcribe(services: AudioServices, context: RequestContext, route: string, task: Task): Promise<void> {
  await useUpload(context, services, UPLOAD_FIELDS, async ({ fields, audio, ...keyed }) => {
    const { gateway } = services;
    const input = decodeTranscription(fields, task);
    const { model } = input.call;
    const { takesOptions } = gateway.audio.match(model, task);
    const { call, ignored } = fitOptions(input, takesOptions);
    const url = fieldOf(fields, 'url');
    if (url !== undefined) checkLink(context, services, { url, isAlone: audio === undefined });
    await workOnAudio(context, services, {
      ...keyed,
      route,
      model,
      operation: task,
      audio,
      ...(url !== undefined && { fetchAudio: (signal) => fetchLink(context, services, { url, route, signal }) }),
      ignored,
      isWhole: !input.stream,
      ask: (signal, recording = missing('file', 'an audio file')) =>
        gateway.audio[task]({ ...call, audio: recording, signal }),
      encode: (transcript) => encodeTranscript(transcript, input, task),
    });
  });
}

const MAX_URL_LENGTH = 2_048;

/** @throws GatewayError `invalid_value`, `route_not_allowed`, what is wrong with the link. */
function checkLink(
  context: RequestContext,
  { gateway }: AudioServices,
  { url, isAlone }: { url: string; isAlone: boolean },
): void {
  if (!isAlone) throw invalid('url', 'left out if there is a file');
  if (url.length > MAX_URL_LENGTH) throw invalid('url', `a link of at most ${MAX_URL_LENGTH} characters`);
  if (!keyOf(context).grants.includes('extract')) {
    throw new GatewayError('route_not_allowed', 'This API key may not read links: url needs the grant extract.');
  }
  gateway.match(url);
}

/** Reads the link, which is a request of its own, and fetches its audio. */
async function fetchLink(
  context: RequestContext,
  services: AudioServices,
  { url, route, signal }: { url: string; route: string; signal: AbortSignal },
): Promise<UploadedAudio> {
  const { gateway, audioMaxBytes: maxBytes } = services;
  const { platform } = gateway.match(url);
  const usage = new LinkUsage(services, route);
  const settle = await usage.admit(context, { platforms: () => [platform] });
  const { hasAudio, link } = await usage.counted(context, platform, gateway.extract({ url, signal }), settle);
  if (!hasAudio) throw new GatewayError('audio_unavailable', 'The item has no audio.', { retryable: false });
  return gateway.linkAudio({ link, maxBytes, signal });
}

const FIELDS: ReadonlySet<string> = new Set([
  'url',
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

const UPLOAD_FIELDS = {
  audioFields: ['file'],
  insteadOfAudio: 'url',
  exact: [...FIELDS, 'language', 'file', 'chunking_strategy', ...OPTION_LISTS],
  longFields: ['known_speaker_references', 'known_speaker_references[]'],
} as const;

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
function decodeTranscription(fields: FormFields, task: Task): TranscriptionInput {
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
