import { arrival, ask, RequestProblem } from './json-request.js';

const PREFIX = '/api/play';
const PAUSE_MS = 3_000;

export interface PlayRequest {
  method?: 'POST';
  /** Sent as JSON. */
  json?: unknown;
  form?: FormData;
  /** By which the gateway knows a request that is sent again. */
  idempotencyKey?: string;
  signal?: AbortSignal;
}

/**
 * Asks the gateway with the session of this page.
 * @param path As programs know it: `/v1/…`.
 * @throws RequestProblem for whatever is not a 2xx, and where there is no network.
 */
export function play(
  path: string,
  { method, json, form, idempotencyKey, signal }: PlayRequest = {},
): Promise<Response> {
  return ask(PREFIX + path, {
    method: method ?? 'GET',
    headers: {
      ...(json !== undefined && { 'Content-Type': 'application/json' }),
      ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }),
    },
    ...(json !== undefined && { body: JSON.stringify(json) }),
    ...(form && { body: form }),
    ...(signal && { signal }),
  });
}

export async function playJson(path: string, request?: PlayRequest): Promise<unknown> {
  return arrival((await play(path, request)).json());
}

/**
 * How a job stands: asked for until there is an answer, since the job goes on whether this page hears of it or not.
 *
 * @param lost Called each time that none came.
 */
export async function lookAtJob(path: string, lost: () => void): Promise<unknown> {
  for (;;) {
    try {
      return await playJson(path);
    } catch (error) {
      if (!(error instanceof RequestProblem && error.isPassing)) throw error;
      lost();
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}

/** Files of the gateway, wherever it says that it is: from here they are asked for where this page is from. */
export function ownAddress(url: string): string {
  const { pathname, search } = new URL(url, location.href);
  return pathname.startsWith('/v1/') ? pathname + search : url;
}
