/* fluent-ffmpeg, which writes command lines. The build bundles the package into this file; most of it is a report of tests. */

export { default, type FfmpegCommand } from 'fluent-ffmpeg';
