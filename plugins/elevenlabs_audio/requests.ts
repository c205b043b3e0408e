/*
 * The options of the plugin, and its three requests: speech, voice change and sound effect. Names of OpenAI voices
 * stand for voices that every account has; an id of 20 characters is sent as it is. A format that the vendor does not
 * make is requested as samples and converted by the gateway. Values that the vendor cannot follow, such as a speed of
 * 2, are refused before a request. A refusal names the fields by the names that the client used. Status 401 also means
 * an account without credit here.
 */

import {
  accountFailure,
  asRecord,
  asString,
  at,
  type BodySource,
  blamesCaller,
  type ChangeVoiceCall,
  callerFailure,
  encodeForm,
  GatewayError,
  type GenerateSoundCall,
  modelFailure,
  moderationFailure,
  namesModeration,
  RestMsSchema,
  type SpeakCall,
  type SpeechFormat,
  type Static,
  statusFailure,
  type TryFailure,
  Type,
  UpstreamKeySchema,
  type UpstreamNames,
  type UpstreamRefusal,
  UpstreamUrlSchema,
  withoutNames,
} from 'mediagate/plugin';

/** Names that clients of the OpenAI format send, as voices of a similar kind that every account has. */
const DEFAULT_VOICES: Readonly<Record<string, string>> = {
  alloy: 'SAz9YHcvj6GT2YYXdXww',
  ash: 'TX3LPaxmHKxFdv7VOQHJ',
  ballad: 'N2lVS1w4EtoT3dr4eOWO',
  cedar: 'nPczCjzI2devNBz1zQrb',
  coral: 'cgSgspJ2msm6clMCkdW9',
  echo: 'CwhRBWXzGAHq8TQ4Fs17',
  fable: 'JBFqnCBsd6RMkjVDRZzb',
  marin: 'Xb7hH8MSUJpSbSDYk0k2',
  nova: 'EXAVITQu4vr4xnSDxMaL',
  onyx: 'onwK4e9ZLuTAKqWW03F9',
  sage: 'XrExE9yKIg1WjnnlVkGX',
  shimmer: 'FGY2WhTYpPnrIDTdsKH5',
  verse: 'IKne3meq5aSn9XLyUdCD',
};

const strict = { additionalProperties: false } as const;

const OperationSchema = Type.Union([Type.Literal('speak'), Type.Literal('changeVoice'), Type.Literal('generateSound')]);

const ModelSchema = Type.Object(
  {
    id: Type.String({ minLength: 1, description: 'Public name of the model.' }),
    operations: Type.Array(OperationSchema, { minItems: 1, uniqueItems: true, description: 'What the model does.' }),
    upstreamModel: Type.String({
      minLength: 1,
      description: 'Name of the model at the vendor, e.g. `eleven_multilingual_v2`.',
    }),
    maxCharacters: Type.Optional(
      Type.Integer({ minimum: 1, description: 'Longest text in characters. Default 4,096.' }),
    ),
  },
  strict,
);

