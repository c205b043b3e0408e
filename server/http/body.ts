/*
 * Reads request bodies: JSON objects and HTML forms. Call it after the key was checked, so that no bytes of
 * unauthorized clients are read. Each chunk is counted in the memory budget and scanned for depth and number of values
 * before anything is parsed. Bodies above 256 KiB or 20,000 values are parsed on another thread; chunks are copied into
 * one buffer, and large buffers are freed at once, not by the garbage collector. After 512 KiB of one body, other
 * requests get a turn. Refused requests with a body above 64 KiB count towards a limit of the owner.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { GatewayError, isGatewayError } from '../../core/runtime/index.js';
import { findInexactField, type InexactField } from '../../core/text/index.js';
import { BIG_BYTES, type BodyBudget, type BodyReservation } from './body-budget.js';
import { type CheckStage, decodeBody, readCodings } from './body-coding.js';
import {
  type BriefParts,
  type ExactFields,
  fingerprintOf,
  type JsonBody,
  JsonScan,
  type LargeBodyPlan,
  MAX_DEPTH,
  MAX_FIELDS,
  type Parsed,
  parseObject,
  restoreCuts,
} from './json-body.js';
import { parseInWorker } from './json-threads.js';

/** Larger bodies, and bodies with more values, are parsed on another thread. */
const LARGE_BYTES = 256 * 1024;
const LARGE_VALUES = 20_000;
/** Refused requests with larger bodies count towards the limit of refused bodies. */
const COUNTED_BYTES = 64 * 1024;
/** Maximum chunks of one body that are kept as they came: a chunk of one byte takes hundreds of bytes of memory. */
const MAX_CHUNKS = 16;
/** Bytes of one body read per turn of the event loop, so that other requests continue in between. */
const TURN_BYTES = 512 * 1024;
/** Smaller chunks are left to the garbage collector. */
const FREED_BYTES = 16 * 1024;
/** Default limit of values per body. */
const MAX_VALUES = 20_000;
const JSON_TYPE = 'application/json';
const FORM = 'application/x-www-form-urlencoded';

export interface BodyReaderOptions {
  /** Maximum bytes of one body. */
  maxBytes: number;
  /** Setting of that maximum, which the error names. Default: none. */
  setting?: string;
  /** Maximum JSON values of one body: each text, number, object and list in it. Default 20,000. */
  maxValues?: number;
  /** Shared by all routes. */
  budget: BodyBudget;
  /** The owner: the account of the key, the key if it has none, or a network of addresses. */
  owner: string;
  /** The only fields that are used of a body above 256 KiB. Default: all. */
  fields?: readonly string[];
  /** The fields that must exist once and in their exact letters. Default: any fields may be repeated. */
  exact?: ExactFields;
}

/**
 * Reads a JSON object. Call it after the key was checked, so that no bytes of unauthorized clients are read.
 * @throws GatewayError `unsupported_media_type`, `request_too_large`, `queue_full`, `request_timeout`, `invalid_json`,
 *   `bad_request`, `rate_limit_exceeded`.
 */
export async function readJsonBody(
  request: IncomingMessage,
  response: ServerResponse,
  options: BodyReaderOptions,
): Promise<Record<string, unknown>> {
  const { value, bytes, release } = await takeJson(request, response, options, { fingerprinted: false });
  release();
  freeMemory(bytes);
  return value;
}

export interface JsonReaderOptions extends BodyReaderOptions {
  /** Whether to compute the fingerprint, which hashes the whole body. Otherwise it is empty. */
  fingerprinted: boolean;
}

/** As {@link readJsonBody}, with the fingerprint that identifies an equal request. */
export async function readJson(
  request: IncomingMessage,
  response: ServerResponse,
  options: JsonReaderOptions,
): Promise<JsonBody> {
  const { value, fingerprint, bytes, release } = await takeJson(request, response, options, {
    fingerprinted: options.fingerprinted,
  });
  release();
  freeMemory(bytes);
  return { value, fingerprint };
}

/**
 * As {@link readJsonBody}, for bodies that stay in memory for a while: the reservation is held until `use` has ended.
 * @throws GatewayError as there, and what `use` throws.
 */
export async function useJsonBody<Result>(
  request: IncomingMessage,
  response: ServerResponse,
  options: BodyReaderOptions,
  use: (body: JsonBody) => Promise<Result>,
): Promise<Result> {
  const { release, bytes, value, fingerprint } = await takeJson(request, response, options, { fingerprinted: true });
  freeMemory(bytes);
  try {
    return await use({ value, fingerprint });
  } finally {
    release();
  }
}

