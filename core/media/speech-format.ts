import type { SpeechFormat } from '../contracts/index.js';

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
