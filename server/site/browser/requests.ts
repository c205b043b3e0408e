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
export async function loadJob(path: string, lost: () => void): Promise<unknown> {
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

const BYTES = 16;

/** By which the gateway knows a request that is sent again. Pages without TLS have no `crypto.randomUUID`. */
export function newIdempotencyKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(BYTES))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Answers are read as what they turn out to be: a member that is missing, or of another type, is not there. */
export function member(json: unknown, path: string): unknown {
  let value = json;
  for (const name of path.split('.')) {
    value = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
  }
  return value;
}

export function textAt(json: unknown, path: string): string | undefined {
  const value = member(json, path);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function numberAt(json: unknown, path: string): number | undefined {
  const value = member(json, path);
  return typeof value === 'number' ? value : undefined;
}

export function listAt(json: unknown, path: string): readonly unknown[] {
  const value = member(json, path);
  return Array.isArray(value) ? value : [];
}

export function textsAt(json: unknown, path: string): readonly string[] {
  return listAt(json, path).filter((value) => typeof value === 'string');
}

/**
 * The `data` of server-sent events, one after the other.
 *
 * @throws RequestProblem where the network ends them; what the signal ends, as it is.
 */
export async function* readEventData(body: ReadableStream<Uint8Array>, signal: AbortSignal): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await arrival(reader.read(), signal);
      rest += decoder.decode(value, { stream: !done });
      const events = rest.split(/\r?\n\r?\n/);
      // What stands behind the last empty line is not whole yet.
      rest = events.pop() ?? '';
      for (const event of events) yield* dataOf(event);
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function* dataOf(event: string): Generator<string> {
  const lines = event.split(/\r?\n/).filter((line) => line.startsWith('data:'));
  if (lines.length > 0) yield lines.map((line) => line.slice(5).trimStart()).join('\n');
}
