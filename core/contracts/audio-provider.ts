import type { Media, MediaStream, Usage } from './media.js';

export type AudioOperation = 'transcribe' | 'translate' | 'speak' | 'changeVoice' | 'generateSound';

/** Hears or speaks. An operation is offered when a model lists it and the method is there. */
export interface AudioProvider {
  readonly models: readonly AudioModel[];
  transcribe?(call: TranscribeCall): Promise<Transcript>;
  translate?(call: TranscribeCall): Promise<Transcript>;
  speak?(call: SpeakCall): Promise<MediaStream>;
  changeVoice?(call: ChangeVoiceCall): Promise<MediaStream>;
  generateSound?(call: GenerateSoundCall): Promise<MediaStream>;
}

export interface AudioModel {
  /** Public model id. */
  id: string;
  operations: readonly AudioOperation[];
}

interface AudioCall {
  model: string;
  signal: AbortSignal;
}

export interface TranscribeCall extends AudioCall {
  sound: Media & { filename?: string };
  /** ISO 639-1; transcription only. */
  language?: string;
  prompt?: string;
  /** 0 to 1. */
  temperature?: number;
  /** Finest times wanted. Default `segment`. */
  granularity?: 'segment' | 'word';
}

export interface Transcript {
  text: string;
  language?: string;
  /** Seconds of sound heard. */
  durationSeconds: number;
  segments: readonly TranscriptSegment[];
  words?: readonly TranscriptWord[];
  usage?: Usage;
}

/** Times in seconds from the start. */
export interface TranscriptSegment {
  start: number;
  end: number;
  text: string;
}

export interface TranscriptWord {
  start: number;
  end: number;
  word: string;
}

export type SpeechFormat = 'mp3' | 'opus' | 'aac' | 'flac' | 'wav' | 'pcm';

export interface SpeakCall extends AudioCall {
  input: string;
  voice: string;
  format: SpeechFormat;
  /** 0.25 to 4; 1 is the voice's own pace. */
  speed: number;
  instructions?: string;
}

export interface ChangeVoiceCall extends AudioCall {
  sound: Media & { filename?: string };
  voice: string;
  format: SpeechFormat;
  /** Members handed through to the vendor. */
  options: Readonly<Record<string, unknown>>;
}

export interface GenerateSoundCall extends AudioCall {
  text: string;
  /** Default: the model decides. */
  durationSeconds?: number;
  format: SpeechFormat;
  options: Readonly<Record<string, unknown>>;
}
