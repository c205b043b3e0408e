/*
 * The options of the plugin, and the requests to an upstream. A recording is sent as a form that streams the client's
 * file; a text to speak is JSON. Fields that change nothing are left out, since some servers refuse fields that they do
 * not know. Each refusal becomes a failure that says whether the client or the upstream caused it and whether another
 * upstream is tried. Texts of the upstream reach the client without its address, key and model name.
 */

import {
  askUpstream,
  BearerKeySchema,
  type BodySource,
  bearerToken,
  callerFailure,
  type ErrorCode,
  encodeForm,
  GatewayError,
  type HttpStream,
  openaiError,
  openaiFailure,
  type PluginContext,
  RestMsSchema,
  type SpeakCall,
  type SpeechFormat,
  type Static,
  type TranscribeCall,
  type TryFailure,
  Type,
  type UpstreamRefusal,
  UpstreamUrlSchema,
  withoutNames,
} from 'mediagate/plugin';

const strict = { additionalProperties: false } as const;

const FormatSchema = Type.Union([
  Type.Literal('mp3'),
  Type.Literal('opus'),
  Type.Literal('aac'),
  Type.Literal('flac'),
  Type.Literal('wav'),
  Type.Literal('pcm'),
]);

const UpstreamSchema = Type.Object(
  {
    /** Base address, e.g. `https://api.openai.com/v1`; `/audio/transcriptions` and its like are put behind it. */
    url: UpstreamUrlSchema,
    apiKey: BearerKeySchema,
    model: Type.Optional(
      Type.String({ minLength: 1, description: 'Name of every model at this upstream. Default: that of the model.' }),
    ),
    transcripts: Type.Union([Type.Literal('verbose_json'), Type.Literal('json')], {
      default: 'verbose_json',
      description:
        '`json` if the upstream has no times of segments. One that refuses `verbose_json` is detected at the first call.',
    }),
    formats: Type.Array(FormatSchema, {
      minItems: 1,
      default: ['pcm', 'mp3', 'opus', 'aac', 'flac', 'wav'],
      description:
        'Audio formats that the upstream makes. For another format the first one is requested and converted.',
    }),
  },
  strict,
);

const OperationSchema = Type.Union([Type.Literal('transcribe'), Type.Literal('translate'), Type.Literal('speak')]);

const ModelSchema = Type.Object(
  {
    id: Type.String({ minLength: 1, description: 'Public name of the model.' }),
    operations: Type.Array(OperationSchema, { minItems: 1, uniqueItems: true, description: 'What the model does.' }),
    upstreamModel: Type.Optional(
      Type.String({ minLength: 1, description: 'Name of the model at the upstreams. Default: the public name.' }),
    ),
  },
  strict,
);

export const OptionsSchema = Type.Object(
  {
    upstreams: Type.Array(UpstreamSchema, {
      minItems: 1,
      maxItems: 16,
      description: 'Servers of this format, best first.',
    }),
    models: Type.Array(ModelSchema, { minItems: 1, description: 'The models.' }),
    budgetMs: Type.Integer({
      minimum: 1_000,
      maximum: 600_000,
      default: 230_000,
      description:
        'Milliseconds for one call over all tries, to a transcript or the first byte of audio; less than the `timeoutMs` of the entry.',
    }),
    idleMs: Type.Integer({
      minimum: 100,
      maximum: 600_000,
      default: 60_000,
      description: 'Most milliseconds without a byte of the audio. Its total time is not limited.',
    }),
    restMs: RestMsSchema,
  },
  strict,
);

export type Options = Static<typeof OptionsSchema>;
export type Upstream = Static<typeof UpstreamSchema>;

/** One request to one upstream. */
export interface Exchange {
  context: PluginContext<Options>;
  upstream: Upstream;
  /** Public name of the model. */
  model: string;
  signal: AbortSignal;
  /** Monotonic milliseconds by which it has to be done, or to flow. */
  end: number;
}

export function modelName({ context, upstream, model }: Pick<Exchange, 'context' | 'upstream' | 'model'>): string {
  const known = context.options.models.find(({ id }) => id === model);
  return upstream.model ?? known?.upstreamModel ?? model;
}

