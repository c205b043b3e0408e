import { createRequire } from 'node:module';
import type Router from '@koa/router';
import type { RequestState } from './request-state.js';

// Its other form imports node:http, which may not be: see test/architecture.test.ts.
const { Router: KoaRouter } = createRequire(import.meta.url)('@koa/router') as { Router: typeof Router };

/** A router without routes, to which a path is as it is written. */
export function newRouter(): Router<RequestState> {
  return new KoaRouter<RequestState>({ sensitive: true, strict: true });
}
