/*
 * The first middleware of an app: request id and security headers before everything else; log line, metrics, span and
 * refusals in the usage log after it. During a shutdown every answer announces the end of its connection.
 */

import type { Tracer } from '../core/contracts/index.js';
import type { Clock, Logger } from '../core/runtime/index.js';
import {
  addField,
  logRequest,
  type Next,
  type RequestContext,
  type RoutedContext,
  requestIdOf,
  setSecurityHeaders,
} from './http/index.js';
import { endRequestSpan, type Health, handleInSpan, type Metrics } from './observability/index.js';
import type { Brand } from './site/index.js';
import { logRefusal, type UsageLog } from './usage/index.js';

/** What every app needs, also that of a worker or of metrics. */
export interface ReceiveDependencies {
  clock: Clock;
  health: Health;
  logger: Logger;
  /** Counts requests. Default: no metrics. */
  metrics?: Metrics;
  /** Default: no tracing. */
  tracer?: Tracer;
  /** Public address of this gateway. Default: not known, and not https. */
  baseUrl?(): string;
  /** Address of the site, where it differs from that of the gateway. */
  siteUrl?: string;
  /** What pages show of the operator. */
  brand?: Brand;
  /** Lists refused requests. Default: they are not listed. */
  usageLog?: UsageLog;
}

/** Creates the middleware. */
export function receive(dependencies: ReceiveDependencies) {
  const { clock, logger, metrics, tracer, baseUrl, brand, usageLog } = dependencies;
  const { drain } = dependencies.health;
  /** Known when requests arrive: the listening address does not change. */
  let isHttps: boolean | undefined;
  let { siteUrl } = dependencies;
  return async (context: RoutedContext, next: Next): Promise<void> => {
    const { state, res: response } = context;
    const startedAt = clock.monotonic();
    state.startedAt = startedAt;
    if (brand) state.brand = brand;
    siteUrl ??= baseUrl?.();
    if (siteUrl !== undefined) state.siteUrl = siteUrl;
    state.requestId = requestIdOf(context.req);
    const open = metrics?.requests.came(response);
    addField(response, 'x-request-id', state.requestId);
    isHttps ??= baseUrl?.().startsWith('https:') === true;
    setSecurityHeaders(response, isHttps);
    // Set at once, for answers that begin before their handler has ended.
    if (drain.aborted) response.setHeader('Connection', 'close');
    await (tracer ? handleInSpan(tracer, context, next) : next());
    if (drain.aborted) endConnection(context);
    const route = context._matchedRoute?.toString();
    const ms = clock.monotonic() - startedAt;
    logRequest(logger, context, route, ms);
    const { errorCode: code } = state;
    if (usageLog && code !== undefined && route !== undefined) {
      logRefusal(usageLog, context, { route, latencyMs: ms, at: clock.now() });
    }
    const hasRateLimit = code !== undefined && response.hasHeader('ratelimit-policy');
    if (metrics && open) {
      const done = { route, method: context.req.method ?? '', status: response.statusCode, ms, code, hasRateLimit };
      metrics.requests.done(open, done);
    }
    if (state.span) endRequestSpan(state.span, context, route);
  };
}

/**
 * Announces that the answer is the last of its connection, or closes the connection after an answer that announced
 * otherwise.
 */
function endConnection({ req: { socket }, res: response }: RequestContext): void {
  if (!response.headersSent) response.setHeader('Connection', 'close');
  else if (!response.writableFinished) response.once('finish', () => socket.destroySoon());
}