/** The upstream's answer of status 200. @throws what `refuse` makes of another one, and what the request threw. */
export function send(
  exchange: Exchange,
  { path, contentType, body }: WireRequest,
  limits: { maxBytes: number; idleMs?: number },
  refuse = (refusal: UpstreamRefusal) => refusalFailure(refusal, exchange),
): Promise<HttpStream> {
  const { context, upstream, signal, end } = exchange;
  const { url, apiKey } = upstream;
  const headers = { 'content-type': contentType, ...bearerToken(apiKey) };
  const timeoutMs = end - context.clock.monotonic();
  return askUpstream(context, { url, path, headers, body, signal, timeoutMs, ...limits }, refuse);
}

/** A request in the upstream's format, without its credentials. */
interface WireRequest {
  path: '/audio/transcriptions' | '/audio/translations' | '/audio/speech';
  contentType: string;
  body: string | BodySource;
}

export type TranscriptFormat = Upstream['transcripts'] | 'diarized_json';

/** @param model the upstream's name of it. */
export function encodeTranscription(
  task: 'transcribe' | 'translate',
  call: TranscribeCall,
  model: string,
  format: TranscriptFormat,
): WireRequest {
  const { audio, prompt, temperature } = call;
  const language = task === 'transcribe' ? call.language : undefined;
  const options = task === 'transcribe' ? call.options : undefined;
  const isTimed = task === 'transcribe' && format === 'verbose_json' && call.granularity === 'word';
  const fields = {
    model,
    response_format: format,
    ...(language !== undefined && { language }),
    ...(prompt !== undefined && { prompt }),
    ...(temperature !== undefined && { temperature: String(temperature) }),
    // Segments are what is given without it; with words alone there would be none.
    ...(isTimed && { 'timestamp_granularities[]': ['word', 'segment'] }),
    ...options,
  };
  const file = { name: 'file', fileName: audio.filename, contentType: audio.contentType, content: audio };
  const path = task === 'transcribe' ? '/audio/transcriptions' : '/audio/translations';
  return { path, ...encodeForm(fields, [file]) };
}

/** The format to ask for: the caller's where the upstream makes it. */
export function askedFormat(wanted: SpeechFormat, { formats }: Pick<Upstream, 'formats'>): SpeechFormat {
  return formats.includes(wanted) ? wanted : (formats[0] ?? wanted);
}

/** @param model the upstream's name of it. */
export function encodeSpeech(call: SpeakCall, model: string, format: SpeechFormat): WireRequest {
  const { input, voice, speed, instructions } = call;
  const members = {
    model,
    input,
    // The vendor takes ids of voices that somebody had made as an object.
    voice: /^voice_/.test(voice) ? { id: voice } : voice,
    response_format: format,
    // Left out where it changes nothing: not every look-alike knows it.
    ...(speed !== 1 && { speed }),
    ...(instructions !== undefined && { instructions }),
  };
  return { path: '/audio/speech', contentType: 'application/json', body: JSON.stringify(members) };
}

/** A caller's faults that have a name of their own here too. */
const SHARED_CODES: readonly ErrorCode[] = ['unsupported_value', 'unsupported_parameter'];
const PARAMS = new Set([
  'file',
  'language',
  'prompt',
  'temperature',
  'timestamp_granularities',
  'response_format',
  'chunking_strategy',
  'include',
  'known_speaker_names',
  'known_speaker_references',
  'input',
  'voice',
  'speed',
  'instructions',
]);

export function refusalFailure(refusal: UpstreamRefusal, exchange: Exchange): TryFailure {
  const { context, upstream, model: publicModel } = exchange;
  const names = { ...upstream, model: modelName(exchange), publicModel };
  const { about, message } = openaiError(refusal);
  if (refusal.status === 413 && about === 'request') {
    const reason = message === undefined ? undefined : withoutNames(message, names);
    return callerFailure(new GatewayError('request_too_large', 'The audio is too large for the model.', { reason }));
  }
  const now = context.clock.now();
  // What comes back after a reset or a proxy's time-out was perhaps heard or spoken, and paid for.
  return openaiFailure(refusal, { names, now, lost: 'nowhere', codes: SHARED_CODES, params: PARAMS });
}

/** Whether all that is refused is a transcript with times, which some models do not give. */
export function refusesTimes(refusal: UpstreamRefusal): boolean {
  if (refusal.status !== 400 && refusal.status !== 422) return false;
  const { param, message = '' } = openaiError(refusal);
  return param === 'response_format' || /\b(?:response_format|verbose_json)\b/.test(message);
}
