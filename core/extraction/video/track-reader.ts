/*
 * Reads the bytes of tracks: what decoders need first, then each part, decrypted where it has a key. Every address, of
 * manifests and keys too, is fetched from the media hosts of the platform alone, and every redirect is checked. An
 * address that has expired is found again by resolving the item. Parts, manifests and the whole have maximum sizes.
 */

import { createDecipheriv } from 'node:crypto';
import type { Clock } from '../../contracts/index.js';
import { discard } from '../../net/index.js';
import { GatewayError, isGatewayError } from '../../runtime/index.js';
import { askRange, hopOf, type MediaHosts } from '../media/media-hosts.js';
import { MediaReader } from '../media/media-reader.js';
import { INDEX_BYTES, indexOf } from './file-index.js';
import { type Part, partsWithin, type TimeSpan, type Track, unplayable } from './tracks.js';
import { readWhole } from './whole-file.js';

const MAX_TEXT_BYTES = 16 * 1024 * 1024;
const MAX_SEGMENT_BYTES = 128 * 1024 * 1024;
const MAX_TRACK_BYTES = 32 * 1024 ** 3;
const KEY_BYTES = 16;
const ANSWER_MS = 15_000;

/** Tracks whose addresses work now. */
export interface LoadedTracks {
  /** One with picture and sound, or one of each. */
  tracks: readonly Track[];
  /** Request headers that the hosts require. */
  headers: Readonly<Record<string, string>>;
}

export interface TrackReaderOptions extends Omit<MediaHosts, 'unavailable'> {
  loaded: LoadedTracks;
  /** Resolves the item again. */
  reload(signal: AbortSignal): Promise<LoadedTracks>;
  clock: Clock;
  /** Waits until so many bytes may be fetched. */
  pace(bytes: number): Promise<void>;
  signal: AbortSignal;
}

/** The tracks of one video. */
export class TrackReader {
  readonly #options: TrackReaderOptions;
  #loaded: LoadedTracks;
  readonly #keys = new Map<string, Uint8Array>();

  constructor(options: TrackReaderOptions) {
    this.#options = options;
    this.#loaded = options.loaded;
  }

  get tracks(): readonly Track[] {
    return this.#loaded.tracks;
  }

