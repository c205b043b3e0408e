import { once } from 'node:events';
import { openSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { LogFields, Logger } from '../contracts/services.js';
import { withDeadline } from '../deadline.js';
import { silentLogger } from './absent.js';
import { describeError } from './log-error.js';
import { createRedaction } from './log-redaction.js';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

export interface LoggerOptions {
  /** The least that is written. */
  level: LogLevel;
  /** Struck out wherever they stand, also percent-encoded. Default: none but what looks like a secret. */
  secrets?: readonly string[];
  /** File descriptor or file. Default 2, standard error. */
  destination?: number | string;
}

export interface RootLogger extends Logger {
  /** A logger whose every line carries these fields too; a line's own fields go before them. */
  child(fields: LogFields): Logger;
  /** Writes what is still to be written. Idempotent; lines logged later are dropped. */
  close(): Promise<void>;
}

type Level = keyof Logger;

/** The only fields that are written, in the order of a line; what else a caller passes is dropped. */
const FIELDS = {
  requestId: 'string',
  entry: 'string',
  platform: 'string',
  rung: 'string',
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
} as const satisfies Record<keyof Omit<LogFields, 'error'>, 'string' | 'number'>;

const FIELD_LIST = Object.entries(FIELDS) as [keyof typeof FIELDS, 'string' | 'number'][];

const MAX_TEXT = 300;
const BATCH_BYTES = 4096;
const BATCH_MS = 500;
const CLOSE_MS = 2000;

/**
 * Lines of JSON, written in batches so that no request waits for a disk. A destination that fails loses lines, never the
 * process.
 * @throws Error where a file given as destination cannot be opened.
 */
export function createLogger({ level, secrets = [], destination = 2 }: LoggerOptions): RootLogger {
  if (level === 'silent') return { ...silentLogger, child: () => silentLogger, close: async () => {} };
  const pino: typeof import('pino').default = createRequire(import.meta.url)('pino');
  const descriptor = typeof destination === 'string' ? openSync(destination, 'a') : destination;
  const sink = pino.destination({ dest: descriptor, sync: false, minLength: BATCH_BYTES, periodicFlush: BATCH_MS });
  let readerGone = false;
  // A full disk must not end the gateway: the sink keeps the lines and tries again with the next batch.
  sink.on('error', (error: NodeJS.ErrnoException) => {
    readerGone ||= error.code === 'EPIPE';
  });
  const log = pino(
    {
      level,
      base: null,
      messageKey: 'message',
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    sink,
  );
  const redact = createRedaction(secrets);
  let closing: Promise<void> | undefined;

  function select(fields: LogFields): Record<string, unknown> {
    const line: Record<string, unknown> = {};
    for (const [name, type] of FIELD_LIST) {
      const value = fields[name];
      if (typeof value !== type) continue;
      line[name] = typeof value === 'string' ? redact(value).slice(0, MAX_TEXT) : value;
    }
    if (fields.error !== undefined) line.error = describeError(fields.error, redact);
    return line;
  }

  function loggerWith(bound: LogFields): Logger {
    const write = (at: Level) => (message: string, fields?: LogFields) => {
      if (!closing && log.isLevelEnabled(at)) log[at](select({ ...bound, ...fields }), redact(message));
    };
    return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
  }

  async function end(): Promise<void> {
    // pino has then taken the sink apart, and nothing would ever be heard of it again.
    if (readerGone) return;
    try {
      await withDeadline({ timeoutMs: CLOSE_MS, message: 'The log could not be written in time.' }, () => {
        const closed = once(sink, 'close');
        sink.end();
        return closed;
      });
    } catch {
      // What cannot be written now never will be, and a gateway that closes has nobody left to tell. Left as it is, the
      // sink would try again when the process exits, and on a full disk without end.
      sink.destroy();
    }
  }

  return {
    ...loggerWith({}),
    child: loggerWith,
    close() {
      closing ??= end();
      return closing;
    },
  };
}
