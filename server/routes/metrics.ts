import type Router from '@koa/router';
import type { Metrics } from '../metrics.js';
import type { RequestContext, RequestState } from '../middleware/request-state.js';

/** Figures for Prometheus. No key needed; no key, account or link is named in them. */
export function addMetricsRoute(router: Router<RequestState>, metrics: Metrics): void {
  router.get('/metrics', async (context: RequestContext) => {
    context.body = await metrics.render();
    context.set('Content-Type', metrics.contentType);
  });
}
