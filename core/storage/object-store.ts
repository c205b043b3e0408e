import { createHash } from 'node:crypto';
import type { ByteRange, Clock, FileSource, FileStat, StoredBody } from '../contracts/index.js';
import { damagedFile, GatewayError, isDamagedFile, isGatewayError, withDeadline } from '../runtime/index.js';
import {
  connectToObjects,
  type ObjectClient,
  type ObjectConnection,
  type ObjectStoreOptions,
  rangeOutside,
  unexpectedAnswer,
} from './object-client.js';

export interface ObjectContent {
  file: FileStat;
  /** Bytes of the file, all of them. */
  bytes(range: ByteRange): Promise<Uint8Array>;
}

/**
 * Files as objects of an S3-compatible store. Every call throws GatewayError `upstream_unavailable` where the store does not do its part
 * in time.
 */
export interface ObjectStore {
  /** Puts a file there, all or nothing, and looks whether it is. At most one part of it is in memory. */
  put(content: ObjectContent): Promise<void>;
  stat(name: string): Promise<FileStat | undefined>;
  /**
   * The body of a whole file whose bytes are not those that were put there fails with `storage_error` before its last ones.
   * A range is not checked: for that, all of the file would have to come.
   * @throws GatewayError `invalid_value` for a range outside of the file.
   */
  read(name: string, range?: ByteRange): Promise<StoredBody | undefined>;
  delete(name: string): Promise<void>;
  /** An empty object that says something by its name alone. */
  mark(name: string): Promise<void>;
  /** The first names, up to 1,000 of them, that begin like this, in the order of their bytes. */
  list(beginning: string): Promise<string[]>;
  /** Resolves where the store lets its bucket be listed. */
  ping(): Promise<void>;
}

/** No name begins like this: such a listing is the least that a store can be asked for. */
const NOTHING = '.ping/';
const LISTING = /<ListBucketResult[\s>/]/i;
const ASK_MS = 10_000;
const PING_MS = 5_000;
const PART_MS = 30_000;
/** Stores want parts of 5 MiB and more, and no more than 10,000 of them. */
const PART_BYTES = 8 * 1024 * 1024;

export function createObjectStore(options: ObjectStoreOptions): ObjectStore {
  const { address, clock } = options;
  const { prefix, source } = address;
  const connection = connectToObjects(options);
  const keyOf = (name: string) => `${prefix}${name}`;

  async function stat(name: string): Promise<FileStat | undefined> {
    // The library says no more than whether it is there; the rest stands in the headers.
    const answer = await connection.call({ timeoutMs: ASK_MS }, (client) => client.objectExists(keyOf(name)));
    // It says null for an answer to a condition, which is no word on whether the file is there.
    if (answer?.result === null) throw unexpectedAnswer();
    if (!answer?.result) return undefined;
    return statOf(name, answer.headers, Number(answer.headers.get('content-length')), source);
  }

  async function list(beginning: string, limit: number, timeoutMs: number): Promise<string[]> {
    const page = await connection.call({ timeoutMs }, (client) =>
      client.listObjectsPaged('/', keyOf(beginning), limit),
    );
    if (!page?.result) throw new GatewayError('upstream_unavailable', 'The object store has no such bucket.');
    // The library takes everything for a list, and what is none for an empty one.
    if (!LISTING.test(page.text ?? '')) throw unexpectedAnswer();
    return (page.result.objects ?? []).map(({ Key }) => Key.slice(prefix.length));
  }

  return {
    stat,
    async put({ file, bytes }) {
      const target: Target = { connection, key: keyOf(file.name), file, bytes };
      await (file.size <= PART_BYTES ? putWhole(target) : putInParts(target));
      const kept = await stat(file.name).catch((error: unknown) => {
        if (isDamagedFile(error)) return undefined;
        throw error;
      });
      if (kept?.etag !== file.etag || kept.modifiedAt.getTime() !== file.modifiedAt.getTime()) {
        throw new GatewayError('upstream_unavailable', 'The object store does not have what it was given.');
      }
    },
    async read(name, range) {
      if (range && (range.start < 0 || range.start > range.end)) throw rangeOutside();
      const answer = await connection.call({ timeoutMs: ASK_MS, file: true }, (client) =>
        range
          ? client.getObjectRaw(keyOf(name), false, range.start, range.end + 1)
          : client.getObjectRaw(keyOf(name), true),
      );
      if (!answer) return undefined;
      const { result: response, headers } = answer;
      const start = range?.start ?? 0;
      const sent = range && response.status === 206 ? partOf(headers) : wholeOf(headers);
      if (sent?.start !== start) {
        await response.body?.cancel();
        throw new GatewayError('upstream_unavailable', 'The object store sent another part than was asked for.');
      }
      const end = Math.min(range?.end ?? sent.size - 1, sent.size - 1);
      const body = bodyOf(response, end + 1 - start, clock);
      const file = statOf(name, headers, sent.size, source);
      return { ...file, body: range ? body : hashed(file, body) };
    },
    async delete(name) {
      await connection.call({ timeoutMs: ASK_MS }, (client) => client.deleteObject(keyOf(name)));
    },
    async mark(name) {
      const put = (client: ObjectClient) => client.putObject(keyOf(name), new Uint8Array(), 'text/plain');
      await connection.call({ timeoutMs: ASK_MS }, put);
    },
    list: (beginning) => list(beginning, 1_000, PART_MS),
    async ping() {
      await list(NOTHING, 1, PING_MS);
    },
  };
}

