import type {
  AudioOperation,
  ChangeVoiceCall,
  GenerateSoundCall,
  SoundFile,
  SpeakCall,
  TranscribeCall,
  Transcript,
  Usage,
} from '../contracts/index.js';
import type { GatewayError } from '../runtime/index.js';

/** A sound that somebody sends. */
export interface SoundUpload {
  chunks: AsyncIterable<Uint8Array>;
  maxBytes: number;
  /** Name of the request's member, for errors. */
  param: string;
  signal: AbortSignal;
}

export interface UploadedSound extends SoundFile {
  /** To be called once nobody uses it any more. */
  remove(): Promise<void>;
}

/** One call of a model. */
export interface AudioExchange<Answer> {
  answer: Promise<Answer>;
  /** What was used, where anything was. Resolves when all has ended; never rejects. */
  ended: Promise<{ usage?: Usage }>;
}

/** Who does a piece of work. */
export interface AudioModelMatch {
  /** Plugin that only stands for something better that is not configured, where it does. */
  standIn?: string;
}

export interface Heard extends Transcript {
  durationSeconds: number;
  usage: Usage;
}

export interface Sounding {
  /** To be read once, to its end or until it is told to return. What it throws is a GatewayError. */
  body: AsyncIterable<Uint8Array>;
  contentType: string;
  ignored: readonly string[];
  /** Resolves when the body has ended, whole or not. */
  ended: Promise<SoundingEnd>;
}

export interface SoundingEnd {
  usage: Usage;
  /** Why it is not whole. */
  failure?: GatewayError;
}

/**
 * What audio models do. Answers reject with GatewayError: `model_not_found`, `model_not_supported` for a model of another
 * kind of work, what the model said, `upstream_timeout`, `queue_full`, `plugin_unavailable` where ffmpeg is needed and not
 * there; or with the reason of the call's signal.
 */
export interface Audio {
  /**
   * Takes a sound into a file of ours and looks at what it is.
   * @throws GatewayError `invalid_value` where it is no sound of a known container, or longer than three hours,
   *   `request_too_large`, `upstream_unavailable` where the disk is full; what the chunks throw.
   */
  receive(upload: SoundUpload): Promise<UploadedSound>;
  /**
   * Without any I/O.
   * @param input what is to be spoken, where anything is.
   * @throws GatewayError `model_not_found`, `model_not_supported`, `invalid_value` for an input longer than the model takes.
   */
  match(model: string, operation: AudioOperation, input?: string): AudioModelMatch;
  transcribe(call: TranscribeCall): AudioExchange<Heard>;
  /** To English. */
  translate(call: TranscribeCall): AudioExchange<Heard>;
  /** Answers with the first bytes; so do the others that make sound. */
  speak(call: SpeakCall): AudioExchange<Sounding>;
  changeVoice(call: ChangeVoiceCall): AudioExchange<Sounding>;
  generateSound(call: GenerateSoundCall): AudioExchange<Sounding>;
}