/** The bytes of a JSON object, and its value. */
export interface HeldBody {
  bytes: Buffer<ArrayBuffer>;
  /** Of a body above 256 KiB or 20,000 values, only fields of up to 8 KiB if `brief` was requested. */
  value: Record<string, unknown>;
  /** For a brief body: the beginning of the text that a model reads, and its fields of the model vendor's account. */
  brief?: BriefParts;
  /** Releases the reservation: the body is no longer in memory. Idempotent. */
  release(): void;
}

/**
 * As {@link readJsonBody}, for bodies that are passed on unchanged: the reservation is held until it is released.
 * @throws GatewayError as there; then it is released.
 */
export function takeJsonBody(
  request: IncomingMessage,
  response: ServerResponse,
  options: BodyReaderOptions & { brief?: boolean },
): Promise<HeldBody> {
  return takeJson(request, response, options, { fingerprinted: false, brief: options.brief });
}

/**
 * Reads the fields of an HTML form or an OAuth request. As {@link readJsonBody} otherwise.
 * @throws GatewayError as there; `invalid_value` for a repeated field.
 */
export async function readForm(
  request: IncomingMessage,
  response: ServerResponse,
  options: BodyReaderOptions,
): Promise<Record<string, string>> {
  const { bytes, release } = await takeBody(request, response, options, FORM);
  release();
  const fields = [...new URLSearchParams(bytes.toString('utf8'))];
  const names = new Set(fields.map(([name]) => name));
  if (names.size < fields.length) throw new GatewayError('invalid_value', 'A field of the form is sent twice.');
  return Object.fromEntries(fields);
}

/** Whether the content type is that of a form. */
export function isForm({ headers }: IncomingMessage): boolean {
  return mediaTypeOf(headers['content-type']) === FORM;
}

async function takeJson(
  request: IncomingMessage,
  response: ServerResponse,
  options: BodyReaderOptions,
  plan: Pick<LargeBodyPlan, 'fingerprinted' | 'brief'>,
): Promise<HeldBody & JsonBody> {
  const scan = new JsonScan({ maxDepth: MAX_DEPTH, maxValues: options.maxValues ?? MAX_VALUES });
  const { bytes, release, onBytes } = await takeBody(request, response, options, JSON_TYPE, scan);
  try {
    if (bytes.length > LARGE_BYTES || scan.values > LARGE_VALUES) {
      const { fields, owner, exact } = options;
      // Before it is parsed: an object of so many fields takes twenty times the memory of its text.
      if (!fields && scan.fields > MAX_FIELDS) orRefuse({ refusal: `The body has more than ${MAX_FIELDS} fields.` });
      // Even a short one is work for a thread.
      onBytes(Number.POSITIVE_INFINITY);
      // A small body may share its memory with the next request of its connection.
      const own = bytes.length > BIG_BYTES ? bytes : Buffer.from(new Uint8Array(bytes).buffer);
      const whole = await parseInWorker(owner, own, {
        ...plan,
        ...(exact && { exact: { read: exact, names: scan.names } }),
        fields,
        longStrings: scan.longStrings,
      });
      if ('refusal' in whole.parsed) freeMemory(whole.bytes);
      const large = orRefuse(whole.parsed);
      const { fingerprint, brief, inexact } = large;
      refuseInexact(inexact);
      const value = restoreCuts(large, whole.bytes);
      return { bytes: whole.bytes, value, fingerprint, release, ...(brief && { brief }) };
    }
    const value = orRefuse(parseObject(bytes));
    if (options.exact) refuseInexact(findInexactField(value, bytes, scan.names, options.exact));
    return { bytes, value, fingerprint: plan.fingerprinted ? fingerprintOf(value) : '', release };
  } catch (error) {
    release();
    // Only owners with a full queue of their own are refused there.
    if (isGatewayError(error) && error.code === 'queue_full') options.budget.refusals?.add(options.owner);
    throw error;
  }
}

/**
 * Frees the memory of bytes at once, if they own it. They must not be read afterwards. Left to the garbage collector,
 * the chunks of large bodies take hundreds of megabytes and a full collection every few bodies.
 */
export function freeMemory(bytes: Buffer<ArrayBuffer>): void {
  const { buffer, length } = bytes;
  if (length < FREED_BYTES || (length !== buffer.byteLength && length <= BIG_BYTES)) return;
  buffer.transfer(0);
}

