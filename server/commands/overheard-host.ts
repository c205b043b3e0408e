import type { LogFields, Logger } from 'mediagate';

/** A logger that hands on what it is told, and keeps the latest host that could not be resolved. */
export interface OverhearingLogger extends Logger {
  /** Undefined where none was told of. */
  unresolvedHost(): string | undefined;
}

/**
 * Errors name no upstream, since they go to callers. Whoever runs a command has set the upstreams, and wants to know which
 * name is wrong: the log has it.
 */
export function overhearHost(logger: Logger): OverhearingLogger {
  let host: string | undefined;
  const listen = (level: keyof Logger) => (message: string, fields?: LogFields) => {
    host = hostIn(fields?.error) ?? host;
    logger[level](message, fields);
  };
  return {
    debug: listen('debug'),
    info: listen('info'),
    warn: listen('warn'),
    error: listen('error'),
    unresolvedHost: () => host,
  };
}

/** Of a failed look-up, by what Node says of it. */
function hostIn(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('hostname' in error) || typeof error.hostname !== 'string') return undefined;
  return error.hostname;
}
