/*
 * Prepares and runs the merge of one video: finds its tracks, decides where a cut begins and ends, detects the container
 * of each input by its first bytes, and lets ffmpeg copy them into one file. A cut of two tracks begins at the first
 * picture of its first part, whose time is read before, so that the sound begins with it.
 */

import { type Container, type Ffmpeg, type MergedInput, SNIFF_BYTES, sniffContainer } from '../../media/index.js';
import { GatewayError } from '../../runtime/index.js';
import type { FoundTracks } from './load-tracks.js';
import type { TrackReader } from './track-reader.js';
import { cutOf, type TimeSpan, unplayable, type VideoContainer } from './tracks.js';

/** What of a video is wanted. */
export interface WantedVideo {
  container: VideoContainer;
  /** Pixels. Default: the highest. */
  maxHeight?: number | undefined;
  /** Seconds. Default: its beginning. */
  start?: number | undefined;
  /** Seconds. Default: its end. */
  end?: number | undefined;
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
  signal: AbortSignal;
}

/** Containers that may be merged, by that of the result. */
const PICTURES: Readonly<Record<VideoContainer, ReadonlySet<Container>>> = {
  mp4: new Set<Container>(['mov', 'mpegts']),
  webm: new Set<Container>(['matroska']),
};
/** Sound without a picture, whose own times begin with it. */
const PACKED_SOUND: ReadonlySet<Container> = new Set(['aac', 'mp3']);
const FRAMED_AAC: ReadonlySet<Container> = new Set(['mpegts', 'aac']);

/**
 * @throws GatewayError `invalid_value` if the cut is outside, `unsupported_value` if it cannot be cut,
 *   `media_unavailable`; the signal's reason.
 */
export async function prepareVideo(
  reader: TrackReader,
  found: FoundTracks,
  wanted: WantedVideo,
  tools: MergeTools,
): Promise<PreparedVideo> {
  const { start = 0, end } = wanted;
  const isCut = start > 0 || end !== undefined;
  if (isCut) await reader.readIndexes();
  const [picture] = reader.tracks;
  if (!picture) throw unplayable('The video has no tracks.');
  if (isCut && picture.isFile && !picture.segments[0]?.range) throw notCuttable(start);
  const cut = isCut ? cutOf(picture, start, end) : undefined;
  return {
    cut,
    bytes: found.bytes,
    run: (write) => merge({ reader, found, wanted, cut, write, ...tools }),
  };
}

function notCuttable(start: number): GatewayError {
  const message = 'This video cannot be cut: its file does not begin with an index of its key frames.';
  return new GatewayError('unsupported_value', message, { param: start > 0 ? 'start' : 'end' });
}

interface Merging extends MergeTools {
  reader: TrackReader;
  found: FoundTracks;
  wanted: WantedVideo;
  cut: TimeSpan | undefined;
  write(chunk: Uint8Array): Promise<void>;
}

async function merge(merging: Merging): Promise<void> {
  const { reader, found, wanted, cut, ffmpeg, signal, write } = merging;
  const inputs = await Promise.all(reader.tracks.map((_track, index) => openInput(reader, index, cut)));
  try {
    const [picture, sound] = inputs;
    if (!picture || !PICTURES[wanted.container].has(picture.container)) {
      throw unplayable('The video is in a container that cannot be merged.');
    }
    const isPacked = sound !== undefined && PACKED_SOUND.has(sound.container);
    const first = sound && (cut || isPacked) ? await firstTime(merging, picture.container) : 0;
    if (isPacked) sound.delay = first + offsetOf(reader, cut);
    await ffmpeg.merge({
      inputs,
      to: wanted.container,
      isFramedAac: !found.isOtherSound && FRAMED_AAC.has((sound ?? picture).container),
      ...(sound && cut && { cut: { start: first, seconds: cut.end - cut.start } }),
      write,
      signal,
    });
  } finally {
    await Promise.all(inputs.map(({ source }) => source[Symbol.asyncIterator]().return?.()));
  }
}

/** Seconds between the first parts of picture and sound. */
function offsetOf({ tracks }: TrackReader, cut: TimeSpan | undefined): number {
  const [picture = 0, sound = 0] = tracks.map(({ segments }) => {
    return segments.find(({ at, seconds }) => at + seconds > (cut?.start ?? 0) + 0.001)?.at;
  });
  return sound - picture;
}

/** In the times of its own container. */
async function firstTime({ reader, cut, ffmpeg, signal }: Merging, container: Container): Promise<number> {
  const source = reader.read(0, cut);
  try {
    return await ffmpeg.firstTime({ source, container }, signal);
  } finally {
    await source.return();
  }
}

async function openInput(reader: TrackReader, index: number, cut: TimeSpan | undefined): Promise<MergedInput> {
  const chunks = reader.read(index, cut);
  const head: Uint8Array[] = [];
  let length = 0;
  while (length < SNIFF_BYTES) {
    const { done, value } = await chunks.next();
    if (done) break;
    head.push(value);
    length += value.byteLength;
  }
  const container = sniffContainer(Buffer.concat(head));
  if (container) return { container, source: continued(head, chunks) };
  await chunks.return();
  throw unplayable('The source did not send a media file.');
}

async function* continued(head: readonly Uint8Array[], rest: AsyncGenerator<Uint8Array, void, undefined>) {
  try {
    yield* head;
    yield* rest;
  } finally {
    await rest.return();
  }
}
