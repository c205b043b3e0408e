/*
 * Stores files as objects of an S3-compatible store, with their hash, size, times and type as metadata. Uploads above
 * 8 MiB go in parts, one part in memory, and every upload is verified by a second request, because stores may answer
 * "done" and then fail. A whole file is hashed while it is read, and its last bytes are withheld until the hash fits;
 * a range is not verified. Expiring files have a marker object named by the hour, so one listing finds what is due. A
 * reader may pause, but a store that is silent for 30 seconds fails.
 */

import { createHash } from 'node:crypto';
import type { ByteRange, Clock, FileSource, FileStat, StoredBody } from '../contracts/index.js';
import { damagedFile, GatewayError, isDamagedFile, isGatewayError, withDeadline } from '../runtime/index.js';
import {
  type ObjectClient,
  ObjectConnection,
  type ObjectStoreOptions,
  rangeOutside,
  unexpectedAnswer,
} from './object-client.js';

export interface ObjectContent {
  file: FileStat;
  /** The bytes of this range of the file. */
  bytes(range: ByteRange): Promise<Uint8Array>;
}

/** No name has this prefix: such a listing is the cheapest request. */
const NOTHING = '.ping/';
const LISTING = /<ListBucketResult[\s>/]/i;
const ASK_MS = 10_000;
const PING_MS = 5_000;
const PART_MS = 30_000;
/** Stores require parts of 5 MiB or more, and at most 10,000 of them. */
const PART_BYTES = 8 * 1024 * 1024;

/**
 * Files as objects of an S3-compatible store. Every method throws GatewayError `upstream_unavailable` if the store does
 * not answer in time.
 */
export class ObjectStore {
  readonly #clock: Clock;
  readonly #prefix: string;
  readonly #source: 'objstore_s3' | 'objstore_r2';
  readonly #connection: ObjectConnection;

  constructor(options: ObjectStoreOptions) {
    const { address, clock } = options;
    this.#clock = clock;
    const { prefix, source } = address;
    this.#prefix = prefix;
    this.#source = source;
    this.#connection = new ObjectConnection(options);
  }

