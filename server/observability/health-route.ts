import type Router from '@koa/router';
import type { RequestContext, RequestState } from '../http/index.js';
import type { Health } from './health.js';

/** How the process is doing. No key needed; nothing secret in them. */
export function addHealthRoutes(router: Router<RequestState>, health: Health): void {
  router.get('/health', async (context: RequestContext) => {
    context.body = await health.report();
  });

  router.get('/health/live', (context: RequestContext) => {
    context.body = { ok: true, status: 'live' };
  });

  router.get('/health/ready', async (context: RequestContext) => {
    const readiness = await health.readiness();
    context.status = readiness.ok ? 200 : 503;
    if (!readiness.ok) context.set('Retry-After', '1');
    context.body = readiness;
  });
}
