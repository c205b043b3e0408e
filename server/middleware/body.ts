import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from 'mediagate';
import { BIG_BYTES, type BodyBudget } from './body-budget.js';
import { fingerprintOf, type JsonBody, type Parsed, parseBody, parseObject } from './json-body.js';
import { parseElsewhere } from './json-threads.js';

/** What a big body brings at the least while its pace is measured once; evenly sent, it would come too late anyway. */
export const PACE_BYTES = 128 * 1024;
export const PACE_MS = 5_000;
const JSON_TYPE = 'application/json';
const FORM = 'application/x-www-form-urlencoded';

export interface BodyReaderOptions {
  /** Bytes of one body. */
  maxBytes: number;
  /** Shared by all routes. */
  budget: BodyBudget;
  /** Whose body it is. */
  keyId: string;
  /** Milliseconds in which each 128 KiB of a body beyond 1 MiB arrive, or it is refused. Default 5,000. */
  paceMs?: number;
}

/**
 * Reads a JSON object. To be called after the key was checked: nobody else's bytes are read.
 * @throws GatewayError `unsupported_media_type`, `request_too_large`, `queue_full`, `request_timeout`, `invalid_json`,
 * `bad_request`.
 */
export async function readJsonBody(
  request: IncomingMessage,
  response: ServerResponse,
  options: BodyReaderOptions,
): Promise<Record<string, unknown>> {
  return holdBody(request, response, options, async (bytes) => orRefuse(parseObject(bytes)));
}

export interface JsonReaderOptions extends BodyReaderOptions {
  /** Whether the fingerprint is wanted, for which all of the body is hashed. Else it is empty. */
  fingerprinted: boolean;
}

/** As {@link readJsonBody}, with what makes a later request the same as this one. */
export async function readJson(
  request: IncomingMessage,
  response: ServerResponse,
  options: JsonReaderOptions,
): Promise<JsonBody> {
  const value = await readJsonBody(request, response, options);
  return { value, fingerprint: options.fingerprinted ? fingerprintOf(value) : '' };
}

/**
 * As {@link readJsonBody}, for bodies whose contents stay in memory for a while: the body keeps its place in the budget
 * until `use` has ended.
 * @throws GatewayError as there, and what `use` throws.
 */
export async function useJsonBody<Result>(
  request: IncomingMessage,
  response: ServerResponse,
  options: BodyReaderOptions,
  use: (body: JsonBody) => Promise<Result>,
): Promise<Result> {
  return holdBody(request, response, options, async (bytes) =>
    use(orRefuse(bytes.length > BIG_BYTES ? await parseElsewhere(bytes) : parseBody(bytes))),
  );
}

/** A JSON object as it came, and what it says. */
export interface HeldBody {
  bytes: Buffer;
  value: Record<string, unknown>;
  /** Gives its place in the budget back: nothing holds on to it any more. Idempotent. */
  release(): void;
}

/**
 * As {@link readJsonBody}, for bodies that go on as they are: the body keeps its place in the budget until it is released.
 * @throws GatewayError as there; it is released then.
 */
export function takeJsonBody(
  request: IncomingMessage,
  response: ServerResponse,
  options: BodyReaderOptions,
): Promise<HeldBody> {
  return takeBody(request, response, options).then(({ bytes, release }) => {
    try {
      return { bytes, value: orRefuse(parseObject(bytes)), release };
    } catch (error) {
      release();
      throw error;
    }
  });
}

/**
 * Reads the fields of an HTML form, or of a request of OAuth. As {@link readJsonBody} otherwise.
 * @throws GatewayError as there; `invalid_value` for a field that is there twice.
 */
export async function readForm(
  request: IncomingMessage,
  response: ServerResponse,
  options: BodyReaderOptions,
): Promise<Record<string, string>> {
  const { bytes, release } = await takeBody(request, response, { ...options, mediaType: FORM });
  release();
  const fields = [...new URLSearchParams(bytes.toString('utf8'))];
  const names = new Set(fields.map(([name]) => name));
  if (names.size < fields.length) throw new GatewayError('invalid_value', 'A field of the form is there twice.');
  return Object.fromEntries(fields);
}

/** Whether the body says that it is a form. */
export function isForm({ headers }: IncomingMessage): boolean {
  return mediaTypeOf(headers['content-type']) === FORM;
}

