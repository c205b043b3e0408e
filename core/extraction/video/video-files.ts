/*
 * Sends videos with picture and sound that a platform has apart, or as a stream of parts. They are merged while they are
 * sent and are not stored: each viewer has an ffmpeg, and none is started for a request without a body. A link is made
 * for a key and has the limits of a media link: connections, bytes, and bytes a second. A cached document is used while
 * its addresses work; otherwise the item is resolved again, also in the middle of a video. The answer begins with the
 * first bytes of the video, so that a failure before them is an error and not half a file.
 */

import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import type { Clock, Extraction, MediaLink, VideoFile, VideoFileRequest } from '../../contracts/index.js';
import type { Ffmpeg } from '../../media/index.js';
import { GatewayError, isGatewayError } from '../../runtime/index.js';
import type { Item } from '../extraction.js';
import type { LimitedTransfer, LinkLimits } from '../link-limits.js';
import { namesOf } from '../media-files.js';
import { headersOf, type MediaSources, TRANSFER_MS } from '../media-sources.js';
import { type FoundTracks, loadTracks } from './load-tracks.js';
import { TrackReader } from './track-reader.js';
import type { VideoLinks, VideoTarget } from './video-links.js';
import { type PreparedVideo, prepareVideo, type WantedVideo } from './video-merge.js';

/** Of a video whose size nothing states. */
const UNKNOWN_BYTES = 4 * 1024 ** 3;

export interface VideoFilesOptions {
  links: VideoLinks;
  sources: MediaSources;
  limits: LinkLimits;
  ffmpeg: Ffmpeg;
  clock: Clock;
}

/** Merged videos, by their links. */
export class VideoFiles {
  readonly #options: VideoFilesOptions;

  constructor(options: VideoFilesOptions) {
    this.#options = options;
  }

  /** What a link was made for, without any request. @throws GatewayError `file_not_found`, `link_expired`. */
  link(name: string): MediaLink {
    const { target, expiresAt } = this.#opened(name);
    const { extractor } = this.#options.sources.itemOf(target);
    return { url: target.url, platform: extractor.contribution.platform, issuer: target.issuer, expiresAt };
  }

  /**
   * The video behind a link. Read it or release it.
   * @throws GatewayError `file_not_found`, `link_expired`, `rate_limit_exceeded` above the limits of the link,
   *   `invalid_value` for a cut outside of the video, `queue_full`, `media_unavailable`, what the platform answers about
   *   the item; the signal's reason.
   */
  async open(request: VideoFileRequest): Promise<VideoFile> {
    const { name, signal: left } = request;
    const { target, expiresAt } = this.#opened(name);
    const { limits, sources } = this.#options;
    const item = sources.itemOf(target);
    const release = limits.take(name);
    const gone = new AbortController();
    const end = () => {
      gone.abort(new Error('the video has no reader any more'));
      release();
    };
    try {
      const signal = AbortSignal.any([left, gone.signal, AbortSignal.timeout(TRANSFER_MS)]);
      const { extraction, video } = await this.#prepare(item, request, signal);
      const size = video.bytes ?? UNKNOWN_BYTES;
      limits.check(name, size, expiresAt);
      const names = namesOf(item, extraction, `.${request.container}`);
      const described = {
        ...names,
        contentType: `video/${request.container}`,
        expiresAt,
        cut: video.cut,
        release: end,
      };
      if (!request.isRead) {
        end();
        return { ...described, body: undefined };
      }
      const transfer = { name, size, issuer: target.issuer, signal };
      return { ...described, body: this.#passOn(await begun(video, signal), transfer, end) };
    } catch (error) {
      end();
      throw error;
    }
  }

  #opened(name: string): { target: VideoTarget; expiresAt: number } {
    const { links, clock } = this.#options;
    return links.open(name, clock.now());
  }

  /** With a cached document, if its addresses work. */
  async #prepare(item: Item, wanted: WantedVideo, signal: AbortSignal) {
    const { sources } = this.#options;
    const cached = await sources.cached(item);
    if (cached) {
      try {
        return await this.#prepareOf(item, cached, wanted, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (!isGatewayError(error) || error.code !== 'media_unavailable' || !error.retryable) throw error;
      }
    }
    return this.#prepareOf(item, await sources.refresh(item, signal), wanted, signal);
  }

  async #prepareOf(item: Item, extraction: Extraction, wanted: WantedVideo, signal: AbortSignal) {
    const { sources, clock, ffmpeg } = this.#options;
    const hosts = sources.hostsOf(item, signal);
    const load = (from: Extraction): Promise<FoundTracks> => {
      const { container, maxHeight } = wanted;
      const headers = headersOf(item, from);
      return loadTracks({ extraction: from, container, maxHeight, headers, fetch: { ...hosts, signal } });
    };
    const loaded = await load(extraction);
    const reload = async (reloading: AbortSignal) => load(await sources.refresh(item, reloading));
    const reader = new TrackReader({ ...hosts, loaded, reload, clock, signal });
    return { extraction, video: await prepareVideo(reader, loaded, wanted, { ffmpeg, signal }) };
  }

  async *#passOn(chunks: AsyncIterable<Uint8Array>, transfer: LimitedTransfer, end: () => void) {
    try {
      for await (const chunk of chunks) {
        await this.#options.limits.pass(transfer, chunk.byteLength);
        yield chunk;
      }
    } finally {
      end();
    }
  }
}

/** The merged file as it is made, once its first bytes are there. */
async function begun({ run }: PreparedVideo, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
  const made = new PassThrough();
  // Its reader may have left.
  made.on('error', () => undefined);
  const write = async (chunk: Uint8Array) => {
    if (!made.write(chunk)) await once(made, 'drain', { signal });
  };
  run(write).then(
    () => made.end(),
    (error: unknown) => made.destroy(error instanceof Error ? error : new Error(String(error))),
  );
  try {
    await once(made, 'readable', { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
  if (made.readableLength === 0) throw new GatewayError('media_unavailable', 'The video has no bytes.');
  return made;
}