async function* hashed({ name, etag }: FileStat, body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  let held: Uint8Array | undefined;
  for await (const chunk of body) {
    hash.update(chunk);
    if (held) yield held;
    held = chunk;
  }
  if (`"${hash.digest('hex')}"` !== etag) throw damagedFile(`The bytes of the object ${name} are not those put there.`);
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
    // Stores may answer "done" with an error behind it; the look at the end tells.
    if (!(await connection.call(call, (client) => client.completeMultipartUpload(key, upload, parts)))) throw lost();
  } catch (error) {
    // Parts that nobody can reach cost money: best effort here, and README names the rule that gets the rest.
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

/** A store that has begun to send a file may be silent for so long. */
const SILENCE_MS = 30_000;

/** Bytes as the reader takes them. A reader may take its time once it has begun, a store may not. */
export function bodyOf(response: Response, length: number, clock: Clock): AsyncGenerator<Uint8Array> {
  const begun = new AbortController();
  // A connection that nobody reads from would stay for good. The sleep rejects when the reader comes.
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
    // Some send more than was asked for.
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
    throw new GatewayError('upstream_unavailable', 'The object store broke off in the middle of a file.', { cause });
  } finally {
    // Ends the connection where the reader, or the store, has left in the middle.
    await reader?.cancel().catch(() => undefined);
  }
}

function fellSilent(): GatewayError {
  return new GatewayError('upstream_unavailable', 'The object store fell silent in the middle of a file.');
}

/*
 * A listing says nothing of what is kept with an object, and asking each is dear. So a file that expires has a marker,
 * named by the hour in which it may be removed: listings are in the order of their names, and begin with what is due.
 */
const MARKERS = '.expiry/';
const HOUR_MS = 3_600_000;
const MARKER = /^\.expiry\/(\d{4}-\d{2}-\d{2}T\d{2})\/([^/]+)$/;
const PARALLEL = 4;

/** Name of the marker of a file; undefined for one that is kept. */
export function expiryMarkerOf({ name, expiresAt }: FileStat): string | undefined {
  if (!expiresAt) return undefined;
  const hour = new Date(Math.ceil(expiresAt.getTime() / HOUR_MS) * HOUR_MS);
  return `${MARKERS}${hour.toISOString().slice(0, 13)}/${name}`;
}

/**
 * Removes files whose time is over, up to 1,000 at once, and their markers. Several nodes may do so at the same time.
 * @returns whether that were all.
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
      // A file that was written again has another time, and another marker.
      const file = await store.stat(name).catch(notOurs);
      if (file?.expiresAt && file.expiresAt.getTime() <= now) await store.delete(name);
      await store.delete(marker);
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
  return due.length < markers.length || markers.length === 0;
}

/** What another has put there, or damaged, is for somebody to look at, not to remove. */
function notOurs(error: unknown): undefined {
  if (isGatewayError(error) && error.code === 'internal_error') return undefined;
  throw error;
}

const SHA256 = 'x-amz-meta-sha256';
const SIZE = 'x-amz-meta-size';
const MODIFIED_AT = 'x-amz-meta-modified-at';
const EXPIRES_AT = 'x-amz-meta-expires-at';

/** What is kept with an object, besides its media type. Times are milliseconds since 1970. */
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
 * @throws GatewayError `storage_error`, not to be retried, where the object was not written by this storage, or is not whole.
 */
export function statOf(name: string, headers: Headers, size: number, source: FileSource): FileStat {
  const contentType = headers.get('content-type');
  const sha256 = headers.get(SHA256) ?? '';
  const modifiedAt = numberIn(headers, MODIFIED_AT);
  const expiresAt = numberIn(headers, EXPIRES_AT);
  // A store that takes half a file for a whole one has the metadata of the whole.
  if (!contentType || !/^[0-9a-f]{64}$/.test(sha256) || modifiedAt === undefined || numberIn(headers, SIZE) !== size) {
    throw damagedFile(`The object ${name} has not the metadata that this storage gives.`);
  }
  const stat: FileStat = { name, contentType, size, etag: `"${sha256}"`, modifiedAt: new Date(modifiedAt), source };
  return expiresAt === undefined ? stat : { ...stat, expiresAt: new Date(expiresAt) };
}

function numberIn(headers: Headers, name: string): number | undefined {
  const text = headers.get(name) ?? '';
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
