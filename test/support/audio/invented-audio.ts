/** An audio provider without a model, with a name for each kind of work. */

import {
  type AudioProvider,
  type AudioStream,
  type ChangeVoiceCall,
  type Contributions,
  definePlugin,
  type GenerateSoundCall,
  type Plugin,
  type SpeakCall,
  type TranscribeCall,
  type Transcript,
} from 'mediagate';
import { tonePcm } from './sounds.js';

export const HEARING = 'stt-large-v3';
export const HEARING_FAST = 'stt-large-v3-turbo';
export const SPEAKING = 'tts_v3';
/** As {@link SPEAKING}, up to 10,000 characters. */
export const SPEAKING_LONG = 'tts_multilingual_v2';
export const CHANGING = 'tts_multilingual_sts_v2';
export const EFFECTS = 'tts_text_to_sound_v2';

export const HEARD: Transcript = {
  text: 'Hello there. A & b < c.',
  language: 'english',
  durationSeconds: 3661.5,
  segments: [
    { start: 0, end: 2.4, text: 'Hello there.' },
    { start: 2.4, end: 3661.0456, text: 'A & b < c.', details: { averageLogProbability: -0.2, tokens: [1, 2] } },
  ],
  words: [{ start: 0, end: 0.5, word: 'Hello' }],
};

/** Pieces of a tone of a second. */
export async function* tonePieces(): AsyncGenerator<Uint8Array> {
  const pcm = tonePcm(1);
  for (let at = 0; at < pcm.length; at += 4_800) yield pcm.subarray(at, at + 4_800);
}

export interface InventedAudio extends Partial<AudioProvider> {
  /** What was asked, in order. */
  readonly calls: (TranscribeCall | SpeakCall | ChangeVoiceCall | GenerateSoundCall)[];
  /** What the next sounds are. Default: a tone of a second in `pcm`. */
  sound(format: SpeakCall['format'], signal: AbortSignal): AudioStream;
  transcribe(call: TranscribeCall): Promise<Transcript>;
}

/** Models that hear and speak as a test has it. */
export function inventedAudio(): { plugin: Plugin; audio: InventedAudio } {
  const audio: InventedAudio = {
    calls: [],
    sound: () => ({ body: tonePieces(), format: 'pcm' }),
    transcribe: async () => HEARD,
  };
  const hear = async (call: TranscribeCall) => {
    audio.calls.push(call);
    return audio.transcribe(call);
  };
  const sound = async (call: SpeakCall | ChangeVoiceCall | GenerateSoundCall) => {
    audio.calls.push(call);
    return audio.sound(call.format, call.signal);
  };
  const provider: AudioProvider = {
    models: [
      { id: HEARING, operations: ['transcribe', 'translate'] },
      { id: HEARING_FAST, operations: ['transcribe'] },
      { id: SPEAKING, operations: ['speak'] },
      { id: SPEAKING_LONG, operations: ['speak'], maxCharacters: 10_000 },
      { id: CHANGING, operations: ['changeVoice'] },
      { id: EFFECTS, operations: ['generateSound'] },
    ],
    transcribe: hear,
    translate: hear,
    speak: sound,
    changeVoice: sound,
    generateSound: sound,
  };
  const plugin = definePlugin({
    name: 'parrot',
    apiVersion: 1,
    summary: 'Invented audio models.',
    provides: ['audio'],
    standIn: true,
    setup: (): Contributions => ({ audioProviders: [provider] }),
  });
  return { plugin, audio };
}
