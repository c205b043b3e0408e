/*
 * The routes that make audio: speech, sound effects and voice conversion. Audio is streamed while the model makes it,
 * or sent as events with chunks in base64 whose last one has the usage. A failure during the events is an event of its
 * own, because the status has been sent. Unknown fields of speech are ignored and named; those of sound effects and
 * voice conversion are passed to the vendor, since each has settings of its own. Fields with several accepted names may
 * be sent under one of them only.
 */

import type { AudioResponse, AudioResponseEnd } from '../../core/audio/index.js';
import {
  type ChangeVoiceCall,
  field,
  type GenerateSoundCall,
  optional,
  type SpeakCall,
  type SpeechFormat,
  Type,
  type Usage,
} from '../../core/contracts/index.js';
import { encodeEvent, GatewayError } from '../../core/runtime/index.js';
import {
  type ErrorContext,
  EVENTS,
  encodeError,
  type FormFields,
  fieldOf,
  missing,
  type RequestContext,
  type Route,
  type RouteDeclaration,
  readJson,
  requiredField,
  streamed,
  toGatewayError,
} from '../http/index.js';
import { type OutgoingAnswer, readIdempotencyKey } from '../idempotency/index.js';
import { keyOf, quotaSubject } from '../keys/index.js';
import { modelField } from '../models/index.js';
import {
  AUDIO_ANSWERS,
  AUDIO_ROUTE,
  AudioFormat,
  type AudioServices,
  AudioText,
  createFieldCheck,
  FORM_FIELDS,
  FORMAT_DESCRIPTION,
  MAX_NAME_LENGTH,
  MAX_TEXT_LENGTH,
  missingField,
  Name,
  SPEECH_FORMATS,
  useUpload,
  workOnAudio,
} from './audio.js';

const SPEECH = '/v1/audio/speech';
const EFFECTS = '/v1/audio/sound-effects';
const CHANGER = '/v1/audio/voice-changer';

/** Room for the 40,000 characters of the largest models, and instructions, in any encoding. */
const MAX_SPEECH_BODY_BYTES = 640 * 1024;

/** Body of `POST /v1/audio/speech`. */
const SpeechBodySchema = Type.Object({
  model: field(Name, 'Id of a speech model; `GET /v1/models` lists them.', 'tts_v3'),
  input: field(Type.String({ pattern: '\\S' }), 'The text to speak. Each model has its own limit of length.'),
  voice: field(
    Type.Union([Name, Type.Object({ id: field(Name, 'Id of the voice.') })]),
    'Name of the voice, or an object with its id.',
    'alloy',
  ),
  response_format: optional(AudioFormat, FORMAT_DESCRIPTION),
  speed: optional(Type.Number({ minimum: 0.25, maximum: 4 }), 'Speed, from 0.25 to 4. Default 1.'),
  instructions: optional(
    Type.String({ maxLength: MAX_TEXT_LENGTH }),
    'How to speak, for models that take instructions.',
  ),
  stream_format: optional(
    Type.Union([Type.Literal('audio'), Type.Literal('sse')]),
    '`audio`, or `sse`: server-sent events with chunks in base64. Default `audio`.',
  ),
});

const Seconds = Type.Number({ minimum: 0.5, maximum: 30 });

/** Body of `POST /v1/audio/sound-effects`. Other fields are passed to the vendor. */
const SoundBodySchema = Type.Object({
  model: field(Name, 'Id of a model for sound effects; `GET /v1/models` lists them.', 'tts_text_to_sound_v2'),
  text: optional(AudioText, 'Description of the sound. Required, or `input` or `prompt`.'),
  input: optional(AudioText, 'Another name of `text`.'),
  prompt: optional(AudioText, 'Another name of `text`.'),
  duration_seconds: optional(Seconds, 'Duration in seconds, from 0.5 to 30. Default: the model chooses.'),
  duration: optional(Seconds, 'Another name of `duration_seconds`.'),
  response_format: optional(AudioFormat, FORMAT_DESCRIPTION),
});

const SPEAK: RouteDeclaration = {
  ...AUDIO_ROUTE,
  path: SPEECH,
  endpoint: 'audioSpeech',
  summary: 'Create speech',
  description: 'Speaks a text. The audio is streamed while it is made.',
  body: { schema: SpeechBodySchema, example: { model: 'tts_v3', voice: 'alloy', input: 'Ahoy!' } },
  answers: {
    200: {
      ...AUDIO_ANSWERS[200],
      also: streamed(
        'With `stream_format: "sse"`: server-sent events `speech.audio.delta` with audio in base64, then `speech.audio.done`.',
      ),
    },
  },
};

