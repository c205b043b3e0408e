/** Structured log lines. Only the fields of {@link LogFields} are written: there is no way to log a body or a header. */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

export interface LogFields {
  /** Id of the plugin entry; set by the gateway. */
  entry?: string;
  error?: unknown;
  /** Of the request at work; of a job, the one that accepted it. Set by the gateway. */
  requestId?: string;
  /** Of the background job at work; set by the gateway. */
  jobId?: string;
  /** Of the span at work, where there are traces; set by the gateway. */
  traceId?: string;
  spanId?: string;
  /** Template, never the path as sent. */
  route?: string;
  method?: string;
  /** Public part of the API key. */
  keyId?: string;
  code?: string;
  extractionMethod?: string;
  platform?: string;
  model?: string;
  /** Canonical item id. */
  id?: string;
  status?: number;
  ms?: number;
  bytes?: number;
  attempt?: number;
  count?: number;
  member?: string;
}

/** Stands where an embedder wants no log. */
export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };
