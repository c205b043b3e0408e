/*
 * Services of a plugin without network, files or waiting. The HTTP client answers from a script, can hang, break or
 * time out as the real one does, and counts bodies that were neither read nor released. Storage and log stay in
 * memory. A manual clock moves only when it is advanced and wakes its sleepers in order; `withFastClock` drives it so
 * that waits take a fiftieth of their time or less, while other work gets its turns of the event loop.
 */

import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { setImmediate, setTimeout } from 'node:timers/promises';
import type {
  Clock,
  FileStat,
  HttpClient,
  HttpRequest,
  HttpResponse,
  LogFields,
  Logger,
  Storage,
} from '../contracts/index.js';
import { readJson } from '../net/index.js';
import { type ErrorCode, GatewayError, systemClock, unlessAborted } from '../runtime/index.js';

/** The reaction of a scripted upstream to one request. */
export type FakeReply =
  | {
      /** Default 200. */
      status?: number;
      /** Names in lower case. */
      headers?: Readonly<Record<string, string>>;
      /** An object is sent as JSON, with its content type. Default: empty. */
      body?: string | Uint8Array | object;
      /**
       * What follows the body: `break` a connection that breaks, `hang` nothing until the request's signal. Default:
       * its end.
       */
      after?: 'break' | 'hang';
      /** Bytes per streamed chunk. Default: a third of the body. */
      pieceLength?: number;
    }
  /**
   * Fails as the real client does: `timeout` as at its deadline, `connection` as without an answer or with an
   * incomplete body.
   */
  | { fail: 'timeout' | 'connection' | 'address' }
  /** Never answers; ends with the request's signal. */
  | { hang: true };

export interface FakeHttp extends HttpClient {
  /** In the order they were sent, with complete bodies. */
  readonly requests: readonly SentRequest[];
  /** Streamed bodies that were neither read to their end nor released: connections that stay open. */
  readonly openBodies: number;
}

export interface SentRequest extends HttpRequest {
  body?: string | Uint8Array;
}

type Script = readonly FakeReply[] | ((request: SentRequest) => FakeReply | Promise<FakeReply>);

const FAILURES: Readonly<Record<'timeout' | 'connection' | 'address', [ErrorCode, string]>> = {
  timeout: ['upstream_timeout', 'The source did not answer in time.'],
  connection: ['upstream_error', 'The connection to the source failed.'],
  address: ['upstream_refused', 'The address is not allowed.'],
};

/**
 * An HTTP client without a network: answers with replies in order (the last one repeatedly), or with the result of a
 * function.
 */
export function createFakeHttp(script: Script): FakeHttp {
  const requests: SentRequest[] = [];
  let openBodies = 0;

  async function answer(request: HttpRequest): Promise<FakeAnswer> {
    request.signal?.throwIfAborted();
    const sent = { ...request, body: await wholeBody(request.body) };
    requests.push(sent);
    const reply =
      typeof script === 'function' ? await script(sent) : script[Math.min(requests.length, script.length) - 1];
    if (!reply) throw new GatewayError('upstream_error', 'The script of the fake has no reply.');
    if ('hang' in reply) return await hang(request.signal);
    if ('fail' in reply) throw new GatewayError(...FAILURES[reply.fail]);
    const response = toAnswer(request, reply);
    const { location } = response.headers;
    const { maxRedirects = 0 } = request;
    if (response.status < 300 || response.status > 399 || !location || maxRedirects === 0) return response;
    return answer({ ...request, url: new URL(location, request.url), maxRedirects: maxRedirects - 1 });
  }

  return {
    requests,
    get openBodies() {
      return openBodies;
    },
    async request(request) {
      const { end, pieceLength: _unused, ...response } = await answer(request);
      await end();
      return response;
    },
    async stream(request) {
      const { status, headers, url, body, end, pieceLength } = await answer(request);
      openBodies++;
      const flowing = flow(body, { pieceLength, signal: request.signal, end, close: () => void openBodies-- });
      return { status, headers, url, body: flowing };
    },
  };
}

/** The content of a body, wherever it comes from. */
async function wholeBody(body: HttpRequest['body']): Promise<string | Uint8Array | undefined> {
  return typeof body !== 'object' || body instanceof Uint8Array ? body : buffer(body.read());
}

/** Ends only with the signal. */
function hang(signal: AbortSignal | undefined): Promise<never> {
  return unlessAborted(signal, new Promise<never>(() => {}));
}

interface Flow {
  pieceLength?: number;
  signal?: AbortSignal;
  end(): Promise<void>;
  /** Called once: it was read to its end, or released. */
  close(): void;
}

/** In chunks, as bodies arrive. Leaving the loop ends it at once, as with the real client, even if it hangs. */
function flow(body: Uint8Array, { pieceLength, signal, end, close }: Flow): AsyncIterable<Uint8Array> {
  const size = pieceLength ?? Math.max(1, Math.ceil(body.length / 3));
  let from = 0;
  let isClosed = false;
  const finish = () => {
    if (!isClosed) close();
    isClosed = true;
  };
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        if (isClosed) return { done: true, value: undefined };
        try {
          signal?.throwIfAborted();
          if (from < body.length) {
            from += size;
            return { done: false, value: body.subarray(from - size, from) };
          }
          await end();
        } catch (error) {
          finish();
          throw error;
        }
        finish();
        return { done: true, value: undefined };
      },
      async return() {
        finish();
        return { done: true, value: undefined };
      },
    }),
  };
}

