/*
 * Runs requests to an S3-compatible store, with up to three tries within one deadline; every request to a store can be
 * repeated. Each try has a client of its own, since the library has no other way to give a request a signal. Stores
 * answer long operations with status 200 before they know the result, so an error in the body becomes a failure.
 * Uploads carry a checksum. Errors repeat only the status and code of the store, because its messages may contain keys
 * and addresses.
 */

import { createHash } from 'node:crypto';
import { S3mini, S3ServiceError } from 's3mini';
import type { Clock, FileSource } from '../contracts/index.js';
import { GatewayError, isGatewayError, withDeadline } from '../runtime/index.js';

export type ObjectClient = S3mini;

export interface ObjectCall {
  /** Milliseconds until the answer, including retries. */
  timeoutMs: number;
  /**
   * Default false: the body of the answer is a short text, and read at once. True: it is a file, which the caller
   * reads.
   */
  file?: boolean;
}

export interface ObjectAnswer<Result> {
  result: Result;
  headers: Headers;
  text?: string;
}

const TRIES = 3;
const PAUSE_MS = 200;
/** Maximum length of an error or a listing page: the rest of an answer that is no file is not read. */
const MAX_TEXT_BYTES = 1024 * 1024;
/** The root of an error as XML. */
const FAILURE = /^\s*(?:<\?xml[^>]*>\s*)?<Error[\s>]/;

export interface ObjectStoreOptions {
  address: ObjectStoreAddress;
  clock: Clock;
  /** Ends every call. */
  signal: AbortSignal;
}

/** A client of one store. */
export class ObjectConnection {
  readonly #options: ObjectStoreOptions;

  constructor(options: ObjectStoreOptions) {
    this.#options = options;
  }

  /**
   * Runs one request, with retries for temporary failures.
   * @returns the result of the work, the headers of the last answer, and its text unless it is a file; undefined if the
   *   object does not exist.
   * @throws GatewayError `upstream_unavailable` if the store did not answer in time, `invalid_value` for a range
   *   outside of the file, or the reason of the signal that ends the connection.
   */
  async call<Result>(
    { timeoutMs, file }: ObjectCall,
    work: (client: ObjectClient) => Promise<Result>,
  ): Promise<ObjectAnswer<Result> | undefined> {
    const { clock, signal } = this.#options;
    const tryUntilDone = async (ended: AbortSignal) => {
      for (let tries = 1; ; tries += 1) {
        try {
          return await this.#attempt(work, { ended, file });
        } catch (error) {
          if (ended.aborted || tries === TRIES || !mayPass(error)) throw error;
          await clock.sleep(PAUSE_MS * tries ** 2, ended);
        }
      }
    };
    const tooSlow = () => new GatewayError('upstream_timeout', 'The object store is too slow.');
    try {
      return await withDeadline(timeoutMs, tryUntilDone, { signals: [signal], error: tooSlow });
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (error instanceof S3ServiceError && isAbsence(error)) return undefined;
      throw explain(error);
    }
  }

  /** One client per request: the library has no other way to give each its own signal. */
  #attempt<Result>(
    work: (client: ObjectClient) => Promise<Result>,
    { ended, file = false }: { ended: AbortSignal; file?: boolean },
  ): Promise<ObjectAnswer<Result>> {
    const { endpoint, region, accessKeyId, secretAccessKey } = this.#options.address;
    let headers = new Headers();
    let text: string | undefined;
    const send: typeof fetch = async (input, init) => {
      const response = await fetch(input, { ...init, headers: headersOf(init), redirect: 'manual', signal: ended });
      headers = response.headers;
      if (file && response.ok) return response;
      text = await readText(response);
      // Stores begin to answer long operations before they know the result.
      const status = response.ok && FAILURE.test(text) ? 500 : response.status;
      return new Response(response.body && text, { status, headers });
    };
    const client = new S3mini({ endpoint, region, accessKeyId, secretAccessKey, fetch: send });
    return work(client).then(
      (result) => ({ result, headers, text }),
      (error: unknown) => {
        // The library repeats unreadable answers in its errors.
        throw text === undefined || error instanceof S3ServiceError ? error : unexpectedAnswer();
      },
    );
  }
}

function headersOf(init: RequestInit | undefined): Headers {
  const headers = new Headers(init?.headers);
  // A file must arrive as its bytes: no content coding.
  headers.set('accept-encoding', 'identity');
  // The store refuses a body that does not match its checksum.
  if (init?.body instanceof Uint8Array) {
    headers.set('content-md5', createHash('md5').update(init.body).digest('base64'));
  }
  return headers;
}

/** An unread body keeps its connection, even if the upload has stopped. */
async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MAX_TEXT_BYTES) throw new Error('The answer is too long.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Every request to a store can be repeated. */
function mayPass(error: unknown): boolean {
  if (error instanceof S3ServiceError) return error.status >= 500 || error.status === 429;
  return !isGatewayError(error);
}

function isAbsence({ status, serviceCode }: S3ServiceError): boolean {
  return status === 404 && serviceCode !== 'NoSuchBucket';
}

/** Only status and code of the store's error are repeated: its message may contain keys and addresses. */
function explain(error: unknown): unknown {
  if (error instanceof S3ServiceError) {
    const { status, serviceCode = '' } = error;
    if (status === 416) return rangeOutside();
    const code = /^[A-Za-z]{1,64}$/.test(serviceCode) && serviceCode !== 'Unknown' ? ` ${serviceCode}` : '';
    return new GatewayError('upstream_unavailable', `The object store answered ${status}${code}.`);
  }
  if (isGatewayError(error) && error.code !== 'upstream_timeout') return error;
  const message = isGatewayError(error) ? error.message : 'The object store cannot be reached.';
  return new GatewayError('upstream_unavailable', message, { cause: error });
}

export function unexpectedAnswer(): GatewayError {
  return new GatewayError('upstream_unavailable', 'The object store sent an unexpected answer.');
}

export function rangeOutside(): GatewayError {
  return new GatewayError('invalid_value', 'The range is outside of the file.', { param: 'range' });
}

/** Address and credentials of an S3-compatible store. */
export interface ObjectStoreAddress {
  /** Origin and bucket in path style, which every such store supports. */
  endpoint: string;
  /** Prefix of every key: empty, or with a slash at its end. */
  prefix: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
  source: Exclude<FileSource, 'local_cache'>;
}
