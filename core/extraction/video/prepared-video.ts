/*
 * What is asked of a video, and what is merged of it: shared by videos that are read as they arrive, by cuts of files, and
 * by exact cuts.
 */

import { once } from 'node:events';
import { PassThrough, type Readable } from 'node:stream';
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
  /** Whether the cut is exact, and encoded anew. */
  isExact?: boolean | undefined;
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

/** A video as it is made. Destroy it to end its making, if it is not read to its end. */
export function streamOf(run: PreparedVideo['run'], signal: AbortSignal): Readable {
  const made = new PassThrough();
  const gone = new AbortController();
  made.once('close', () => gone.abort());
  // Its reader may have left.
  made.on('error', () => undefined);
  const either = AbortSignal.any([signal, gone.signal]);
  const write = async (chunk: Uint8Array) => {
    either.throwIfAborted();
    if (!made.write(chunk)) await once(made, 'drain', { signal: either });
  };
  run(write).then(
    () => made.end(),
    (error: unknown) => made.destroy(error instanceof Error ? error : new Error(String(error))),
  );
  return made;
}

export interface MergeTools {
  ffmpeg: Ffmpeg;
  spools: VideoSpools;
  /** Longest exact cut, in seconds. */
  exactSeconds: number;
  signal: AbortSignal;
}

/** Containers that may be merged, by that of the result. */
export const PICTURES: Readonly<Record<VideoContainer, ReadonlySet<Container>>> = {
  mp4: new Set<Container>(['mov', 'mpegts']),
  webm: new Set<Container>(['matroska']),
};
