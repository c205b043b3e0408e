import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from 'mediagate';

const MAX_DEPTH = 64;

export interface BodyReaderOptions {
  /** Bytes of one body. */
  maxBytes: number;
  /** Shared by all routes. */
  budget: BodyBudget;
}

/** Bytes of request bodies that may be in memory at the same time, over all requests. */
export interface BodyBudget {
  /** @throws GatewayError `queue_full` where they do not fit. */
  reserve(bytes: number): void;
  release(bytes: number): void;
}

/** @param maxBytes Default 64 MiB. */
export function createBodyBudget(maxBytes = 64 * 1024 * 1024): BodyBudget {
  let reserved = 0;
  return {
    reserve(bytes) {
      if (reserved + bytes > maxBytes) {
        throw new GatewayError('queue_full', 'Too many request bodies are being read at once.', {
          retryAfterSeconds: 1,
        });
      }
      reserved += bytes;
    },
    release(bytes) {
      reserved -= bytes;
    },
  };
}

/**
 * Reads a JSON object. To be called after the key was checked: nobody else's bytes are read.
 * @throws GatewayError `unsupported_media_type`, `request_too_large`, `queue_full`, `invalid_json`, `bad_request`.
 */
export async function readJsonBody(
  request: IncomingMessage,
  response: ServerResponse,
  options: BodyReaderOptions,
): Promise<Record<string, unknown>> {
  checkType(request);
  const { maxBytes, budget } = options;
  const announced = request.headers['content-length'];
  const expected = announced === undefined ? maxBytes : Number(announced);
  if (expected > maxBytes) throw tooLarge(maxBytes);
  budget.reserve(expected);
  try {
    if (request.headers.expect !== undefined) response.writeContinue();
    return parseObject(await readBytes(request, maxBytes));
  } finally {
    budget.release(expected);
  }
}

function checkType(request: IncomingMessage): void {
  const { 'content-type': type = '', 'content-encoding': coding } = request.headers;
  if (coding !== undefined) {
    throw new GatewayError('unsupported_media_type', 'Send the body without a Content-Encoding.');
  }
  if (type === 'application/json') return;
  const [mediaType = '', ...parameters] = type.split(';');
  const json = mediaType.trim().toLowerCase() === 'application/json';
  const charset = parameters.map((one) => one.trim().toLowerCase()).find((one) => one.startsWith('charset='));
  if (!json || (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset))) {
    throw new GatewayError('unsupported_media_type', 'Send the body as Content-Type: application/json in UTF-8.');
  }
}

function tooLarge(maxBytes: number): GatewayError {
  return new GatewayError('request_too_large', `The body is larger than ${maxBytes} bytes.`);
}

function readBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const stop = () => {
      request.off('data', take).off('end', finish).off('close', fail).off('error', fail);
    };
    const take = (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes) {
        stop();
        request.pause();
        reject(tooLarge(maxBytes));
      } else chunks.push(chunk);
    };
    const finish = () => {
      stop();
      resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks));
    };
    const fail = (cause?: Error) => {
      stop();
      reject(new GatewayError('bad_request', 'The connection ended before the body did.', { cause }));
    };
    request.on('data', take).on('end', finish).on('close', fail).on('error', fail);
  });
}

function parseObject(bytes: Buffer): Record<string, unknown> {
  if (bytes.length === 0) throw new GatewayError('invalid_json', 'The body is empty; send a JSON object.');
  if (!isUtf8(bytes)) throw new GatewayError('invalid_json', 'The body is not valid UTF-8.');
  checkDepth(bytes);
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch {
    // The parser's message quotes the body, so it is not kept as a cause either.
    throw new GatewayError('invalid_json', 'The body is not valid JSON.');
  }
  if (!isObject(value)) throw new GatewayError('invalid_json', 'The body must be a JSON object.');
  return value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Looks at bytes, before anything recursive sees the body. */
function checkDepth(bytes: Buffer): void {
  let depth = 0;
  let inText = false;
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index];
    if (inText) {
      if (byte === BACKSLASH) index += 1;
      else if (byte === QUOTE) inText = false;
    } else if (byte === QUOTE) inText = true;
    else if (byte === 0x7b || byte === 0x5b) {
      depth += 1;
      if (depth > MAX_DEPTH)
        throw new GatewayError('invalid_json', `The body is nested deeper than ${MAX_DEPTH} levels.`);
    } else if (byte === 0x7d || byte === 0x5d) depth -= 1;
  }
}
