import type { AudioModel, AudioProvider, SoundFilters } from 'mediagate';
import { engines } from './engines.js';
import { createHearing } from './hearing.js';
import { createSpeaking } from './speaking.js';

export interface SpeechOptions {
  models: readonly AudioModel[];
  maxSeconds: number;
}

export function createSpeechProvider({ models, maxSeconds }: SpeechOptions, ffmpeg: SoundFilters): AudioProvider {
  const hear = createHearing({ engine: engines.hearing, ffmpeg, maxSeconds });
  // English speech in English words is its transcript.
  return { models, transcribe: hear, translate: hear, speak: createSpeaking(engines.speaking) };
}