const GENERATE_SOUND: RouteDeclaration = {
  ...AUDIO_ROUTE,
  path: EFFECTS,
  endpoint: 'audioSoundEffects',
  summary: 'Create a sound effect',
  description: 'Creates a sound effect from a description.',
  body: { schema: SoundBodySchema, example: { model: 'tts_text_to_sound_v2', text: 'Rain on a tin roof' } },
  answers: AUDIO_ANSWERS,
};

const CHANGE_VOICE: RouteDeclaration = {
  ...AUDIO_ROUTE,
  path: CHANGER,
  endpoint: 'audioVoiceChanger',
  summary: 'Change a voice',
  description: 'Replaces the voice in a recording with another voice.',
  body: {
    type: 'multipart/form-data',
    schema: Type.Object({
      audio: FORM_FIELDS.file,
      model: modelField('tts_multilingual_sts_v2'),
      voice: field(Name, 'Name or id of the new voice; the field may be called `voice_id`.'),
      response_format: optional(AudioFormat, FORMAT_DESCRIPTION),
    }),
    example: { audio: 'recording.mp3', model: 'tts_multilingual_sts_v2', voice: 'onyx' },
  },
  answers: AUDIO_ANSWERS,
};

/** Audio made by models: speech, converted voices, sound effects. */
export function speechRoutes(services: AudioServices): Route[] {
  return [
    { ...SPEAK, handler: (context) => speak(services, context) },
    { ...GENERATE_SOUND, handler: (context) => generateSound(services, context) },
    { ...CHANGE_VOICE, handler: (context) => changeVoice(services, context) },
  ];
}

async function speak(services: AudioServices, context: RequestContext): Promise<void> {
  const { value, ...keyed } = await readBody(services, context, SpeechBodySchema);
  const { call, events, ignored } = decodeSpeech(value);
  await workOnAudio(context, services, {
    ...keyed,
    route: SPEECH,
    model: call.model,
    operation: 'speak',
    input: call.input,
    uses: { characters: call.input.length },
    ignored,
    ask: (signal) => services.gateway.audio.speak({ ...call, signal }),
    encode: events ? (audio) => encodeEvents(context, audio) : encodeAudio,
  });
}

async function generateSound(services: AudioServices, context: RequestContext): Promise<void> {
  const { value, ...keyed } = await readBody(services, context, SoundBodySchema);
  const call = decodeEffect(value);
  await workOnAudio(context, services, {
    ...keyed,
    route: EFFECTS,
    model: call.model,
    operation: 'generateSound',
    text: call.text,
    uses: { characters: call.text.length },
    ask: (signal) => services.gateway.audio.generateSound({ ...call, signal }),
    encode: encodeAudio,
  });
}

async function changeVoice(services: AudioServices, context: RequestContext): Promise<void> {
  const names = { audioFields: ['audio', 'file'], exact: KNOWN_FIELDS } as const;
  await useUpload(context, services, names, async ({ fields, audio, ...keyed }) => {
    const call = decodeVoiceChange(fields);
    await workOnAudio(context, services, {
      ...keyed,
      route: CHANGER,
      model: call.model,
      operation: 'changeVoice',
      audio,
      ask: (signal, recording = missing('audio', 'an audio file')) =>
        services.gateway.audio.changeVoice({ ...call, audio: recording, signal }),
      encode: encodeAudio,
    });
  });
}

async function readBody({ bodies }: AudioServices, context: RequestContext, { properties }: { properties: object }) {
  const key = readIdempotencyKey(context.req.headers);
  const { value, fingerprint } = await readJson(context.req, context.res, {
    maxBytes: MAX_SPEECH_BODY_BYTES,
    budget: bodies,
    owner: quotaSubject(keyOf(context)),
    fingerprinted: key !== undefined,
    exact: Object.keys(properties),
  });
  return { value, key, fingerprint };
}

function encodeAudio({ contentType, body }: AudioResponse): OutgoingAnswer {
  return { contentType, body };
}

function encodeEvents({ state }: RequestContext, audio: AudioResponse): OutgoingAnswer {
  return { contentType: EVENTS, body: encodeSpeechEvents(audio, state), ended: audio.ended };
}

interface SpeechInput {
  call: Omit<SpeakCall, 'signal'>;
  /** Whether the audio is sent as events. */
  events: boolean;
  /** Names of ignored fields. */
  ignored: readonly string[];
}

const check = createFieldCheck(SpeechBodySchema);

