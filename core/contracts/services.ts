/*
 * The services that a plugin may use: HTTP, a browser, ffmpeg, a cache, file storage, logs. Each one is a client of a
 * shared service, scoped to the plugin instance: it carries the instance's deadline, byte limit, trusted origins, key
 * prefix and log field, so a plugin cannot forget them. Every address is checked, including redirects. Losing the
 * cache costs time but never data; a written file survives a crash. The file also has the interfaces of tracing and
 * metrics, whose calls never wait or throw.
 */

import type { AudioInputFile } from './audio-provider.js';

export type { Clock, Hints, LogFields, Logger } from '../runtime/index.js';

/** HTTP to the outside. The address guard checks every address, including every redirect hop. */
export interface HttpClient {
  /**
   * One request with its whole body, content codings decoded.
   * @throws GatewayError `upstream_timeout` (deadline), `upstream_error` (DNS, connection, TLS, body over the limit,
   *   bad coding, too many redirects), `upstream_refused` (address not allowed), or the caller's abort reason.
   */
  request(request: HttpRequest): Promise<HttpResponse>;
  /** One request with a streamed body, and the errors of {@link request}; limit and deadline apply while it is read. */
  stream(request: HttpRequest): Promise<HttpStream>;
}

export interface HttpRequest {
  /** Absolute http or https URL without user info. */
  url: string | URL;
  /** Default `GET`. */
  method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE' | 'PATCH';
  /** Names in lower case. The gateway sets `host`, `content-length`, `connection` and `transfer-encoding`. */
  headers?: Readonly<Record<string, string>>;
  /** A string is sent as UTF-8. The caller sets the content type. */
  body?: string | Uint8Array | BodySource;
  signal?: AbortSignal;
  /**
   * Milliseconds for everything, including redirects and body; from 5,000 on, the deadline may be 250 ms late. Default
   * and maximum: the plugin's deadline.
   */
  timeoutMs?: number;
  /**
   * Maximum silence of a streamed body in milliseconds. If it is set, `timeoutMs` applies until the status, and the
   * body may take any time while bytes arrive. Default: `timeoutMs` includes the body.
   */
  idleMs?: number;
  /** Maximum bytes of the decoded body. Default: 8 MiB. */
  maxBytes?: number;
  /**
   * Redirects to follow, 0 to 5; each hop is guarded again and drops `authorization` and `cookie` across origins.
   * Default 0.
   */
  maxRedirects?: number;
}

/** A body that is not completely in memory. */
export interface BodySource {
  /** Bytes. */
  size: number;
  /** From its beginning, exactly `size` bytes. Called again each time the request is sent. */
  read(): AsyncIterable<Uint8Array>;
}

export interface HttpResponse {
  status: number;
  /** Names in lower case; several fields of one name are joined with `, ` (`set-cookie` with a line feed). */
  headers: Readonly<Record<string, string>>;
  /** The URL that answered, after redirects. */
  url: string;
  body: Uint8Array;
  /** The body as UTF-8 text; invalid bytes become U+FFFD. */
  text(): string;
  /**
   * The body as JSON; bare integers of 16 digits and more become strings, since ids exceed 2^53.
   * @throws GatewayError `upstream_refused` if it is not JSON.
   */
  json(): unknown;
}

export interface HttpStream {
  status: number;
  headers: Readonly<Record<string, string>>;
  url: string;
  body: AsyncIterable<Uint8Array>;
}

/** A real browser, one context per call. Declared by `needs: ['browser']`, or by `wants` if it is optional. */
export interface Browser {
  /** False if `BROWSER=off` or no browser was found; methods that need it are then skipped. */
  readonly available: boolean;
  /**
   * Opens a fresh context with one page, runs `visit` in it and closes everything in any case. The address guard checks
   * what the page loads, as in {@link HttpClient}.
   * @throws GatewayError `upstream_timeout` at the deadline, `upstream_error` if the page or the browser crashes or
   *   uses too much memory, `queue_full` if too many calls wait, `plugin_unavailable` if there is no browser or it does
   *   not start, what `visit` throws, or the caller's abort reason.
   */
  run<Result>(call: BrowserCall<Result>): Promise<Result>;
}

