/*
 * Runs a request as a span that continues the trace of its `traceparent`. Health and metrics are not traced. Span names
 * are route templates, since a path may be private. OpenTelemetry is loaded only with a collector.
 */

import type { Span, Tracer } from '../../core/contracts/index.js';
import { runInScope } from '../../core/observability/index.js';
import type { Logger } from '../../core/runtime/index.js';
import type { RequestContext } from '../http/index.js';
import { isTracing, type TracingSettings } from '../settings/index.js';

export interface Tracing {
  readonly tracer: Tracer;
  /** Finished spans by result, since the start. */
  spans(): { sent: number; failed: number; dropped: number };
  /** Sends pending spans, with a short timeout. Idempotent. */
  close(): Promise<void>;
}

/** Undefined if no collector is configured: OpenTelemetry is not loaded then. */
export async function openTracing(settings: TracingSettings, logger: Logger): Promise<Tracing | undefined> {
  if (!isTracing(settings)) return undefined;
  const { openOtelTracing } = await import('./otel-tracing.js');
  return openOtelTracing(settings, logger);
}

/** Monitoring calls these every few seconds. */
const UNTRACED = /^\/(?:health|metrics)(?:\/|$)/;
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** A request as a span, which continues the trace of its `traceparent`. All its work belongs to that span. */
export function handleInSpan(
  tracer: Tracer,
  context: RequestContext,
  handle: () => Promise<unknown>,
): Promise<unknown> {
  const { requestId } = context.state;
  if (UNTRACED.test(context.path)) return handle();
  const parent = context.req.headers.traceparent;
  const span = tracer.start({
    name: methodOf(context),
    kind: 'server',
    attributes: {
      'http.request.method': methodOf(context),
      'url.scheme': 'http',
      'mediagate.request.id': requestId,
    },
    ...(typeof parent === 'string' && { parent }),
  });
  context.state.span = span;
  return runInScope({ requestId, span }, handle);
}

/** @param route Template: a path as sent may be private, e.g. a signed link. */
export function endRequestSpan(span: Span, context: RequestContext, route: string | undefined): void {
  const { res: response, state } = context;
  const { statusCode: status } = response;
  if (route !== undefined) span.rename(`${methodOf(context)} ${route}`);
  span.set({
    'http.route': route,
    // A template without parameters is the path.
    'url.path': route !== undefined && !/[:*{(]/.test(route) ? route : undefined,
    'http.response.status_code': status,
    'mediagate.key.id': state.key?.id,
    ...(status >= 400 && { 'error.type': state.errorCode ?? String(status) }),
  });
  // A caller's error is no failure of the server.
  span.end(status >= 500 ? { failure: state.errorCode ?? String(status) } : {});
}

function methodOf({ method }: RequestContext): string {
  return METHODS.has(method) ? method : '_OTHER';
}
