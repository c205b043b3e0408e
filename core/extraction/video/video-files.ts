/*
 * Sends videos with picture and sound that a platform has apart, or as a stream of parts. They are merged while they are
 * sent: into a spool that viewers share, or, where there is no room for one, by an ffmpeg for each viewer. Nothing is
 * merged for a request without a body. A link is made for a key and has the limits of a media link: connections, bytes,
 * and bytes a second. A cached document is used while its addresses work; otherwise the item is resolved again, also in
 * the middle of a video. The answer begins with the first bytes of the video, so that a failure before them is an error
 * and not half a file.
 */

import { once } from 'node:events';
import type { ByteRange, Clock, Extraction, MediaLink, VideoFile, VideoFileRequest } from '../../contracts/index.js';
import type { Ffmpeg } from '../../media/index.js';
import { GatewayError, isGatewayError, unlessAborted } from '../../runtime/index.js';
import type { Item } from '../extraction.js';
import type { LimitedTransfer, LinkLimits } from '../link-limits.js';
import { namesOf } from '../media/media-files.js';
import { headersOf, type MediaSources, TRANSFER_MS } from '../media/media-sources.js';
import { checkExactCut } from './exact-cut.js';
import { type FoundTracks, loadTracks } from './load-tracks.js';
import { type PreparedVideo, streamOf } from './prepared-video.js';
import { TrackReader } from './track-reader.js';
import type { VideoLinks, VideoTarget } from './video-links.js';
import { prepareVideo } from './video-merge.js';
import type { Spool, VideoFacts, VideoSpools } from './video-spools.js';

/** Of a video whose size nothing states. */
const UNKNOWN_BYTES = 4 * 1024 ** 3;

export interface VideoFilesOptions {
  links: VideoLinks;
  sources: MediaSources;
  limits: LinkLimits;
  ffmpeg: Ffmpeg;
  spools: VideoSpools;
  /** Longest exact cut, in seconds. 0: there are none. */
  exactSeconds: number;
  clock: Clock;
}

const GONE = new Error('the video has no reader any more');

/** A video that can be merged, and what its viewers are told. */
interface MergedVideo extends PreparedVideo {
  facts: VideoFacts;
  /** Of the limits of a link. */
  size: number;
  signal: AbortSignal;
}

/** Who asks for a video, by a link. */
interface Viewer {
  request: VideoFileRequest;
  expiresAt: number;
  issuer: string;
  release(): void;
}

/** What is merged, and for which key. */
interface Wanted extends Pick<Viewer, 'request' | 'issuer'> {
  item: Item;
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
   *   `invalid_value` for a cut outside of the video or an exact one that is too long, `unsupported_value` where exact cuts
   *   are off, `queue_full`, `media_unavailable`, what the platform answers about
   *   the item; the signal's reason.
   */
  async open(request: VideoFileRequest): Promise<VideoFile> {
    const { name } = request;
    const { target, expiresAt } = this.#opened(name);
    const { limits, sources, spools, exactSeconds } = this.#options;
    checkExactCut(request, exactSeconds);
    const item = sources.itemOf(target);
    const viewer = { request, expiresAt, issuer: target.issuer, release: limits.take(name) };
    try {
      const key = keyOf(item, request);
      const known = spools.join(key, expiresAt);
      if (known) return await this.#share(known, viewer);
      const life = new AbortController();
      const merged = await this.#begin(item, viewer, life);
      limits.remember(name, merged.size);
      limits.check(name, merged.size, expiresAt);
      if (request.make === 'never') {
        life.abort(GONE);
        viewer.release();
        return { ...merged.facts, kind: 'unmade', expiresAt, release: () => undefined };
      }
      // Another viewer may have begun meanwhile.
      const other = spools.join(key, expiresAt);
      if (other) life.abort(GONE);
      const shared = other ?? (await spools.begin(key, { ...merged, expiresAt, life }));
      if (shared) return await this.#share(shared, viewer);
      return await this.#sendAlone(merged, life, viewer);
    } catch (error) {
      viewer.release();
      throw error;
    }
  }

  /** Ends all videos. */
  close(): Promise<void> {
    return this.#options.spools.close();
  }

