import type { AudioFilters, AudioModel, AudioProvider } from 'mediagate';
import { engines } from './engines.js';
import { createHearing, refuseForeign } from './hearing.js';
import { createSpeaking } from './speaking.js';

export interface SpeechOptions {
  models: readonly AudioModel[];
  maxSeconds: number;
}

export function createSpeechProvider({ models, maxSeconds }: SpeechOptions, ffmpeg: AudioFilters): AudioProvider {
  const hear = createHearing({ engine: engines.hearing, ffmpeg, maxSeconds });
  return {
    models,
    transcribe: hear,
    translate: async (call) => refuseForeign(await hear(call)),
    speak: createSpeaking(engines.speaking),
  };
}