export interface BrowserCall<Result> {
  /** Receives the page. After the signal has aborted, every method of the page fails. */
  visit(page: BrowserPage, signal: AbortSignal): Promise<Result>;
  signal?: AbortSignal;
  /** Milliseconds, including the queue and the start of the browser. Default and maximum: the plugin's deadline. */
  timeoutMs?: number;
  /** BCP 47, default `en-US`. */
  locale?: string;
}

/** A page. Methods throw GatewayError `upstream_timeout` and `upstream_error`. */
export interface BrowserPage {
  /**
   * Opens an http or https URL; an error status is no error unless its body is empty.
   * @throws GatewayError `upstream_refused` if the address is not allowed, `upstream_error` if nothing was loaded.
   */
  goto(
    url: string,
    options?: { timeout?: number; waitUntil?: 'commit' | 'domcontentloaded' | 'load' },
  ): Promise<unknown>;
  content(): Promise<string>;
  url(): string;
  /** Runs a function in the page, with access to its argument and the page only. Result and argument are JSON. */
  evaluate<Result, Argument>(
    script: string | ((argument: Argument) => Result | Promise<Result>),
    argument?: Argument,
  ): Promise<Result>;
  waitForSelector(selector: string, options?: { timeout?: number; state?: 'attached' | 'visible' }): Promise<unknown>;
}

/**
 * ffmpeg, one process per call, which reads one file and can access nothing else. Declared by `needs: ['ffmpeg']`, or
 * by `wants` if it is optional.
 */
export interface AudioFilters {
  /** False if no ffmpeg was found. */
  readonly available: boolean;
  /**
   * Streams the samples of an audio file, or of filters with their own source: 16 bits, little-endian, one channel.
   * Must be read once; stopping ends ffmpeg.
   * @throws GatewayError `audio_unavailable` if there is no audio or it cannot be read, `queue_full`,
   *   `plugin_unavailable` if there is no ffmpeg; the signal's reason. All of them while it is read.
   */
  samples(call: SamplesCall): AsyncIterable<Uint8Array>;
}

export interface SamplesCall {
  /** Default: none, and the filters begin with sources of their own. */
  audio?: AudioInputFile;
  /**
   * A filter graph of ffmpeg with one output; `anull` leaves the audio unchanged. It must never contain a caller's
   * text.
   */
  filters: string;
  /** Samples a second. */
  rate: number;
  /** Audio after this many seconds is omitted. */
  maxSeconds: number;
  signal: AbortSignal;
}

/** Key-value cache of JSON values; losing it costs time, never data. Keys are prefixed with the instance's id. */
export interface Cache {
  get<Value>(key: string): Promise<Value | undefined>;
  set<Value>(key: string, value: Value, ttlMs: number): Promise<void>;
  delete(key: string): Promise<void>;
}

/**
 * Files by name, on disk or in an object store. Names match `/^[A-Za-z0-9_-]{1,128}\.[a-z0-9]{1,8}$/`. Reading a
 * damaged file throws GatewayError `internal_error` until it is written again.
 */
export interface Storage {
  /**
   * Writes all or nothing: a reader never sees an incomplete file, and a resolved call survives a crash. Returns the
   * location.
   */
  write(file: StoredFile): Promise<FileSource>;
  /** Undefined if there is no such file, or it has expired. A read that has begun continues after the expiry. */
  read(name: string, range?: ByteRange): Promise<StoredBody | undefined>;
  stat(name: string): Promise<FileStat | undefined>;
  /** No error if the file does not exist. */
  delete(name: string): Promise<void>;
}

export interface StoredFile {
  name: string;
  /** Media type, as it will be served. */
  contentType: string;
  /** Expiry; after it the file is removed automatically. Default: it is kept. */
  expiresAt?: Date;
  body: Uint8Array | AsyncIterable<Uint8Array>;
}

/** Bytes `start` to `end`, both included. */
export interface ByteRange {
  start: number;
  end: number;
}

export interface FileStat {
  name: string;
  contentType: string;
  /** Bytes. */
  size: number;
  /** Strong, quoted, from the SHA-256 of the content. */
  etag: string;
  modifiedAt: Date;
  expiresAt?: Date;
  source: FileSource;
}

