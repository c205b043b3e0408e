import type { SoundFile } from './audio-provider.js';

export type { Clock, LogFields, Logger } from '../runtime/index.js';

/**
 * What a plugin may use besides its own code. Each member is the plugin's own face of a shared service: it carries the
 * plugin's deadline, byte cap, trusted origins, key prefix and log field, so a plugin cannot forget them.
 */

/** HTTP to the outside. Every address passes the address guard, every redirect hop too. */
export interface HttpClient {
  /**
   * One request with its whole body, content codings undone.
   * @throws GatewayError `upstream_timeout` (deadline), `upstream_error` (DNS, connection, TLS, body over the cap, bad
   * coding, too many redirects), `upstream_refused` (address not allowed), or the caller's abort reason.
   */
  request(request: HttpRequest): Promise<HttpResponse>;
  /** As {@link request}, but the body is handed over as it arrives; the cap and the deadline hold while it is read. */
  stream(request: HttpRequest): Promise<HttpStream>;
}

export interface HttpRequest {
  /** Absolute http or https URL without user info. */
  url: string | URL;
  /** Default `GET`. */
  method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE' | 'PATCH';
  /** Names in lower case. `host`, `content-length`, `connection` and `transfer-encoding` are ours. */
  headers?: Readonly<Record<string, string>>;
  /** A string is sent as UTF-8. The content type is the caller's to set. */
  body?: string | Uint8Array | BodySource;
  signal?: AbortSignal;
  /**
   * Milliseconds for everything, redirects and body included; from 5,000 on, the end may come 250 ms late. Default and
   * maximum: the plugin's deadline.
   */
  timeoutMs?: number;
  /**
   * Milliseconds that a streamed body may be silent. Where it is given, `timeoutMs` ends with the status, and the body may
   * take as long as it flows. Default: `timeoutMs` goes for the body as well.
   */
  idleMs?: number;
  /** Cap on the decoded body in bytes. Default: 8 MiB. */
  maxBytes?: number;
  /** Redirects to follow, 0 to 5; each hop is guarded anew and drops `authorization` and `cookie` across origins. Default 0. */
  maxRedirects?: number;
}

/** A body that is not in memory as a whole. */
export interface BodySource {
  /** Bytes. */
  size: number;
  /** From its beginning, exactly `size` bytes. Asked anew each time the request is sent. */
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
   * The body as JSON; bare integers of 16 digits and more come as strings, since ids exceed 2^53.
   * @throws GatewayError `upstream_refused` where it is not JSON.
   */
  json(): unknown;
}

export interface HttpStream {
  status: number;
  headers: Readonly<Record<string, string>>;
  url: string;
  body: AsyncIterable<Uint8Array>;
}

/** A real browser, one context per call. Declared by `needs: ['browser']`, or by `wants` where it can be done without. */
export interface Browser {
  /** False where `BROWSER=off` or no browser was found; methods that need it are then skipped. */
  readonly available: boolean;
  /**
   * Opens a fresh context with one page, runs `visit` in it and closes everything, whatever happens. What the page loads
   * passes the address guard, as {@link HttpClient} does.
   * @throws GatewayError `upstream_timeout` at the deadline, `upstream_error` where the page or the browser breaks down or
   *   takes too much memory,
   *   `queue_full` where too many wait, `plugin_unavailable` where there is no browser or it does not start, what `visit`
   *   throws, or the caller's abort reason.
   */
  run<Result>(call: BrowserCall<Result>): Promise<Result>;
}

export interface BrowserCall<Result> {
  /** Gets the page and does what it must. Past the signal, every method of the page fails. */
  visit(page: BrowserPage, signal: AbortSignal): Promise<Result>;
  signal?: AbortSignal;
  /** Milliseconds, waiting for a turn and start of the browser included. Default and maximum: the plugin's deadline. */
  timeoutMs?: number;
  /** BCP 47, default `en-US`. */
  locale?: string;
}

/** A page. Methods throw GatewayError `upstream_timeout` and `upstream_error`. */
export interface BrowserPage {
  /**
   * Opens an http or https URL; a refusal by its status is no error unless its body is empty.
   * @throws GatewayError `upstream_refused` where the address is not allowed, `upstream_error` where there is nothing to show.
   */
  goto(
    url: string,
    options?: { timeout?: number; waitUntil?: 'commit' | 'domcontentloaded' | 'load' },
  ): Promise<unknown>;
  content(): Promise<string>;
  url(): string;
  /** Runs a function in the page, which sees its argument and the page, nothing else. Result and argument are JSON. */
  evaluate<Result, Argument>(
    script: string | ((argument: Argument) => Result | Promise<Result>),
    argument?: Argument,
  ): Promise<Result>;
  waitForSelector(selector: string, options?: { timeout?: number; state?: 'attached' | 'visible' }): Promise<unknown>;
}

/**
 * ffmpeg, in a process a call, which reads one file and can reach nothing else. Declared by `needs: ['ffmpeg']`, or by
 * `wants` where it can be done without.
 */
export interface SoundFilters {
  /** False where no ffmpeg was found. */
  readonly available: boolean;
  /**
   * Samples of a sound, or of filters that make one by themselves, while they are made: 16 bits, little-endian, one
   * channel. To be read once; whoever stops reading ends ffmpeg.
   * @throws GatewayError `audio_unavailable` where there is no sound or it cannot be read, `queue_full`,
   *   `plugin_unavailable` where there is no ffmpeg; the signal's reason. All while it is read.
   */
  samples(call: SamplesCall): AsyncIterable<Uint8Array>;
}

