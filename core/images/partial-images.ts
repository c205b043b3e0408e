/*
 * Partial images of running jobs, which are only a preview: nothing waits for them, and a lost one costs nothing. The
 * process that runs a job keeps them in memory until the run ends. If none of its own requests follows the job, it also
 * stores them as files, where the process that answers the client looks for them: at once if it is a sibling on the
 * same machine, and once a second otherwise.
 */

import type { Clock, Logger, Media, Storage } from '../contracts/index.js';
import { type Siblings, startPollLoop } from '../runtime/index.js';

/** @param index From 0. */
export type PartialListener = (image: Media, index: number) => void;

export interface PartialImagesOptions {
  storage: Storage;
  siblings: Siblings;
  clock: Clock;
  logger: Logger;
  /** Milliseconds between two looks for files of another process. Default 1,000. */
  pollMs?: number;
}

/** Topic of siblings: the id of a job of which there is one more file. */
const SHOWN = 'partial_image_shown';
const RETENTION_MS = 60 * 60 * 1000;

/** What this process shows of a job. */
interface Shown {
  images: Media[];
  /** The files that are being written, or were. */
  files: Map<string, Promise<unknown>>;
}

/** A request of this process that follows a job. */
interface Follower {
  receive: PartialListener;
  /** Looks for files of another process. */
  poll(): Promise<void>;
}

export class PartialImagesOfJobs {
  readonly #options: PartialImagesOptions;
  readonly #shown = new Map<string, Shown>();
  readonly #followers = new Map<string, Set<Follower>>();

  constructor(options: PartialImagesOptions) {
    this.#options = options;
    options.siblings.on(SHOWN, (jobId) => {
      for (const { poll } of this.#followers.get(jobId as string) ?? []) void poll().catch(this.#report);
    });
  }

  /** A run of this process shows an image. Never throws. */
  show(jobId: string, image: Media): void {
    const own: Shown = this.#shown.get(jobId) ?? { images: [], files: new Map() };
    this.#shown.set(jobId, own);
    const index = own.images.push(image) - 1;
    const followers = this.#followers.get(jobId);
    if (!followers) this.#store(own, jobId, index, image);
    for (const { receive } of followers ?? []) receive(image, index);
  }

  /** The run has ended. Never fails: files that remain expire. */
  async forget(jobId: string): Promise<void> {
    const { files } = this.#shown.get(jobId) ?? {};
    this.#shown.delete(jobId);
    for (const [name, written] of files ?? []) {
      await written;
      await this.#options.storage.delete(name).catch(this.#report);
    }
  }

  /** Notifies of partial images that were shown already and of each further one. Call the result to stop. */
  listen(jobId: string, listener: PartialListener): () => void {
    let next = 0;
    const receive: PartialListener = (image, index) => {
      // Another process may have shown it before this one took the job over.
      if (index < next) return;
      next = index + 1;
      listener(image, index);
    };
    const followers = this.#followers.get(jobId) ?? new Set();
    let isOver = false;
    const poll = async () => {
      for (;;) {
        // A run of this process shows the images itself.
        const index = next;
        const image = isOver || this.#shown.has(jobId) ? undefined : await this.#load(fileOf(jobId, index));
        if (!image || isOver) return;
        receive(image, index);
      }
    };
    const follower = { receive, poll };
    this.#followers.set(jobId, followers.add(follower));
    for (const [index, image] of (this.#shown.get(jobId)?.images ?? []).entries()) receive(image, index);
    const polling = startPollLoop({ intervalMs: this.#options.pollMs ?? 1_000, work: poll, report: this.#report });
    return () => {
      isOver = true;
      followers.delete(follower);
      if (followers.size === 0) this.#followers.delete(jobId);
      void polling.stop();
    };
  }

  #store({ files }: Shown, jobId: string, index: number, { bytes, contentType }: Media): void {
    const { storage, siblings, clock } = this.#options;
    const name = fileOf(jobId, index);
    const expiresAt = new Date(clock.now() + RETENTION_MS);
    const written = storage.write({ name, contentType, expiresAt, body: bytes });
    files.set(name, written.then(() => siblings.post(SHOWN, jobId)).catch(this.#report));
  }

  async #load(name: string): Promise<Media | undefined> {
    const file = await this.#options.storage.read(name);
    if (!file) return undefined;
    const chunks: Uint8Array[] = [];
    for await (const chunk of file.body) chunks.push(chunk);
    return { bytes: Buffer.concat(chunks), contentType: file.contentType };
  }

  readonly #report = (error: unknown) =>
    this.#options.logger.debug('a partial image could not be stored or read', { error });
}

function fileOf(jobId: string, index: number): string {
  return `partial_${jobId}_${index}.bin`;
}
