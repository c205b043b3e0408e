import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from 'mediagate';
import { type JsonBody, type Parsed, parseBody, parseObject } from './json-body.js';
import { parseElsewhere } from './json-threads.js';

const MEGABYTE = 1024 * 1024;
/** Bodies of more bytes are counted one by one, and understood in another thread. */
const BIG_BYTES = MEGABYTE;

export interface BodyReaderOptions {
  /** Bytes of one body. */
  maxBytes: number;
  /** Shared by all routes. */
  budget: BodyBudget;
}

/** What request bodies may be in memory at the same time, over all requests. */
export interface BodyBudget {
  /**
   * Takes the place of a body; what comes back gives it back.
   * @throws GatewayError `queue_full` where there is none.
   */
  reserve(bytes: number): () => void;
}

export interface BodyBudgetOptions {
  /** Bytes of all bodies up to 1 MiB together. Default 64 MiB. */
  smallBytes?: number;
  /** Bodies beyond that. They leave the place of the small ones alone. Default 8. */
  bigBodies?: number;
}

export function createBodyBudget(options: BodyBudgetOptions = {}): BodyBudget {
  const { smallBytes = 64 * MEGABYTE, bigBodies = 8 } = options;
  const free = { small: smallBytes, big: bigBodies };
  return {
    reserve(bytes) {
      const [pool, wanted] = bytes > BIG_BYTES ? (['big', 1] as const) : (['small', bytes] as const);
      if (free[pool] < wanted) {
        throw new GatewayError('queue_full', 'Too many request bodies are being read at once.', {
          retryAfterSeconds: 1,
        });
      }
      free[pool] -= wanted;
      return () => {
        free[pool] += wanted;
      };
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
  return holdBody(request, response, options, async (bytes) => orRefuse(parseObject(bytes)));
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

async function holdBody<Result>(
  request: IncomingMessage,
  response: ServerResponse,
  { maxBytes, budget }: BodyReaderOptions,
  use: (bytes: Buffer<ArrayBuffer>) => Promise<Result>,
): Promise<Result> {
  checkType(request);
  const announced = request.headers['content-length'];
  const expected = announced === undefined ? maxBytes : Number(announced);
  if (expected > maxBytes) throw tooLarge(maxBytes);
  const release = budget.reserve(expected);
  try {
    if (request.headers.expect !== undefined) response.writeContinue();
    return await use(await readBytes(request, maxBytes));
  } finally {
    release();
  }
}

function orRefuse<Value>(parsed: Parsed<Value>): Value {
  if ('refusal' in parsed) throw new GatewayError('invalid_json', parsed.refusal);
  return parsed.value;
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

function readBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer<ArrayBuffer>> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer<ArrayBuffer>[] = [];
    let bytes = 0;
    const stop = () => {
      request.off('data', take).off('end', finish).off('close', fail).off('error', fail);
    };
    const take = (chunk: Buffer<ArrayBuffer>) => {
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
