import {
  type AudioFilters,
  GatewayError,
  type TranscribeCall,
  type Transcript,
  type TranscriptSegment,
} from 'mediagate';
import type { Engines } from './engines.js';
import { createPlaces } from './places.js';
import { createSpeechCutter, type SpeechPiece } from './speech-pieces.js';

export interface HearingOptions {
  engine: Engines['hearing'];
  ffmpeg: AudioFilters;
  /** Of a sound; longer ones are refused. */
  maxSeconds: number;
}

/** They take turns, a piece each, so that a long sound holds up nobody. */
const CALLS = 16;
const RATE = 16_000;
const LANGUAGES = ['en', 'eng', 'english'];
const ELSEWHERE = 'TRANSCRIPTION_UPSTREAM_URL connects a model without that limit.';

/** Writes down English speech. */
export function createHearing({ engine, ffmpeg, maxSeconds }: HearingOptions) {
  const places = createPlaces(CALLS);

  return async (call: TranscribeCall): Promise<Transcript> => {
    refuseWhatItCannot(call);
    const tooLong = new GatewayError(
      'invalid_value',
      `The offline engine takes ${maxSeconds} seconds at most. ${ELSEWHERE}`,
      {
        param: 'file',
      },
    );
    if ((call.audio.seconds ?? 0) > maxSeconds) throw tooLong;
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
      const { audio, signal } = call;
      const samples = ffmpeg.samples({ audio, filters: 'anull', rate: RATE, maxSeconds: maxSeconds + 1, signal });
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

/**
 * Likeliness below which it is hardly English: clear speech has -0.01 to -0.35 on average, and the same played backwards
 * -0.6 and less.
 */
const HARDLY_ENGLISH = -0.5;

/**
 * English speech in English words is its transcript. Other languages cannot be told from it for certain, but what they
 * are heard as makes little sense to the engine itself.
 * @throws GatewayError `unsupported_value` where that is so.
 */
export function refuseForeign(transcript: Transcript): Transcript {
  let [sum, length] = [0, 0];
  for (const { text, details } of transcript.segments) {
    sum += (details?.averageLogProbability ?? 0) * text.length;
    length += text.length;
  }
  if (length === 0 || sum / length >= HARDLY_ENGLISH) return transcript;
  throw new GatewayError(
    'unsupported_value',
    `This is hardly English, and the offline engine translates nothing. ${ELSEWHERE}`,
    {
      param: 'file',
    },
  );
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
