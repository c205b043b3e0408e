/** Offline speech with its real engines, opened once. */

import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type AudioInputFile, type AudioProvider, createGateway, type SpeakCall, type TranscribeCall } from 'mediagate';
import offlineSpeech from '../../../plugins/offline_speech/index.js';
import { ffmpegPath } from './ffmpeg.js';

export const SPEECH_RATE = 24_000;

/** The offline engines as a gateway has them, with the machine's ffmpeg. */
export interface OfflineSpeech {
  readonly hears: Required<Pick<AudioProvider, 'transcribe' | 'translate'>>;
  readonly speaks: Required<Pick<AudioProvider, 'speak'>>;
  /** All samples of what is spoken. */
  speak(input: string, call?: Partial<SpeakCall>): Promise<Buffer>;
  /** What is heard in samples of speech. */
  transcribe(samples: Uint8Array, call?: Partial<TranscribeCall>): ReturnType<Required<AudioProvider>['transcribe']>;
  /** A WAV file of samples, there until the close. */
  keep(samples: Uint8Array): Promise<AudioInputFile>;
  close(): Promise<void>;
}

export async function openOfflineSpeech(options: Readonly<Record<string, unknown>> = {}): Promise<OfflineSpeech> {
  const gateway = await createGateway({
    plugins: [{ use: offlineSpeech, options, required: true, timeoutMs: 600_000 }],
    ffmpegPath,
  });
  const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-speech-'));
  const hears = gateway.audioProvider('stt-large-v3', 'transcribe');
  const speaks = gateway.audioProvider('tts_v3', 'speak');
  if (!hears?.transcribe || !hears.translate || !speaks?.speak) throw new Error('the plugin serves none of its models');
  const transcribe = hears.transcribe.bind(hears);
  const translate = hears.translate.bind(hears);
  const speak = speaks.speak.bind(speaks);
  const { signal } = new AbortController();
  let files = 0;

  async function keep(samples: Uint8Array): Promise<AudioInputFile> {
    files += 1;
    const file = path.join(folder, `${files}.wav`);
    await writeFile(file, Buffer.concat([waveHeader(samples.length), samples]));
    const { size } = await stat(file);
    return { path: file, size, contentType: 'audio/wav', filename: 'sound.wav' };
  }

  return {
    hears: { transcribe, translate },
    speaks: { speak },
    async speak(input, call) {
      const { body } = await speak({ model: 'tts_v3', input, voice: 'slt', format: 'pcm', speed: 1, signal, ...call });
      const chunks: Uint8Array[] = [];
      for await (const chunk of body) chunks.push(chunk);
      return Buffer.concat(chunks);
    },
    transcribe: async (samples, call) =>
      transcribe({ model: 'stt-large-v3', audio: await keep(samples), signal, ...call }),
    keep,
    async close() {
      await gateway.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Of samples of 16 bits, 24,000 a second, in one channel. */
function waveHeader(bytes: number): Buffer {
  const header = Buffer.alloc(44);
  header.write('RIFF');
  header.writeUInt32LE(36 + bytes, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(SPEECH_RATE, 24);
  header.writeUInt32LE(SPEECH_RATE * 2, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36);
  header.writeUInt32LE(bytes, 40);
  return header;
}
