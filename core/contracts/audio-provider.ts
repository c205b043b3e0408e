/*
 * The contract of audio models: transcription, translation, speech, voice conversion and sound effects. An operation
 * exists if a model lists it and its provider has the method. Input is a checked file on the local disk whose type was
 * detected from its content; the caller's file name never reaches a provider. Output is a stream in the requested
 * format, or in another one that the gateway converts. A provider names the fields that it ignored, so a client learns
 * which of its options had no effect.
 */

import type { Usage } from './documents.js';
import type { ModelUpstream, UpstreamState } from './services.js';

export type AudioOperation = 'transcribe' | 'translate' | 'speak' | 'changeVoice' | 'generateSound';

/**
 * Transcribes or produces audio. An operation is offered if a model lists it and the method exists. Every call throws
 * GatewayError: `upstream_*`, or the caller's error as the model names it (`invalid_value`, `unsupported_value`,
 * `moderation_blocked`): those of `audio` in `core/plugins/plugin-failure.ts`, no others.
 */
export interface AudioProvider {
  readonly models: readonly AudioModel[];
  transcribe?(call: TranscribeCall): Promise<Transcript>;
  translate?(call: TranscribeCall): Promise<Transcript>;
  /** Resolves when there is audio to send, or about to be. What the body throws afterwards ends the stream. */
  speak?(call: SpeakCall): Promise<AudioStream>;
  changeVoice?(call: ChangeVoiceCall): Promise<AudioStream>;
  generateSound?(call: GenerateSoundCall): Promise<AudioStream>;
  /**
   * The current state of its upstreams; must be cheap, since monitoring calls it. A fail-over provides it. Default:
   * none.
   */
  upstreams?(): readonly UpstreamState[];
  /**
   * Shares the requests of a model among its upstreams by these weights, by name of the upstream, from the next request
   * on. Without weights, by those of its options. Default: weights cannot be changed while the gateway runs.
   */
  weigh?(model: string, weights?: Readonly<Record<string, number>>): void;
}

export interface AudioModel {
  /** Public model id. */
  id: string;
  operations: readonly AudioOperation[];
  /** Maximum input text in characters. Default 4,096, as in the open format. */
  maxCharacters?: number;
  /**
   * Whether {@link TranscribeCall.options} and {@link TranscribeCall.speakers} are sent to the vendor. Default false: the
   * options are ignored, and a request for speakers is refused.
   */
  takesOptions?: boolean;
  /** The upstreams that have the model. Only for the operator's commands: clients never see them. Default: not known. */
  upstreams?: readonly ModelUpstream[];
}

interface AudioCall {
  model: string;
  /** Also aborts while the body streams. An abort ends the upstream request within 100 ms. */
  signal: AbortSignal;
}

/** A verified audio file on the local disk. It exists until the call has ended; for a stream, until its last byte. */
export interface AudioInputFile {
  /** Absolute path. Read only. */
  path: string;
  /** Bytes. */
  size: number;
  /** Detected by content, e.g. `audio/mpeg`. */
  contentType: string;
  /** `sound.` and an extension by content; never the caller's file name. */
  filename: string;
  /** The duration stated in the file, if any. */
  seconds?: number;
}

export interface TranscribeCall extends AudioCall {
  audio: AudioInputFile;
  /** Code of two or three letters (ISO 639), lower case, without a region; transcription only. */
  language?: string;
  prompt?: string;
  /** 0 to 1. */
  temperature?: number;
  /** Finest requested timestamps. Default `segment`. */
  granularity?: 'segment' | 'word';
  /** Whether to tell who speaks in each segment. Default false. Only for models with {@link AudioModel.takesOptions}. */
  speakers?: boolean;
  /**
   * Further fields of the open format, as form texts in order: `chunking_strategy`, `include[]`,
   * `known_speaker_names[]`, `known_speaker_references[]`. Default: none. Only for models with
   * {@link AudioModel.takesOptions}.
   */
  options?: Readonly<Record<string, readonly string[]>>;
}

export interface Transcript {
  text: string;
  /** Language as the model names it: `en`, `english`. */
  language?: string;
  /** Seconds of audio. Default: the duration stated in the file. */
  durationSeconds?: number;
  /** In order of time; empty if the model returns no times. */
  segments: readonly TranscriptSegment[];
  words?: readonly TranscriptWord[];
  /** Log probabilities of the tokens, as the vendor reports them. Default: none. */
  logprobs?: readonly unknown[];
  /** Default: the seconds of audio. */
  usage?: Usage;
  /** Fields of the call that the model does not support and that were ignored. */
  ignored?: readonly string[];
}

/** Times in seconds from the start. */
export interface TranscriptSegment {
  start: number;
  end: number;
  text: string;
  /** Who speaks, as the model names them: `A`, or one of the known names. Default: not known. */
  speaker?: string;
  /** What the model reports about its own work. Default: nothing. */
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

/** A stream of audio. */
export interface AudioStream {
  body: AsyncIterable<Uint8Array>;
  /** The format of the bytes: the requested one, or the best available one, which the gateway converts. */
  format: SpeechFormat;
  /** The usage, if the upstream reports it. Settles at the latest at the end of the body; never rejects. */
  usage?: Promise<Usage | undefined>;
  /** Fields of the call that the model does not support and that were ignored. */
  ignored?: readonly string[];
}

export interface SpeakCall extends AudioCall {
  /** At least one character, and at most the model's maximum. */
  input: string;
  voice: string;
  format: SpeechFormat;
  /** 0.25 to 4; 1 is the voice's normal speed. */
  speed: number;
  instructions?: string;
}

export interface ChangeVoiceCall extends AudioCall {
  audio: AudioInputFile;
  voice: string;
  format: SpeechFormat;
  /** Fields passed through to the vendor, as form texts. */
  options: Readonly<Record<string, string>>;
}

export interface GenerateSoundCall extends AudioCall {
  text: string;
  /** 0.5 to 30. Default: the model decides. */
  durationSeconds?: number;
  format: SpeechFormat;
  /** Fields passed through to the vendor. */
  options: Readonly<Record<string, unknown>>;
}
