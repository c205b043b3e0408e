import { type AudioFilters, type AudioStream, GatewayError, type GenerateSoundCall } from 'mediagate';
import { createSeeds } from './random.js';
import { begun, RATE } from './samples.js';
import { SOUNDS, type Sound } from './sounds.js';

/** More at once would only be noise. */
const MOST = 3;
/** Seconds in which it begins and ends, so that neither clicks. */
const FADE = 0.02;

/** Makes the sounds that a prompt names: the same for the same words. */
export function createSoundEffects(ffmpeg: AudioFilters) {
  return async ({ text, durationSeconds, options, signal }: GenerateSoundCall): Promise<AudioStream> => {
    const sounds = soundsIn(text);
    const seconds = durationSeconds ?? Math.max(...sounds.map((sound) => sound.seconds));
    const filters = mixOf(sounds, text, seconds);
    const samples = ffmpeg.samples({ filters, rate: RATE, maxSeconds: seconds, signal });
    return { body: await begun(samples), format: 'pcm', ignored: Object.keys(options) };
  };
}

/** @throws GatewayError `plugin_unavailable` where it names none. */
export function soundsIn(text: string): readonly Sound[] {
  const sounds = SOUNDS.filter(({ words }) => words.test(text)).slice(0, MOST);
  if (sounds.length > 0) return sounds;
  const known = SOUNDS.map(({ name }) => name).join(', ');
  const message = `Without a model, there are only these sounds: ${known}. ELEVENLABS_API_KEY connects one that makes others.`;
  throw new GatewayError('plugin_unavailable', message, { param: 'text', retryable: false });
}

function mixOf(sounds: readonly Sound[], text: string, seconds: number): string {
  const nextSeed = createSeeds(text);
  const chains = sounds.map(({ chain }, index) => `${chain(nextSeed())}[part${index}]`);
  const parts = sounds.map((_, index) => `[part${index}]`).join('');
  const fades = `afade=t=in:d=${FADE},afade=t=out:st=${seconds - FADE}:d=${FADE}`;
  return `${chains.join(';')};${parts}amix=inputs=${sounds.length},alimiter=limit=0.95,${fades}`;
}
