import { problemOf, RequestProblem } from './json-request.js';

const PREFIX = '/api/play';

export interface PlayRequest {
  method?: 'POST';
  /** Sent as JSON. */
  json?: unknown;
  form?: FormData;
  signal?: AbortSignal;
}

/**
 * Asks the gateway with the session of this page.
 * @param path As programs know it: `/v1/…`.
 * @throws RequestProblem for whatever is not a 2xx, and where there is no network.
 */
export async function play(path: string, { method, json, form, signal }: PlayRequest = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(PREFIX + path, {
      method: method ?? 'GET',
      headers: { ...(json !== undefined && { 'Content-Type': 'application/json' }) },
      ...(json !== undefined && { body: JSON.stringify(json) }),
      ...(form && { body: form }),
      ...(signal && { signal }),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new RequestProblem('The gateway cannot be reached. Check the connection and try again.', 'unreachable', 0);
  }
  if (!response.ok) throw await problemOf(response);
  return response;
}

export async function playJson(path: string, request?: PlayRequest): Promise<unknown> {
  return (await play(path, request)).json();
}

/** Files of the gateway, wherever it says that it is: from here they are asked for where this page is from. */
export function ownAddress(url: string): string {
  const { pathname, search } = new URL(url, location.href);
  return pathname.startsWith('/v1/') ? pathname + search : url;
}
