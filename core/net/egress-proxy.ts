/** The operator's forward proxy. */
export interface EgressProxy {
  /** Without user info. */
  origin: string;
  /** Value of `proxy-authorization`. */
  authorization?: string;
}

/**
 * Takes a proxy's URL apart.
 * @throws Error where it is no http or https URL; the text is not quoted, for it may hold a password.
 */
export function readProxyUrl(text: string): EgressProxy {
  const url = URL.parse(text);
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw new Error('The egress proxy must be an http or https URL.');
  }
  if (url.username === '' && url.password === '') return { origin: url.origin };
  const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return { origin: url.origin, authorization: `Basic ${Buffer.from(credentials).toString('base64')}` };
}