interface FakeAnswer extends HttpResponse {
  pieceLength?: number;
  /** Resolves if the body ends without an error. */
  end(): Promise<void>;
}

/** A response in the form of the real client. */
function toAnswer(
  request: HttpRequest,
  { status = 200, headers = {}, body = '', after, pieceLength }: Extract<FakeReply, { body?: unknown }>,
): FakeAnswer {
  const isData = typeof body === 'object' && !(body instanceof Uint8Array);
  const bytes = isData ? Buffer.from(JSON.stringify(body)) : Buffer.from(body as string | Uint8Array);
  return {
    status,
    headers: { ...(isData && { 'content-type': 'application/json' }), ...headers },
    url: String(request.url),
    body: bytes,
    text: () => bytes.toString('utf8'),
    pieceLength,
    async end() {
      if (after === 'break') throw new GatewayError(...FAILURES.connection);
      if (after === 'hang') await hang(request.signal);
    },
    json: () => readJson(bytes.toString('utf8')),
  };
}

/** Files in memory. */
export function createMemoryStorage(clock: Clock = systemClock): Storage & { readonly names: readonly string[] } {
  const files = new Map<string, Omit<FileStat, 'name' | 'size' | 'source'> & { bytes: Buffer }>();
  const statOf = (name: string) => {
    const file = files.get(name);
    if (!file || (file.expiresAt && file.expiresAt.getTime() <= clock.now())) return undefined;
    const { bytes, ...stat } = file;
    return { name, ...stat, size: bytes.length, source: 'local_cache' as const };
  };
  return {
    get names() {
      return [...files.keys()];
    },
    async write({ name, contentType, expiresAt, body }) {
      const bytes = body instanceof Uint8Array ? Buffer.from(body) : await buffer(body);
      const etag = `"${createHash('sha256').update(bytes).digest('hex')}"`;
      files.set(name, { bytes, contentType, modifiedAt: new Date(clock.now()), etag, ...(expiresAt && { expiresAt }) });
      return 'local_cache';
    },
    async read(name, range) {
      const stat = statOf(name);
      const bytes = files.get(name)?.bytes;
      if (!stat || !bytes) return undefined;
      const part = range ? bytes.subarray(range.start, range.end + 1) : bytes;
      return { ...stat, body: oneChunk(part) };
    },
    stat: async (name) => statOf(name),
    async delete(name) {
      files.delete(name);
    },
  };
}

export async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

export interface LogLine {
  level: 'debug' | 'info' | 'warn' | 'error';
  message: string;
  fields: LogFields;
}

/** Keeps every line. */
export function createRecordingLogger(): Logger & { readonly lines: readonly LogLine[] } {
  const lines: LogLine[] = [];
  const at =
    (level: LogLine['level']) =>
    (message: string, fields: LogFields = {}) =>
      void lines.push({ level, message, fields });
  return { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** A clock that only moves when it is advanced. */
export interface ManualClock extends Clock {
  /** Advances the time and wakes, in order, the sleepers that are due. Resolves when their immediate work is done. */
  advance(ms: number): Promise<void>;
  /** Sleepers waiting now. */
  readonly sleepers: number;
}

/** @param start - milliseconds since 1970, or a text that `Date` reads. Default 2026-01-01. */
export function createManualClock(start: number | string = '2026-01-01T00:00:00Z'): ManualClock {
  const origin = new Date(start).getTime();
  const sleepers = new Set<{ due: number; wake(): void }>();
  let elapsed = 0;

  return {
    now: () => origin + elapsed,
    monotonic: () => elapsed,
    get sleepers() {
      return sleepers.size;
    },
    sleep(ms, signal) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const sleeper = { due: elapsed + ms, wake: resolve };
      sleepers.add(sleeper);
      return unlessAborted(signal, promise).finally(() => sleepers.delete(sleeper));
    },
    async advance(ms) {
      const end = elapsed + ms;
      for (;;) {
        await settle();
        const next = [...sleepers].filter((sleeper) => sleeper.due <= end).sort((a, b) => a.due - b.due)[0];
        if (!next) break;
        elapsed = Math.max(elapsed, next.due);
        sleepers.delete(next);
        next.wake();
      }
      elapsed = end;
      await settle();
    },
  };
}

/** A deadline ends the wait for its work two turns of the event loop after its time. */
const TURNS = 3;

/** Lets ready promise chains run to their next wait. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1) await setImmediate();
}

/** How fast {@link withFastClock} runs. */
export interface Pace {
  /** Milliseconds of the clock. Default 1,000. */
  stepMs?: number;
  /** Real milliseconds of each step. Default 20. */
  everyMs?: number;
  /** Whether the time stands still for now. Default: never. */
  isHeld?(): boolean;
}

/** Runs work whose waits take a fiftieth of their time, or less. */
export async function withFastClock<Result>(
  work: (clock: ManualClock) => Promise<Result>,
  { stepMs = 1_000, everyMs = 20, isHeld = () => false }: Pace = {},
): Promise<Result> {
  const clock = createManualClock();
  let isOver = false;
  const drive = async () => {
    for (;;) {
      await setTimeout(everyMs);
      if (isOver) return;
      if (!isHeld()) await clock.advance(stepMs);
    }
  };
  try {
    void drive();
    return await work(clock);
  } finally {
    isOver = true;
  }
}
