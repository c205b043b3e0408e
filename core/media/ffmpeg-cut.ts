/*
 * The command line of an exact cut: a merged video that arrives through a pipe is decoded up to the wanted time and encoded
 * from there. It is the only one that opens decoders of pictures: those of the codecs that platforms send. Each process
 * has one thread for decoding and one for encoding. The result begins to play before it is complete, as merged videos do.
 */

import { FRAGMENTS } from './ffmpeg-merge.js';
import type { FfmpegCommand } from './fluent-ffmpeg.js';

export interface ExactCutRequest {
  /** A merged video, in the container of the result. */
  source: AsyncIterable<Uint8Array>;
  to: 'mp4' | 'webm';
  /** Seconds from the beginning of the source. */
  start: number;
  /** Length of the result. */
  seconds: number;
  /** Receives the file as it is made; the next chunk waits until it resolves. */
  write(chunk: Uint8Array): Promise<void>;
  /** Kills ffmpeg at once. */
  signal: AbortSignal;
}

/** Decoders of pictures, beside those of sound. */
const PICTURE_DECODERS = 'h264,hevc,vp8,vp9,libvpx-vp9,av1,libdav1d,libaom-av1,mpeg4';
/** A key frame each two seconds or so, where a fragment begins. */
const KEY_FRAMES = ['-g', '60'];
/** Encoders want even sides, and 8 bits are what all players take. */
const PICTURE = ['-vf', 'crop=trunc(iw/2)*2:trunc(ih/2)*2,format=yuv420p'];

const FORMATS = {
  mp4: {
    demuxer: 'mov',
    encoders: ['-c:v', 'libx264', '-preset', 'veryfast', '-crf', '20', '-c:a', 'aac', '-b:a', '160k'],
    muxer: ['-movflags', FRAGMENTS],
  },
  webm: {
    demuxer: 'matroska',
    encoders: [
      '-c:v',
      'libvpx-vp9',
      '-deadline',
      'realtime',
      '-cpu-used',
      '6',
      '-crf',
      '30',
      '-b:v',
      '0',
      '-c:a',
      'libopus',
      '-b:a',
      '128k',
    ],
    muxer: [],
  },
} as const;

/** @param decoders Those of sound. */
export function addExactCut(
  command: FfmpegCommand,
  { to, start, seconds }: ExactCutRequest,
  options: readonly string[],
  decoders: string,
): void {
  const { demuxer, encoders, muxer } = FORMATS[to];
  command
    .input('pipe:0')
    .inputFormat(demuxer)
    .inputOptions([...options, '-protocol_whitelist', 'pipe', '-format_whitelist', demuxer])
    .inputOptions(['-codec_whitelist', `${PICTURE_DECODERS},${decoders}`, '-threads', '1'])
    .outputOptions(['-map', '0:v:0', '-map', '0:a:0?', '-map_metadata', '-1', '-map_chapters', '-1'])
    .outputOptions(['-ss', start.toFixed(3), '-t', seconds.toFixed(3), '-threads', '1'])
    .outputOptions([...PICTURE, ...encoders, ...KEY_FRAMES, ...muxer])
    .format(to)
    .output('pipe:1');
}
