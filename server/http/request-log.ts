import type { Logger } from 'mediagate';
import type { RequestContext } from './request-state.js';

/** One line for a request: names and figures only, never a header, a query or a body. */
export function logRequest(logger: Logger, context: RequestContext, route: string | undefined, ms: number): void {
  const { requestId, key, errorCode, span } = context.state;
  logger.info('request', {
    requestId,
    method: context.req.method,
    route: route ?? '(none)',
    status: context.res.statusCode,
    ms: Math.round(ms * 10) / 10,
    keyId: key?.id,
    code: errorCode,
    ...(span && { traceId: span.traceId, spanId: span.spanId }),
  });
}
