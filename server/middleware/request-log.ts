import type { Logger } from 'mediagate';
import type { RequestContext } from './request-state.js';

/** One line for a request: names and figures only, never a header, a query or a body. */
export function logRequest(logger: Logger, context: RequestContext, route: string | undefined, ms: number): void {
  const { requestId, key, errorCode } = context.state;
  logger.info('request', {
    requestId,
    method: context.method,
    route: route ?? '(none)',
    status: context.res.statusCode,
    ms: Math.round(ms * 10) / 10,
    ...(key && { keyId: key.id }),
    ...(errorCode && { code: errorCode }),
  });
}
