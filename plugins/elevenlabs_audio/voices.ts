import { GatewayError } from 'mediagate';

/** Names that clients of the OpenAI format send, as voices of a similar kind that every account has. */
export const DEFAULT_VOICES: Readonly<Record<string, string>> = {
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

/**
 * The vendor's id of a voice.
 * @param voice a name of `voices`, in any case, or an id.
 * @throws GatewayError `invalid_value` for what is neither.
 */
export function voiceId(voice: string, voices: Readonly<Record<string, string>>): string {
  const name = voice.toLowerCase();
  const named = Object.hasOwn(voices, name) ? voices[name] : undefined;
  if (named !== undefined) return named;
  if (/^[A-Za-z0-9]{20}$/.test(voice)) return voice;
  const names = Object.keys(voices).sort().join(', ');
  throw new GatewayError('invalid_value', `voice must be one of ${names}, or an id of 20 letters and digits.`, {
    param: 'voice',
  });
}
