import { member } from './json-members.js';

/** What the gateway said no with: its own words and code. */
export class RequestProblem extends Error {
  /** @param status 0 where no answer came, or not all of it. @param param What of the request it is about. */
  constructor(
    message: string,
    readonly code: string,
    readonly status: number,
    readonly param?: string,
  ) {
    super(message);
  }

  /** Whether the same request may be answered once it is sent again. */
  get isPassing(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** @throws RequestProblem for whatever is not a 2xx, and where there is no network; what the signal ends, as it is. */
export async function ask(path: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new RequestProblem('The gateway cannot be reached. Check the connection and try again.', 'unreachable', 0);
  }
  if (!response.ok) throw await problemOf(response);
  return response;
}

/** What is still to come of an answer. @throws RequestProblem where it does not come whole. */
export async function arrival<Read>(reading: Promise<Read>, signal?: AbortSignal): Promise<Read> {
  try {
    return await reading;
  } catch (error) {
    if (signal?.aborted) throw error;
    throw brokenOff();
  }
}

export function brokenOff(): RequestProblem {
  return new RequestProblem('The answer broke off. Check the connection and try again.', 'broken_off', 0);
}

/** @param headers Besides those that JSON needs. @throws RequestProblem as {@link ask} and {@link arrival} do. */
export async function requestJson(
  method: string,
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
): Promise<unknown> {
  const response = await ask(path, {
    method,
    headers: {
      Accept: 'application/json',
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return arrival(response.json());
}

/** What an answer that is no 2xx says no with. */
async function problemOf(response: Response): Promise<RequestProblem> {
  const json: unknown = await response.json().catch(() => undefined);
  const message = memberOf(json, 'error.message') ?? 'This did not work. Try again in a moment.';
  return new RequestProblem(
    message,
    memberOf(json, 'error.code') ?? 'unknown',
    response.status,
    memberOf(json, 'error.param'),
  );
}

/** Text or number at a path of members: `payment.code`. */
export function memberOf(json: unknown, path: string): string | undefined {
  const value = member(json, path);
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}