  /** Finds what is merged, and in which form. Nothing is merged yet. */
  async #begin(item: Item, { request, issuer }: Viewer, life: AbortController): Promise<MergedVideo> {
    const signal = AbortSignal.any([life.signal, AbortSignal.timeout(TRANSFER_MS)]);
    try {
      const { extraction, video } = await unlessAborted(
        request.signal,
        this.#prepare({ item, request, issuer }, signal),
      );
      const { container } = request;
      const names = namesOf(item, extraction, `.${container}`);
      const facts = { ...names, contentType: `video/${container}`, cut: video.cut };
      return { ...video, facts, size: video.bytes ?? UNKNOWN_BYTES, signal };
    } catch (error) {
      life.abort(GONE);
      throw error;
    }
  }

  /** A viewer of a spool: of its file, or of what grows. */
  async #share(spool: Spool, { request, expiresAt, issuer, release }: Viewer): Promise<VideoFile> {
    const { name, make, signal } = request;
    let isHere = true;
    const leave = () => {
      if (isHere) spool.leave();
      isHere = false;
      release();
    };
    const described = { ...spool.facts, expiresAt, release: leave };
    const passed = (body: AsyncIterable<Uint8Array>, size: number) =>
      this.#passOn(body, { name, size, issuer, signal }, leave);
    try {
      if (make === 'never' && !spool.file) return { ...described, kind: 'unmade' };
      if (make === 'following') await unlessAborted(signal, spool.begun);
      const body = make === 'following' ? spool.follow() : undefined;
      if (body) return { ...described, kind: 'growing', body: passed(body, spool.reserved) };
      const file = await unlessAborted(signal, spool.whole);
      const size = Math.max(file.size, spool.videoBytes);
      const { limits } = this.#options;
      limits.remember(name, size);
      limits.check(name, size, expiresAt);
      const read = async (range?: ByteRange) => {
        const stored = spool.read(file, range);
        return { ...stored, body: passed(stored.body, size) };
      };
      return { ...described, kind: 'stored', file, read };
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** A viewer with an ffmpeg of its own. */
  async #sendAlone(merged: MergedVideo, life: AbortController, viewer: Viewer): Promise<VideoFile> {
    const { request, expiresAt, issuer } = viewer;
    const release = () => {
      life.abort(GONE);
      viewer.release();
    };
    try {
      const signal = AbortSignal.any([request.signal, merged.signal]);
      const transfer = { name: request.name, size: merged.size, issuer, signal };
      const body = this.#passOn(await begun(merged.run, signal), transfer, release);
      return { ...merged.facts, kind: 'growing', expiresAt, release, body };
    } catch (error) {
      release();
      throw error;
    }
  }

  #opened(name: string): { target: VideoTarget; expiresAt: number } {
    const { links, clock } = this.#options;
    return links.open(name, clock.now());
  }

  /** With a cached document, if its addresses work. */
  async #prepare(wanted: Wanted, signal: AbortSignal) {
    const { sources } = this.#options;
    const cached = await sources.cached(wanted.item);
    if (cached) {
      try {
        return await this.#prepareOf(cached, wanted, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (!isGatewayError(error) || error.code !== 'media_unavailable' || !error.retryable) throw error;
      }
    }
    return this.#prepareOf(await sources.refresh(wanted.item, signal), wanted, signal);
  }

  async #prepareOf(extraction: Extraction, { item, request, issuer }: Wanted, signal: AbortSignal) {
    const { sources, clock, ffmpeg, spools, exactSeconds, limits } = this.#options;
    const hosts = sources.hostsOf(item, signal);
    const load = (from: Extraction): Promise<FoundTracks> => {
      const { container, maxHeight } = request;
      const headers = headersOf(item, from);
      return loadTracks({ extraction: from, container, maxHeight, headers, fetch: { ...hosts, signal } });
    };
    const loaded = await load(extraction);
    const reload = async (reloading: AbortSignal) => load(await sources.refresh(item, reloading));
    const pace = (bytes: number) => limits.fetch(issuer, bytes, signal);
    const reader = new TrackReader({ ...hosts, loaded, reload, clock, pace, signal });
    return { extraction, video: await prepareVideo(reader, loaded, request, { ffmpeg, spools, exactSeconds, signal }) };
  }

  async *#passOn(chunks: AsyncIterable<Uint8Array>, transfer: LimitedTransfer, end: () => void) {
    const { limits } = this.#options;
    limits.remember(transfer.name, transfer.size);
    try {
      for await (const chunk of chunks) {
        // The key of the link may have ended meanwhile.
        transfer.signal.throwIfAborted();
        await limits.pass(transfer, chunk.byteLength);
        yield chunk;
      }
    } finally {
      end();
    }
  }
}

/** Equal for viewers of the same video in the same form. */
function keyOf(item: Item, { container, maxHeight, start = 0, end, isExact }: VideoFileRequest): string {
  return JSON.stringify([item.key, container, maxHeight, start, end, isExact]);
}

/** The merged file as it is made, once its first bytes are there. */
async function begun(run: PreparedVideo['run'], signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
  const made = streamOf(run, signal);
  try {
    await once(made, 'readable', { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
  if (made.readableLength === 0) throw new GatewayError('media_unavailable', 'The video has no bytes.');
  return made;
}