/**
 * Reads a speech request.
 * @throws GatewayError `missing_required_parameter`, `invalid_value` with `param`.
 */
function decodeSpeech(sent: Readonly<Record<string, unknown>>): SpeechInput {
  const { fields, rest } = check(sent);
  const { model, input, voice, speed = 1, instructions, ...how } = fields;
  return {
    call: {
      model,
      input,
      voice: typeof voice === 'string' ? voice : voice.id,
      format: how.response_format ?? 'mp3',
      speed,
      ...(instructions && { instructions }),
    },
    events: how.stream_format === 'sse',
    ignored: Object.keys(rest),
  };
}

/** Audio as server-sent events: chunks in base64, then the usage, or the error. */
async function* encodeSpeechEvents(audio: AudioResponse, request: ErrorContext): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of audio.body) {
      const audio = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString('base64');
      yield Buffer.from(encodeEvent(`{"type":"speech.audio.delta","audio":"${audio}"}`));
    }
  } catch (error) {
    const encoded = JSON.parse(encodeError(toGatewayError(error), request));
    yield Buffer.from(encodeEvent(JSON.stringify({ type: 'error', ...encoded })));
    return;
  }
  yield Buffer.from(encodeEvent(encodeDone(await audio.ended)));
}

function encodeDone({ usage }: AudioResponseEnd): string {
  return JSON.stringify({ type: 'speech.audio.done', usage: describeUsage(usage) });
}

function describeUsage({ inputTokens, outputTokens, totalTokens, characters }: Usage) {
  return { input_tokens: inputTokens, output_tokens: outputTokens, total_tokens: totalTokens, characters };
}

const checkEffect = createFieldCheck(SoundBodySchema);

/**
 * Reads a sound-effects request. Unknown fields are passed to the vendor.
 * @throws GatewayError `missing_required_parameter`, `invalid_value` with `param`.
 */
function decodeEffect(sent: Readonly<Record<string, unknown>>): Omit<GenerateSoundCall, 'signal'> {
  const { fields, rest } = checkEffect(sent);
  const { model, response_format = 'mp3' } = fields;
  const described = oneOfTwo('text', [fields.text, fields.input, fields.prompt], '"text", "input" and "prompt"');
  if (described === undefined) throw missingField('text');
  const lasting = oneOfTwo('duration_seconds', [fields.duration_seconds, fields.duration], 'the two durations');
  return {
    model,
    text: described,
    ...(lasting !== undefined && { durationSeconds: lasting }),
    format: response_format,
    options: rest,
  };
}

const VOICE_FIELDS = ['voice', 'voice_id'] as const;
const KNOWN_FIELDS: readonly string[] = [...VOICE_FIELDS, 'model', 'response_format'];

/**
 * Reads a voice-conversion request. Unknown fields are passed to the vendor.
 * @throws GatewayError `missing_required_parameter`, `invalid_value` with `param`.
 */
function decodeVoiceChange(fields: FormFields): Omit<ChangeVoiceCall, 'audio' | 'signal'> {
  const model = requiredField(fields, 'model', 'the name of a voice conversion model');
  const [named, identified] = VOICE_FIELDS.map((field) => fieldOf(fields, field));
  const voice = oneOfTwo('voice', [named, identified], '"voice" and "voice_id"');
  if (voice === undefined) throw missingField('voice');
  for (const [param, value] of Object.entries({ model, voice })) {
    if (value.length > MAX_NAME_LENGTH) {
      throw new GatewayError('invalid_value', `${param} must be at most ${MAX_NAME_LENGTH} characters.`, { param });
    }
  }
  const others = [...fields.keys()].filter((field) => !KNOWN_FIELDS.includes(field));
  const options = Object.fromEntries(others.map((field) => [field, fieldOf(fields, field) ?? '']));
  return { model, voice, format: readFormat(fieldOf(fields, 'response_format') ?? 'mp3'), options };
}

function readFormat(sent: string): SpeechFormat {
  const found = SPEECH_FORMATS.find((one) => one === sent);
  if (found) return found;
  throw new GatewayError('invalid_value', `response_format must be ${SPEECH_FORMATS.join(', ')}.`, {
    param: 'response_format',
  });
}

/** The value of the first sent field among synonyms. */
function oneOfTwo<Value>(param: string, values: readonly (Value | undefined)[], names: string): Value | undefined {
  const sent = values.filter((value) => value !== undefined);
  if (sent.length > 1) throw new GatewayError('invalid_value', `Send one of ${names}, not several.`, { param });
  return sent[0];
}
