import { createValidator, GatewayError, type SpeechFormat, type Static, type TObject, Type } from 'mediagate';
import { knownMembers, memberError } from '../http/index.js';

export const SPEECH_FORMATS = ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'] as const satisfies readonly SpeechFormat[];
export const MAX_TEXT_LENGTH = 4_096;
export const MAX_NAME_LENGTH = 128;

export const name = () => Type.String({ minLength: 1, maxLength: MAX_NAME_LENGTH });
export const text = () => Type.String({ pattern: '\\S', maxLength: MAX_TEXT_LENGTH });
export const format = () => Type.Union(SPEECH_FORMATS.map((one) => Type.Literal(one)));

/** What the members of audio requests accept, in words: the end of every refusal. */
const ACCEPTED: Readonly<Record<string, string>> = {
  model: 'the name of an audio model',
  input: `a text of 1 to ${MAX_TEXT_LENGTH} characters`,
  text: `a text of 1 to ${MAX_TEXT_LENGTH} characters`,
  prompt: `a text of 1 to ${MAX_TEXT_LENGTH} characters`,
  voice: `the name of a voice, of at most ${MAX_NAME_LENGTH} characters, or {"id": "…"}`,
  response_format: SPEECH_FORMATS.map((one) => `"${one}"`).join(', '),
  speed: 'a number from 0.25 to 4',
  instructions: `a text of at most ${MAX_TEXT_LENGTH} characters`,
  stream_format: '"audio" or "sse"',
  duration_seconds: 'a number from 0.5 to 30',
  duration: 'a number from 0.5 to 30',
};

/** Checks the members that are known; `null` counts as not sent. */
export function createMemberCheck<Schema extends TObject>(schema: Schema) {
  const validator = createValidator(schema);
  const known = Object.keys(schema.properties);

  /** @throws GatewayError `missing_required_parameter`, `invalid_value` with `param`. */
  return (sent: Readonly<Record<string, unknown>>): { members: Static<Schema>; rest: Record<string, unknown> } => {
    const checked = validator.check(knownMembers(sent, schema));
    if (!checked.ok) throw memberError(checked.issues[0], ACCEPTED);
    const rest = Object.entries(sent).filter(([member, value]) => value !== null && !known.includes(member));
    return { members: checked.value, rest: Object.fromEntries(rest) };
  };
}

export function missingMember(param: string): GatewayError {
  return memberError({ path: param, keyword: 'required' }, ACCEPTED);
}
