import { GatewayError } from 'mediagate';
import type { SiteAddress } from './site-address.js';

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
