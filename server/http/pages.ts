import type { ServerResponse } from 'node:http';
import { parseCookie, stringifySetCookie } from 'cookie';
import { GatewayError } from 'mediagate';
import type { SiteAddress } from './addresses.js';
import type { Next, RequestContext } from './koa-app.js';

/** People who visit these routes with a browser are shown a failure as a page. */
export function markPage(context: RequestContext, next: Next): Promise<unknown> {
  context.state.isPage = true;
  return next();
}

/** Paths of programs: whoever asks for these is told in JSON what went wrong. */
const PROGRAMS = /^\/(v1|api|health|metrics|assets)(\/|$)/;

/** As {@link markPage}, for every address that nothing else is at. */
export function markVisits(context: RequestContext, next: Next): Promise<unknown> {
  return PROGRAMS.test(context.path) ? next() : markPage(context, next);
}

/** Sends a browser on, by GET, to a path of the site or to an address. */
export function seeOther(context: RequestContext, location: string): void {
  context.status = 303;
  context.set('Location', location);
  context.body = '';
}

export interface NewCookie {
  name: string;
  value: string;
  /** 0 removes it. */
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
  // Our values need no escapes: an escaped one is not what we have set.
  return parseCookie(context.req.headers.cookie ?? '', { decode: (value) => value })[name];
}

const MAX_LENGTH = 1_024;

/**
 * Where to go on to after a sign-in: a path of the site itself. Default `/`.
 * @throws GatewayError `invalid_value` for whatever a browser could take for another host, and for sign-in itself.
 */
export function readReturnPath(value: string | string[] | undefined, { origin }: SiteAddress): string {
  if (value === undefined || value === '') return '/';
  if (typeof value === 'string' && isOwnPath(value, origin)) return value;
  throw new GatewayError('invalid_value', 'return_to must be a path of this site that begins with one slash.', {
    param: 'return_to',
  });
}

function isOwnPath(text: string, origin: string): boolean {
  // Browsers read a backslash as a slash, and leave out tabs and line feeds wherever they stand.
  if (text.length > MAX_LENGTH || !/^\/(?!\/)[\x21-\x5b\x5d-\x7e]*$/.test(text)) return false;
  const url = URL.parse(text, origin);
  // What comes out may have lost dots: `/.//host` is a path, and as a path by itself it would not be one.
  return url?.origin === origin && !url.pathname.startsWith('//') && !/^\/signin(\/|$)/.test(url.pathname);
}

/** Nothing of anybody else's but pictures and sound of links, and no script or style that is not a file of ours. */
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

/** Of every page. Forms tell their origin to the site alone, so that it can be checked. */
export function setPageHeaders(response: ServerResponse): void {
  response.setHeader('Content-Security-Policy', PAGE_POLICY);
  response.setHeader('Referrer-Policy', 'same-origin');
  response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('Content-Type', 'text/html; charset=utf-8');
}
