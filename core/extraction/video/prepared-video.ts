/*
 * What is asked of a video, and what is merged of it: shared by videos that are read as they arrive, and by cuts of files.
 */

import type { VideoFileRequest } from '../../contracts/index.js';
import type { Container, Ffmpeg } from '../../media/index.js';
import type { TimeSpan, VideoContainer } from './tracks.js';
import type { VideoSpools } from './video-spools.js';

/** What of a video is wanted. */
export interface WantedVideo {
  container: VideoContainer;
  /** Pixels. Default: the highest. */
  maxHeight?: number | undefined;
  /** Seconds. Default: its beginning. */
  start?: number | undefined;
  /** Seconds. Default: its end. */
  end?: number | undefined;
  /** With `never`, nothing is fetched only to be cut. */
  make: VideoFileRequest['make'];
}

/** A video that can be merged. */
export interface PreparedVideo {
  /** Where it begins and ends, if it is cut. */
  cut: TimeSpan | undefined;
  /** Roughly. Undefined if it is not known. */
  bytes: number | undefined;
  /** Passes the merged file on; the next chunk waits until `write` resolves. */
  run(write: (chunk: Uint8Array) => Promise<void>): Promise<void>;
}

export interface MergeTools {
  ffmpeg: Ffmpeg;
  spools: VideoSpools;
  signal: AbortSignal;
}

/** Containers that may be merged, by that of the result. */
export const PICTURES: Readonly<Record<VideoContainer, ReadonlySet<Container>>> = {
  mp4: new Set<Container>(['mov', 'mpegts']),
  webm: new Set<Container>(['matroska']),
};
