import { createHash } from 'node:crypto';
import { S3mini, S3ServiceError } from 's3mini';
import type { Clock } from '../contracts/index.js';
import { GatewayError, isGatewayError, withDeadline } from '../runtime/index.js';
import type { ObjectStoreAddress } from './files-s3.js';

export type ObjectClient = S3mini;

export interface ObjectCall {
  /** Milliseconds for everything up to the answer, trying again included. */
  timeoutMs: number;
  /** Default false: the body of the answer is a short text, and read at once. True: it is a file, and the caller's to read. */
  file?: boolean;
}

/** Speaks to one store. */
export interface ObjectConnection {
  /**
   * Runs one request, again where its failure may pass.
   * @returns what the work resolved with, the headers of the last answer, and what it said where it is no file; undefined where what was
   * asked for is not there.
   * @throws GatewayError `upstream_unavailable` for whatever the store did not do in time, `invalid_value` for a range
   * outside of the file, or the reason of the signal that ends the connection.
   */
  call<Result>(
    call: ObjectCall,
    work: (client: ObjectClient) => Promise<Result>,
  ): Promise<ObjectAnswer<Result> | undefined>;
}

export interface ObjectAnswer<Result> {
  result: Result;
  headers: Headers;
  text?: string;
}

const TRIES = 3;
const PAUSE_MS = 200;
/** For an error, or a page of a listing: all that is read of an answer that is no file. */
const MAX_TEXT_BYTES = 1024 * 1024;
/** The root of an error as XML. */
const FAILURE = /^\s*(?:<\?xml[^>]*>\s*)?<Error[\s>]/;

export interface ObjectStoreOptions {
  address: ObjectStoreAddress;
  clock: Clock;
  /** Ends every call. */
  signal: AbortSignal;
}

export function connectToObjects({ address, clock, signal }: ObjectStoreOptions): ObjectConnection {
  const { endpoint, region, accessKeyId, secretAccessKey } = address;

  /** One client a request: the library has no other way to give each its own signal. */
  function attempt<Result>(
    work: (client: ObjectClient) => Promise<Result>,
    { ended, file = false }: { ended: AbortSignal; file?: boolean },
  ): Promise<ObjectAnswer<Result>> {
    let headers = new Headers();
    let text: string | undefined;
    const send: typeof fetch = async (input, init) => {
      const response = await fetch(input, { ...init, headers: headersOf(init), redirect: 'manual', signal: ended });
      headers = response.headers;
      if (file && response.ok) return response;
      text = await readText(response);
      // Stores begin to answer long work before they know how it ends.
      const status = response.ok && FAILURE.test(text) ? 500 : response.status;
      return new Response(response.body && text, { status, headers });
    };
    const client = new S3mini({ endpoint, region, accessKeyId, secretAccessKey, fetch: send });
    return work(client).then(
      (result) => ({ result, headers, text }),
      (error: unknown) => {
        // What the library cannot read it repeats word for word.
        throw text === undefined || error instanceof S3ServiceError ? error : unexpectedAnswer();
      },
    );
  }

  return {
    async call({ timeoutMs, file }, work) {
      async function tryUntilDone(ended: AbortSignal) {
        for (let tries = 1; ; tries += 1) {
          try {
            return await attempt(work, { ended, file });
          } catch (error) {
            if (ended.aborted || tries === TRIES || !mayPass(error)) throw error;
            await clock.sleep(PAUSE_MS * tries ** 2, ended);
          }
        }
      }
      const tooSlow = () => new GatewayError('upstream_timeout', 'The object store is too slow.');
      try {
        return await withDeadline(timeoutMs, tryUntilDone, { signals: [signal], error: tooSlow });
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        if (error instanceof S3ServiceError && isAbsence(error)) return undefined;
        throw explain(error);
      }
    },
  };
}

function headersOf(init: RequestInit | undefined): Headers {
  const headers = new Headers(init?.headers);
  // A file is what its bytes are: no coding may come between.
  headers.set('accept-encoding', 'identity');
  // The store refuses a body that does not arrive as it was sent.
  if (init?.body instanceof Uint8Array) {
    headers.set('content-md5', createHash('md5').update(init.body).digest('base64'));
  }
  return headers;
}

/** A body that nobody reads keeps its connection, whoever has stopped to send it. */
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

/** Everything that is asked of a store can be asked twice. */
function mayPass(error: unknown): boolean {
  if (error instanceof S3ServiceError) return error.status >= 500 || error.status === 429;
  return !isGatewayError(error);
}

function isAbsence({ status, serviceCode }: S3ServiceError): boolean {
  return status === 404 && serviceCode !== 'NoSuchBucket';
}

/** What the store said is repeated as far as it is a status and a code: its words may hold keys and addresses. */
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
  return new GatewayError('upstream_unavailable', 'The object store answered something else than it was asked.');
}

export function rangeOutside(): GatewayError {
  return new GatewayError('invalid_value', 'The range lies outside of the file.', { param: 'range' });
}
