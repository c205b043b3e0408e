/*
 * Stores files in an S3-compatible store that may be unavailable. Each file is written to the disk first and can be
 * read at once, then uploaded, verified and removed from the disk. Files on the disk are the upload queue; there is no
 * other list. While the store is unavailable, writers do not wait for it, and a poll every 10 seconds uploads what is
 * left; other nodes cannot read such a file until then. Four uploads run at once with one part of each in memory. A
 * file that the store refuses does not block others.
 */

import pLimit from 'p-limit';
import type { ByteRange, Clock, FileStat, Logger, StoredBody } from '../contracts/index.js';
import { endsWithin, GatewayError, isDamagedFile, isGatewayError } from '../runtime/index.js';
import type { Files } from './files.js';
import { type DiskFiles, openDiskFiles } from './files-disk.js';
import type { ObjectStoreAddress } from './object-client.js';
import { expiryMarkerOf, ObjectStore, sweepObjects } from './object-store.js';

const POLL_MS = 10_000;
const SWEEP_MS = 3_600_000;
const TIMEOUT_MS = 10_000;
const PING_FRESH_MS = 15_000;

export interface S3FilesOptions {
  /** `s3://KEY:SECRET@host[:port]/bucket[/prefix][?region=…&tls=off]`. */
  url: string;
  /** Folder of files that the store does not have yet. */
  folder: string;
  clock: Clock;
  logger: Logger;
  /** Milliseconds between two attempts to upload the files that are still on the disk. Default 10,000. Set by tests. */
  pollMs?: number;
  /**
   * Milliseconds that a write waits for the store before the file stays on the disk for now. Default 10,000. Set by
   * tests.
   */
  timeoutMs?: number;
}

/** Storage in an S3-compatible store that tolerates outages of the store. */
export interface S3Files extends Files {
  /** Removes expired files from the store. */
  sweep(): Promise<void>;
}

/**
 * Files in an S3-compatible store. Each is written to the disk first, where it is safe and can be read at once, then
 * uploaded and removed from the disk. If the store is unavailable it stays on the disk under the same name and is
 * uploaded as soon as the store answers; other nodes cannot read it until then. Opening sends no request to the store.
 * @throws GatewayError `invalid_value` for an invalid URL.
 */
export async function openS3Files(options: S3FilesOptions): Promise<S3Files> {
  const { clock, logger, pollMs = POLL_MS, timeoutMs = TIMEOUT_MS } = options;
  const closing = new AbortController();
  const { signal } = closing;
  const address = readFilesUrl(options.url);
  const store = new ObjectStore({ address, clock, signal });
  const local = await openDiskFiles(options.folder, clock);
  const uploads = new Uploads({ local, store, clock, logger, timeoutMs, signal });
  const background = repeat();
  let asked: { at: number; answer: Promise<void> } | undefined;

  async function repeat(): Promise<void> {
    let sweptAt = Number.NEGATIVE_INFINITY;
    for (;;) {
      try {
        await clock.sleep(pollMs, signal);
      } catch {
        // Only closing ends the sleep.
        return;
      }
      try {
        await uploads.poll();
        if (clock.monotonic() - sweptAt < SWEEP_MS) continue;
        // If there was more than one sweep removes, the next poll continues.
        if (await sweepObjects(store, clock.now())) sweptAt = clock.monotonic();
      } catch (error) {
        if (!signal.aborted) logger.debug('a pass over the object store failed', { error });
      }
    }
  }

  const unlessOver = <File extends FileStat>(file: File | undefined): File | undefined =>
    file?.expiresAt && file.expiresAt.getTime() <= clock.now() ? undefined : file;

  return {
    async write(file) {
      await uploads.alone(file.name, () => local.write(file));
      await uploads.offer(file.name);
      return (await local.stat(file.name)) ? 'local_cache' : address.source;
    },
    async read(name, range) {
      const onDisk = await local.read(name, range).catch(damageOf);
      if (onDisk && !(onDisk instanceof Error)) return { ...onDisk, body: readMoving(store, onDisk, range) };
      const far = wholeOf(onDisk, unlessOver(await store.read(name, range)));
      return far && { ...far, body: warnOfDamage(far.body, logger) };
    },
    async stat(name) {
      const onDisk = await local.stat(name).catch(damageOf);
      if (onDisk && !(onDisk instanceof Error)) return onDisk;
      return wholeOf(onDisk, unlessOver(await store.stat(name)));
    },
    async delete(name) {
      await uploads.alone(name, () => local.delete(name));
      // Otherwise it could arrive in the store after it was deleted there.
      await uploads.settled(name);
      await store.delete(name);
    },
    ping() {
      if (!asked || clock.monotonic() - asked.at >= PING_FRESH_MS) {
        asked = { at: clock.monotonic(), answer: store.ping() };
      }
      return asked.answer;
    },
    awaiting: async () => (await local.names()).length,
    async sweep() {
      await sweepObjects(store, clock.now());
    },
    async close() {
      closing.abort(new GatewayError('shutting_down', 'The gateway is closing.'));
      await uploads.idle();
      await background;
      local.close();
    },
  };
}

