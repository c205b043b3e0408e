import type { SpeakCall } from 'mediagate';
import { Type } from 'mediagate';
import { createMemberCheck, format, MAX_TEXT_LENGTH, name } from './audio-members.js';

/** The 40,000 characters of the models that take most, and instructions, however they are written. */
export const MAX_SPEECH_BODY_BYTES = 640 * 1024;

export interface SpeechWish {
  call: Omit<SpeakCall, 'signal'>;
  /** Whether the sound travels in events. */
  events: boolean;
  /** Names of members that were sent and that nobody looks at. */
  ignored: readonly string[];
}

/** Body of `POST /v1/audio/speech`. */
export const SpeechBodySchema = Type.Object({
  model: name(),
  input: Type.String({ pattern: '\\S', description: 'What is to be spoken; each model says how long it may be.' }),
  voice: Type.Union([name(), Type.Object({ id: name() })]),
  response_format: Type.Optional(format()),
  speed: Type.Optional(Type.Number({ minimum: 0.25, maximum: 4 })),
  instructions: Type.Optional(Type.String({ maxLength: MAX_TEXT_LENGTH })),
  stream_format: Type.Optional(Type.Union([Type.Literal('audio'), Type.Literal('sse')])),
});

const check = createMemberCheck(SpeechBodySchema);

/**
 * Reads what is to be said, and how.
 * @throws GatewayError `missing_required_parameter`, `invalid_value` with `param`.
 */
export function decodeSpeech(sent: Readonly<Record<string, unknown>>): SpeechWish {
  const { members, rest } = check(sent);
  const { model, input, voice, speed = 1, instructions, ...how } = members;
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
