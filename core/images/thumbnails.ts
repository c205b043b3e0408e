/*
 * Small pictures of finished images, for lists. A picture is made when it is first asked for and cached in memory, 16 MiB
 * of them in a process, the least recently used removed first: storing them would need a file, an expiry and a deletion
 * for each. Simultaneous requests for one picture make it once. The decoder admits few images at a time and refuses
 * more than it lets wait.
 */

import { buffer } from 'node:stream/consumers';
import { LRUCache } from 'lru-cache';
import type { Media } from '../contracts/index.js';
import type { ImageFiles } from '../media/index.js';
import { GatewayError } from '../runtime/index.js';
import type { ResultFiles } from './result-files.js';

/** Of the longer side, in pixels: twice the widest card, and twice a line of a list or more, for dense screens. */
const SIDES = { card: 640, line: 96 } as const;
const MAX_CACHED_BYTES = 16 * 1024 * 1024;
const TIMEOUT_MS = 20_000;

/** What a picture is made for. */
export type ThumbnailUse = keyof typeof SIDES;

export class Thumbnails {
  readonly #files: Pick<ResultFiles, 'open'>;
  readonly #images: Pick<ImageFiles, 'shrink'>;
  readonly #cached = new LRUCache<string, Media>({
    maxSize: MAX_CACHED_BYTES,
    sizeCalculation: ({ bytes }) => bytes.byteLength,
  });
  readonly #running = new Map<string, Promise<Media>>();

  constructor(files: Pick<ResultFiles, 'open'>, images: Pick<ImageFiles, 'shrink'>) {
    this.#files = files;
    this.#images = images;
  }

  /**
   * A WebP of at most 640 pixels on each side, or 96 for a line.
   * @param name Of the public file.
   * @throws GatewayError `file_not_found`, `file_expired`, `queue_full`, `plugin_unavailable`.
   */
  async get(name: string, use: ThumbnailUse): Promise<Media> {
    // Also if it is cached: the file may have expired or been deleted.
    const file = await this.#files.open(name);
    const key = `${use} ${name}`;
    const cached = this.#cached.get(key);
    if (cached) return cached;
    const running =
      this.#running.get(key) ?? this.#make(key, file, SIDES[use]).finally(() => this.#running.delete(key));
    this.#running.set(key, running);
    return running;
  }

  async #make(key: string, file: Awaited<ReturnType<ResultFiles['open']>>, side: number): Promise<Media> {
    const stored = await file.read();
    if (!stored) throw new GatewayError('file_not_found', 'There is no such file.');
    const bytes = await buffer(stored.body);
    const media = await this.#images.shrink(bytes, side, AbortSignal.timeout(TIMEOUT_MS));
    this.#cached.set(key, media);
    return media;
  }
}