export const OptionsSchema = Type.Object(
  {
    /** Base address; `/text-to-speech` and its like are put behind it. */
    url: Type.String({ ...UpstreamUrlSchema, default: 'https://api.elevenlabs.io/v1' }),
    apiKey: Type.String({ ...UpstreamKeySchema, minLength: 1, description: 'API key, sent as `xi-api-key`.' }),
    models: Type.Array(ModelSchema, { minItems: 1, description: 'The models.' }),
    voices: Type.Record(Type.String({ pattern: '^[^A-Z]+$' }), Type.String({ minLength: 1 }), {
      default: DEFAULT_VOICES,
      description:
        'Voice of the vendor for each name, in lower case. By default each name of the OpenAI format has one of the voices that every account has. An id of 20 letters and digits needs no name.',
    }),
    budgetMs: Type.Integer({
      minimum: 1_000,
      maximum: 600_000,
      default: 230_000,
      description:
        'Milliseconds for one call over all tries, to the first byte of audio; less than the `timeoutMs` of the entry.',
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
export type Model = Options['models'][number];

/**
 * The vendor's id of a voice.
 * @param voice a name of `voices`, in any case, or an id.
 * @throws GatewayError `invalid_value` for what is neither.
 */
function voiceId(voice: string, voices: Readonly<Record<string, string>>): string {
  const name = voice.toLowerCase();
  const named = Object.hasOwn(voices, name) ? voices[name] : undefined;
  if (named !== undefined) return named;
  if (/^[A-Za-z0-9]{20}$/.test(voice)) return voice;
  const names = Object.keys(voices).sort().join(', ');
  throw new GatewayError('invalid_value', `voice must be one of ${names}, or an id of 20 letters and digits.`, {
    param: 'voice',
  });
}

/** What to ask the vendor for, and what comes then. */
type VendorFormat = readonly [outputFormat: string, format: SpeechFormat];

const MP3: VendorFormat = ['mp3_44100_128', 'mp3'];
const OPUS: VendorFormat = ['opus_48000_128', 'opus'];
/** The rate that clients of the OpenAI format expect, and that needs no dear plan of the vendor's. */
const PCM: VendorFormat = ['pcm_24000', 'pcm'];

/** Of speech: samples for what the vendor does not make, since nothing is lost in them. */
function speechFormat(wanted: SpeechFormat): VendorFormat {
  if (wanted === 'mp3') return MP3;
  return wanted === 'opus' ? OPUS : PCM;
}

/** Of other sounds: they may have two channels, which samples without a header do not say. */
function effectFormat(wanted: SpeechFormat): VendorFormat {
  return wanted === 'opus' ? OPUS : MP3;
}

/** A request in the vendor's format, without its credentials. */
export interface WireRequest {
  /** Behind the base address, with its query. */
  path: string;
  contentType: string;
  body: string | BodySource;
  format: SpeechFormat;
  /** What the caller calls the text. */
  textParam: 'input' | 'text';
  /** Members of the call that the vendor does not know. */
  ignored: readonly string[];
}

type Voices = Readonly<Record<string, string>>;

/** What the vendor's models can do; others are refused rather than brought into it in silence. */
const SPEEDS = { slowest: 0.7, fastest: 1.2 };

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);

export function encodeSpeech(call: SpeakCall, model: Model, voices: Voices): WireRequest {
  const { input, speed, instructions } = call;
  if (speed < SPEEDS.slowest || speed > SPEEDS.fastest) {
    const message = `speed must be ${SPEEDS.slowest} to ${SPEEDS.fastest} for this model.`;
    throw new GatewayError('unsupported_value', message, { param: 'speed' });
  }
  const { maxCharacters = Number.POSITIVE_INFINITY } = model;
  // As the vendor counts, and as people do: what takes two units of UTF-16 is one character.
  if (input.length > maxCharacters && [...input].length > maxCharacters) {
    const message = `input must not be longer than ${maxCharacters} characters for this model.`;
    throw new GatewayError('invalid_value', message, { param: 'input' });
  }
  const [name, format] = speechFormat(call.format);
  const members = {
    text: input,
    model_id: model.upstreamModel,
    ...(speed !== 1 && { voice_settings: { speed } }),
  };
  return {
    path: `/text-to-speech/${encodeURIComponent(voiceId(call.voice, voices))}/stream?output_format=${name}`,
    contentType: 'application/json',
    body: JSON.stringify(members),
    format,
    textParam: 'input',
    ignored: instructions === undefined ? [] : ['instructions'],
  };
}

export function encodeVoiceChange(call: ChangeVoiceCall, model: Model, voices: Voices): WireRequest {
  const { audio, options } = call;
  const { voice_settings: settings, seed, remove_background_noise: removesNoise, ...others } = options;
  const fields = {
    model_id: model.upstreamModel,
    ...(settings !== undefined && { voice_settings: voiceSettings(settings) }),
    ...(seed !== undefined && { seed }),
    ...(removesNoise !== undefined && { remove_background_noise: removesNoise }),
  };
  const file = { name: 'audio', fileName: audio.filename, contentType: audio.contentType, content: audio };
  const [name, format] = speechFormat(call.format);
  return {
    path: `/speech-to-speech/${encodeURIComponent(voiceId(call.voice, voices))}/stream?output_format=${name}`,
    ...encodeForm(fields, [file]),
    format,
    textParam: 'text',
    ignored: Object.keys(others),
  };
}

/** JSON in a field of a form, as the vendor has it; other text would be refused in words that nobody understands. */
function voiceSettings(text: string): string {
  try {
    if (asRecord(JSON.parse(text))) return text;
  } catch {
    // No JSON, which is told below.
  }
  throw new GatewayError('invalid_value', 'voice_settings must be a JSON object.', { param: 'voice_settings' });
}

export function encodeEffect(call: GenerateSoundCall, model: Model): WireRequest {
  const { text, durationSeconds, options } = call;
  const { prompt_influence: influence, loop, ...others } = options;
  if (influence !== undefined && !(isNumber(influence) && influence >= 0 && influence <= 1)) {
    throw new GatewayError('invalid_value', 'prompt_influence must be 0 to 1.', { param: 'prompt_influence' });
  }
  if (loop !== undefined && typeof loop !== 'boolean') {
    throw new GatewayError('invalid_value', 'loop must be true or false.', { param: 'loop' });
  }
  const [name, format] = effectFormat(call.format);
  const members = {
    text,
    model_id: model.upstreamModel,
    ...(durationSeconds !== undefined && { duration_seconds: durationSeconds }),
    ...(influence !== undefined && { prompt_influence: influence }),
    ...(loop !== undefined && { loop }),
  };
  return {
    path: `/sound-generation?output_format=${name}`,
    contentType: 'application/json',
    body: JSON.stringify(members),
    format,
    textParam: 'text',
    ignored: Object.keys(others),
  };
}

/** What the vendor says of a refusal, in whichever of its forms. */
interface Detail {
  /** In lower case; empty where it names none. */
  code: string;
  message?: string;
  /** The vendor's name of the member. */
  param?: string;
}

const MODERATION = /moderation|content_policy|against_policy|terms_of_service|blocked_generation/;
const NO_MODEL = /^(?:model_|invalid_model)/;
const NO_VOICE = /^(?:voice_not_found|invalid_voice_id|voice_does_not_exist)$/;
const TOO_LONG = /^(?:max_character_limit_exceeded|text_too_long)$/;
/** The vendor's members by what the caller calls them; of others the caller knows nothing. */
const PARAMS: Readonly<Record<string, string>> = {
  voice_id: 'voice',
  speed: 'speed',
  audio: 'file',
  voice_settings: 'voice_settings',
  seed: 'seed',
  remove_background_noise: 'remove_background_noise',
  duration_seconds: 'duration_seconds',
  prompt_influence: 'prompt_influence',
  loop: 'loop',
  output_format: 'response_format',
};

/** What a refusal means. It says nothing of the vendor's body but, for a caller's fault, its message without names. */
export function refusalFailure(
  refusal: UpstreamRefusal,
  { names, textParam, now }: { names: UpstreamNames; textParam: string; now: number },
): TryFailure {
  const { status } = refusal;
  const detail = readDetail(refusal.json);
  const { code, message } = detail;
  const reason = message === undefined ? undefined : withoutNames(message, names);
  // Accounts that are used up answer 401 as well.
  if (status === 401 || status === 402) return accountFailure();
  if (MODERATION.test(code) || (status === 403 && namesModeration(refusal))) return moderationFailure(reason);
  if (NO_VOICE.test(code)) return refused('The model does not know this voice.', 'voice', reason);
  if (TOO_LONG.test(code)) return refused('The text is too long for the model.', textParam, reason);
  if (NO_MODEL.test(code) || detail.param === 'model_id') return modelFailure(false);
  if (blamesCaller(refusal)) {
    const param = detail.param === 'text' ? textParam : PARAMS[detail.param ?? ''];
    return refused('The model refused the request.', param, reason);
  }
  // What comes back after a reset or a proxy's time-out was perhaps made, and paid for.
  return statusFailure(refusal, now, 'nowhere');
}

function refused(message: string, param: string | undefined, reason: string | undefined): TryFailure {
  return callerFailure(new GatewayError('invalid_value', message, { param, reason }));
}

/** One object with a `code`, or the older `status`, or the list of a schema check. */
function readDetail(json: unknown): Detail {
  const detail = at(json, 'detail');
  if (Array.isArray(detail)) {
    const messages = detail.flatMap((issue) => asString(at(issue, 'msg')) ?? []);
    const place = at(detail[0], 'loc');
    const param = Array.isArray(place) ? asString(place.at(-1)) : undefined;
    return { code: '', ...(messages.length > 0 && { message: messages.join('; ') }), ...(param && { param }) };
  }
  const message = asString(at(detail, 'message')) ?? asString(detail);
  const code = asString(at(detail, 'code')) ?? asString(at(detail, 'status')) ?? '';
  const param = asString(at(detail, 'param'));
  return { code: code.toLowerCase(), ...(message && { message }), ...(param && { param }) };
}
