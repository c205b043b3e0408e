/*
 * Detects audio containers by content and describes the formats of speech. Detection never accepts text, so playlists
 * and scripts that would make a player open something else are refused. The table of formats holds the media type,
 * demuxer and encoder arguments of each, chosen so that the first bytes can be sent before the length is known.
 * `openAudio` waits for the first bytes of a model's audio, so invalid audio is noticed while another upstream can
 * still be tried. The ffmpeg filters of plugins run here with back-pressure from their reader.
 */

import { open } from 'node:fs/promises';
import type { AudioFilters, AudioStream, HttpStream, SamplesCall, SpeechFormat } from '../contracts/index.js';
import { GatewayError } from '../runtime/index.js';
import { resumeBody, uselessAnswer } from '../upstreams/index.js';
import { type Container, SNIFF_BYTES, sniffContainer } from './containers.js';

/** Sample rate of `pcm`, and of `wav`. */
export const PCM_RATE = 24_000;
const PCM_BYTES = 2;

interface FormatDescription {
  contentType: string;
  /** ffmpeg's demuxer for it. */
  demuxer: string;
  /** ffmpeg's output arguments. */
  output: readonly string[];
}

const PCM_OUTPUT = ['-c:a', 'pcm_s16le', '-ar', `${PCM_RATE}`, '-ac', '1', '-f', 's16le'];

export const SPEECH_FORMATS: Readonly<Record<SpeechFormat, FormatDescription>> = {
  mp3: {
    contentType: 'audio/mpeg',
    demuxer: 'mp3',
    // Headers that are filled in at the end would differ from what was already sent.
    output: [
      '-c:a',
      'libmp3lame',
      '-b:a',
      '128k',
      '-ar',
      '44100',
      '-write_xing',
      '0',
      '-id3v2_version',
      '0',
      '-f',
      'mp3',
    ],
  },
  opus: {
    contentType: 'audio/ogg; codecs=opus',
    demuxer: 'ogg',
    // A page is sent when it is full: by default after a second of audio, which would delay the first bytes.
    output: ['-c:a', 'libopus', '-b:a', '64k', '-ar', '48000', '-page_duration', '200000', '-f', 'ogg'],
  },
  aac: {
    contentType: 'audio/aac',
    demuxer: 'aac',
    output: ['-c:a', 'aac', '-b:a', '128k', '-ar', '44100', '-f', 'adts'],
  },
  flac: {
    contentType: 'audio/flac',
    demuxer: 'flac',
    output: ['-c:a', 'flac', '-ar', `${PCM_RATE}`, '-sample_fmt', 's16', '-f', 'flac'],
  },
  // Its header is ours.
  wav: { contentType: 'audio/wav', demuxer: 'wav', output: PCM_OUTPUT },
  pcm: { contentType: 'audio/pcm', demuxer: 's16le', output: PCM_OUTPUT },
};

const WAV_HEADER_BYTES = 44;
/** The value of an unknown length: players then read to the end. */
const UNKNOWN_LENGTH = 0xffffffff;

