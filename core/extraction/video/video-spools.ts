/*
 * Keeps merged videos for a while, so that viewers of one share it and can jump in it. A spool is a file that grows while
 * the video is merged; each viewer follows it at its own pace, and once it is whole any range of it is read. All spools
 * together have a maximum size: the room of a video is reserved before it is merged, and spools without a viewer make
 * room for it, the oldest first. A video that finds no room, or whose size is not known, has no spool. A spool is deleted
 * when its last link expires, and an unfinished one when its last viewer leaves. Spools are those of this process.
 */

import { hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import path from 'node:path';
import type { ByteRange, Clock, FileStat, StoredBody, VideoFile } from '../../contracts/index.js';
import { GrowingFile, type ScratchFolder, type ScratchFolders } from '../../media/index.js';
import { diskFailure, GatewayError } from '../../runtime/index.js';

/** What a file needs beyond the bytes of its tracks. */
const OVERHEAD = 1.1;
const OVERHEAD_BYTES = 1024 * 1024;

export interface VideoSpoolsOptions {
  folders: ScratchFolders;
  /** Of all spools. 0: there are none. */
  maxBytes: number;
  clock: Clock;
}

/** What all viewers of a video are told. */
export type VideoFacts = Pick<VideoFile, 'contentType' | 'fileName' | 'plainName' | 'cut'>;

export interface SpoolRequest {
  facts: VideoFacts;
  /** Roughly. Undefined if it is not known. */
  bytes: number | undefined;
  /** Of the link that it is merged for. */
  expiresAt: number;
  run(write: (chunk: Uint8Array) => Promise<void>): Promise<void>;
  /** Ends the merge. */
  life: AbortController;
}

/** Merged videos on disk. */
export class VideoSpools {
  readonly #options: VideoSpoolsOptions;
  /** The oldest first. */
  readonly #spools = new Map<string, Spool>();
  readonly #closing = new AbortController();
  /** Bytes of folders. */
  #taken = 0;

  constructor(options: VideoSpoolsOptions) {
    this.#options = options;
    // What a crash left behind.
    if (options.maxBytes > 0) options.folders.sweep().catch(() => undefined);
  }

  /** The video with this key, for another viewer, who leaves it. */
  join(key: string, expiresAt: number): Spool | undefined {
    return this.#spools.get(key)?.join(expiresAt);
  }

  /** Begins to merge a video for a viewer, who leaves it. Undefined if there is no room, and nothing was begun. */
  async begin(key: string, request: SpoolRequest): Promise<Spool | undefined> {
    const reserved = Math.ceil((request.bytes ?? Number.POSITIVE_INFINITY) * OVERHEAD) + OVERHEAD_BYTES;
    if (!this.#makeRoom(reserved)) return undefined;
    const { folders, clock } = this.#options;
    const forget = (spool: Spool) => this.#spools.get(key) === spool && this.#spools.delete(key);
    const makeRoom = (bytes: number) => this.#makeRoom(bytes);
    const spool = new Spool({ ...request, reserved, clock, closing: this.#closing.signal, makeRoom, forget });
    this.#spools.set(key, spool);
    await spool.start(folders);
    return spool;
  }

  /** Whether so much can have room at all. */
  takes(bytes: number): boolean {
    return bytes <= this.#options.maxBytes;
  }

  /**
   * A folder for files of a merge, within the maximum of all spools. Undefined if there is no room.
   * @returns Call `remove` once it is not needed.
   */
  async takeFolder(bytes: number): Promise<ScratchFolder | undefined> {
    if (!this.#makeRoom(bytes)) return undefined;
    this.#taken += bytes;
    try {
      const { path: place, remove } = await this.#options.folders.take();
      const giveBack = once(() => {
        this.#taken -= bytes;
        return remove();
      });
      return { path: place, remove: giveBack };
    } catch (error) {
      this.#taken -= bytes;
      throw diskFailure(error);
    }
  }

  /** Ends all merges and deletes all spools. */
  async close(): Promise<void> {
    this.#closing.abort(new GatewayError('shutting_down', 'The gateway is closing.'));
    await Promise.all([...this.#spools.values()].map((spool) => spool.remove()));
  }

  #makeRoom(bytes: number): boolean {
    const spools = [...this.#spools.values()];
    let free = this.#options.maxBytes - this.#taken - spools.reduce((sum, { reserved }) => sum + reserved, 0);
    const idle = spools.filter(({ isIdle }) => isIdle);
    if (bytes > free + idle.reduce((sum, { reserved }) => sum + reserved, 0)) return false;
    for (const spool of idle) {
      if (bytes <= free) break;
      free += spool.reserved;
      void spool.remove().catch(() => undefined);
    }
    return true;
  }
}

function once(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => {
    running ??= run();
    return running;
  };
}

interface SpoolOptions extends SpoolRequest {
  reserved: number;
  clock: Clock;
  closing: AbortSignal;
  /** False if there is no room for so much more. */
  makeRoom(bytes: number): boolean;
  forget(spool: Spool): void;
}

/** One video, whole or growing. */
export class Spool {
  readonly facts: VideoFacts;
  /** Resolves with the first bytes. */
  readonly begun: Promise<void>;
  /** Resolves when the file is complete. */
  readonly whole: Promise<FileStat>;
  readonly #options: SpoolOptions;
  readonly #first = Promise.withResolvers<void>();
  readonly #complete = Promise.withResolvers<FileStat>();
  readonly #removed = new AbortController();
  #reserved: number;
  #expiresAt: number;
  #viewers = 1;
  #file: FileStat | undefined;
  #folder: ScratchFolder | undefined;
  #growing: GrowingFile | undefined;
  #over: Promise<void> = Promise.resolve();

  constructor(options: SpoolOptions) {
    this.#options = options;
    this.facts = options.facts;
    this.#reserved = options.reserved;
    this.#expiresAt = options.expiresAt;
    this.begun = this.#first.promise;
    this.whole = this.#complete.promise;
    // Either may have no listener.
    this.begun.catch(() => undefined);
    this.whole.catch(() => undefined);
  }

  /** Bytes that it may take, or takes. */
  get reserved(): number {
    return this.#reserved;
  }

  /** Bytes of the whole video, roughly: of a cut, more than its own. 0 if nothing states them. */
  get videoBytes(): number {
    return this.#options.bytes ?? 0;
  }

  /** Whether it can be deleted without a loss to a viewer. */
  get isIdle(): boolean {
    return this.#viewers === 0;
  }

  /** Undefined while it grows. */
  get file(): FileStat | undefined {
    return this.#file;
  }

  async start(folders: ScratchFolders): Promise<void> {
    try {
      this.#folder = await folders.take();
      this.#growing = await GrowingFile.create(this.#path());
    } catch (thrown) {
      const error = diskFailure(thrown);
      this.#first.reject(error);
      this.#complete.reject(error);
      await this.remove();
      throw error;
    }
    this.#over = this.#make(this.#growing);
    void this.#expire();
  }

  join(expiresAt: number): this {
    this.#viewers += 1;
    this.#expiresAt = Math.max(this.#expiresAt, expiresAt);
    return this;
  }

  /** Call it once for each viewer. */
  leave(): void {
    this.#viewers -= 1;
    if (this.#viewers === 0 && !this.#file) void this.remove().catch(() => undefined);
  }

  /** Its bytes from the first to the last, as they are made. Undefined once it is complete. */
  follow(): AsyncIterable<Uint8Array> | undefined {
    return this.#file ? undefined : this.#growing?.follow();
  }

  /** Of a complete one. */
  read(file: FileStat, range?: ByteRange): StoredBody {
    return { ...file, body: createReadStream(this.#path(), range) };
  }

  async remove(): Promise<void> {
    this.#options.forget(this);
    this.#options.life.abort(new Error('the video has no reader any more'));
    this.#removed.abort();
    await this.#over;
    await this.#folder?.remove();
  }

  #path(): string {
    return path.join(this.#folder?.path ?? '', 'video');
  }

  async #make(growing: GrowingFile): Promise<void> {
    const { run, clock } = this.#options;
    try {
      await run(async (chunk) => {
        if (!this.#reserve(growing.size + chunk.byteLength)) throw noRoom();
        await growing.append(chunk);
        this.#first.resolve();
      });
      growing.finish();
      this.#reserved = growing.size;
      this.#file = this.#statOf(growing.size, clock.now());
      this.#complete.resolve(this.#file);
    } catch (thrown) {
      const error = diskFailure(thrown);
      growing.fail(error);
      this.#first.reject(error);
      this.#complete.reject(error);
      this.#options.forget(this);
    } finally {
      await growing.release();
    }
    if (!this.#file) await this.#folder?.remove();
  }

  /** Platforms state bit rates roughly: a file may take more, while there is room. */
  #reserve(bytes: number): boolean {
    const missing = bytes - this.#reserved;
    if (missing <= 0) return true;
    const more = Math.ceil(missing + this.#reserved * (OVERHEAD - 1));
    if (!this.#options.makeRoom(more)) return false;
    this.#reserved += more;
    return true;
  }

  /** The file is written once, so a tag of its own says that it is the same. */
  #statOf(size: number, now: number): FileStat {
    const etag = `"${hash('sha256', `${this.#path()} ${size} ${now}`, 'base64url').slice(0, 22)}"`;
    const { contentType, plainName } = this.facts;
    return { name: plainName, contentType, size, etag, modifiedAt: new Date(now), source: 'local_cache' };
  }

  async #expire(): Promise<void> {
    const { clock, closing } = this.#options;
    const signal = AbortSignal.any([closing, this.#removed.signal]);
    try {
      for (let ms = this.#expiresAt - clock.now(); ms > 0; ms = this.#expiresAt - clock.now()) {
        await clock.sleep(ms, signal);
      }
      await this.remove();
    } catch {
      // It was removed before, or cannot be; the next start removes what is left.
    }
  }
}

function noRoom(): GatewayError {
  return new GatewayError('media_unavailable', 'The video is larger than the platform states, and has no room.');
}
