const SITE_DOMAINS = ['facebook.com', 'fb.com'] as const;
/** Subdomains that serve the site itself; interface languages (`de-de`, `zh-hk`, `fr`) do as well. */
const SITE_NAMES: ReadonlySet<string> = new Set([
  'www',
  'web',
  'm',
  'mbasic',
  'touch',
  'mobile',
  'free',
  'lite',
  'd',
  'p',
  'x',
  'beta',
  'business',
]);
const LANGUAGE_NAME = /^(?!lm$)(?:[a-z]{2}|[a-z]{2,3}-[a-z]{2})$/;
/** Hosts that only lead on to the address in their query. */
export const LEADING_NAMES: ReadonlySet<string> = new Set(['l', 'lm']);
export const SHORT_HOSTS: ReadonlySet<string> = new Set([
  'fb.watch',
  'www.fb.watch',
  'fb.me',
  'www.fb.me',
  'fb.gg',
  'www.fb.gg',
]);

/** Whether the site itself, or one of its short link hosts, is asked. */
export function isOwnHost(url: URL): boolean {
  return isPlainWebLink(url) && (SHORT_HOSTS.has(url.hostname) || isSiteName(siteName(url.hostname)));
}

/** Over the web, with nothing in it that no public link has. */
export function isPlainWebLink(url: URL): boolean {
  return /^https?:$/.test(url.protocol) && url.port === '' && url.username === '' && url.password === '';
}

/** The subdomain; empty for the bare domain, undefined for other sites. */
export function siteName(hostname: string): string | undefined {
  for (const domain of SITE_DOMAINS) {
    if (hostname === domain) return '';
    if (hostname.endsWith(`.${domain}`)) return hostname.slice(0, -domain.length - 1);
  }
  return undefined;
}

export function isSiteName(name: string | undefined): boolean {
  return name !== undefined && (name === '' || SITE_NAMES.has(name) || LANGUAGE_NAME.test(name));
}
