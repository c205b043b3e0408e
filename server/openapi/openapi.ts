import type Router from '@koa/router';
import type { RequestContext, RequestState } from '../http/index.js';
import { describeRoutes } from './document.js';

/** The API reference for programs: of all routes that the router has, those added later too. */
export function addOpenApiRoute(router: Router<RequestState>, { baseUrl }: { baseUrl(): string }): void {
  let known: { for: string; text: string } | undefined;

  router.get('/openapi.json', (context: RequestContext) => {
    const url = baseUrl();
    if (known?.for !== url) {
      known = { for: url, text: JSON.stringify(describeRoutes({ routes: routesOf(router), baseUrl: url })) };
    }
    context.res.setHeader('Content-Type', 'application/json; charset=utf-8');
    context.res.setHeader('Access-Control-Allow-Origin', '*');
    context.body = known.text;
  });
}

/** Where GET is, HEAD is as well, and goes without saying. */
function routesOf(router: Router<RequestState>): string[] {
  return router.stack.flatMap(({ methods, path }) =>
    methods.filter((method) => method !== 'HEAD').map((method) => `${method} ${path}`),
  );
}
