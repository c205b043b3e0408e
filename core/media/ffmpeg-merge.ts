/*
 * Command lines that put picture and sound into one file without converting them, while they arrive
 * through pipes or lie in files of ours. The
 * result begins to play before it is complete: MP4 in fragments, or WebM. Each input is read as one detected container
 * and can open nothing; no decoder of pictures is opened, since nothing is decoded. Times of the inputs are kept, so
 * tracks that begin at different times stay in step; a cut of two tracks begins at a given time of both.
 */

import type { Container } from './containers.js';
import type { FfmpegCommand } from './fluent-ffmpeg.js';

/** What is merged: a stream, or a file of ours from a time on. */
export type MergedInput = {
  /** The detected container; it is read only as that. */
  container: Container;
  /** Seconds to add to its times. Default 0. */
  delay?: number;
} & ({ source: AsyncIterable<Uint8Array> } | { file: string; seek: number });

export interface MergeRequest {
  /** One with picture and sound, or one of each. */
  inputs: readonly MergedInput[];
  to: 'mp4' | 'webm';
  /** Whether its sound is AAC in frames, which MP4 stores without their headers. */
  isFramedAac: boolean;
  /** Time of the inputs at which the result begins, and its length. Default: all. */
  cut?: { start: number; seconds: number };
  /** Stated as its duration. Default: none is. */
  seconds?: number | undefined;
  /** Receives the file as it is made; the next chunk waits until it resolves. */
  write(chunk: Uint8Array): Promise<void>;
  /** Kills ffmpeg at once. */
  signal: AbortSignal;
}

/** Standard input, and the first that a program has for itself. */
const PIPES = ['pipe:0', 'pipe:3'];
/** Rounded down at the boundaries of frames. */
const FRAME_SECONDS = 0.01;
/** MP4 that plays before it is complete. */
export const FRAGMENTS = 'frag_keyframe+empty_moov+default_base_moof+delay_moov';

/** Containers that state all about their tracks before the first bytes of them. */
const SELF_DESCRIBING: ReadonlySet<Container> = new Set(['mov', 'matroska']);

/** An input that can open nothing else. Times stay as they are. */
function addInput(command: FfmpegCommand, input: MergedInput, pipe: string, options: readonly string[]): void {
  const { container } = input;
  const protocol = 'file' in input ? 'file' : 'pipe';
  command
    .input('file' in input ? input.file : pipe)
    .inputFormat(container)
    .inputOptions(['-copyts', '-protocol_whitelist', protocol, '-format_whitelist', container, ...options])
    .inputOptions(SELF_DESCRIBING.has(container) ? ['-analyzeduration', '0'] : [])
    // To the key frame before.
    .inputOptions('file' in input ? ['-ss', input.seek.toFixed(3)] : [])
    .inputOptions(input.delay === undefined ? [] : ['-itsoffset', input.delay.toFixed(3)]);
}

/** The streams among the inputs, in the order of their pipes. */
export function feedsOf(inputs: readonly MergedInput[]): AsyncIterable<Uint8Array>[] {
  return inputs.flatMap((input) => ('source' in input ? [input.source] : []));
}

/** @param options For each input, such as the only decoders that may be opened. */
export function addMerge(
  command: FfmpegCommand,
  { inputs, to, isFramedAac, cut, seconds }: MergeRequest,
  options: readonly string[],
): void {
  for (const [index, input] of inputs.entries()) addInput(command, input, PIPES[index] as string, options);
  const sound = inputs.length === 1 ? '0:a:0?' : '1:a:0';
  command.outputOptions(['-map', '0:v:0', '-map', sound, '-map_metadata', '-1', '-map_chapters', '-1', '-c', 'copy']);
  if (cut) {
    const start = Math.max(0, cut.start - FRAME_SECONDS);
    command.outputOptions(['-ss', start.toFixed(3), '-t', (cut.seconds + FRAME_SECONDS).toFixed(3)]);
  }
  if (isFramedAac) command.outputOptions(['-bsf:a', 'aac_adtstoasc']);
  command.outputOptions(['-avoid_negative_ts', 'make_zero']);
  if (to === 'mp4') command.outputOptions(['-movflags', FRAGMENTS]);
  // The duration of the file is the longest that a track states; that of an MP4 is written into it.
  else if (seconds !== undefined) command.outputOptions(['-metadata:s:v:0', `DURATION=${clockTime(seconds)}`]);
  command.format(to).output('pipe:1');
}

/** `01:02:03.450000000` */
function clockTime(seconds: number): string {
  const ms = Math.round(seconds * 1000);
  const parts = [ms / 3_600_000, (ms / 60_000) % 60, (ms / 1000) % 60].map((part) => {
    return String(Math.floor(part)).padStart(2, '0');
  });
  return `${parts.join(':')}.${String(ms % 1000).padStart(3, '0')}000000`;
}

/** Prints the first packet of the picture, with its time. */
export function addFirstPacket(command: FfmpegCommand, input: MergedInput, options: readonly string[]): void {
  addInput(command, input, PIPES[0] as string, options);
  command.outputOptions(['-map', '0:v:0', '-c', 'copy', '-frames:v', '1']).format('framecrc').output('pipe:1');
}

/** Seconds of the first packet that {@link addFirstPacket} printed; undefined if there is none. */
export function readFirstTime(text: string): number | undefined {
  const [, over, under] = /^#tb 0: (\d+)\/(\d+)$/m.exec(text) ?? [];
  const [, time] = /^0,\s*-?\d+,\s*(-?\d+),/m.exec(text) ?? [];
  return over === undefined || time === undefined ? undefined : (Number(time) * Number(over)) / Number(under);
}
