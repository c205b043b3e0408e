/*
 * What other folders may import of audio and image processing. ffmpeg and sharp are loaded at their first use.
 */

export {
  absentAudioFilters,
  audioFormat,
  createAudioFilters,
  PCM_RATE,
  SPEECH_FORMATS,
  wavHeader,
} from './audio-formats.js';
export { type Container, SNIFF_BYTES, sniffContainer } from './containers.js';
export { Ffmpeg, MP3_BYTES_PER_SECOND, type Probe } from './ffmpeg.js';
export type { MergedInput } from './ffmpeg-merge.js';
export {
  type ConversionReport,
  GrowingFile,
  type ScratchFolder,
  ScratchFolders,
} from './ffmpeg-process.js';
export {
  checkHeader,
  checkImage,
  type FittedImage,
  fileTooLarge,
  ImageFiles,
  MAX_IMAGE_BYTES,
  type OutputFormat,
} from './image-file.js';
export { IMAGE_CONTENT_TYPES } from './image-header.js';
export { type MediaType, mediaTypeOf } from './media-type.js';
export { boxAt, movedMovie, statedSeconds } from './mp4-boxes.js';
export { encodeSubtitles, parseSubtitles, SUBTITLE_TYPES } from './subtitles.js';
export { MAX_ZIP_BYTES, type ZipFile, zip } from './zip.js';
