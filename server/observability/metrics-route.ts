import type Router from '@koa/router';
import type { RequestContext, RequestState } from '../http/index.js';
import type { Metrics } from './metrics.js';

/** Figures for Prometheus. No key needed; no key, account or link is named in them. */
export function addMetricsRoute(router: Router<RequestState>, metrics: Metrics): void {
  router.get('/metrics', async (context: RequestContext) => {
    context.body = await metrics.render();
    context.set('Content-Type', metrics.contentType);
  });
}
