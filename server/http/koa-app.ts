/*
 * The types of Koa that handlers use, and what middleware passes on in `ctx.state`. Other folders add fields by
 * declaration merging. The router takes paths literally.
 */

import { createRequire } from 'node:module';
import type Router from '@koa/router';
import type { ParameterizedContext } from 'koa';
import type { Span } from '../../core/contracts/index.js';

// Its other form imports node:http, which is not allowed: see test/architecture.test.ts.
const { Router: KoaRouter } = createRequire(import.meta.url)('@koa/router') as { Router: typeof Router };

/** A router without routes that takes paths literally. */
export function newRouter(): Router<RequestState> {
  return new KoaRouter<RequestState>({ sensitive: true, strict: true });
}

/** What middleware passes on in `ctx.state`. Other folders add their fields by declaration merging. */
export interface RequestState {
  requestId: string;
  /** Monotonic milliseconds of the request's arrival. */
  startedAt: number;
  /** Set on link-data routes: their errors name the link and, once it is known, its platform. */
  link?: { inputUrl?: string; platform?: string };
  /** Set on model routes: their failures are classified as by model vendors. */
  model?: true;
  /** Set on routes for another vendor's SDK: their errors have its format. */
  anthropic?: true;
  /** The image job that this request waited for without success. */
  imageJob?: { id: string; failed: boolean };
  /** Set on routes for people: a browser receives errors as a page. */
  isPage?: true;
  /** Set on routes for OAuth clients: their errors have its format. */
  oauth?: true;
  /** Set if the user is not signed in: the address of the sign-in. */
  loginUrl?: string;
  /** Makes `WWW-Authenticate` of a refused key, from the reason. Default `Bearer`. */
  challenge?(reason: string): string | undefined;
  /** The span of this request, if tracing is on. */
  span?: Span;
  /**
   * Which headers about the model vendor's limits the client gets: all of them, or only those with a name that the
   * gateway's own limit does not use. Default: none, since they are of the operator's account.
   */
  vendorLimits?: 'all' | 'named';
  /** The upstream's own id of the request, for the log line. */
  upstreamRequestId?: string;
  /** Set once the request is counted in the usage log: if it fails, it was not refused. */
  isCounted?: true;
  /** Code of the error that was sent, ours or of OAuth, for the log line and the metrics. */
  errorCode?: string;
}

export type RequestContext = ParameterizedContext<RequestState>;
/** Set on a route with parameters. */
export type ParamsContext = RequestContext & { params: Readonly<Record<string, string>> };
export type Next = () => Promise<unknown>;