  /** Uploads a file, all or nothing, and verifies it. At most one part of it is in memory. */
  async put({ file, bytes }: ObjectContent): Promise<void> {
    const target: Target = { connection: this.#connection, key: this.#keyOf(file.name), file, bytes };
    await (file.size <= PART_BYTES ? putWhole(target) : putInParts(target));
    const stored = await this.stat(file.name).catch((error: unknown) => {
      if (isDamagedFile(error)) return undefined;
      throw error;
    });
    if (stored?.etag !== file.etag || stored.modifiedAt.getTime() !== file.modifiedAt.getTime()) {
      throw new GatewayError('upstream_unavailable', 'The object store lost an uploaded file.');
    }
  }

  async stat(name: string): Promise<FileStat | undefined> {
    // The library only reports whether it exists; the rest is in the headers.
    const answer = await this.#connection.call({ timeoutMs: ASK_MS }, (client) =>
      client.objectExists(this.#keyOf(name)),
    );
    // It returns null for a failed condition, which does not mean that the file is missing.
    if (answer?.result === null) throw unexpectedAnswer();
    if (!answer?.result) return undefined;
    return statOf(name, answer.headers, Number(answer.headers.get('content-length')), this.#source);
  }

  /**
   * The body of a whole file fails with `storage_error` before its last bytes if they were changed. A range is not
   * verified: that would need the whole file.
   * @throws GatewayError `invalid_value` for a range outside of the file.
   */
  async read(name: string, range?: ByteRange): Promise<StoredBody | undefined> {
    if (range && (range.start < 0 || range.start > range.end)) throw rangeOutside();
    const answer = await this.#connection.call({ timeoutMs: ASK_MS, file: true }, (client) =>
      range
        ? client.getObjectRaw(this.#keyOf(name), false, range.start, range.end + 1)
        : client.getObjectRaw(this.#keyOf(name), true),
    );
    if (!answer) return undefined;
    const { result: response, headers } = answer;
    const start = range?.start ?? 0;
    const sent = range && response.status === 206 ? partOf(headers) : wholeOf(headers);
    if (sent?.start !== start) {
      await response.body?.cancel();
      throw new GatewayError('upstream_unavailable', 'The object store sent another byte range than requested.');
    }
    const end = Math.min(range?.end ?? sent.size - 1, sent.size - 1);
    const body = bodyOf(response, end + 1 - start, this.#clock);
    const file = statOf(name, headers, sent.size, this.#source);
    return { ...file, body: range ? body : hashed(file, body) };
  }

  async delete(name: string): Promise<void> {
    await this.#connection.call({ timeoutMs: ASK_MS }, (client) => client.deleteObject(this.#keyOf(name)));
  }

  /** Writes an empty object; its name is the information. */
  async mark(name: string): Promise<void> {
    const put = (client: ObjectClient) => client.putObject(this.#keyOf(name), new Uint8Array(), 'text/plain');
    await this.#connection.call({ timeoutMs: ASK_MS }, put);
  }

  /** The first names with this prefix, up to 1,000, in byte order. */
  list(beginning: string): Promise<string[]> {
    return this.#list(beginning, 1_000, PART_MS);
  }

  /** Resolves if the store can list its bucket. */
  async ping(): Promise<void> {
    await this.#list(NOTHING, 1, PING_MS);
  }

  #keyOf(name: string): string {
    return `${this.#prefix}${name}`;
  }

  async #list(beginning: string, limit: number, timeoutMs: number): Promise<string[]> {
    const page = await this.#connection.call({ timeoutMs }, (client) =>
      client.listObjectsPaged('/', this.#keyOf(beginning), limit),
    );
    if (!page?.result) throw new GatewayError('upstream_unavailable', 'The object store has no such bucket.');
    // The library reads every answer as a list, and an unreadable one as an empty list.
    if (!LISTING.test(page.text ?? '')) throw unexpectedAnswer();
    return (page.result.objects ?? []).map(({ Key }) => Key.slice(this.#prefix.length));
  }
}

async function* hashed({ name, etag }: FileStat, body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  let held: Uint8Array | undefined;
  for await (const chunk of body) {
    hash.update(chunk);
    if (held) yield held;
    held = chunk;
  }
  if (`"${hash.digest('hex')}"` !== etag)
    throw damagedFile(`The bytes of the object ${name} have changed since the upload.`);
  if (held) yield held;
}

interface Target extends ObjectContent {
  connection: ObjectConnection;
  key: string;
}

async function putWhole({ connection, key, file, bytes }: Target): Promise<void> {
  const content = file.size > 0 ? await bytes({ start: 0, end: file.size - 1 }) : new Uint8Array();
  await connection.call({ timeoutMs: PART_MS }, (client) =>
    client.putObject(key, content, file.contentType, undefined, metadataOf(file)),
  );
}

async function putInParts({ connection, key, file, bytes }: Target): Promise<void> {
  const call = { timeoutMs: PART_MS };
  const begun = await connection.call(call, (client) =>
    client.getMultipartUploadId(key, file.contentType, undefined, metadataOf(file)),
  );
  if (!begun) throw lost();
  const upload = begun.result;
  try {
    const parts: { partNumber: number; etag: string }[] = [];
    for (let start = 0; start < file.size; start += PART_BYTES) {
      const part = await bytes({ start, end: Math.min(start + PART_BYTES, file.size) - 1 });
      const sent = await connection.call(call, (client) => client.uploadPart(key, upload, part, parts.length + 1));
      if (!sent) throw lost();
      parts.push(sent.result);
    }
    // Stores may answer "done" followed by an error; the check at the end detects it.
    if (!(await connection.call(call, (client) => client.completeMultipartUpload(key, upload, parts)))) throw lost();
  } catch (error) {
    // Unreachable parts cost money: this is best effort, and docs/operate/deploy.md names the lifecycle rule for the rest.
    await connection.call({ timeoutMs: ASK_MS }, (client) => client.abortMultipartUpload(key, upload)).catch(() => {});
    throw error;
  }
}

function lost(): GatewayError {
  return new GatewayError('upstream_unavailable', 'The object store has lost an upload.');
}

interface Sent {
  start: number;
  /** Bytes of the whole file. */
  size: number;
}

function wholeOf(headers: Headers): Sent {
  return { start: 0, size: Number(headers.get('content-length')) };
}

function partOf(headers: Headers): Sent | undefined {
  const found = /^bytes (\d{1,15})-\d{1,15}\/(\d{1,15})$/.exec(headers.get('content-range') ?? '');
  return found ? { start: Number(found[1]), size: Number(found[2]) } : undefined;
}

/** Maximum silence of a store that is sending a file. */
const SILENCE_MS = 30_000;

/** Bytes at the reader's pace. The reader may pause once it has begun, the store may not. */
export function bodyOf(response: Response, length: number, clock: Clock): AsyncGenerator<Uint8Array> {
  const begun = new AbortController();
  // A connection that is not read would stay open for ever. The sleep rejects when the reader comes.
  clock.sleep(SILENCE_MS, begun.signal).then(
    () => response.body?.cancel().catch(() => undefined),
    () => undefined,
  );
  return readBody(response, { length, clock, begun });
}

async function* readBody(
  response: Response,
  { length, clock, begun }: { length: number; clock: Clock; begun: AbortController },
): AsyncGenerator<Uint8Array> {
  begun.abort();
  const reader = response.body?.getReader();
  let received = 0;
  try {
    // Some stores send more than was requested.
    while (received < length) {
      const next = await withDeadline(SILENCE_MS, () => reader?.read(), { clock, error: fellSilent });
      const { done, value } = next ?? { done: true, value: undefined };
      if (done) throw new Error('The answer is shorter than it should be.');
      const wanted = value.subarray(0, length - received);
      received += wanted.byteLength;
      yield wanted;
    }
  } catch (cause) {
    if (isGatewayError(cause)) throw cause;
    throw new GatewayError('upstream_unavailable', 'The object store stopped in the middle of a file.', { cause });
  } finally {
    // Closes the connection if the reader or the store stops in the middle.
    await reader?.cancel().catch(() => undefined);
  }
}

function fellSilent(): GatewayError {
  return new GatewayError('upstream_unavailable', 'The object store stopped sending in the middle of a file.');
}

/*
 * Listings contain no metadata, and requesting it per object is expensive. So an expiring file has a marker object,
 * named by the hour in which it may be removed: listings are ordered by name, and begin with what is due.
 */
const MARKERS = '.expiry/';
const HOUR_MS = 3_600_000;
const MARKER = /^\.expiry\/(\d{4}-\d{2}-\d{2}T\d{2})\/([^/]+)$/;
const PARALLEL = 4;

/** Name of the marker of a file; undefined if the file does not expire. */
export function expiryMarkerOf({ name, expiresAt }: FileStat): string | undefined {
  if (!expiresAt) return undefined;
  const hour = new Date(Math.ceil(expiresAt.getTime() / HOUR_MS) * HOUR_MS);
  return `${MARKERS}${hour.toISOString().slice(0, 13)}/${name}`;
}

/**
 * Removes expired files, up to 1,000 at once, and their markers. Several nodes may do so at the same time.
 * @returns Whether that were all.
 */
export async function sweepObjects(store: ObjectStore, now: number): Promise<boolean> {
  const markers = await store.list(MARKERS);
  const due = markers.filter((marker) => {
    const hour = MARKER.exec(marker)?.[1];
    return hour !== undefined && Date.parse(`${hour}:00:00Z`) <= now;
  });
  const rest = due.values();
  const work = async () => {
    for (const marker of rest) {
      const name = MARKER.exec(marker)?.[2] ?? '';
      // A file that was written again has another expiry, and another marker.
      const file = await store.stat(name).catch(notOurs);
      if (file?.expiresAt && file.expiresAt.getTime() <= now) await store.delete(name);
      await store.delete(marker);
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
  return due.length < markers.length || markers.length === 0;
}

/** An object of another program, or a damaged one, stays for the operator. */
function notOurs(error: unknown): undefined {
  if (isGatewayError(error) && error.code === 'internal_error') return undefined;
  throw error;
}

const SHA256 = 'x-amz-meta-sha256';
const SIZE = 'x-amz-meta-size';
const MODIFIED_AT = 'x-amz-meta-modified-at';
const EXPIRES_AT = 'x-amz-meta-expires-at';

/** Metadata of an object besides its media type. Times are milliseconds since 1970. */
export function metadataOf({ etag, size, modifiedAt, expiresAt }: FileStat): Record<`x-amz-meta-${string}`, string> {
  return {
    [SHA256]: etag.slice(1, -1),
    [SIZE]: String(size),
    [MODIFIED_AT]: String(modifiedAt.getTime()),
    ...(expiresAt && { [EXPIRES_AT]: String(expiresAt.getTime()) }),
  };
}

/**
 * @param size - bytes of the whole object, as the store counts them.
 * @throws GatewayError `storage_error`, not retryable, if the object was not written by this storage, or is incomplete.
 */
export function statOf(name: string, headers: Headers, size: number, source: FileSource): FileStat {
  const contentType = headers.get('content-type');
  const sha256 = headers.get(SHA256) ?? '';
  const modifiedAt = numberIn(headers, MODIFIED_AT);
  const expiresAt = numberIn(headers, EXPIRES_AT);
  // A store that accepts half a file as whole still has the metadata of the whole.
  if (!contentType || !/^[0-9a-f]{64}$/.test(sha256) || modifiedAt === undefined || numberIn(headers, SIZE) !== size) {
    throw damagedFile(`The object ${name} does not have the metadata of this storage.`);
  }
  const stat: FileStat = { name, contentType, size, etag: `"${sha256}"`, modifiedAt: new Date(modifiedAt), source };
  return expiresAt === undefined ? stat : { ...stat, expiresAt: new Date(expiresAt) };
}

function numberIn(headers: Headers, name: string): number | undefined {
  const text = headers.get(name) ?? '';
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
