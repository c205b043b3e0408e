import { createRequire } from 'node:module';
import type Router from '@koa/router';
import type { ParameterizedContext } from 'koa';
import type { Span } from 'mediagate';

// Its other form imports node:http, which may not be: see test/architecture.test.ts.
const { Router: KoaRouter } = createRequire(import.meta.url)('@koa/router') as { Router: typeof Router };

/** A router without routes, to which a path is as it is written. */
export function newRouter(): Router<RequestState> {
  return new KoaRouter<RequestState>({ sensitive: true, strict: true });
}

/** What middleware leaves for those after it, as `ctx.state`. Folders that leave more there add their fields to it. */
export interface RequestState {
  requestId: string;
  /** Monotonic milliseconds when it came. */
  startedAt: number;
  /** Set on link-data routes: their errors name the link and, once it is known, its platform. */
  link?: { inputUrl?: string; platform?: string };
  /** Set on routes of models: their failures are classed as model vendors do. */
  model?: true;
  /** Set on routes that another vendor's SDK speaks to: their errors have its shape. */
  anthropic?: true;
  /** The image that this request waited for in vain. */
  imageJob?: { id: string; failed: boolean };
  /** Set on routes that people visit: a browser is shown its errors as a page. */
  isPage?: true;
  /** Set on routes that clients of OAuth speak to: their errors have its shape. */
  oauth?: true;
  /** Set where somebody is not signed in: they are told where to. */
  loginUrl?: string;
  /** Where there are traces, what this request is in its. */
  span?: Span;
  /** Code of the error that was answered, one of ours or of OAuth, for the log line and the metrics. */
  errorCode?: string;
}

export type RequestContext = ParameterizedContext<RequestState>;
/** Of a route with parameters. */
export type ParamsContext = RequestContext & { params: Readonly<Record<string, string>> };
export type Next = () => Promise<unknown>;