export interface SamplesCall {
  /** Default: none, and the filters begin with sources of their own. */
  sound?: SoundFile;
  /** A graph in ffmpeg's language with one output; `anull` leaves the sound as it is. Never anything that a caller wrote. */
  filters: string;
  /** Samples a second. */
  rate: number;
  /** Sound beyond so many seconds is left out. */
  maxSeconds: number;
  signal: AbortSignal;
}

/** Key-value cache of JSON values; losing it costs time, never data. Keys are prefixed with the entry's id. */
export interface Cache {
  get<Value>(key: string): Promise<Value | undefined>;
  set<Value>(key: string, value: Value, ttlMs: number): Promise<void>;
  delete(key: string): Promise<void>;
}

/**
 * Files by name, on disk or in an object store. Names match `/^[A-Za-z0-9_-]{1,128}\.[a-z0-9]{1,8}$/`. A file that is not
 * whole any more is told by GatewayError `internal_error` when it is looked at, until it is written again.
 */
export interface Storage {
  /** Writes all or nothing: a reader never sees half a file, and a resolved call survives a crash. Tells where it is then. */
  write(file: StoredFile): Promise<FileSource>;
  /** Undefined where there is no such file, or its time is over. What is being read when its time ends is read to its end. */
  read(name: string, range?: ByteRange): Promise<StoredBody | undefined>;
  stat(name: string): Promise<FileStat | undefined>;
  /** No error where the file is not there. */
  delete(name: string): Promise<void>;
}

export interface StoredFile {
  name: string;
  /** Media type, as it will be served. */
  contentType: string;
  /** From then on the file is not there any more, and the storage removes it by itself. Default: it is kept. */
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
 * Where a file is: in an S3-compatible store (R2 is one, and told apart), or on a disk of the gateway, for good or until the
 * store takes it.
 */
export type FileSource = 'objstore_s3' | 'objstore_r2' | 'local_cache';

export interface StoredBody extends FileStat {
  body: AsyncIterable<Uint8Array>;
}

/** Where traces begin. */
export interface Tracer {
  /**
   * A span that begins a trace, or goes on with the one of `parent`: a `traceparent` of W3C Trace Context. One that cannot
   * be read counts as none.
   */
  start(span: NewSpan & { parent?: string }): Span;
}

export interface NewSpan {
  name: string;
  /** What it is to others: it answers them, asks them, leaves them work or does what was left. Default `internal`. */
  kind?: 'internal' | 'server' | 'client' | 'producer' | 'consumer';
  attributes?: SpanAttributes;
  /** Milliseconds since 1970. Default: now. */
  startedAt?: number;
}

/** Names of OpenTelemetry's semantic conventions, or `mediagate.…`. Never a key, a prompt or a query. Undefined is left out. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** A piece of work in a trace. One that nobody wants to see is a span, too: it carries its ids on. */
export interface Span {
  /** 32 and 16 characters of lower-case hex. */
  readonly traceId: string;
  readonly spanId: string;
  /** For whoever goes on with the trace elsewhere. */
  readonly traceparent: string;
  /** A piece of this piece. */
  start(span: NewSpan): Span;
  rename(name: string): void;
  set(attributes: SpanAttributes): void;
  /** Once, at last. `failure`: a stable code. `endedAt`: milliseconds since 1970, default now. */
  end(end?: { failure?: string; endedAt?: number }): void;
}

/**
 * Told of what happens, for figures. Whoever tells goes on at once: no method waits, and none throws. Durations are in
 * milliseconds.
 */
export interface Meter {
  /** A group of jobs was accepted in one transaction. */
  jobsAccepted(group: { kind: 'extraction' | 'image'; jobs: number; ms: number }): void;
  /** A run of a job begins. `waitedMs`: how long it was queued before its first run. */
  jobBegun(run: { kind: 'extraction' | 'image'; attempt: number; waitedMs?: number }): void;
  /** It is over, and that was written down as `outcome`; see {@link JobRunOutcome}. `code`: of the failure. */
  jobRunEnded(run: { kind: 'extraction' | 'image'; outcome: JobRunOutcome; ms: number; code?: string }): void;
  /** This process found out that a run of its own may be somebody else's by now. */
  leaseLost(run: { kind: 'extraction' | 'image' }): void;
  /** A run whose process is gone was ended. */
  jobCutOff(run: { kind: 'extraction' | 'image'; fails: boolean }): void;
  /** A request of a plugin has its answer, or none. `outcome`: `2xx` to `5xx`, or an error code. */
  upstreamAnswered(request: { entry: string; outcome: string; ms: number }): void;
  /** An item was given out: asked for now, from the cache, or too old since the source is out. */
  extractionAnswered(item: { platform: string; cache: 'hit' | 'miss' | 'stale' }): void;
}

/**
 * `given_back`: to the queue, since the process ends or the lease is lost. `refused`: the job was somebody else's by then, or
 * had ended. `lost`: nobody could write down what became of it.
 */
export type JobRunOutcome = 'completed' | 'failed' | 'cancelled' | 'given_back' | 'refused' | 'lost';

/** One of the upstreams that a provider asks, and whether it can be asked now. */
export interface UpstreamState {
  /** As in the log, e.g. `upstreams.0`: addresses are nobody's business. */
  name: string;
  /** True while it is left alone after failing. */
  resting: boolean;
  /** Since the start. */
  tries: number;
  /** Of them, those that failed, other than by the caller's fault. */
  failures: number;
}
