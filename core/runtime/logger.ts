/*
 * The interface of the log. Only the fields that are declared here are written, so a body or a header cannot be logged
 * by mistake.
 */

export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

export interface LogFields {
  /** Id of the plugin instance; set by the gateway. */
  entry?: string;
  error?: unknown;
  /** Id of the current request; for a job, of the request that accepted it. Set by the gateway. */
  requestId?: string;
  /** The upstream's own id of a request to it. */
  upstreamRequestId?: string;
  /** Id of the current background job; set by the gateway. */
  jobId?: string;
  /** Ids of the current span, if tracing is on; set by the gateway. */
  traceId?: string;
  spanId?: string;
  /** Route template, never the path as sent. */
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

/** Drops every line, for embedders without a log. */
export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };
