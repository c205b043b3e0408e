/*
 * A closed list of addresses that contain a link in a parameter: redirects to other sites, login pages, consent forms
 * and forms for sharing. Only exact hosts and paths of the list count, so an unknown site cannot present another
 * address as the item. The parameter is decoded once and nothing is requested. A link to any other host costs one map
 * lookup, and a link without a query costs nothing.
 */

import { pathSegments } from '../scraping/addresses.js';

export interface Wrapper {
  /** What the link is, as in "The link is a redirect". */
  kind: string;
  hosts: readonly string[];
  /** In lower case and without slashes at the ends; `login/` is each path below `login`. */
  paths: readonly string[];
  /** Parameters that have the address, the most likely first. */
  parameters: readonly string[];
}

const REDIRECT = 'a redirect to another address';
const LOGIN = 'a login page';
const CONSENT = 'a consent form';
const SHARE = 'a form for sharing';

const of = (domain: string, subdomains: string) => [
  domain,
  ...subdomains.split(' ').map((name) => `${name}.${domain}`),
];

const FACEBOOK = of('facebook.com', 'www m web mbasic touch mobile free lite');
const INSTAGRAM = of('instagram.com', 'www m');
const YOUTUBE = of('youtube.com', 'www m music');
const TIKTOK = of('tiktok.com', 'www m');
const GOOGLE_DOMAINS =
  'com de fr es it nl pl pt ro se ch at be ca cz dk fi no gr hu ie ru cl ae co.uk co.in co.jp co.kr co.id co.th co.za com.au com.br com.mx com.ar com.tr com.vn com.ua com.hk com.tw com.sg com.my com.ph com.pk com.bd com.eg com.sa com.ng com.co com.pe';
const GOOGLE = GOOGLE_DOMAINS.split(' ').flatMap((domain) => [`google.${domain}`, `www.google.${domain}`]);

export const WRAPPERS: readonly Wrapper[] = [
  {
    kind: REDIRECT,
    hosts: [...FACEBOOK, 'l.facebook.com', 'lm.facebook.com', 'l.messenger.com', 'l.workplace.com', 'l.wl.co'],
    paths: ['l.php', 'l', 'flx/warn', 'si/ajax/l/render_linkshim_log'],
    parameters: ['u'],
  },
  { kind: SHARE, hosts: FACEBOOK, paths: ['sharer', 'sharer.php', 'sharer/sharer.php'], parameters: ['u'] },
  { kind: SHARE, hosts: FACEBOOK, paths: ['dialog/share', 'dialog/feed'], parameters: ['href', 'link'] },
  {
    kind: LOGIN,
    hosts: FACEBOOK,
    paths: ['login', 'login.php', 'login/', 'checkpoint', 'checkpoint/', 'two_step_verification/', 'r.php', 'reg'],
    parameters: ['next', 'continue'],
  },
  {
    kind: CONSENT,
    hosts: FACEBOOK,
    paths: ['privacy/consent', 'cookie/consent-page', 'consent'],
    parameters: ['next'],
  },
  {
    kind: REDIRECT,
    hosts: ['l.instagram.com', 'l.threads.com', 'l.threads.net', 'l.facebook.com', 'lm.facebook.com'],
    paths: [''],
    parameters: ['u'],
  },
  { kind: REDIRECT, hosts: INSTAGRAM, paths: ['linkshim'], parameters: ['u'] },
  {
    kind: LOGIN,
    hosts: INSTAGRAM,
    paths: ['accounts/', 'challenge', 'challenge/'],
    parameters: ['next'],
  },
  { kind: CONSENT, hosts: INSTAGRAM, paths: ['consent', 'privacy/checks'], parameters: ['next'] },
  { kind: LOGIN, hosts: TIKTOK, paths: ['login', 'login/', 'signup', 'signup/'], parameters: ['redirect_url', 'next'] },
  { kind: REDIRECT, hosts: TIKTOK, paths: ['link/v2'], parameters: ['target'] },
  { kind: REDIRECT, hosts: YOUTUBE, paths: ['redirect'], parameters: ['q'] },
  { kind: REDIRECT, hosts: YOUTUBE, paths: ['attribution_link'], parameters: ['u'] },
  {
    kind: LOGIN,
    hosts: YOUTUBE,
    paths: ['signin', 'verify_age', 'verify_controversy', 'supported_browsers', 'das_captcha'],
    parameters: ['next', 'next_url'],
  },
  {
    kind: CONSENT,
    hosts: ['consent.youtube.com', 'consent.google.com'],
    paths: ['', 'm', 'ml', 'd', 'dl', 'intro', 'save'],
    parameters: ['continue'],
  },
  {
    kind: LOGIN,
    hosts: ['accounts.google.com', 'accounts.youtube.com'],
    paths: [
      'servicelogin',
      'servicelogin/',
      'accountchooser',
      'interactivelogin',
      'signin/',
      'v3/signin/',
      'accounts/',
    ],
    parameters: ['continue'],
  },
  { kind: REDIRECT, hosts: GOOGLE, paths: ['url'], parameters: ['q', 'url'] },
  { kind: REDIRECT, hosts: ['duckduckgo.com'], paths: ['l'], parameters: ['uddg'] },
  { kind: REDIRECT, hosts: ['out.reddit.com'], paths: [''], parameters: ['url'] },
  { kind: REDIRECT, hosts: ['slack-redir.net'], paths: ['link'], parameters: ['url'] },
  { kind: REDIRECT, hosts: ['vk.com', 'm.vk.com'], paths: ['away.php', 'away'], parameters: ['to'] },
  { kind: REDIRECT, hosts: ['steamcommunity.com'], paths: ['linkfilter'], parameters: ['url', 'u'] },
  { kind: REDIRECT, hosts: of('linkedin.com', 'www'), paths: ['redir/redirect', 'safety/go'], parameters: ['url'] },
];

const BY_HOST = new Map<string, Wrapper[]>();
for (const wrapper of WRAPPERS) {
  for (const host of wrapper.hosts) BY_HOST.set(host, [...(BY_HOST.get(host) ?? []), wrapper]);
}

export interface Wrapped {
  kind: string;
  /** The address as it stands in the link, decoded once. One that begins with `/` is of the same host. */
  target: string;
}

/** What a link stands around; undefined for any other link. */
export function wrappedIn(url: URL): Wrapped | undefined {
  const wrappers = url.search === '' ? undefined : BY_HOST.get(url.hostname);
  if (!wrappers) return undefined;
  const path = pathSegments(url).join('/').toLowerCase();
  for (const { kind, paths, parameters } of wrappers) {
    if (!paths.some((known) => path === known || (known.endsWith('/') && path.startsWith(known)))) continue;
    const values = parameters.map((name) => url.searchParams.get(name)?.trim() ?? '');
    const target = values.find((value) => value !== '');
    if (target) return { kind, target: /^\/(?!\/)/.test(target) ? `https://${url.hostname}${target}` : target };
  }
  return undefined;
}
