/*
 * Reads request bodies: JSON objects and HTML forms. Call it after the key was checked, so that no bytes of
 * unauthorized clients are read. Each chunk is counted in the memory budget and scanned for depth and number of values
 * before anything is parsed (`body-bytes.ts`). Bodies above 256 KiB or 20,000 values are parsed on another thread.
 * Refused requests with a body above 64 KiB count towards a limit of the owner.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError, isGatewayError } from '../../../core/runtime/index.js';
import { findInexactField, type InexactField } from '../../../core/text/index.js';
import { BIG_BYTES, type BodyBudget } from './body-budget.js';
import {
  checkStage,
  decodeBody,
  freeMemory,
  type ReadBytes,
  type ReadLimits,
  readBytes,
  readCodings,
  tooLarge,
} from './body-bytes.js';
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
  return (await readJson(request, response, { ...options, fingerprinted: false })).value;
}

export interface JsonReaderOptions extends BodyReaderOptions {
  /** Whether to compute the fingerprint, which hashes the whole body. Otherwise it is empty. */
  fingerprinted: boolean;
}

/** Reads a JSON object, with the fingerprint that identifies an equal request. */
export async function readJson(
  request: IncomingMessage,
  response: ServerResponse,
  options: JsonReaderOptions,
): Promise<JsonBody> {
  const { value, fingerprint, bytes, release } = await takeJson(request, response, options, options);
  release();
  freeMemory(bytes);
  return { value, fingerprint };
}

/**
 * Reads a JSON object that stays in memory for a while: the reservation is held until `use` has ended.
 * @throws GatewayError of the body, and what `use` throws.
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
 * Reads a JSON object that is passed on unchanged: the reservation is held until it is released.
 * @throws GatewayError of the body; then it is released.
 */
export function takeJsonBody(
  request: IncomingMessage,
  response: ServerResponse,
  options: BodyReaderOptions & { brief?: boolean },
): Promise<HeldBody> {
  return takeJson(request, response, options, { fingerprinted: false, brief: options.brief });
}

/**
 * Reads the fields of an HTML form or an OAuth request.
 * @throws GatewayError of the body; `invalid_value` for a repeated field.
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
  { fingerprinted, brief: isBrief }: Pick<LargeBodyPlan, 'fingerprinted' | 'brief'>,
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
        fingerprinted,
        ...(isBrief !== undefined && { brief: isBrief }),
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
    return { bytes, value, fingerprint: fingerprinted ? fingerprintOf(value) : '', release };
  } catch (error) {
    release();
    // Only owners with a full queue of their own are refused there.
    if (isGatewayError(error) && error.code === 'queue_full') options.budget.refusals?.add(options.owner);
    throw error;
  }
}

function takeBody(
  request: IncomingMessage,
  response: ServerResponse,
  { maxBytes, setting, maxValues = MAX_VALUES, budget, owner }: BodyReaderOptions,
  mediaType: string,
  scan?: JsonScan,
): Promise<ReadBytes> {
  checkType(request, mediaType);
  const codings = readCodings(request, response);
  const announced = request.headers['content-length'];
  const expected = announced === undefined ? undefined : Number(announced);
  const refusals = countRefusals(response, budget, owner);
  if (expected !== undefined) refusals(expected);
  if (expected !== undefined && expected > maxBytes) throw tooLarge(maxBytes, setting);
  if (request.headers.expect !== undefined) response.writeContinue();
  const limits = { maxBytes, setting, maxValues, expected, budget, owner, scan, onBytes: refusals };
  return codings ? readDecoded(request, codings, limits) : readBytes(request, limits);
}

async function readDecoded(
  request: IncomingMessage,
  codings: Parameters<typeof decodeBody>[1],
  limits: ReadLimits,
): Promise<ReadBytes> {
  const decoded = await decodeBody(request, codings, checkStage(limits.maxBytes, limits.setting));
  try {
    return await readBytes(decoded, { ...limits, expected: undefined });
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
