import type { Usage } from './documents.js';
import type { UpstreamState } from './services.js';

export type AudioOperation = 'transcribe' | 'translate' | 'speak' | 'changeVoice' | 'generateSound';

/**
 * Hears or speaks. An operation is offered when a model lists it and the method is there.
 * Every call throws GatewayError: `upstream_*`, or the caller's fault as the model names it (`invalid_value`,
 * `unsupported_value`, `moderation_blocked`): those of `audio` in `core/plugins/plugin-failure.ts`, no others.
 */
export interface AudioProvider {
  readonly models: readonly AudioModel[];
  transcribe?(call: TranscribeCall): Promise<Transcript>;
  translate?(call: TranscribeCall): Promise<Transcript>;
  /** Resolves when there is sound to send, or about to be. What the body throws afterwards ends the stream. */
  speak?(call: SpeakCall): Promise<SoundStream>;
  changeVoice?(call: ChangeVoiceCall): Promise<SoundStream>;
  generateSound?(call: GenerateSoundCall): Promise<SoundStream>;
  /** Whom it asks, as they are now; cheap, since whoever watches asks. A fail-over gives them. Default: nobody. */
  upstreams?(): readonly UpstreamState[];
}

export interface AudioModel {
  /** Public model id. */
  id: string;
  operations: readonly AudioOperation[];
  /** Longest text that it speaks, in characters. Default 4,096, as the open format has it. */
  maxCharacters?: number;
}

interface AudioCall {
  model: string;
  /** Also aborts while the body flows. Aborting ends the upstream request within 100 ms. */
  signal: AbortSignal;
}

/** A sound in a file of ours, found to be what it says. It is there until the call has ended: to its last byte, of a stream. */
export interface SoundFile {
  /** Absolute. To be read only. */
  path: string;
  /** Bytes. */
  size: number;
  /** By the content, e.g. `audio/mpeg`. */
  contentType: string;
  /** `sound.` and an extension by the content; never what the caller called it. */
  filename: string;
  /** What the file says its length is, where it says so. */
  seconds?: number;
}

export interface TranscribeCall extends AudioCall {
  sound: SoundFile;
  /** ISO 639-1, lower case; transcription only. */
  language?: string;
  prompt?: string;
  /** 0 to 1. */
  temperature?: number;
  /** Finest times wanted. Default `segment`. */
  granularity?: 'segment' | 'word';
}

export interface Transcript {
  text: string;
  /** As the model names it: `en`, `english`. */
  language?: string;
  /** Seconds of sound heard. Default: what the file says. */
  durationSeconds?: number;
  /** In order of time; empty where the model gives no times. */
  segments: readonly TranscriptSegment[];
  words?: readonly TranscriptWord[];
  /** Default: the seconds heard. */
  usage?: Usage;
  /** Members of the call that the model does not know and that were left out. */
  ignored?: readonly string[];
}

/** Times in seconds from the start. */
export interface TranscriptSegment {
  start: number;
  end: number;
  text: string;
  /** What the model tells of its own work. Default: nothing. */
  details?: SegmentDetails;
}

export interface SegmentDetails {
  seek?: number;
  tokens?: readonly number[];
  temperature?: number;
  averageLogProbability?: number;
  compressionRatio?: number;
  noSpeechProbability?: number;
}

export interface TranscriptWord {
  start: number;
  end: number;
  word: string;
}

/**
 * `mp3`, `opus` (in Ogg), `aac` (ADTS), `flac`, `wav`, and `pcm`: 24,000 samples a second of 16 bits, little-endian, one
 * channel, without a header.
 */
export type SpeechFormat = 'mp3' | 'opus' | 'aac' | 'flac' | 'wav' | 'pcm';

/** A sound on its way. */
export interface SoundStream {
  body: AsyncIterable<Uint8Array>;
  /** What the bytes are: the format that was asked for, or the best there is instead, which the gateway converts. */
  format: SpeechFormat;
  /** What was used, where the upstream says. Settles with the end of the body at the latest; never rejects. */
  usage?: Promise<Usage | undefined>;
  /** Members of the call that the model does not know and that were left out. */
  ignored?: readonly string[];
}

export interface SpeakCall extends AudioCall {
  /** At least one character, and at most as many as the model takes. */
  input: string;
  voice: string;
  format: SpeechFormat;
  /** 0.25 to 4; 1 is the voice's own pace. */
  speed: number;
  instructions?: string;
}

export interface ChangeVoiceCall extends AudioCall {
  sound: SoundFile;
  voice: string;
  format: SpeechFormat;
  /** Fields handed through to the vendor: texts, as a form has them. */
  options: Readonly<Record<string, string>>;
}

export interface GenerateSoundCall extends AudioCall {
  text: string;
  /** 0.5 to 30. Default: the model decides. */
  durationSeconds?: number;
  format: SpeechFormat;
  /** Members handed through to the vendor. */
  options: Readonly<Record<string, unknown>>;
}
