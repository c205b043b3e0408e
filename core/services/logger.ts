import { createRequire } from 'node:module';
import type { LogFields, Logger } from '../contracts/services.js';
import { describeError } from './log-error.js';
import { createRedaction } from './log-redaction.js';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

export interface LoggerOptions {
  level: LogLevel;
  /** Struck out wherever they stand. */
  secrets?: readonly string[];
  /** File descriptor or file. Default 2, standard error. */
  destination?: number | string;
}

export interface RootLogger extends Logger {
  /** Writes what is still to be written. Idempotent. */
  close(): Promise<void>;
}

/** The only fields that are written; what else a caller passes is dropped. */
const FIELDS = [
  'requestId',
  'entry',
  'platform',
  'rung',
  'route',
  'method',
  'keyId',
  'model',
  'id',
  'code',
  'status',
  'ms',
  'bytes',
  'attempt',
  'count',
  'member',
] as const satisfies readonly (keyof LogFields)[];

/** Lines of JSON, written in batches so that a request does not wait for a disk. */
export function createLogger({ level, secrets = [], destination = 2 }: LoggerOptions): RootLogger {
  const pino: typeof import('pino').default = createRequire(import.meta.url)('pino');
  const sink = pino.destination({ dest: destination, sync: false, minLength: 4096, periodicFlush: 500 });
  const log = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, sink);
  const redact = createRedaction(secrets);

  const select = (fields: LogFields | undefined): Record<string, unknown> => {
    const line: Record<string, unknown> = {};
    if (!fields) return line;
    for (const name of FIELDS) {
      const value = fields[name];
      if (value !== undefined) line[name] = typeof value === 'string' ? redact(value) : value;
    }
    if (fields.error !== undefined) line.error = describeError(fields.error, redact);
    return line;
  };

  let closed = false;
  return {
    debug: (message, fields) => void (log.isLevelEnabled('debug') && log.debug(select(fields), redact(message))),
    info: (message, fields) => log.info(select(fields), message),
    warn: (message, fields) => log.warn(select(fields), redact(message)),
    error: (message, fields) => log.error(select(fields), redact(message)),
    async close() {
      if (closed) return;
      closed = true;
      sink.flushSync();
    },
  };
}
