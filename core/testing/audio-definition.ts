import type {
  AudioOperation,
  ChangeVoiceCall,
  GenerateSoundCall,
  Plugin,
  SpeakCall,
  SpeechFormat,
  TranscribeCall,
  Transcript,
} from '../contracts/index.js';
import type { FakeReply, SentRequest } from './fake-http.js';

export interface AudioProviderDefinition {
  plugin: Plugin;
  /** Options of a valid instance. Default `{}`. */
  options?: Readonly<Record<string, unknown>>;
  /** Texts that must not appear in a result, an error or the log. Default: none. */
  secrets?: readonly string[];
  /** At least one for each operation that a model lists. */
  samples: readonly AudioSample[];
  /** How its upstream answers. Default: it works without an upstream. */
  upstream?: AudioUpstreamScript;
}

interface AudioCalls {
  transcribe: TranscribeCall;
  translate: TranscribeCall;
  speak: SpeakCall;
  changeVoice: ChangeVoiceCall;
  generateSound: GenerateSoundCall;
}

/** A call that succeeds, with each model that offers its operation. */
export type AudioSample = { [Operation in AudioOperation]: SampleOf<Operation> }[AudioOperation];

export interface SampleOf<Operation extends AudioOperation> {
  operation: Operation;
  /** The fields that matter for the sample; the kit fills the others. */
  call?: Partial<Omit<AudioCalls[Operation], 'sound' | 'model' | 'signal'>>;
  /** The audio input. Default: a tone as WAV, without speech. */
  audio?: { bytes: Uint8Array; contentType: string; filename: string };
  /** The expected upstream request, besides the bytes of the audio. Default: no request, since there is no upstream. */
  sends?(model: string): SentToUpstream;
  /**
   * The expected transcript, in the form that `compare` takes; for a provider without an upstream. Default: anything.
   */
  expectedTranscript?: unknown;
  /** Fields that the model ignores, by the name of the call's field. Default: none. */
  ignores?: readonly string[];
}

export interface SentToUpstream {
  /** The complete path with its query. */
  url: string;
  /** Fields of the JSON, or text fields of the form; a repeated field is a list. */
  fields: Readonly<Record<string, unknown>>;
  /** Form field of the audio. Default: there is no form. */
  file?: string;
}

/** An upstream in its own format. */
export interface AudioUpstreamScript {
  /** The answer with this transcript. Needed if audio is transcribed. */
  transcript?(request: SentRequest, transcript: Transcript): FakeReply;
  /** The answer with audio bytes in the requested format. Needed if audio is produced. */
  audio?(request: SentRequest, bytesOf: (format: SpeechFormat) => Uint8Array): FakeReply;
  /** The refusal of a caller's input: its message is for the caller. */
  refusal: FakeReply;
}