  /** Reads the indexes of tracks that are whole files, so that they can be cut. Those without an index stay as they are. */
  async readIndexes(): Promise<void> {
    const { tracks, headers } = this.#loaded;
    const read = (track: Track, index: number) => (track.isFile ? this.#indexed(track, index) : track);
    this.#loaded = { tracks: await Promise.all(tracks.map(read)), headers };
  }

  /** Bytes of a track within a time. Default: all. */
  async *read(index: number, span?: TimeSpan): AsyncGenerator<Uint8Array, void, undefined> {
    let loaded = this.#loaded;
    let parts = partsWithin(loaded.tracks[index] as Track, span);
    const partAt = (position: number) => {
      if (loaded !== this.#loaded) {
        loaded = this.#loaded;
        parts = partsWithin(loaded.tracks[index] as Track, span);
      }
      return parts[position];
    };
    const isFile = loaded.tracks[index]?.isFile === true;
    let bytes = 0;
    for (let position = 0; position < parts.length; position += 1) {
      for await (const chunk of this.#readPart(() => partAt(position), isFile)) {
        bytes += chunk.byteLength;
        if (bytes > MAX_TRACK_BYTES) throw unplayable('The video is too large.');
        await this.#options.pace(chunk.byteLength);
        yield chunk;
      }
    }
  }

  async *#readPart(partNow: () => Part | undefined, isFile: boolean): AsyncGenerator<Uint8Array, void, undefined> {
    const maxBytes = isFile ? MAX_TRACK_BYTES : MAX_SEGMENT_BYTES;
    const part = partNow();
    if (!part) return;
    const renew = async (signal: AbortSignal) => {
      // The other track may have renewed both.
      if (partNow()?.url === part.url) await this.#renew(signal);
      const renewed = partNow();
      if (!renewed) throw unplayable('The video has other parts now.', true);
      return { url: renewed.url, headers: this.#loaded.headers };
    };
    if (isFile && !part.range) return yield* readWhole((size) => this.#readerOf(part, renew, size), maxBytes);
    const reader = this.#readerOf(part, renew);
    try {
      const chunks = readRange(reader, part, maxBytes);
      yield* part.key ? decrypted(chunks, await this.#keyAt(part.key.url), part.key.iv) : chunks;
    } finally {
      reader.close();
    }
  }

  #readerOf(part: Part, renew: (signal: AbortSignal) => Promise<{ url: string }>, size?: number): MediaReader {
    const source = { url: part.url, headers: this.#loaded.headers };
    return new MediaReader({ ...this.#options, source, renew }, size);
  }

  /** New addresses for all tracks; the parts of a file stay where they are in it. */
  async #renew(signal: AbortSignal): Promise<void> {
    const { tracks } = this.#loaded;
    const fresh = await this.#options.reload(signal);
    if (fresh.tracks.length !== tracks.length) throw unplayable('The video has other tracks now.', true);
    this.#loaded = { ...fresh, tracks: fresh.tracks.map((track, index) => moved(tracks[index] as Track, track)) };
  }

  async #indexed(track: Track, index: number): Promise<Track> {
    const [whole] = track.segments;
    if (!whole) return track;
    const reader = this.#readerOf(whole, async (signal) => {
      const { tracks, headers } = await this.#options.reload(signal);
      return { url: tracks[index]?.segments[0]?.url ?? whole.url, headers };
    });
    try {
      const { size } = await reader.begin();
      const chunks: Uint8Array[] = [];
      for await (const chunk of reader.read(0, Math.min(size, INDEX_BYTES) - 1)) chunks.push(chunk);
      return indexOf({ url: whole.url, size, head: Buffer.concat(chunks) }) ?? track;
    } finally {
      reader.close();
    }
  }

  async #keyAt(url: string): Promise<Uint8Array> {
    const known = this.#keys.get(url);
    if (known) return known;
    const key = await fetchSmall(this.#options, { url, headers: this.#loaded.headers }, KEY_BYTES);
    if (key.byteLength !== KEY_BYTES) throw unplayable('The key of the video is not one.');
    this.#keys.set(url, key);
    return key;
  }
}

/** The track at its new addresses. */
function moved(before: Track, now: Track): Track {
  const url = now.segments[0]?.url;
  if (!before.isFile || url === undefined) return now;
  const { init, segments } = before;
  return { ...before, ...(init && { init: { ...init, url } }), segments: segments.map((one) => ({ ...one, url })) };
}

async function* readRange(reader: MediaReader, { range }: Part, maxBytes: number) {
  if (range) {
    if (range.end - range.start >= maxBytes) throw unplayable('A part of the video is too large.');
    yield* reader.read(range.start, range.end);
    return;
  }
  const { size } = await reader.begin();
  if (size > maxBytes) throw unplayable('A part of the video is too large.');
  yield* reader.read(0, size - 1);
}

async function* decrypted(chunks: AsyncIterable<Uint8Array>, key: Uint8Array, iv: Uint8Array) {
  const decipher = createDecipheriv('aes-128-cbc', key, iv);
  for await (const chunk of chunks) {
    const plain = decipher.update(chunk);
    if (plain.byteLength > 0) yield plain;
  }
  try {
    yield decipher.final();
  } catch (cause) {
    throw new GatewayError('media_unavailable', 'A part of the video cannot be decrypted.', { cause });
  }
}

export type FetchOptions = Pick<TrackReaderOptions, 'http' | 'mediaHosts' | 'trustedOrigins' | 'signal'>;

/** A manifest, and the address that it came from. */
export async function fetchManifest(options: FetchOptions, source: { url: string; headers: LoadedTracks['headers'] }) {
  const place = { url: source.url };
  const bytes = await fetchSmall(options, source, MAX_TEXT_BYTES, (url) => Object.assign(place, { url }));
  return { text: Buffer.from(bytes).toString('utf8'), url: place.url };
}

/** All bytes at an address, up to a maximum. */
async function fetchSmall(
  { signal, ...hosts }: FetchOptions,
  source: { url: string; headers: LoadedTracks['headers'] },
  maxBytes: number,
  reached: (url: string) => void = () => undefined,
): Promise<Uint8Array> {
  const places = { ...hosts, unavailable: (message: string, retryable = true) => unplayable(message, retryable) };
  try {
    const terms = { signal, maxBytes, timeoutMs: ANSWER_MS };
    const { hop, reply } = await askRange(places, hopOf(source, places), undefined, terms);
    if (reply.status !== 200) {
      discard(reply);
      throw unplayable(`The source refused a list of the video with status ${reply.status}.`, true);
    }
    const chunks: Uint8Array[] = [];
    for await (const chunk of reply.body) chunks.push(chunk);
    reached(hop.url.href);
    return Buffer.concat(chunks);
  } catch (error) {
    signal.throwIfAborted();
    if (!isGatewayError(error) || error.code === 'media_unavailable') throw error;
    throw unplayableBecause(error);
  }
}

function unplayableBecause(error: GatewayError): GatewayError {
  const message = `A list of the video could not be fetched. ${error.message}`;
  return new GatewayError('media_unavailable', message, { cause: error, retryable: error.retryable });
}