async function takeBody(
  request: IncomingMessage,
  response: ServerResponse,
  { maxBytes, setting, maxValues = MAX_VALUES, budget, owner }: BodyReaderOptions,
  mediaType: string,
  scan?: JsonScan,
): Promise<{ bytes: Buffer<ArrayBuffer>; release: () => void; onBytes: (bytes: number) => void }> {
  checkType(request, mediaType);
  const codings = readCodings(request, response);
  const announced = request.headers['content-length'];
  const expected = announced === undefined ? undefined : Number(announced);
  const refusals = countRefusals(response, budget, owner);
  if (expected !== undefined) refusals(expected);
  if (expected !== undefined && expected > maxBytes) throw tooLarge(maxBytes, setting);
  if (request.headers.expect !== undefined) response.writeContinue();
  const limits = { maxBytes, setting, maxValues, expected, budget, owner, scan, onBytes: refusals };
  if (!codings) return { ...(await readBytes(request, limits)), onBytes: refusals };
  const decoded = await decodeBody(request, codings, checkStage(maxBytes, setting));
  try {
    return { ...(await readBytes(decoded, { ...limits, expected: undefined })), onBytes: refusals };
  } finally {
    decoded.destroy();
  }
}

/**
 * Counts refused requests with a body above 64 KiB, so that large bodies cannot be sent in vain without limit. Bodies
 * parsed by a thread always count, even short ones.
 * @returns Call it with the number of bytes known so far; it throws `rate_limit_exceeded` if the owner has reached the
 *   limit.
 */
export function countRefusals(
  response: ServerResponse,
  { refusals }: Pick<BodyBudget, 'refusals'>,
  owner: string,
): (bytes: number) => void {
  let isCounted = refusals === undefined;
  return (bytes) => {
    if (isCounted || !refusals || bytes <= COUNTED_BYTES) return;
    isCounted = true;
    const retryAfterSeconds = refusals.blockedFor(owner);
    if (retryAfterSeconds !== undefined) {
      const message = `More than ${refusals.max} requests with a body above 64 KiB were refused in a minute.`;
      throw new GatewayError('rate_limit_exceeded', message, { retryAfterSeconds });
    }
    response.once('close', () => {
      const { statusCode } = response;
      if (statusCode >= 400 && statusCode < 500 && statusCode !== 429) refusals.add(owner);
    });
  };
}

function orRefuse<Value>(parsed: Parsed<Value>): Value {
  if ('refusal' in parsed) throw new GatewayError('invalid_json', parsed.refusal);
  return parsed.value;
}

/** @throws GatewayError `invalid_value`. */
function refuseInexact(field: InexactField | undefined): void {
  if (!field) return;
  const { param, name, isRepeated } = field;
  const shown = param.slice(0, 200);
  const message = isRepeated
    ? `${shown} is sent twice; send it once.`
    : `${shown} must be written in small letters: ${name}.`;
  throw new GatewayError('invalid_value', message, { param: shown });
}

function checkType(request: IncomingMessage, mediaType: string): void {
  const { 'content-type': type = '' } = request.headers;
  if (type === mediaType) return;
  const [, ...parameters] = type.split(';');
  const charset = parameters.map((one) => one.trim().toLowerCase()).find((one) => one.startsWith('charset='));
  if (mediaTypeOf(type) !== mediaType || (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset))) {
    throw new GatewayError('unsupported_media_type', `Send the body as Content-Type: ${mediaType} in UTF-8.`);
  }
}

function mediaTypeOf(type = ''): string {
  return (type.split(';', 1)[0] ?? '').trim().toLowerCase();
}

export function tooLarge(maxBytes: number, setting?: string): GatewayError {
  const remedy = setting === undefined ? '' : ` The operator sets this limit with ${setting}.`;
  return new GatewayError('request_too_large', `The body is larger than ${maxBytes} bytes.${remedy}`);
}

export function tooManyValues(maxValues: number): GatewayError {
  return new GatewayError('request_too_large', `The body has more than ${maxValues} JSON values.`);
}

function tooDeep(): GatewayError {
  return new GatewayError('invalid_json', `The body is nested deeper than ${MAX_DEPTH} levels.`);
}

export function brokenOff(cause: Error | undefined): GatewayError {
  return new GatewayError('bad_request', 'The connection ended before the body did.', { cause });
}

interface ReadLimits {
  maxBytes: number;
  setting: string | undefined;
  maxValues: number;
  /** The announced length. */
  expected: number | undefined;
  budget: BodyBudget;
  owner: string;
  /** Scans JSON while it arrives. */
  scan: JsonScan | undefined;
  /** Called with the number of bytes so far. What it throws ends the reading. */
  onBytes(bytes: number): void;
}

/** Chunks that a body may have before a minimum size applies: each costs the HTTP parser about 10 µs. */
const MAX_SMALL_CHUNKS = 4_096;
const SMALL_CHUNK_BYTES = 64;

