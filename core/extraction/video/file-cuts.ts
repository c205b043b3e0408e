/*
 * Cuts videos whose files do not begin with an index of key frames, such as most files that have picture and sound: they
 * are fetched whole into a folder of ours, within the maximum of all spools, and ffmpeg finds the key frame.
 */

import { open } from 'node:fs/promises';
import path from 'node:path';
import { type Container, SNIFF_BYTES, sniffContainer } from '../../media/index.js';
import { diskFailure, GatewayError } from '../../runtime/index.js';
import type { FoundTracks } from './load-tracks.js';
import { type MergeTools, PICTURES, type PreparedVideo, type WantedVideo } from './prepared-video.js';
import type { TrackReader } from './track-reader.js';
import { unplayable } from './tracks.js';

/** Of a file whose size is not stated. */
const MAX_BYTES = 256 * 1024 * 1024;

/** A file of ours, and what it is. */
interface LocalFile {
  file: string;
  container: Container;
}

/**
 * @throws GatewayError `invalid_value` if the cut is outside, `unsupported_value` if the files are larger than all spools
 *   may be, `queue_full` if there is no room now, `media_unavailable`; the signal's reason.
 */
export async function cutFiles(
  reader: TrackReader,
  found: FoundTracks,
  wanted: WantedVideo & { start: number },
  { ffmpeg, spools, signal }: MergeTools,
): Promise<PreparedVideo> {
  const maxBytes = found.bytes ?? MAX_BYTES;
  const folder = await spools.takeFolder(maxBytes);
  if (!folder) throw noRoom(spools.takes(maxBytes), wanted.start);
  // Also if it is never run.
  signal.addEventListener('abort', () => void folder.remove().catch(() => undefined), { once: true });
  try {
    const files = await Promise.all(
      reader.tracks.map((_track, index) => {
        return fetchFile(reader.read(index), path.join(folder.path, `track-${index}`), maxBytes);
      }),
    );
    const [picture] = files;
    if (!picture || !PICTURES[wanted.container].has(picture.container)) {
      throw unplayable('The video is in a container that cannot be merged.');
    }
    const { start: seek, end } = wanted;
    const { time, seconds = Number.POSITIVE_INFINITY } = await ffmpeg.firstTime({ ...picture, seek }, signal);
    if (time === undefined || seek >= seconds) throw outside(seconds);
    // Sound of its own begins with the picture.
    const inputs = files.map((file, index) => ({ ...file, seek: index === 0 ? seek : time }));
    const cut = { start: time, end: Math.min(end ?? seconds, seconds) };
    const merge = { inputs, to: wanted.container, isFramedAac: false, signal };
    return {
      cut,
      bytes: found.bytes,
      async run(write) {
        try {
          const seconds = Number.isFinite(cut.end) ? cut.end - time : undefined;
          await ffmpeg.merge({ ...merge, seconds, cut: { start: time, seconds: cut.end - time }, write });
        } finally {
          await folder.remove();
        }
      },
    };
  } catch (error) {
    await folder.remove();
    throw diskFailure(error);
  }
}

async function fetchFile(chunks: AsyncIterable<Uint8Array>, file: string, maxBytes: number): Promise<LocalFile> {
  const handle = await open(file, 'wx', 0o600);
  let head = Buffer.alloc(0);
  let bytes = 0;
  try {
    for await (const chunk of chunks) {
      bytes += chunk.byteLength;
      if (bytes > maxBytes) throw unplayable('The video is too large to be cut: it has no index.');
      if (head.length < SNIFF_BYTES) head = Buffer.concat([head, chunk.subarray(0, SNIFF_BYTES - head.length)]);
      await handle.writeFile(chunk);
    }
  } finally {
    await handle.close();
  }
  const container = sniffContainer(head);
  if (!container) throw unplayable('The source did not send a media file.');
  return { file, container };
}

function noRoom(isForNow: boolean, start: number): GatewayError {
  if (isForNow) return new GatewayError('queue_full', 'There is no room to cut this video now: it has no index.');
  const message =
    'This video cannot be cut: its file has no index of key frames at its beginning, and is too large to be kept.';
  return new GatewayError('unsupported_value', message, { param: start > 0 ? 'start' : 'end' });
}

function outside(seconds: number): GatewayError {
  const end = Number.isFinite(seconds) ? `, ${seconds.toFixed(3)} s` : '';
  return new GatewayError('invalid_value', `start must be before the end of the video${end}.`, { param: 'start' });
}