async function holdBody<Result>(
  request: IncomingMessage,
  response: ServerResponse,
  options: BodyReaderOptions,
  use: (bytes: Buffer<ArrayBuffer>) => Promise<Result>,
): Promise<Result> {
  const { bytes, release } = await takeBody(request, response, options);
  try {
    return await use(bytes);
  } finally {
    release();
  }
}

async function takeBody(
  request: IncomingMessage,
  response: ServerResponse,
  { maxBytes, budget, keyId, paceMs = PACE_MS, mediaType = JSON_TYPE }: BodyReaderOptions & { mediaType?: string },
): Promise<{ bytes: Buffer<ArrayBuffer>; release: () => void }> {
  checkType(request, mediaType);
  const announced = request.headers['content-length'];
  // One that does not say how long it is counts as a small one until it is none.
  const expected = announced === undefined ? Math.min(BIG_BYTES, maxBytes) : Number(announced);
  if (expected > maxBytes) throw tooLarge(maxBytes);
  let place: (() => void) | undefined = budget.reserve(keyId, expected);
  const release = () => {
    place?.();
    place = undefined;
  };
  const hold = (bytes: number) => {
    release();
    place = budget.reserve(keyId, bytes);
  };
  try {
    if (request.headers.expect !== undefined) response.writeContinue();
    const bytes = await readBytes(request, { maxBytes, expected, paceMs, onGrowth: () => hold(maxBytes) });
    if (announced === undefined) hold(bytes.length);
    return { bytes, release };
  } catch (error) {
    release();
    throw error;
  }
}

function orRefuse<Value>(parsed: Parsed<Value>): Value {
  if ('refusal' in parsed) throw new GatewayError('invalid_json', parsed.refusal);
  return parsed.value;
}

function checkType(request: IncomingMessage, mediaType: string): void {
  refuseCoding(request.headers);
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

/** @throws GatewayError `unsupported_media_type`. */
export function refuseCoding({ 'content-encoding': coding }: IncomingHttpHeaders): void {
  if (coding === undefined) return;
  throw new GatewayError('unsupported_media_type', 'Send the body without a Content-Encoding.');
}

export function tooLarge(maxBytes: number): GatewayError {
  return new GatewayError('request_too_large', `The body is larger than ${maxBytes} bytes.`);
}

export function tooSlow(): GatewayError {
  return new GatewayError('request_timeout', 'The body arrives too slowly.');
}

export function brokenOff(cause: Error | undefined): GatewayError {
  return new GatewayError('bad_request', 'The connection ended before the body did.', { cause });
}

interface ReadLimits {
  maxBytes: number;
  /** Bytes, more than which come only where the length is unknown. */
  expected: number;
  /** Of what is beyond 1 MiB; the rest may come as slowly as the server lets requests arrive. */
  paceMs: number;
  /** Called once where more than expected comes. What it throws ends the reading. */
  onGrowth(): void;
}

function readBytes(
  request: IncomingMessage,
  { maxBytes, expected, paceMs, onGrowth }: ReadLimits,
): Promise<Buffer<ArrayBuffer>> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer<ArrayBuffer>[] = [];
    let bytes = 0;
    let bytesBefore = 0;
    let pace = expected > BIG_BYTES ? setInterval(() => checkPace(), paceMs) : undefined;
    let isOver = false;
    // Its listeners go with the request: taking each of them away again takes longer than looking whether it is over.
    const stop = () => {
      clearInterval(pace);
      isOver = true;
    };
    const take = (chunk: Buffer<ArrayBuffer>) => {
      if (isOver) return;
      bytes += chunk.length;
      try {
        if (bytes > maxBytes) throw tooLarge(maxBytes);
        if (bytes > expected && !pace) {
          onGrowth();
          pace = setInterval(() => checkPace(), paceMs);
        }
        chunks.push(chunk);
      } catch (error) {
        stop();
        request.pause();
        reject(error);
      }
    };
    const checkPace = () => {
      if (bytes - bytesBefore < PACE_BYTES) {
        stop();
        reject(tooSlow());
      }
      bytesBefore = bytes;
    };
    const finish = () => {
      if (isOver) return;
      stop();
      resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks));
    };
    const fail = (cause?: Error) => {
      if (isOver) return;
      stop();
      reject(brokenOff(cause));
    };
    request.on('data', take).on('end', finish).on('close', fail).on('error', fail);
  });
}
