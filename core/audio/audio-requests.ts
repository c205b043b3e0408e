import type {
  AudioOperation,
  ChangeVoiceCall,
  GenerateSoundCall,
  SoundFile,
  SpeakCall,
  TranscribeCall,
  Transcript,
} from '../contracts/audio-provider.js';
import type { Usage } from '../contracts/media.js';
import type { GatewayError } from '../errors.js';

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
 * What audio models do. Each call rejects with GatewayError: `model_not_found`, `model_not_supported` for a model of
 * another kind of work, what the model said, `upstream_timeout`, `queue_full`, `plugin_unavailable` where ffmpeg is needed
 * and not there; or with the reason of its signal.
 */
export interface Audio {
  /**
   * Takes a sound into a file of ours and looks at what it is.
   * @throws GatewayError `invalid_value` where it is no sound of a known container, or longer than three hours,
   *   `request_too_large`, `upstream_unavailable` where the disk is full; what the chunks throw.
   */
  receive(upload: SoundUpload): Promise<UploadedSound>;
  /** The plugin entry that does it, without any I/O. */
  entryOf(model: string, operation: AudioOperation): string;
  transcribe(call: TranscribeCall): Promise<Heard>;
  /** To English. */
  translate(call: TranscribeCall): Promise<Heard>;
  /** Resolves with the first bytes; so do the others that make sound. */
  speak(call: SpeakCall): Promise<Sounding>;
  changeVoice(call: ChangeVoiceCall): Promise<Sounding>;
  generateSound(call: GenerateSoundCall): Promise<Sounding>;
}
