/*
 * Cookies, redirects and headers of pages for browsers. Scripts cannot read the cookies, and the policy of a page runs
 * only scripts and styles that are files of the gateway. A path to return to after the sign-in must be a path of this
 * site.
 */

import type { ServerResponse } from 'node:http';
import { parseCookie, stringifySetCookie } from 'cookie';
import { GatewayError } from '../../core/runtime/index.js';
import type { SiteAddress } from './addresses.js';
import type { Next, RequestContext } from './koa-app.js';

/** Browsers receive errors of these routes as a page. */
export function markPage(context: RequestContext, next: Next): Promise<unknown> {
  context.state.isPage = true;
  return next();
}

/** Paths for programs: their errors are always JSON. */
const PROGRAMS = /^\/(v1|api|health|metrics|assets)(\/|$)/;

/** As {@link markPage}, for every address without a route. @param sessions Says who asks, for the header of the page. */
export function markVisits(sessions: { find(context: RequestContext): Promise<unknown> }) {
  return (context: RequestContext, next: Next): Promise<unknown> => {
    if (PROGRAMS.test(context.path)) return next();
    sessions.find(context).catch(() => {});
    return markPage(context, next);
  };
}

/** Redirects a browser, by GET, to a path of the site or to an address. */
export function seeOther(context: RequestContext, location: string): void {
  context.status = 303;
  context.set('Location', location);
  context.body = '';
}

export interface NewCookie {
  name: string;
  value: string;
  /** 0 deletes it. */
  maxAgeSeconds: number;
}

/** Sets a cookie that scripts cannot read and that other sites' forms do not send. */
export function setCookie(context: RequestContext, site: SiteAddress, { name, value, maxAgeSeconds }: NewCookie): void {
  const { secure } = site;
  const attributes = { path: '/', maxAge: maxAgeSeconds, httpOnly: true, sameSite: 'lax', secure } as const;
  context.append('Set-Cookie', stringifySetCookie({ name, value, ...attributes }));
}

export function removeCookie(context: RequestContext, site: SiteAddress, name: string): void {
  setCookie(context, site, { name, value: '', maxAgeSeconds: 0 });
}

export function readCookie(context: RequestContext, name: string): string | undefined {
  // Our values need no escapes: an escaped value is not ours.
  return parseCookie(context.req.headers.cookie ?? '', { decode: (value) => value })[name];
}

const MAX_LENGTH = 1_024;

/**
 * The path of the site to continue at after a sign-in. Default `/`.
 * @throws GatewayError `invalid_value` for a path that a browser could read as another host, and for the sign-in
 *   itself.
 */
export function readReturnPath(value: string | string[] | undefined, { origin }: SiteAddress): string {
  if (value === undefined || value === '') return '/';
  if (typeof value === 'string' && isOwnPath(value, origin)) return value;
  throw new GatewayError('invalid_value', 'return_to must be a path of this site that begins with one slash.', {
    param: 'return_to',
  });
}

function isOwnPath(text: string, origin: string): boolean {
  // Browsers read a backslash as a slash, and drop tabs and line feeds anywhere.
  if (text.length > MAX_LENGTH || !/^\/(?!\/)[\x21-\x5b\x5d-\x7e]*$/.test(text)) return false;
  const url = URL.parse(text, origin);
  // Normalization may remove dots: `/.//host` is a path, but its normalized form would be another host.
  return url?.origin === origin && !url.pathname.startsWith('//') && !/^\/signin(\/|$)/.test(url.pathname);
}

/** Allows pictures and audio of links, but only scripts and styles that are files of ours. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self' data: https:",
  "media-src 'self' blob: https:",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

/** Headers of every page. Forms send their origin only to the site itself, which checks it. */
export function setPageHeaders(response: ServerResponse): void {
  response.setHeader('Content-Security-Policy', PAGE_POLICY);
  response.setHeader('Referrer-Policy', 'same-origin');
  response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('Content-Type', 'text/html; charset=utf-8');
}
