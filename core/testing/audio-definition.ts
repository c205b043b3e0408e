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
  /** Options of a usable entry. Default `{}`. */
  options?: Readonly<Record<string, unknown>>;
  /** Texts that nobody may see in a result, an error or the log. Default: none. */
  secrets?: readonly string[];
  /** One at least for each operation that a model lists. */
  samples: readonly AudioSample[];
  /** How its upstream answers. Default: it hears and speaks by itself, and asks nobody. */
  upstream?: AudioUpstreamScript;
}

interface AudioCalls {
  transcribe: TranscribeCall;
  translate: TranscribeCall;
  speak: SpeakCall;
  changeVoice: ChangeVoiceCall;
  generateSound: GenerateSoundCall;
}

/** A call that goes well, with each model that offers its operation. */
export type AudioSample = { [Operation in AudioOperation]: SampleOf<Operation> }[AudioOperation];

export interface SampleOf<Operation extends AudioOperation> {
  operation: Operation;
  /** What is special about it; the rest is the kit's. */
  call?: Partial<Omit<AudioCalls[Operation], 'sound' | 'model' | 'signal'>>;
  /** What is heard. Default: a tone as WAV, which says nothing to somebody who listens. */
  sound?: { bytes: Uint8Array; contentType: string; filename: string };
  /** What its upstream is sent, besides the bytes of the sound. Default: nothing is, since there is no upstream. */
  sends?(model: string): SentToUpstream;
  /** What it hears, as `compare` takes it; without an upstream. Default: anything. */
  hears?: unknown;
  /** Members that are left out, by the name of the call's. Default: none. */
  ignores?: readonly string[];
}

export interface SentToUpstream {
  /** Whole, with its query. */
  url: string;
  /** Members of the JSON, or text fields of the form; a field that is there more than once has a list. */
  members: Readonly<Record<string, unknown>>;
  /** Field of the form that has the sound. Default: there is no form. */
  file?: string;
}

/** An upstream in its own format. */
export interface AudioUpstreamScript {
  /** The answer with this transcript. Needed where sounds are heard. */
  transcript?(request: SentRequest, transcript: Transcript): FakeReply;
  /** The answer with the bytes of a sound in the format that was asked for. Needed where sounds are made. */
  sound?(request: SentRequest, bytesOf: (format: SpeechFormat) => Uint8Array): FakeReply;
  /** The refusal of what the caller sent, and no matter of ours: its words are for the caller. */
  refusal: FakeReply;
}