/** The header that makes `pcm` a `wav` of unknown length. */
export function wavHeader(): Uint8Array {
  const header = Buffer.alloc(WAV_HEADER_BYTES);
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(UNKNOWN_LENGTH, 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(PCM_RATE, 24);
  header.writeUInt32LE(PCM_RATE * PCM_BYTES, 28);
  header.writeUInt16LE(PCM_BYTES, 32);
  header.writeUInt16LE(PCM_BYTES * 8, 34);
  header.write('data', 36, 'latin1');
  header.writeUInt32LE(UNKNOWN_LENGTH, 40);
  return header;
}

/** Replaces ffmpeg if a gateway has none. */
export const absentAudioFilters: AudioFilters = {
  available: false,
  // biome-ignore lint/correctness/useYield: it has nothing to give
  async *samples() {
    throw new GatewayError('plugin_unavailable', 'This gateway has no ffmpeg.');
  },
};

export interface SampleRequest {
  /** A file of ours with its detected container. Default: none, and the filters begin with sources of their own. */
  source?: { input: string; container: Container };
  /** A filter graph from one audio input to one output; `anull` leaves it unchanged. */
  filters: string;
  /** Samples a second. */
  rate: number;
  /** Audio after this many seconds is omitted. */
  maxSeconds: number;
  /** Receives 16-bit little-endian samples of one channel; the next chunk waits until it resolves. */
  write(chunk: Uint8Array): Promise<void>;
  /** Kills ffmpeg at once. */
  signal: AbortSignal;
}

/**
 * The part of ffmpeg that plugins can use. The declarations of their package do not lead to the rest.
 */
export function createAudioFilters(ffmpeg: { makeSamples(request: SampleRequest): Promise<unknown> }): AudioFilters {
  return {
    available: true,
    async *samples({ audio, signal, ...call }: SamplesCall) {
      const source = audio && { input: audio.path, container: await containerOf(audio.path) };
      yield* pulled(signal, (ends, write) =>
        ffmpeg.makeSamples({ ...call, ...(source && { source }), signal: ends, write }),
      );
    },
  };
}

/** The container is detected from the file, not from its name. */
async function containerOf(path: string): Promise<Container> {
  await using file = await open(path);
  const { bytesRead, buffer } = await file.read(Buffer.alloc(SNIFF_BYTES), 0, SNIFF_BYTES, 0);
  const container = sniffContainer(buffer.subarray(0, bytesRead));
  if (container) return container;
  throw new GatewayError('audio_unavailable', 'The file is not in a supported audio format.', { retryable: false });
}

/** Converts a writer to a stream; each chunk waits for the reader. */
async function* pulled(
  signal: AbortSignal,
  run: (ends: AbortSignal, write: SampleRequest['write']) => Promise<unknown>,
): AsyncGenerator<Uint8Array> {
  const left = new AbortController();
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const running = run(AbortSignal.any([signal, left.signal]), (chunk) => writer.write(chunk)).then(
    () => writer.close(),
    (error) => writer.abort(error),
  );
  // The reader receives its error; one that has stopped needs none.
  running.catch(() => undefined);
  try {
    for await (const chunk of readable) yield chunk;
  } finally {
    left.abort();
    await running.catch(() => undefined);
  }
}

/** Bytes that identify an audio format. */
const HEAD_BYTES = 12;

/**
 * The format of the first bytes; undefined for a format without a signature, such as PCM.
 * @param head At least 12 bytes, if there are as many.
 */
export function audioFormat(head: Uint8Array): Exclude<SpeechFormat, 'pcm'> | undefined {
  const marked = markedFormat(head);
  if (marked) return marked;
  const [first = 0, second = 0] = head;
  // Eleven bits mark a frame; the two layer bits are zero only in AAC.
  if (first !== 0xff || (second & 0xe0) !== 0xe0) return undefined;
  return (second & 0x06) === 0 ? 'aac' : 'mp3';
}

function markedFormat(head: Uint8Array): 'mp3' | 'opus' | 'flac' | 'wav' | undefined {
  const text = Buffer.from(head.subarray(0, HEAD_BYTES)).toString('latin1');
  if (/^RIFF[\s\S]{4}WAVE/.test(text)) return 'wav';
  if (text.startsWith('OggS')) return 'opus';
  if (text.startsWith('fLaC')) return 'flac';
  return text.startsWith('ID3') ? 'mp3' : undefined;
}

/**
 * Waits for the first bytes of a model's audio, so that invalid audio is detected while another upstream may still be
 * tried. The body continues from there.
 * @param asked The requested format: samples may look like the beginning of a frame, and are accepted as PCM.
 * @returns undefined if it is no audio; the body is released then.
 */
export async function openAudio(
  body: AsyncIterable<Uint8Array>,
  asked: SpeechFormat,
): Promise<Pick<AudioStream, 'body' | 'format'> | undefined> {
  const chunks = body[Symbol.asyncIterator]();
  const read: Uint8Array[] = [];
  let length = 0;
  while (length < HEAD_BYTES) {
    const next = await chunks.next();
    if (next.done) break;
    read.push(next.value);
    length += next.value.length;
  }
  const head = Buffer.concat(read);
  const format = asked === 'pcm' ? (markedFormat(head) ?? 'pcm') : audioFormat(head);
  if (length === 0 || format === undefined) {
    await chunks.return?.();
    return undefined;
  }
  return { format, body: resumeBody({ done: false, value: head }, chunks) };
}

/**
 * The audio of an upstream's answer, as {@link openAudio} opens it.
 * @throws TryFailure `upstream_changed` if it is none.
 */
export async function openAudioAnswer({ headers, body }: HttpStream, asked: SpeechFormat) {
  // A page of a proxy would pass for samples.
  const isText = /^(?:text|application\/(?:json|xml|problem))/i.test(headers['content-type'] ?? '');
  const audio = isText ? undefined : await openAudio(body, asked);
  if (audio) return audio;
  await body[Symbol.asyncIterator]().return?.();
  throw uselessAnswer('The upstream answered with something that is not audio.');
}
