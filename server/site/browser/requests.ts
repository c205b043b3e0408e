/*
 * Requests of the pages' scripts, with the session of the page, and their errors: every status but 2xx, a missing
 * network or an incomplete answer is thrown as a {@link RequestProblem}, while an abort is passed on unchanged. Readers
 * of fields by path accept answers of any shape. Since a job continues regardless of the page, polls are repeated until
 * there is an answer.
 */

import { textsOf } from './texts.js';

const t = textsOf('page');

/** An error of the gateway, with its message and code. */
export class RequestProblem extends Error {
  /**
   * @param status 0 if there was no complete answer.
   * @param param The field of the request that the error is about.
   * @param reason Why, in the words of the platform or, if it refused nothing, of what the gateway met on the way.
   * @param type Of the error; `extraction_failed` is a refusal of the platform.
   */
  constructor(
    message: string,
    readonly code: string,
    readonly status: number,
    readonly param?: string,
    readonly reason?: string,
    readonly type?: string,
  ) {
    super(message);
  }

  /** Whether repeating the same request may help. */
  get isPassing(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** @throws RequestProblem for every status but 2xx, and without a network; an abort is passed on unchanged. */
export async function ask(path: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new RequestProblem(t.unreachable, 'unreachable', 0);
  }
  if (!response.ok) throw await problemOf(response);
  return response;
}

/** The rest of an answer. @throws RequestProblem if it is incomplete. */
export async function arrival<Read>(reading: Promise<Read>, signal?: AbortSignal): Promise<Read> {
  try {
    return await reading;
  } catch (error) {
    if (signal?.aborted) throw error;
    throw brokenOff();
  }
}

export function brokenOff(): RequestProblem {
  return new RequestProblem(t.brokenOff, 'broken_off', 0);
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

/** The error of an answer that is no 2xx. */
async function problemOf(response: Response): Promise<RequestProblem> {
  const json: unknown = await response.json().catch(() => undefined);
  return failureOf(json, t.didNotWork, response.status);
}

/** The error that an answer names. @param otherwise If the answer does not say. */
export async function failureOf(answer: unknown, otherwise: string, status = 200): Promise<RequestProblem> {
  return new RequestProblem(
    await failureWords(answer, otherwise),
    fieldOf(answer, 'error.code') ?? 'unknown',
    status,
    fieldOf(answer, 'error.param'),
    fieldOf(answer, 'error.reason'),
    fieldOf(answer, 'error.type'),
  );
}

/** Sentences of a Vietnamese page for codes of errors and of limitations. */
interface Sentences {
  errors: Readonly<Record<string, string>>;
  limitations: Readonly<Record<string, string>>;
}

let sentences: Promise<Sentences | undefined> | undefined;

/** Loaded at the first use. English pages have none: they show the gateway's own sentences. */
function loadSentences(): Promise<Sentences | undefined> {
  const { sentences: url } = document.documentElement.dataset;
  if (url === undefined) return Promise.resolve(undefined);
  sentences ??= fetch(url)
    .then((response) => (response.ok ? response.json() : undefined))
    .catch(() => undefined);
  return sentences;
}

/** What an error in an answer means, in the language of the page. @param otherwise If the answer does not say. */
export async function failureWords(answer: unknown, otherwise: string): Promise<string> {
  const known = (await loadSentences())?.errors[fieldOf(answer, 'error.code') ?? ''];
  return known ?? fieldOf(answer, 'error.message') ?? otherwise;
}

/** A note about a document: its code, and its sentence in the language of the page. */
export interface Note {
  code: string;
  message: string;
}

/** Notes about what a document lacks. */
export async function notesOf(answer: unknown): Promise<Note[]> {
  const known = (await loadSentences())?.limitations ?? {};
  return listAt(answer, 'limitation_messages').map((note, index) => {
    const code = textAt(note, 'code') ?? '';
    const [, part, whole] = /: (\d+) of (\d+)$/.exec(String(listAt(answer, 'limitations')[index])) ?? [];
    const count = part === undefined ? '' : `${part}/${whole}`;
    const words = Object.hasOwn(known, code) ? known[code]?.replace(/:? ?\{count\}/, count && `: ${count}`) : undefined;
    return { code, message: words ?? textAt(note, 'message') ?? '' };
  });
}

/** Text or number at a path of fields: `payment.code`. */
export function fieldOf(json: unknown, path: string): string | undefined {
  const value = fieldAt(json, path);
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

const PREFIX = '/api/play';
const PAUSE_MS = 3_000;

export interface PlayRequest {
  method?: 'POST';
  /** Sent as JSON. */
  json?: unknown;
  form?: FormData;
  /** Idempotency key of a repeated request. */
  idempotencyKey?: string;
  signal?: AbortSignal;
}

/**
 * Calls the gateway with the session of this page.
 * @param path As for API clients: `/v1/…`.
 * @throws RequestProblem for every status but 2xx, and without a network.
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
  return arrival((await play(path, request)).json(), request?.signal);
}

/**
 * Polls a job until there is an answer, since the job continues regardless of this page.
 *
 * @param lost Called each time there was none.
 */
export async function loadJob(path: string, lost: () => void): Promise<unknown> {
  for (;;) {
    try {
      return await playJson(path);
    } catch (error) {
      if (!(error instanceof RequestProblem && error.isPassing)) throw error;
      lost();
      await pause(PAUSE_MS);
    }
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Files of the gateway are loaded from the page's own origin. */
export function ownAddress(url: string): string {
  const { pathname, search } = new URL(url, location.href);
  return pathname.startsWith('/v1/') ? pathname + search : url;
}

const BYTES = 16;

/** An idempotency key. Pages without TLS have no `crypto.randomUUID`. */
export function newIdempotencyKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(BYTES))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Answers are read defensively: a field that is missing, or of another type, counts as absent. */
export function fieldAt(json: unknown, path: string): unknown {
  let value = json;
  for (const name of path.split('.')) {
    value = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
  }
  return value;
}

export function textAt(json: unknown, path: string): string | undefined {
  const value = fieldAt(json, path);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function numberAt(json: unknown, path: string): number | undefined {
  const value = fieldAt(json, path);
  return typeof value === 'number' ? value : undefined;
}

export function listAt(json: unknown, path: string): readonly unknown[] {
  const value = fieldAt(json, path);
  return Array.isArray(value) ? value : [];
}

export function textsAt(json: unknown, path: string): readonly string[] {
  return listAt(json, path).filter((value) => typeof value === 'string');
}

/**
 * The `data` of server-sent events in order.
 *
 * @throws RequestProblem if the network ends them; an abort is passed on unchanged.
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
      // The part after the last empty line is incomplete.
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
