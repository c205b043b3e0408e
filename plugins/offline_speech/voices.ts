import { GatewayError } from 'mediagate';

/** The engine's own voices, by the names that callers may use. */
const ENGINE_VOICES: Readonly<Record<string, string>> = { slt: 'slt', rms: 'rms', awb: 'awb', kal: 'kal16' };

/** What existing clients call voices: the nearest of the four. */
const NEAREST: Readonly<Record<string, string>> = {
  alloy: 'slt',
  coral: 'slt',
  marin: 'slt',
  nova: 'slt',
  sage: 'slt',
  shimmer: 'slt',
  ash: 'rms',
  cedar: 'rms',
  echo: 'rms',
  onyx: 'rms',
  ballad: 'awb',
  fable: 'awb',
  verse: 'kal16',
};

/** The engine's name of a voice. @throws GatewayError `unsupported_value`. */
export function engineVoice(name: string): string {
  const known = name.toLowerCase();
  for (const names of [ENGINE_VOICES, NEAREST]) if (Object.hasOwn(names, known)) return names[known] as string;
  const offered = [...Object.keys(ENGINE_VOICES), ...Object.keys(NEAREST)].join(', ');
  throw new GatewayError('unsupported_value', `The offline engine has no such voice. It has: ${offered}.`, {
    param: 'voice',
  });
}
