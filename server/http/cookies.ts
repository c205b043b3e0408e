import type { RequestContext } from './request-state.js';
import type { SiteAddress } from './site-address.js';

export interface NewCookie {
  name: string;
  value: string;
  /** 0 removes it. */
  maxAgeSeconds: number;
}

/** Sets a cookie that scripts cannot read and that other sites' forms do not send. */
export function setCookie(context: RequestContext, site: SiteAddress, { name, value, maxAgeSeconds }: NewCookie): void {
  const attributes = `Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax${site.secure ? '; Secure' : ''}`;
  context.append('Set-Cookie', `${name}=${value}; ${attributes}`);
}

export function removeCookie(context: RequestContext, site: SiteAddress, name: string): void {
  setCookie(context, site, { name, value: '', maxAgeSeconds: 0 });
}

export function readCookie(context: RequestContext, name: string): string | undefined {
  for (const pair of (context.req.headers.cookie ?? '').split(';')) {
    const separator = pair.indexOf('=');
    if (separator > 0 && pair.slice(0, separator).trim() === name) return pair.slice(separator + 1).trim();
  }
  return undefined;
}
