/*
 * Transcribes English recordings of any length that the option allows. ffmpeg streams samples, a cutter ends a piece at
 * a pause or after 20 seconds, and the engine transcribes piece by piece: at most one piece is in memory, and calls
 * alternate in the engine, so that a long recording does not delay a short one. At most 16 calls are open. Other
 * languages and word timestamps are refused. A translation accepts a transcript only if the engine's mean probability
 * says that the speech was English.
 */

import {
  type AudioFilters,
  GatewayError,
  type Logger,
  type TranscribeCall,
  type Transcript,
  type TranscriptSegment,
} from 'mediagate/plugin';
import { type Engines, Places } from './engines.js';

interface HearingOptions {
  engine: Engines['hearing'];
  ffmpeg: AudioFilters;
  /** Seconds of audio; longer files are refused. */
  maxSeconds: number;
  logger: Logger;
}

/** They take turns, a piece each, so that a long sound holds up nobody. */
const CALLS = 16;
const RATE = 16_000;
const LANGUAGES = ['en', 'eng', 'english'];
const ELSEWHERE = 'Set TRANSCRIPTION_UPSTREAM_URL to connect a model without that limit.';

/** Writes down English speech. */
export function createHearing({ engine, ffmpeg, maxSeconds, logger }: HearingOptions) {
  let isLoaded = false;
  const places = new Places(CALLS);

  return async (call: TranscribeCall): Promise<Transcript> => {
    refuseWhatItCannot(call);
    const message = `The offline engine accepts at most ${maxSeconds} seconds. ${ELSEWHERE}`;
    const tooLong = new GatewayError('invalid_value', message, { param: 'file' });
    if ((call.audio.seconds ?? 0) > maxSeconds) throw tooLong;
    const leave = places.take(call.signal);
    if (!isLoaded) logger.info('the first transcription loads its engine, which takes some seconds');
    isLoaded = true;
    try {
      const cutter = new SpeechCutter();
      const segments: TranscriptSegment[] = [];
      const hear = async (pieces: readonly SpeechPiece[]) => {
        for (const { start, end, samples } of pieces) {
          const { text, averageLogProbability } = await engine.run(samples, call.signal);
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
  throw unsupported('This does not seem to be English, and the offline engine cannot translate.', 'file');
}

function refuseWhatItCannot({ language, granularity }: TranscribeCall): void {
  if (language !== undefined && !LANGUAGES.includes(language.toLowerCase()))
    throw unsupported('The offline engine understands only English.', 'language');
  if (granularity === 'word')
    throw unsupported('The offline engine has no word timestamps.', 'timestamp_granularities[]');
}

function unsupported(message: string, param: string): GatewayError {
  return new GatewayError('unsupported_value', `${message} ${ELSEWHERE}`, { param });
}

/** Always the likeliest word, which is what a temperature of 0 asks for. */
function ignoredOf({ prompt, temperature }: TranscribeCall): string[] {
  return [...(prompt ? ['prompt'] : []), ...(temperature ? ['temperature'] : [])];
}

/** Speech between two pauses. */
interface SpeechPiece {
  /** Seconds from the start of the sound. */
  start: number;
  end: number;
  /** 16,000 a second, -1 to 1; a little of what is around it included. */
  samples: Float32Array<ArrayBuffer>;
}

const FRAME = 320;
const FRAMES_PER_SECOND = RATE / FRAME;
/** Of full scale: what is softer is silence whatever comes after it. */
const SILENCE = 0.0025;
/** Of the loudness around: what is softer is a pause. */
const PAUSE_LEVEL = 0.06;
/** The loudness around is forgotten by a half in 14 seconds. */
const FADING = 0.999;
/** A pause after so much speech ends the piece; a long one ends any. */
const PAUSE = 0.5 * FRAMES_PER_SECOND;
const ENOUGH = 4 * FRAMES_PER_SECOND;
const LONG_PAUSE = 1.5 * FRAMES_PER_SECOND;
/** Without a pause, the quietest moment between these ends it. */
const EARLIEST_CUT = 8 * FRAMES_PER_SECOND;
const LONGEST = 20 * FRAMES_PER_SECOND;
/** Around the cut, so long is looked at. */
const MOMENT = 10;
/** Left before and after the speech. */
const MARGIN = 0.3 * FRAMES_PER_SECOND;
/** Less is a click, not a word. */
const SHORTEST = 0.1 * FRAMES_PER_SECOND;

interface Frame {
  samples: Float32Array;
  /** Root of the mean square. */
  level: number;
  loud: boolean;
}

/** Cuts streamed audio into pieces with speech; at most one piece is in memory. */
export class SpeechCutter {
  /** The first byte of a sample whose second has not come yet. */
  #odd: number | undefined;
  #frame = new Float32Array(FRAME);
  #filled = 0;
  #count = 0;
  #heard = 0;
  #around = 0;
  /** Of the piece that is coming; before its first loud one, the last few. */
  #frames: Frame[] = [];
  #speaking = false;

  /** Seconds so far. */
  get seconds(): number {
    return this.#count / RATE;
  }

  /** @param bytes Of samples of 16 bits, little-endian, one channel; cut anywhere. */
  add(bytes: Uint8Array): SpeechPiece[] {
    const pieces: SpeechPiece[] = [];
    for (const byte of bytes) {
      if (this.#odd === undefined) {
        this.#odd = byte;
        continue;
      }
      const value = this.#odd | (byte << 8);
      this.#odd = undefined;
      this.#frame[this.#filled] = (value > 32_767 ? value - 65_536 : value) / 32_768;
      this.#filled += 1;
      this.#count += 1;
      if (this.#filled < FRAME) continue;
      const full = this.#frame;
      this.#frame = new Float32Array(FRAME);
      this.#filled = 0;
      pieces.push(...this.#addFrame(full));
    }
    return pieces;
  }

  /** The sound is over. */
  finish(): SpeechPiece[] {
    const pieces = this.#filled > 0 ? this.#addFrame(this.#frame) : [];
    this.#filled = 0;
    return this.#speaking ? [...pieces, ...this.#emit(this.#spoken(), MARGIN)] : pieces;
  }

  #addFrame(samples: Float32Array): SpeechPiece[] {
    const level = Math.sqrt(samples.reduce((sum, value) => sum + value * value, 0) / FRAME);
    this.#around = Math.max(this.#around * FADING, level);
    const loud = level >= Math.max(SILENCE, this.#around * PAUSE_LEVEL);
    const frames = this.#frames;
    frames.push({ samples, level, loud });
    this.#heard += 1;
    this.#speaking ||= loud;
    if (!this.#speaking) {
      if (frames.length > MARGIN) frames.shift();
      return [];
    }
    const spoken = this.#spoken();
    const pause = frames.length - spoken;
    if (pause >= LONG_PAUSE || (pause >= PAUSE && spoken >= ENOUGH)) return this.#emit(spoken, MARGIN);
    return frames.length >= LONGEST ? this.#emit(quietestMoment(frames), 0) : [];
  }

  /** Frames until the last loud one. */
  #spoken(): number {
    return this.#frames.findLastIndex((one) => one.loud) + 1;
  }

  /** @param end Frames of the piece; those after it belong to the next, and so many of them are heard with both. */
  #emit(end: number, margin: number): SpeechPiece[] {
    const piece = this.#frames.slice(0, end + margin);
    const first = this.#heard - this.#frames.length;
    const loud = [...piece.keys()].filter((index) => index < end && piece[index]?.loud);
    const rest = this.#frames.slice(end);
    this.#speaking = rest.some((one) => one.loud);
    this.#frames = this.#speaking ? rest : rest.slice(-MARGIN);
    if (loud.length < SHORTEST) return [];
    const samples = new Float32Array(piece.length * FRAME);
    for (const [index, one] of piece.entries()) samples.set(one.samples, index * FRAME);
    const start = (first + (loud[0] as number)) / FRAMES_PER_SECOND;
    const last = (first + (loud.at(-1) as number) + 1) / FRAMES_PER_SECOND;
    return [{ start, end: last, samples }];
  }
}

function quietestMoment(frames: readonly Frame[]): number {
  let quietest = frames.length;
  let lowest = Number.POSITIVE_INFINITY;
  for (let end = EARLIEST_CUT; end <= frames.length; end += 1) {
    const level = frames.slice(end - MOMENT, end).reduce((sum, one) => sum + one.level, 0);
    if (level >= lowest) continue;
    lowest = level;
    quietest = end - MOMENT / 2;
  }
  return quietest;
}
