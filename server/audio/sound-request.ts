import { type ChangeVoiceCall, GatewayError, type GenerateSoundCall, type SpeechFormat, Type } from 'mediagate';
import { type FormFields, fieldOf, requiredField } from '../http/index.js';
import { createMemberCheck, format, MAX_NAME_LENGTH, missingMember, name, SPEECH_FORMATS, text } from './audio.js';

const seconds = () => Type.Optional(Type.Number({ minimum: 0.5, maximum: 30 }));

/** Body of `POST /v1/audio/sound-effects`. Members besides these go to the vendor. */
export const SoundBodySchema = Type.Object({
  model: name(),
  text: Type.Optional(text()),
  input: Type.Optional(text()),
  prompt: Type.Optional(text()),
  duration_seconds: seconds(),
  duration: seconds(),
  response_format: Type.Optional(format()),
});

const check = createMemberCheck(SoundBodySchema);

/**
 * Reads which sound is to be made. Members that are not known go to the vendor.
 * @throws GatewayError `missing_required_parameter`, `invalid_value` with `param`.
 */
export function decodeSound(sent: Readonly<Record<string, unknown>>): Omit<GenerateSoundCall, 'signal'> {
  const { members, rest } = check(sent);
  const { model, response_format = 'mp3' } = members;
  const described = oneOfTwo('text', [members.text, members.input, members.prompt], '"text", "input" and "prompt"');
  if (described === undefined) throw missingMember('text');
  const lasting = oneOfTwo('duration_seconds', [members.duration_seconds, members.duration], 'the two durations');
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
 * Reads which voice a sound is to be given. Fields that are not known go to the vendor.
 * @throws GatewayError `missing_required_parameter`, `invalid_value` with `param`.
 */
export function decodeVoiceChange(fields: FormFields): Omit<ChangeVoiceCall, 'sound' | 'signal'> {
  const model = requiredField(fields, 'model', 'the name of a model that changes voices');
  const [named, identified] = VOICE_FIELDS.map((field) => fieldOf(fields, field));
  const voice = oneOfTwo('voice', [named, identified], '"voice" and "voice_id"');
  if (voice === undefined) throw missingMember('voice');
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

/** The one that was sent of members that mean the same. */
function oneOfTwo<Value>(param: string, values: readonly (Value | undefined)[], names: string): Value | undefined {
  const sent = values.filter((value) => value !== undefined);
  if (sent.length > 1) throw new GatewayError('invalid_value', `Send one of ${names}, not several.`, { param });
  return sent[0];
}
