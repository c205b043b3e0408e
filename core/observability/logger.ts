/*
 * Writes log lines in batches, so no request waits for a disk: every 500 ms or 48 KiB, in one write. Only listed
 * fields are written, in a fixed order; lines are composed by hand, because a general serializer takes several times
 * as long. Known secrets and texts that look like secrets are redacted everywhere, and control characters are escaped.
 * Of an error only name, message, code, a short stack and its causes are written. A destination that fails loses lines
 * but never ends the process.
 */

import { once } from 'node:events';
import { openSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { LogFields, Logger } from '../contracts/index.js';
import { endsWithin, silentLogger } from '../runtime/index.js';
import { currentScope, type WorkScope } from './spans.js';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

export type LogFormat = 'json' | 'text';

export interface LoggerOptions {
  /** The minimum level that is written. */
  level: LogLevel;
  /** Redacted everywhere, also percent-encoded. Default: only what looks like a secret. */
  secrets?: readonly string[];
  /** `json`: one object in each line, for programs; `text`: one readable line. Default `json`. */
  format?: LogFormat;
  /** File descriptor or file. Default 2, standard error. */
  destination?: number | string;
}

export interface RootLogger extends Logger {
  /** A logger that adds these fields to every line; fields of a line have precedence. */
  child(fields: LogFields): Logger;
  /** Writes pending lines. Idempotent; lines logged later are dropped. */
  close(): Promise<void>;
}

type Level = keyof Logger;

/** The only fields that are written, in this order; other fields are dropped. */
const FIELDS = {
  requestId: 'string',
  upstreamRequestId: 'string',
  jobId: 'string',
  entry: 'string',
  platform: 'string',
  extractionMethod: 'string',
  route: 'string',
  method: 'string',
  keyId: 'string',
  model: 'string',
  id: 'string',
  code: 'string',
  status: 'number',
  ms: 'number',
  bytes: 'number',
  attempt: 'number',
  count: 'number',
  member: 'string',
  traceId: 'string',
  spanId: 'string',
} as const satisfies Record<keyof Omit<LogFields, 'error'>, 'string' | 'number'>;

const FIELD_LIST = Object.entries(FIELDS) as [keyof typeof FIELDS, 'string' | 'number'][];

const RANKS: Readonly<Record<Level, number>> = { debug: 0, info: 1, warn: 2, error: 3 };

const MAX_TEXT = 300;
/** Maximum characters of a batch; each batch wakes a thread, which takes longer than writing it. */
const BATCH_LENGTH = 48 * 1024;
/** Maximum bytes of one write: a batch, also if its characters take several bytes. */
const MAX_WRITTEN = 64 * 1024;
const BATCH_MS = 500;
const CLOSE_MS = 2000;

/**
 * JSON lines, written in batches so that no request waits for a disk. A failing destination loses lines, but never ends
 * the process.
 * @throws Error if a file given as destination cannot be opened.
 */
export function createLogger({ level, secrets = [], format = 'json', destination = 2 }: LoggerOptions): RootLogger {
  if (level === 'silent') return { ...silentLogger, child: () => silentLogger, close: async () => {} };
  const lines = new LineWriter(destination);
  const min = RANKS[level];
  const redact = createRedaction(secrets);
  const compose = format === 'text' ? composeText : composeJson;

  function loggerWith(bound: LogFields | undefined): Logger {
    const write = (at: Level) => {
      if (RANKS[at] < min) return () => {};
      return (message: string, fields?: LogFields) => {
        if (lines.isClosing) return;
        const scope = currentScope();
        const known = scope || bound ? { ...(scope && fieldsOf(scope)), ...bound, ...fields } : fields;
        lines.add(compose(at, message, known ?? {}, redact));
      };
    };
    return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
  }

  return { ...loggerWith(undefined), child: loggerWith, close: () => lines.close() };
}

type Redact = (text: string) => string;

/** Hand-written: a general serializer takes several times as long, which is noticeable per request. */
function composeJson(at: Level, message: string, fields: LogFields, redact: Redact): string {
  let line = `{"level":"${at}","time":"${isoTime()}"`;
  for (const [name, type] of FIELD_LIST) {
    const value = fields[name];
    if (typeof value !== type) continue;
    line += `,"${name}":${typeof value === 'string' ? quote(redact(value).slice(0, MAX_TEXT)) : JSON.stringify(value)}`;
  }
  if (fields.error !== undefined) line += `,"error":${JSON.stringify(describeError(fields.error, redact))}`;
  return `${line},"message":${quote(redact(message))}}\n`;
}

/** For a person at a terminal: local time, level, message, and the fields without their quotes. */
function composeText(at: Level, message: string, fields: LogFields, redact: Redact): string {
  const values = FIELD_LIST.flatMap(([name, type]) => {
    const value = fields[name];
    return typeof value === type ? [`${name}=${redact(String(value)).slice(0, MAX_TEXT)}`] : [];
  });
  const error = fields.error === undefined ? undefined : describeError(fields.error, redact);
  const words = [redact(message), ...values, ...(error ? [`${error.name}: ${error.message}`] : [])];
  return `${new Date().toTimeString().slice(0, 8)} ${at.padEnd(5)} ${words.join(' ')}\n`;
}

type Sink = ReturnType<typeof import('pino').default.destination>;

/**
 * Collects lines and writes them in batches: the sink would measure all pending lines again for each line. It is opened for
 * the first line, since a command that has nothing to log would load it for 40 ms.
 */
class LineWriter {
  readonly #destination: number;
  #sink: Sink | undefined;
  #readerGone = false;
  #waiting = '';
  #timer: NodeJS.Timeout | undefined;
  #closing: Promise<void> | undefined;

  constructor(destination: number | string) {
    this.#destination = typeof destination === 'string' ? openSync(destination, 'a') : destination;
    if (typeof destination === 'string') this.#sink = this.#open();
  }

  #open(): Sink {
    const pino: typeof import('pino').default = createRequire(import.meta.url)('pino');
    const sink = pino.destination({ dest: this.#destination, sync: false, maxWrite: MAX_WRITTEN });
    // A full disk must not end the gateway: the sink keeps the lines and tries again with the next batch.
    sink.on('error', (error: NodeJS.ErrnoException) => {
      this.#readerGone ||= error.code === 'EPIPE';
    });
    return sink;
  }

  get isClosing(): boolean {
    return this.#closing !== undefined;
  }

  add(line: string): void {
    this.#waiting += line;
    if (this.#waiting.length >= BATCH_LENGTH) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), BATCH_MS).unref();
  }

  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const lines = this.#waiting;
    this.#waiting = '';
    if (lines === '') return;
    this.#sink ??= this.#open();
    this.#sink.write(lines);
  }

  async #end(): Promise<void> {
    this.#flush();
    // pino has then closed the sink, and would never report anything again.
    const sink = this.#sink;
    if (!sink || this.#readerGone) return;
    const closeSink = () => {
      const closed = once(sink, 'close');
      sink.end();
      return closed;
    };
    const isWritten = await endsWithin(CLOSE_MS, closeSink).catch(() => false);
    // Pending lines are dropped at closing. Otherwise the sink would retry at exit, and on a full disk without end.
    if (!isWritten) sink.destroy();
  }
}

function fieldsOf({ requestId, jobId, entry, span }: WorkScope): LogFields {
  return {
    ...(requestId !== undefined && { requestId }),
    ...(jobId !== undefined && { jobId }),
    ...(entry !== undefined && { entry }),
    ...(span && { traceId: span.traceId, spanId: span.spanId }),
  };
}

/** Redacted text has no control characters; most texts then need no escapes. */
function quote(text: string): string {
  return /["\\\ud800-\udfff]/.test(text) ? JSON.stringify(text) : `"${text}"`;
}

let second = Number.NaN;
let secondText = '';

/** The current time, ISO 8601 with milliseconds; formatting it for each line would be its most expensive part. */
function isoTime(): string {
  const now = Date.now();
  const current = Math.floor(now / 1000);
  if (current !== second) {
    second = current;
    secondText = new Date(current * 1000).toISOString().slice(0, 20);
  }
  return `${secondText}${String(now % 1000).padStart(3, '0')}Z`;
}

const MAX_CAUSES = 5;
const STACK_FRAMES = 6;
const MAX_MESSAGE = 500;

/** An error as it is logged. */
export interface DescribedError {
  name: string;
  message: string;
  code?: string;
  /** Innermost frame first. */
  stack?: string[];
  /** Chain of causes, nearest first. */
  causes?: DescribedError[];
}

/**
 * Name, message, code and the top of the stack; for the causes the same without their stacks. Never another property,
 * since body parsers store bodies there and HTTP clients headers.
 */
export function describeError(error: unknown, redact: Redact): DescribedError {
  const described = describe(error, redact);
  if (!(error instanceof Error)) return described;
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  if (frames.length > 0) described.stack = frames.slice(0, STACK_FRAMES).map((frame) => redact(frame.trim()));
  const causes: DescribedError[] = [];
  for (let { cause } = error; cause !== undefined && causes.length < MAX_CAUSES; ) {
    causes.push(describe(cause, redact));
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  if (causes.length > 0) described.causes = causes;
  return described;
}

function describe(error: unknown, redact: Redact): DescribedError {
  if (!(error instanceof Error)) {
    return { name: typeof error, message: typeof error === 'string' ? shorten(redact(error)) : 'no error was thrown' };
  }
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  return {
    name: redact(error.name),
    message: shorten(redact(error.message)),
    ...(code !== undefined && { code: redact(code) }),
  };
}

function shorten(message: string): string {
  return message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE - 1)}…` : message;
}

const STRUCK_OUT = '[redacted]';
/** Redacting shorter ones would make lines unreadable and hide nothing. */
const SHORTEST_SECRET = 4;
/** Longer texts are cut before they are searched, so that a hostile one costs no time. */
const MAX_SEARCHED = 4096;

/**
 * Recognizable secrets: our keys and those of vendors, credentials of HTTP and of URLs, and everything after a path.
 */
const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/\b(?:sk-|AIza)[A-Za-z0-9_-]{8,}/g, STRUCK_OUT],
  [/\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{4,}/gi, `$1 ${STRUCK_OUT}`],
  [/\/\/[^\s/@?#]+@/g, `//${STRUCK_OUT}@`],
  [/(\/\/[^\s"'<>?#]*[?#])[^\s"'<>]*/g, `$1${STRUCK_OUT}`],
  [/([?#])[^\s"'<>?#=]*=[^\s"'<>]*/g, `$1${STRUCK_OUT}`],
];

/** Characters that control a terminal or reverse the reading order. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is being replaced
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Creates a function that redacts known and recognizable secrets in a text and escapes control characters. */
export function createRedaction(secrets: readonly string[]): (text: string) => string {
  const known = secrets
    .filter((secret) => secret.length >= SHORTEST_SECRET)
    .flatMap((secret) => [secret, encodeURIComponent(secret)])
    // Longer ones first: one secret may be part of another.
    .sort((left, right) => right.length - left.length);
  // Nearly all texts are our own and clean, and this single search shows it.
  const suspicious = new RegExp(
    ['sk-', 'AIza', 'bearer', 'basic', '[@?#]', CONTROLS.source, ...known.map(escapePattern)].join('|'),
    'i',
  );

  return (text) => {
    if (text.length <= MAX_SEARCHED && !suspicious.test(text)) return text;
    let clean = text.length > MAX_SEARCHED ? cut(text) : text;
    for (const secret of known) clean = clean.replaceAll(secret, STRUCK_OUT);
    for (const [pattern, replacement] of PATTERNS) clean = clean.replace(pattern, replacement);
    return clean.replace(CONTROLS, escapeControl);
  };
}

/** Without the truncated word: half a secret would not be recognized. */
function cut(text: string): string {
  const head = text.slice(0, MAX_SEARCHED);
  const lastSpace = head.search(/\s\S*$/);
  return lastSpace < 0 ? '…' : `${head.slice(0, lastSpace)} …`;
}

function escapeControl(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
