import {
  GatewayError,
  type SoundFilters,
  type TranscribeCall,
  type Transcript,
  type TranscriptSegment,
} from 'mediagate';
import type { Engines } from './engines.js';
import { createPlaces } from './places.js';
import { createSpeechCutter, type SpeechPiece } from './speech-pieces.js';

export interface HearingOptions {
  engine: Engines['hearing'];
  ffmpeg: SoundFilters;
  /** Of a sound; longer ones are refused. */
  maxSeconds: number;
}

/** They take turns, a piece each, so that a long sound holds up nobody. */
const CALLS = 16;
const RATE = 16_000;
const LANGUAGES = ['en', 'eng', 'english'];
const ELSEWHERE = 'TRANSCRIPTION_UPSTREAM_URL connects a model that does.';

/** Writes down English speech. */
export function createHearing({ engine, ffmpeg, maxSeconds }: HearingOptions) {
  const places = createPlaces(CALLS);

  return async (call: TranscribeCall): Promise<Transcript> => {
    refuseWhatItCannot(call);
    const tooLong = new GatewayError('invalid_value', `The sound is longer than ${maxSeconds} seconds.`, {
      param: 'file',
    });
    if ((call.sound.seconds ?? 0) > maxSeconds) throw tooLong;
    const leave = places.take(call.signal);
    try {
      const cutter = createSpeechCutter();
      const segments: TranscriptSegment[] = [];
      const hear = async (pieces: readonly SpeechPiece[]) => {
        for (const { start, end, samples } of pieces) {
          const { text, averageLogProbability } = await engine.run(samples, [samples.buffer], call.signal);
          if (text) segments.push({ start, end, text, details: { averageLogProbability, temperature: 0 } });
        }
      };
      const { sound, signal } = call;
      const samples = ffmpeg.samples({ sound, filters: 'anull', rate: RATE, maxSeconds: maxSeconds + 1, signal });
      for await (const bytes of samples) {
        await hear(cutter.add(bytes));
        if (cutter.seconds > maxSeconds) throw tooLong;
      }
      await hear(cutter.finish());
      return {
        text: segments.map(({ text }) => text).join(' '),
        language: 'english',
        durationSeconds: cutter.seconds,
        segments,
        ignored: ignoredOf(call),
      };
    } finally {
      leave();
    }
  };
}

function refuseWhatItCannot({ language, granularity }: TranscribeCall): void {
  if (language !== undefined && !LANGUAGES.includes(language.toLowerCase())) {
    throw new GatewayError('unsupported_value', `The offline engine hears English alone. ${ELSEWHERE}`, {
      param: 'language',
    });
  }
  if (granularity === 'word') {
    throw new GatewayError('unsupported_value', `The offline engine gives no times of words. ${ELSEWHERE}`, {
      param: 'timestamp_granularities[]',
    });
  }
}

/** Always the likeliest word, which is what a temperature of 0 asks for. */
function ignoredOf({ prompt, temperature }: TranscribeCall): string[] {
  return [...(prompt ? ['prompt'] : []), ...(temperature ? ['temperature'] : [])];
}
