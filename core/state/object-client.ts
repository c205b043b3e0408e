import { createHash } from 'node:crypto';
import { S3mini, S3ServiceError } from 's3mini';
import type { Clock } from '../contracts/services.js';
import { withDeadline } from '../deadline.js';
import { GatewayError, isGatewayError } from '../errors.js';
import type { ObjectStoreAddress } from './files-url.js';

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
   * @returns what the work resolved with, and the headers of the last answer; undefined where what was asked for is not there.
   * @throws GatewayError `upstream_unavailable` for whatever the store did not do in time, `invalid_value` for a range
   * outside of the file, or the reason of the signal that ends the connection.
   */
  call<Result>(
    call: ObjectCall,
    work: (client: ObjectClient) => Promise<Result>,
  ): Promise<{ result: Result; headers: Headers } | undefined>;
}

const TRIES = 3;
const PAUSE_MS = 200;
/** For an error, or a page of a listing: all that is read of an answer that is no file. */
const MAX_TEXT_BYTES = 1024 * 1024;

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
  ): Promise<{ result: Result; headers: Headers }> {
    let headers = new Headers();
    const send: typeof fetch = async (input, init) => {
      const response = await fetch(input, { ...init, headers: headersOf(init), redirect: 'manual', signal: ended });
      headers = response.headers;
      return file && response.ok ? response : shortened(response);
    };
    const client = new S3mini({ endpoint, region, accessKeyId, secretAccessKey, fetch: send });
    return work(client).then((result) => ({ result, headers }));
  }

  return {
    async call({ timeoutMs, file }, work) {
      const deadline = { timeoutMs, signals: [signal], message: 'The object store is too slow.' };
      try {
        return await withDeadline(deadline, async (ended) => {
          for (let tries = 1; ; tries += 1) {
            try {
              return await attempt(work, { ended, file });
            } catch (error) {
              if (ended.aborted || tries === TRIES || !mayPass(error)) throw error;
              await clock.sleep(PAUSE_MS * tries ** 2, ended);
            }
          }
        });
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

/** The same answer, which fails when more of it is read than it may have. */
function shortened(response: Response): Response {
  if (!response.body) return response;
  let bytes = 0;
  const counted = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.byteLength;
        if (bytes > MAX_TEXT_BYTES) controller.error(new Error('The answer is too long.'));
        else controller.enqueue(chunk);
      },
    }),
  );
  return new Response(counted, { status: response.status, headers: response.headers });
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

export function rangeOutside(): GatewayError {
  return new GatewayError('invalid_value', 'The range lies outside of the file.', { param: 'range' });
}
