/*
 * Prepares and runs the merge of one video: finds its tracks, decides where a cut begins and ends, detects the container
 * of each input by its first bytes, and lets ffmpeg copy them into one file. A cut of two tracks begins at the first
 * picture of its first part, whose time is read before, so that the sound begins with it.
 */

import { type Container, SNIFF_BYTES, sniffContainer, statedSeconds } from '../../media/index.js';
import { cutExactly } from './exact-cut.js';
import { cutFiles } from './file-cuts.js';
import type { FoundTracks } from './load-tracks.js';
import { type MergeTools, PICTURES, type PreparedVideo, type WantedVideo } from './prepared-video.js';
import type { TrackReader } from './track-reader.js';
import { cutOf, type TimeSpan, type Track, unplayable } from './tracks.js';

/** Sound without a picture, whose own times begin with it. */
const PACKED_SOUND: ReadonlySet<Container> = new Set(['aac', 'mp3']);
const FRAMED_AAC: ReadonlySet<Container> = new Set(['mpegts', 'aac']);

/**
 * @throws GatewayError `invalid_value` if the cut is outside, `queue_full` if there is no room for a file to cut,
 *   `media_unavailable`; the signal's reason.
 */
export async function prepareVideo(
  reader: TrackReader,
  found: FoundTracks,
  wanted: WantedVideo,
  tools: MergeTools,
): Promise<PreparedVideo> {
  const video = await prepareMerge(reader, found, wanted, tools);
  return wanted.isExact ? cutExactly(video, wanted, { ...tools, maxSeconds: tools.exactSeconds }) : video;
}

async function prepareMerge(
  reader: TrackReader,
  found: FoundTracks,
  wanted: WantedVideo,
  tools: MergeTools,
): Promise<PreparedVideo> {
  const { start = 0, end } = wanted;
  const { bytes } = found;
  const isCut = start > 0 || end !== undefined;
  if (isCut) await reader.readIndexes();
  const [picture] = reader.tracks;
  if (!picture) throw unplayable('The video has no tracks.');
  const isIndexed = !picture.isFile || picture.segments[0]?.range !== undefined;
  if (isCut && !isIndexed) {
    // Its cut is only known once it is here.
    if (wanted.make === 'never') return { cut: undefined, bytes, run: () => Promise.resolve() };
    return cutFiles(reader, found, { ...wanted, start, end }, tools);
  }
  const cut = isCut ? cutOf(picture, start, end) : undefined;
  return { cut, bytes, run: (write) => merge({ reader, found, wanted, cut, write, ...tools }) };
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
      seconds: cut
        ? cut.end - cut.start
        : longest(inputs.map((input, index) => input.seconds ?? lengthOf(reader.tracks[index]))),
      ...(sound && cut && { cut: { start: first, seconds: cut.end - cut.start } }),
      write,
      signal,
    });
  } finally {
    await Promise.all(inputs.map(({ source }) => source.return()));
  }
}

/** Seconds of a track by its list; undefined if it has none. */
function lengthOf(track: Track | undefined): number | undefined {
  const [first] = track?.segments ?? [];
  const last = track?.segments.at(-1);
  const seconds = first && last ? last.at + last.seconds - first.at : 0;
  return seconds > 0 && Number.isFinite(seconds) ? seconds : undefined;
}

function longest(lengths: readonly (number | undefined)[]): number | undefined {
  const known = lengths.filter((seconds) => seconds !== undefined);
  return known.length > 0 ? Math.max(...known) : undefined;
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
    const { time } = await ffmpeg.firstTime({ source, container }, signal);
    if (time === undefined) throw unplayable('The video has no picture at this time.');
    return time;
  } finally {
    await source.return();
  }
}

/** A track that is read as it arrives. */
interface StreamedInput {
  container: Container;
  source: AsyncGenerator<Uint8Array, void, undefined>;
  /** That its first bytes state. */
  seconds: number | undefined;
  delay?: number;
}

async function openInput(reader: TrackReader, index: number, cut: TimeSpan | undefined): Promise<StreamedInput> {
  const chunks = reader.read(index, cut);
  const head: Uint8Array[] = [];
  let length = 0;
  while (length < SNIFF_BYTES) {
    const { done, value } = await chunks.next();
    if (done) break;
    head.push(value);
    length += value.byteLength;
  }
  const first = Buffer.concat(head);
  const container = sniffContainer(first);
  if (container) return { container, seconds: statedSeconds(first), source: continued(head, chunks) };
  await chunks.return();
  throw unplayable('The source did not send a media file.');
}

async function* continued(
  head: readonly Uint8Array[],
  rest: AsyncGenerator<Uint8Array, void, undefined>,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield* head;
    yield* rest;
  } finally {
    await rest.return();
  }
}
