/*
 * fluent-ffmpeg, which writes command lines. The build bundles the package into this file; most of it is a report of
 * tests. The methods that we use are declared here, since an installed package of mediagate has neither it nor its types.
 */

import createFfmpegCommand from 'fluent-ffmpeg';

/** A command line that is being written. */
export interface FfmpegCommand {
  input(source: string): this;
  inputFormat(format: string): this;
  inputOptions(options: readonly string[]): this;
  noVideo(): this;
  map(stream: string): this;
  duration(seconds: number): this;
  audioFilters(filters: string | readonly string[]): this;
  audioCodec(codec: string): this;
  audioBitrate(bitrate: number | string): this;
  audioChannels(count: number): this;
  audioFrequency(hertz: number): this;
  outputOptions(options: readonly string[]): this;
  format(format: string): this;
  output(target: string): this;
  /** The parameters of ffmpeg; the package names it as an internal method. */
  _getArguments(): string[];
}

const create = createFfmpegCommand as unknown as () => FfmpegCommand;

export default create;