/**
 * Location of a file: in an S3-compatible store (R2 is named separately), or on a disk of the gateway, permanently or
 * until the store accepts it.
 */
export type FileSource = 'objstore_s3' | 'objstore_r2' | 'local_cache';

export interface StoredBody extends FileStat {
  body: AsyncIterable<Uint8Array>;
}

/** Starts traces. */
export interface Tracer {
  /**
   * A span that starts a trace, or continues the trace of `parent`: a `traceparent` of W3C Trace Context. An invalid
   * one counts as none.
   */
  start(span: NewSpan & { parent?: string }): Span;
}

export interface NewSpan {
  name: string;
  /** The span kind: it serves a request, sends one, queues work or processes queued work. Default `internal`. */
  kind?: 'internal' | 'server' | 'client' | 'producer' | 'consumer';
  attributes?: SpanAttributes;
  /** Milliseconds since 1970. Default: now. */
  startedAt?: number;
}

/**
 * Names of OpenTelemetry's semantic conventions, or `mediagate.…`. Never a key, a prompt or a query. Undefined is
 * omitted.
 */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** A piece of work in a trace. An unsampled one is a span, too: it propagates its ids. */
export interface Span {
  /** 32 and 16 characters of lower-case hex. */
  readonly traceId: string;
  readonly spanId: string;
  /** Context for a process that continues the trace. */
  readonly traceparent: string;
  /** A child span. */
  start(span: NewSpan): Span;
  rename(name: string): void;
  set(attributes: SpanAttributes): void;
  /** Call it once, at the end. `failure`: a stable code. `endedAt`: milliseconds since 1970, default now. */
  end(end?: { failure?: string; endedAt?: number }): void;
}

/** The kinds of background jobs. */
type MeteredJobKind = 'batch' | 'extraction' | 'image' | 'transcript';

/** Receives events for metrics. Calls are synchronous: no method may wait or throw. Durations are in milliseconds. */
export interface Meter {
  /** A group of jobs was accepted in one transaction. */
  jobsAccepted(group: { kind: MeteredJobKind; jobs: number; ms: number }): void;
  /** A run of a job begins. `waitedMs`: time in the queue before its first run. */
  jobBegun(run: { kind: MeteredJobKind; attempt: number; waitedMs?: number }): void;
  /** A run has ended, and `outcome` was written; see {@link JobRunOutcome}. `code`: of the failure. */
  jobRunEnded(run: { kind: MeteredJobKind; outcome: JobRunOutcome; ms: number; code?: string }): void;
  /** This process found that a run of its own may have been taken over. */
  leaseLost(run: { kind: MeteredJobKind }): void;
  /** A run of a dead process was ended. */
  jobCutOff(run: { kind: MeteredJobKind; fails: boolean }): void;
  /** A request of a plugin has ended. `outcome`: `2xx` to `5xx`, or an error code. */
  upstreamAnswered(request: { entry: string; outcome: string; ms: number }): void;
  /** An extraction was returned: fetched now, from the cache, or stale since the source is unavailable. */
  extractionAnswered(item: { platform: string; cache: 'hit' | 'miss' | 'stale' }): void;
}

/**
 * `given_back`: to the queue, since the process shuts down or the lease is lost. `refused`: the job was taken over, or
 * had ended. `lost`: the result could not be written.
 */
export type JobRunOutcome = 'completed' | 'failed' | 'cancelled' | 'given_back' | 'refused' | 'lost';

/** One upstream of a provider, and whether it is available. */
export interface UpstreamState {
  /** Name in the log, e.g. `upstreams.0`: addresses are not disclosed. */
  name: string;
  /** True while it cools down after failures. */
  isCoolingDown: boolean;
  /** Since the start. */
  tries: number;
  /** Number of failed ones, except failures caused by the caller. */
  failures: number;
}

/** Where a model is served. */
export interface ModelUpstream {
  /** Name in the log and in {@link UpstreamState}. */
  name: string;
  /** Base address, without credentials. */
  url: string;
  /** Name of the model there. */
  model: string;
  /** Its share of the requests. Default: the first upstream that works gets all of them. */
  readonly weight?: number | undefined;
}
