import assert from 'node:assert';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type {
  AudioInputFile,
  AudioOperation,
  AudioProvider,
  AudioStream,
  HttpClient,
  SpeechFormat,
  Transcript,
  Usage,
} from '../contracts/index.js';
import { isGatewayError } from '../runtime/index.js';
import type { AudioProviderDefinition, AudioSample } from './audio-definition.js';
import { audioProviderOf, setUpPlugin, type TestSetup } from './setup.js';

/** The result of one sample's call. */
export interface AudioRun {
  setup: TestSetup;
  audio: AudioInputFile;
  audioBytes: Uint8Array;
  /** Whether the audio file is unchanged. */
  isAudioUnchanged: boolean;
  transcript?: Transcript;
  made?: MadeAudio;
  error?: unknown;
}

export interface MadeAudio {
  bytes: Buffer;
  format: SpeechFormat;
  usage?: Usage;
  ignored: readonly string[];
}

export interface AudioRunOptions {
  definition: AudioProviderDefinition;
  sample: AudioSample;
  /** Default: the first that offers the operation. */
  model?: string;
  http: HttpClient;
  /** Fields of the call besides those of the sample. */
  call?: object;
  signal?: AbortSignal;
  /** Receives the bytes of produced audio. */
  onChunk?(): void;
}

export function takesAudio(operation: AudioOperation): boolean {
  return operation === 'transcribe' || operation === 'translate';
}

/** One call of a plugin that was set up for it alone; produced audio is read to its end. */
export async function runAudio(options: AudioRunOptions): Promise<AudioRun> {
  const { definition, sample, http, signal = new AbortController().signal } = options;
  const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-kit-'));
  const { audio, bytes: audioBytes } = await writeAudio(folder, sample);
  const setup = await setUpPlugin({ plugin: definition.plugin, options: definition.options, http });
  const provider = audioProviderOf(setup);
  const run: AudioRun = { setup, audio, audioBytes, isAudioUnchanged: true };
  const model = options.model ?? modelsFor(provider, sample.operation)[0] ?? '';
  try {
    const call = { ...callOf(sample, audio), ...options.call, model, signal };
    const result = await invoke(provider, sample.operation, call);
    if ('body' in result) run.made = await readAudio(result, options.onChunk);
    else run.transcript = result;
  } catch (error) {
    run.error = error;
  }
  await setup.contributions.dispose?.();
  run.isAudioUnchanged = (await readFile(audio.path)).equals(audioBytes);
  await rm(folder, { recursive: true, force: true });
  return run;
}

export function modelsFor({ models }: AudioProvider, operation: AudioOperation): string[] {
  return models.filter(({ operations }) => operations.includes(operation)).map(({ id }) => id);
}

async function invoke(
  provider: AudioProvider,
  operation: AudioOperation,
  call: object,
): Promise<Transcript | AudioStream> {
  assert(provider[operation], `there is no method ${operation}`);
  // `callOf` and the sample's type make sure that call and method match.
  return (provider[operation] as (call: object) => Promise<Transcript | AudioStream>)(call);
}

function callOf({ operation, call }: AudioSample, audio: AudioInputFile): object {
  const made = { voice: 'alloy', format: 'mp3' };
  if (takesAudio(operation)) return { audio, ...call };
  if (operation === 'speak') return { input: 'Six boats left the harbour.', speed: 1, ...made, ...call };
  if (operation === 'changeVoice') return { audio, options: {}, ...made, ...call };
  return { text: 'Rain on a tin roof', options: {}, format: 'mp3', ...call };
}

async function writeAudio(folder: string, sample: AudioSample): Promise<{ audio: AudioInputFile; bytes: Uint8Array }> {
  const tone = { bytes: inventWav(1), contentType: 'audio/wav', filename: 'sound.wav' };
  const { bytes, contentType, filename } = sample.audio ?? tone;
  const file = path.join(folder, 'sound');
  await writeFile(file, bytes);
  const seconds = sample.audio ? {} : { seconds: 1 };
  return { bytes, audio: { path: file, size: bytes.length, contentType, filename, ...seconds } };
}

/** A tone: 16,000 samples a second, 16 bits, one channel. */
function inventWav(seconds: number): Buffer {
  const samples = Math.round(seconds * 16_000);
  const wav = Buffer.alloc(44 + samples * 2);
  wav.write('RIFF', 0);
  wav.writeUInt32LE(wav.length - 8, 4);
  wav.write('WAVEfmt ', 8);
  wav.writeUInt32LE(16, 16);
  wav.writeUInt16LE(1, 20);
  wav.writeUInt16LE(1, 22);
  wav.writeUInt32LE(16_000, 24);
  wav.writeUInt32LE(32_000, 28);
  wav.writeUInt16LE(2, 32);
  wav.writeUInt16LE(16, 34);
  wav.write('data', 36);
  wav.writeUInt32LE(samples * 2, 40);
  for (let index = 0; index < samples; index++) {
    wav.writeInt16LE(Math.round(8_000 * Math.sin((index * 2 * Math.PI * 440) / 16_000)), 44 + index * 2);
  }
  return wav;
}

async function readAudio(stream: AudioStream, onChunk?: () => void): Promise<MadeAudio> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream.body) {
    chunks.push(chunk);
    onChunk?.();
  }
  const usage = await stream.usage;
  return {
    bytes: Buffer.concat(chunks),
    format: stream.format,
    ignored: stream.ignored ?? [],
    ...(usage && { usage }),
  };
}

export function describeAudio({ transcript, made, error }: Pick<AudioRun, 'transcript' | 'made' | 'error'>): string {
  if (transcript) return 'a transcript';
  if (made) return `a sound of ${made.bytes.length} bytes`;
  return isGatewayError(error) ? `${error.code}: ${error.message}` : String(error);
}