/** A file that is damaged on the disk may be intact in the store; otherwise the damage is reported. */
function wholeOf<File>(damage: Error | undefined, far: File | undefined): File | undefined {
  if (!far && damage) throw damage;
  return far;
}

/** The upload may remove a file from the disk before its reader has opened it: then it is in the store. */
async function* readMoving(
  store: ObjectStore,
  onDisk: StoredBody,
  range: ByteRange | undefined,
): AsyncGenerator<Uint8Array> {
  let begun = false;
  try {
    for await (const chunk of onDisk.body) {
      begun = true;
      yield chunk;
    }
  } catch (error) {
    const isGone = isGatewayError(error) && error.code === 'file_not_found';
    if (begun || !isGone) throw error;
    const far = await store.read(onDisk.name, range);
    if (far?.etag !== onDisk.etag) throw error;
    yield* far.body;
  }
}

/** Logged here: the answer has begun, so it cannot be reported otherwise. */
async function* warnOfDamage(body: AsyncIterable<Uint8Array>, logger: Logger): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    if (isDamagedFile(error)) logger.warn('a stored file is damaged', { error });
    throw error;
  }
}

function damageOf(error: Error): Error {
  if (isDamagedFile(error)) return error;
  throw error;
}

/** Each holds one part in memory. */
const PARALLEL = 4;
/** Maximum writers in the upload queue; further files are uploaded later. */
const MAX_WAITING = 16;
/** Failures in a row that end a poll: the store is the problem, not the file. */
const MAX_FAILURES = 3;

export interface UploadsOptions {
  local: DiskFiles;
  store: ObjectStore;
  clock: Clock;
  logger: Logger;
  /** Milliseconds that a writer waits for the store; the upload itself continues. */
  timeoutMs: number;
  /** Nothing is started after its abort. */
  signal: AbortSignal;
}

interface Upload {
  /** The file has been written again since the upload began. */
  again: boolean;
  done: Promise<void>;
}

/** Uploads files from the disk to the store. The files on the disk are the queue: there is no other list. */
export class Uploads {
  readonly #options: UploadsOptions;
  readonly #limit = pLimit(PARALLEL);
  readonly #underWay = new Map<string, Upload>();
  readonly #queues = new Map<string, Promise<unknown>>();
  readonly #failedBefore = new Set<string>();
  /** Writers do not wait for an unavailable store; the next poll detects its return. */
  #isUnavailable = false;

  constructor(options: UploadsOptions) {
    this.#options = options;
  }

