import { open } from 'node:fs/promises';
import type { SamplesCall, SoundFilters, SoundStream, SpeechFormat } from '../contracts/index.js';
import { GatewayError } from '../runtime/index.js';
import type { Ffmpeg, SampleMaking } from './ffmpeg.js';

/** A container that sound is taken from, by the name of ffmpeg's demuxer for it. */
export type Container = 'mov' | 'matroska' | 'mp3' | 'aac' | 'ogg' | 'flac' | 'wav' | 'mpegts' | 'mpeg';

/** Bytes that {@link sniffContainer} looks at, at most. */
export const SNIFF_BYTES = 4096;

/** The boxes that a file of this family begins with, the oldest forms included. */
const MOV_BOXES = new Set(['ftyp', 'styp', 'moov', 'mdat', 'free', 'skip', 'wide']);
const TS_PACKET = 188;
const TS_SYNC = 0x47;
/** The start code of a pack. */
const PROGRAM_STREAM = 0x000001ba;

/**
 * What a file is by its first bytes; undefined for anything that is not one of these. Playlists, manifests and scripts that
 * tell a player to fetch or open something else are text, and no text is in the list.
 */
export function sniffContainer(head: Uint8Array): Container | undefined {
  const bytes = Buffer.from(head.buffer, head.byteOffset, Math.min(head.byteLength, SNIFF_BYTES));
  const at = (offset: number, text: string) =>
    bytes.toString('latin1', offset, offset + text.length) === text && bytes.length >= offset + text.length;
  if (bytes.length < 12) return undefined;
  if (MOV_BOXES.has(bytes.toString('latin1', 4, 8)) && bytes.readUInt32BE(0) !== 0) return 'mov';
  if (bytes.readUInt32BE(0) === 0x1a45dfa3) return 'matroska';
  if (at(0, 'OggS')) return 'ogg';
  if (at(0, 'fLaC')) return 'flac';
  if (at(0, 'RIFF') && at(8, 'WAVE')) return 'wav';
  if (isTransportStream(bytes)) return 'mpegts';
  if (bytes.readUInt32BE(0) === PROGRAM_STREAM) return 'mpeg';
  if (at(0, 'ID3')) return frameKind(bytes, id3Length(bytes)) ?? 'mp3';
  return frameKind(bytes, 0);
}

function isTransportStream(bytes: Buffer): boolean {
  if (bytes.length < 3 * TS_PACKET) return false;
  return [0, TS_PACKET, 2 * TS_PACKET].every((offset) => bytes[offset] === TS_SYNC);
}

/** Length of the tag before the sound, header included; seven bits a byte. */
function id3Length(bytes: Buffer): number {
  const [a = 0, b = 0, c = 0, d = 0] = bytes.subarray(6, 10);
  return 10 + ((a & 0x7f) << 21) + ((b & 0x7f) << 14) + ((c & 0x7f) << 7) + (d & 0x7f);
}

/** MPEG audio and ADTS begin with the same eleven bits; ADTS uses the one layer number that MPEG audio leaves out. */
function frameKind(bytes: Buffer, offset: number): 'mp3' | 'aac' | undefined {
  const [first, second = 0, third = 0] = bytes.subarray(offset, offset + 3);
  if (first !== 0xff || (second & 0xe0) !== 0xe0) return undefined;
  if ((second & 0xf6) === 0xf0) return 'aac';
  const reserved =
    (second & 0x18) === 0x08 || (second & 0x06) === 0 || (third & 0xf0) === 0xf0 || (third & 0x0c) === 0x0c;
  return reserved ? undefined : 'mp3';
}

/** Of `pcm`, and of what is in `wav`. */
export const PCM_RATE = 24_000;
const PCM_BYTES = 2;

interface FormatDescription {
  contentType: string;
  /** ffmpeg's demuxer for it. */
  demuxer: string;
  /** What ffmpeg is told to make it. */
  output: readonly string[];
}

const PCM_OUTPUT = ['-c:a', 'pcm_s16le', '-ar', `${PCM_RATE}`, '-ac', '1', '-f', 's16le'];

