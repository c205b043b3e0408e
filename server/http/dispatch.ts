import type Router from '@koa/router';
import type { Next, RequestContext, RequestState } from './koa-app.js';

/** Set by whoever finds the route: its template, for log lines and figures. */
export type RoutedContext = RequestContext & { _matchedRoute?: string | RegExp };

type Step = (context: RequestContext, next: Next) => unknown;

interface FixedRoute {
  path: string;
  steps: readonly Step[];
}

/**
 * Runs the route of a request. The router tries the patterns of all routes, one after the other, which takes longer than most
 * of them; a path without parameters is found at once, by the method and the address as they were sent. All others, those
 * that no route takes among them, are the router's.
 */
export function dispatch(router: Router<RequestState>) {
  const fixed = fixedRoutes(router);
  const routed = router.routes() as Step;

  const find = (context: RoutedContext, next: Next): unknown => {
    const { method, url } = context.req;
    const route = fixed.get(`${method} ${url}`);
    if (!route) return routed(context, next);
    context._matchedRoute = route.path;
    return run(route.steps, 0, context, next);
  };
  // As the router's own middleware has it: whoever has the app can ask which routes there are.
  return Object.assign(find, { router });
}

/** Without a promise of its own for each step, as asynchronous functions would have. */
function run(steps: readonly Step[], index: number, context: RequestContext, next: Next): Promise<unknown> {
  const step = steps[index];
  if (!step) return next();
  const begun = step(context, () => run(steps, index + 1, context, next));
  return begun instanceof Promise ? begun : Promise.resolve(begun);
}

/** By method and path: those which no other route of the router has a part in. */
function fixedRoutes({ stack: routes }: Router<RequestState>): Map<string, FixedRoute> {
  const fixed = new Map<string, FixedRoute>();
  for (const { path, methods, paramNames, stack } of routes) {
    if (typeof path !== 'string' || paramNames.length > 0) continue;
    const sharing = routes.filter((route) => route.match(path));
    // What stands behind a fixed path asks for no parameters, which are all that the router's own context has besides ours.
    const steps = stack as unknown as readonly Step[];
    for (const method of methods) {
      const alone =
        sharing.filter((route) => route.methods.length === 0 || route.methods.includes(method)).length === 1;
      if (alone) fixed.set(`${method} ${path}`, { path, steps });
    }
  }
  return fixed;
}