  /** Runs `work` with exclusive access to the file on this disk. */
  alone<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    const result = (this.#queues.get(name) ?? Promise.resolve()).then(work);
    const turn = result
      .catch(() => undefined)
      .finally(() => {
        if (this.#queues.get(name) === turn) this.#queues.delete(name);
      });
    this.#queues.set(name, turn);
    return result;
  }

  /** Uploads a file that was just written. Resolves when it is in the store, or is left for later; never rejects. */
  async offer(name: string): Promise<void> {
    const { clock, timeoutMs, signal } = this.#options;
    if (this.#isUnavailable || signal.aborted || this.#limit.pendingCount >= MAX_WAITING) return;
    const isInTime = await endsWithin(timeoutMs, () => this.#start(name).catch(() => undefined), { clock });
    if (!isInTime)
      this.#setUnavailable(true, new GatewayError('upstream_unavailable', 'The object store is too slow.'));
  }

  /** Resolves when no upload of this file is running. */
  async settled(name: string): Promise<void> {
    await this.#underWay.get(name)?.done.catch(() => undefined);
  }

  /** Tries every file that is still on the disk. */
  async poll(): Promise<void> {
    const { local, store, signal } = this.#options;
    const names = await local.names();
    if (!this.#isUnavailable && names.length === 0) return;
    if (this.#isUnavailable) await store.ping();
    // A file that the store refuses must not block others for ever.
    const rest = [...names.filter((name) => !this.#failedBefore.has(name)), ...this.#failedBefore].values();
    let failures = 0;
    const work = async () => {
      for (const name of rest) {
        if (failures >= MAX_FAILURES || signal.aborted) return;
        try {
          await (this.#underWay.get(name)?.done ?? this.#start(name));
          failures = 0;
        } catch (error) {
          if (isOfStore(error)) failures += 1;
        }
      }
    };
    await Promise.all(Array.from({ length: PARALLEL }, work));
    if (failures === 0) this.#setUnavailable(false);
  }

  /** Resolves when no upload is running. */
  async idle(): Promise<void> {
    await Promise.allSettled([...this.#underWay.values()].map(({ done }) => done));
  }

  #start(name: string): Promise<void> {
    const known = this.#underWay.get(name);
    if (known) {
      known.again = true;
      return known.done;
    }
    const upload: Upload = { again: false, done: Promise.resolve() };
    this.#underWay.set(name, upload);
    upload.done = this.#limit(() => this.#bring(name, upload))
      .then(
        () => void this.#failedBefore.delete(name),
        (error: unknown) => {
          this.#noteFailure(name, error);
          throw error;
        },
      )
      .finally(() => this.#underWay.delete(name));
    // Its rejection is handled by waiting callers, if any.
    upload.done.catch(() => undefined);
    return upload.done;
  }

  async #bring(name: string, upload: Upload): Promise<void> {
    const { local, store } = this.#options;
    do {
      upload.again = false;
      const file = await local.stat(name);
      if (!file) return;
      try {
        const marker = expiryMarkerOf(file);
        const bytes = (range: ByteRange) => bytesOf(local, file, range);
        await Promise.all([store.put({ file, bytes }), marker && store.mark(marker)]);
      } catch (error) {
        if (upload.again) continue;
        throw error;
      }
      this.#setUnavailable(false);
      await this.alone(name, async () => {
        const now = await local.stat(name);
        if (now && isSame(now, file)) await local.delete(name);
      });
    } while (upload.again);
  }

  /** A single file that is always refused says nothing about the store. */
  #noteFailure(name: string, error: unknown): void {
    const { logger, signal } = this.#options;
    if (signal.aborted || this.#failedBefore.has(name)) return;
    if (isOfStore(error)) this.#setUnavailable(true, error);
    logger.warn('a file could not be uploaded to the object store yet', { error });
    this.#failedBefore.add(name);
  }

  #setUnavailable(next: boolean, error?: unknown): void {
    const { logger } = this.#options;
    if (next && !this.#isUnavailable)
      logger.warn('the object store is unavailable; files stay on the disk until it is back', { error });
    if (!next && this.#isUnavailable) logger.info('the object store is back');
    this.#isUnavailable = next;
  }
}

/** Errors of the disk say nothing about the store. */
function isOfStore(error: unknown): boolean {
  return isGatewayError(error) && error.code === 'upstream_unavailable';
}

function isSame(one: FileStat, other: FileStat): boolean {
  return (
    one.etag === other.etag &&
    one.modifiedAt.getTime() === other.modifiedAt.getTime() &&
    one.expiresAt?.getTime() === other.expiresAt?.getTime()
  );
}

async function bytesOf(local: DiskFiles, file: FileStat, range: ByteRange): Promise<Uint8Array> {
  const found = await local.read(file.name, range);
  if (found?.etag !== file.etag) throw new GatewayError('file_not_found', 'The file was replaced.');
  const bytes = Buffer.allocUnsafe(range.end + 1 - range.start);
  let filled = 0;
  for await (const chunk of found.body) {
    bytes.set(chunk, filled);
    filled += chunk.byteLength;
  }
  return bytes;
}

const R2_HOST = '.r2.cloudflarestorage.com';
const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]{1,62}$/;
const SEGMENT = /^[A-Za-z0-9._-]{1,64}$/;
const REGION = /^[A-Za-z0-9-]{1,64}$/;
const PARAMETERS: readonly string[] = ['region', 'tls'];

/**
 * Reads `s3://KEY:SECRET@host[:port]/bucket[/prefix][?region=…&tls=off]`, key and secret percent-encoded.
 * @throws GatewayError `invalid_value`, which quotes nothing of the URL.
 */
export function readFilesUrl(text: string): ObjectStoreAddress {
  const url = URL.parse(text);
  const [bucket = '', ...folders] = url ? url.pathname.split('/').filter((part) => part !== '') : [];
  const region = url?.searchParams.get('region') ?? (url?.hostname.endsWith(R2_HOST) ? 'auto' : 'us-east-1');
  const tls = url?.searchParams.get('tls') ?? 'on';
  const accessKeyId = decode(url?.username);
  const secretAccessKey = decode(url?.password);
  const usable =
    url?.protocol === 's3:' &&
    url.hostname !== '' &&
    url.hash === '' &&
    BUCKET.test(bucket) &&
    folders.every((folder) => SEGMENT.test(folder)) &&
    REGION.test(region) &&
    (tls === 'on' || tls === 'off') &&
    [...url.searchParams.keys()].every((name) => PARAMETERS.includes(name));
  if (!usable || !accessKeyId || !secretAccessKey) {
    const form = 's3://KEY:SECRET@host/bucket, key and secret percent-encoded';
    const more = 'A prefix may follow the bucket, then ?region=…, and &tls=off for plain http.';
    throw new GatewayError('invalid_value', `The URL of the object store for files must look like ${form}. ${more}`, {
      param: 'filesUrl',
    });
  }
  return {
    endpoint: `${tls === 'on' ? 'https' : 'http'}://${url.host}/${bucket}`,
    prefix: folders.map((folder) => `${folder}/`).join(''),
    region,
    accessKeyId,
    secretAccessKey,
    source: url.hostname.endsWith(R2_HOST) ? 'objstore_r2' : 'objstore_s3',
  };
}

/** Undefined if the percent-encoding is invalid. */
function decode(text: string | undefined): string | undefined {
  try {
    return text && decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