export const SPEECH_FORMATS: Readonly<Record<SpeechFormat, FormatDescription>> = {
  mp3: {
    contentType: 'audio/mpeg',
    demuxer: 'mp3',
    // Headers that are filled in at the end would differ from what was sent at the beginning.
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
    // A page is sent when it is full: by default of a second of sound, which would be the wait for the first.
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
/** How a length is written that is not known yet: players then read to the end. */
const UNKNOWN_LENGTH = 0xffffffff;

/** What makes `pcm` a `wav` of unknown length. */
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

/** Stands where a gateway has no ffmpeg. */
export const absentSoundFilters: SoundFilters = {
  available: false,
  // biome-ignore lint/correctness/useYield: it has nothing to give
  async *samples() {
    throw new GatewayError('plugin_unavailable', 'This gateway has no ffmpeg.');
  },
};

/** What plugins get of ffmpeg. */
export function createSoundFilters(ffmpeg: Ffmpeg): SoundFilters {
  return {
    available: true,
    async *samples({ sound, signal, ...call }: SamplesCall) {
      const source = sound && { input: sound.path, container: await containerOf(sound.path) };
      yield* pulled(signal, (ends, write) =>
        ffmpeg.makeSamples({ ...call, ...(source && { source }), signal: ends, write }),
      );
    },
  };
}

/** The file itself is asked, not whoever named it. */
async function containerOf(path: string): Promise<Container> {
  await using file = await open(path);
  const { bytesRead, buffer } = await file.read(Buffer.alloc(SNIFF_BYTES), 0, SNIFF_BYTES, 0);
  const container = sniffContainer(buffer.subarray(0, bytesRead));
  if (container) return container;
  throw new GatewayError('audio_unavailable', 'The file is in no form that sound is read from.', { retryable: false });
}

/** Turns one who writes into one who is read from; each chunk waits for the reader. */
async function* pulled(
  signal: AbortSignal,
  run: (ends: AbortSignal, write: SampleMaking['write']) => Promise<unknown>,
): AsyncGenerator<Uint8Array> {
  const left = new AbortController();
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const running = run(AbortSignal.any([signal, left.signal]), (chunk) => writer.write(chunk)).then(
    () => writer.close(),
    (error) => writer.abort(error),
  );
  // Its failure is the reader's to see, and one who has left wants none.
  running.catch(() => undefined);
  try {
    for await (const chunk of readable) yield chunk;
  } finally {
    left.abort();
    await running.catch(() => undefined);
  }
}

/** Enough of a sound to know it by. */
const HEAD_BYTES = 12;

/**
 * The format that bytes begin as; undefined for what has no mark of its own, as PCM has none.
 * @param head 12 bytes at least, where there are as many.
 */
export function soundFormat(head: Uint8Array): Exclude<SpeechFormat, 'pcm'> | undefined {
  const marked = markedFormat(head);
  if (marked) return marked;
  const [first = 0, second = 0] = head;
  // Eleven bits say that a frame begins; the two of the layer are zero in AAC alone.
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
 * Waits for the first bytes of a sound, so that what is none is found out while somebody else may still be asked. The body
 * goes on from there.
 * @param asked what was asked for: samples may look like the beginning of a frame, and are believed to be PCM.
 * @returns undefined where it is no sound; the body is left then.
 */
export async function openSound(
  body: AsyncIterable<Uint8Array>,
  asked: SpeechFormat,
): Promise<Pick<SoundStream, 'body' | 'format'> | undefined> {
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
  const format = asked === 'pcm' ? (markedFormat(head) ?? 'pcm') : soundFormat(head);
  if (length === 0 || format === undefined) {
    await chunks.return?.();
    return undefined;
  }
  return { format, body: { [Symbol.asyncIterator]: () => resumed(head, chunks) } };
}

/** No generator: one that waits for a chunk would not notice that its reader has left. */
function resumed(head: Uint8Array, chunks: AsyncIterator<Uint8Array>): AsyncIterator<Uint8Array> {
  let first: Uint8Array | undefined = head;
  return {
    async next() {
      if (!first) return chunks.next();
      const value = first;
      first = undefined;
      return { done: false, value };
    },
    async return() {
      first = undefined;
      await chunks.return?.();
      return { done: true, value: undefined };
    },
  };
}