/** Whether a body comes in so many small chunks that parsing them would block other requests. */
export function areTooSmall(chunks: number, bytes: number): boolean {
  return chunks > MAX_SMALL_CHUNKS && bytes < chunks * SMALL_CHUNK_BYTES;
}

/** Limits what a coded body is decoded from. */
export function checkStage(maxBytes: number, setting?: string): CheckStage {
  return (bytes, chunks) => {
    if (bytes > maxBytes) throw tooLarge(maxBytes, setting);
    if (areTooSmall(chunks, bytes)) throw tooSmallChunks();
  };
}

function tooSmallChunks(): GatewayError {
  const message = `The body comes in too many small chunks; send chunks of ${SMALL_CHUNK_BYTES} bytes or more.`;
  return new GatewayError('bad_request', message);
}

function readBytes(
  request: Readable,
  limits: ReadLimits,
): Promise<{ bytes: Buffer<ArrayBuffer>; release: () => void }> {
  const { maxBytes, setting, maxValues, expected, budget, owner, scan, onBytes } = limits;
  return new Promise((resolve, reject) => {
    const collected = collectBytes(expected, maxBytes);
    let isOver = false;
    let bytesOfTurn = 0;
    let chunks = 0;
    const endTurn = () => {
      bytesOfTurn = 0;
      if (!isOver) request.resume();
    };
    // Its listeners end with the request: removing each of them takes longer than checking whether it is over.
    const fail = (error: unknown) => {
      if (isOver) return;
      isOver = true;
      reservation.release();
      collected.drop();
      request.pause();
      reject(error);
    };
    const reservation: BodyReservation = budget.open(owner, fail);
    const take = (chunk: Buffer<ArrayBuffer>) => {
      if (isOver) return;
      try {
        if (collected.size() + chunk.length > maxBytes) throw tooLarge(maxBytes, setting);
        reservation.add(chunk.length);
        const isCopied = collected.add(chunk);
        onBytes(collected.size());
        chunks += 1;
        if (areTooSmall(chunks, collected.size())) throw tooSmallChunks();
        const exceeded = scan?.push(chunk);
        bytesOfTurn += chunk.length;
        if (isCopied) freeMemory(chunk);
        if (exceeded) throw exceeded === 'depth' ? tooDeep() : tooManyValues(maxValues);
        if (bytesOfTurn < TURN_BYTES) return;
        request.pause();
        setImmediate(endTurn);
      } catch (error) {
        fail(error);
      }
    };
    const finish = () => {
      if (isOver) return;
      isOver = true;
      reservation.arrived();
      resolve({ bytes: collected.take(), release: reservation.release });
    };
    // Every request closes; an error takes longer to make than the check.
    const breakOff = (cause?: Error) => {
      if (!isOver) fail(isGatewayError(cause) ? cause : brokenOff(cause));
    };
    request.on('data', take).on('end', finish).on('close', breakOff).on('error', breakOff);
  });
}

/**
 * Collects chunks. Beyond 1 MiB, or 16 chunks, they are copied into one buffer as they arrive, so that neither a large
 * body nor one of tiny chunks takes more memory than twice its size. Beyond 1 MiB the buffer has the announced length
 * at once: its pages take memory only once they are written.
 */
function collectBytes(expected: number | undefined, maxBytes: number) {
  let chunks: Buffer<ArrayBuffer>[] = [];
  let whole: Buffer<ArrayBuffer> | undefined;
  let size = 0;

  function grow(wanted: number): void {
    const announced = wanted > BIG_BYTES ? (expected ?? 0) : 0;
    const larger = Buffer.allocUnsafeSlow(Math.min(maxBytes, Math.max(announced, wanted * 2)));
    if (whole) {
      whole.copy(larger, 0, 0, size);
      freeMemory(whole);
    } else {
      let at = 0;
      for (const chunk of chunks) {
        at += chunk.copy(larger, at);
        freeMemory(chunk);
      }
      chunks = [];
    }
    whole = larger;
  }

  return {
    size: () => size,
    /** @returns Whether the chunk was copied, so that it is no longer read here. */
    add(chunk: Buffer<ArrayBuffer>): boolean {
      const next = size + chunk.length;
      const isStorable = !whole && next <= BIG_BYTES && chunks.length < MAX_CHUNKS;
      if (isStorable) chunks.push(chunk);
      else {
        if (!whole || next > whole.length) grow(next);
        whole?.set(chunk, size);
      }
      size = next;
      return !isStorable;
    },
    take(): Buffer<ArrayBuffer> {
      if (whole) return whole.subarray(0, size);
      return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
    },
    drop(): void {
      if (whole) freeMemory(whole);
      chunks = [];
      whole = undefined;
    },
  };
}
