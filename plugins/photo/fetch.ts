import {
  GatewayError,
  type HttpClient,
  type HttpResponse,
  type LinkRef,
  loadSiteConfig,
  matchedLink,
  metaTags,
  type SiteConfigOverride,
  walkShortLink,
} from 'mediagate';
import { isSite, matchPost, shortcodeInAddress } from './links.js';
import { isMissingMedia, isRuling, redirectsToLogin, redirectTarget, rejectFailure } from './read/reading.js';
import { readBody } from './read/reply.js';
import type { PostIdentity } from './shortcode.js';
import shipped from './site-config.json' with { type: 'json' };

/** What the platform changes from time to time. */
export type SiteConfig = typeof shipped;

/** @throws TypeError if the values of a plugin instance do not fit the shipped ones. */
export function siteConfigOf(override?: SiteConfigOverride): SiteConfig {
  return loadSiteConfig(shipped, override);
}

/** A page, and the cookies that came with it. */
export interface Page {
  html: string;
  headers: HttpResponse['headers'];
}

const MAX_REDIRECTS = 2;

type QueryName = keyof SiteConfig['queries'];

/** The few requests that the site is ever sent. Each throws a GatewayError where no usable answer came. */
export interface Requests {
  /** The page of a post, or what the site has in its place: nothing, or the form to log in. */
  permalink(identity: PostIdentity, signal: AbortSignal): Promise<Page | 'missing' | 'login'>;
  /** The page that other sites show a post with; undefined where the site answers 404. */
  embed(identity: PostIdentity, signal: AbortSignal): Promise<string | undefined>;
  /** The home page, for what queries must bring along. */
  home(signal: AbortSignal): Promise<Page>;
  /** One query of the code of the site's own pages. */
  query(name: QueryName, identity: PostIdentity, session: Session, signal: AbortSignal): Promise<unknown>;
  /** The post in the form of the app's API; undefined where the site answers 404. */
  mediaInfo(identity: PostIdentity, signal: AbortSignal): Promise<unknown>;
  /** Whether the post may be shown to everybody, and why not. */
  ruling(identity: PostIdentity, signal: AbortSignal): Promise<unknown>;
}

export function createRequests({ http, siteConfig }: { http: HttpClient; siteConfig: SiteConfig }): Requests {
  const { urls, queries, origin } = siteConfig;
  const browser = { 'user-agent': siteConfig.userAgent, 'accept-language': siteConfig.acceptLanguage };
  const navigation = { ...browser, accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' };
  const api = { ...browser, accept: '*/*', 'x-ig-app-id': siteConfig.appId, 'x-asbd-id': siteConfig.asbdId };
  const address = (template: string, { shortcode, mediaId }: PostIdentity) =>
    template.replaceAll('{shortcode}', encodeURIComponent(shortcode)).replaceAll('{mediaId}', mediaId);

  async function page(url: string, signal: AbortSignal): Promise<HttpResponse | undefined> {
    const response = await http.request({ url, headers: navigation, signal });
    if (response.status === 404 || response.status === 410) return undefined;
    rejectFailure(response, siteConfig);
    return response;
  }

  async function json(url: string, signal: AbortSignal): Promise<unknown> {
    const response = await http.request({ url, headers: { ...api, referer: `${origin}/` }, signal });
    if (response.status === 404 || isMissingMedia(response, siteConfig)) return undefined;
    // A refusal that gives its reasons is the answer that was asked for.
    if (!isRuling(response)) rejectFailure(response, siteConfig);
    return readBody(response.text());
  }

  return {
    async permalink(identity, signal) {
      let response = await http.request({ url: address(urls.permalink, identity), headers: navigation, signal });
      for (let hops = 0; hops < MAX_REDIRECTS; hops += 1) {
        // A post has several addresses; whatever else a redirect leads to is a refusal.
        const moved = response.status >= 300 && response.status < 400 && response.headers.location;
        if (!moved || shortcodeInAddress(moved) !== identity.shortcode) break;
        response = await http.request({ url: new URL(moved, origin), headers: navigation, signal });
      }
      if (response.status === 404 || response.status === 410) return 'missing';
      if (redirectsToLogin(response, siteConfig)) return 'login';
      rejectFailure(response, siteConfig);
      return { html: response.text(), headers: response.headers };
    },

    async embed(identity, signal) {
      return (await page(address(urls.embed, identity), signal))?.text();
    },

    async home(signal) {
      const response = await page(urls.home, signal);
      if (!response) throw new GatewayError('upstream_refused', 'The platform has no home page.');
      return { html: response.text(), headers: response.headers };
    },

    async query(name, identity, session, signal) {
      const { docId, name: queryName } = queries[name];
      const variables =
        name === 'post'
          ? { media_id: identity.mediaId }
          : { shortcode: identity.shortcode, fetch_tagged_user_count: null, hoisted_comment_id: null };
      const response = await http.request({
        url: name === 'post' ? urls.postQuery : urls.shortcodeQuery,
        method: 'POST',
        headers: {
          ...api,
          'content-type': 'application/x-www-form-urlencoded',
          origin,
          referer: address(urls.permalink, identity),
          'x-fb-friendly-name': queryName,
          'x-fb-lsd': session.token,
          ...(session.csrf && { 'x-csrftoken': session.csrf }),
          ...(session.cookie && { cookie: session.cookie }),
        },
        body: new URLSearchParams({
          lsd: session.token,
          fb_api_caller_class: 'RelayModern',
          fb_api_req_friendly_name: queryName,
          variables: JSON.stringify(variables),
          server_timestamps: 'true',
          doc_id: docId,
        }).toString(),
        signal,
      });
      rejectFailure(response, siteConfig);
      return readBody(response.text());
    },

    mediaInfo: (identity, signal) => json(address(urls.mediaInfo, identity), signal),
    ruling: (identity, signal) => json(address(urls.ruling, identity), signal),
  };
}

/** What a visitor's browser would send along with a query; made anew for each post, and nobody is signed in. */
export interface Session {
  token: string;
  csrf?: string;
  /** Value of the `cookie` header. */
  cookie?: string;
}

const TOKENS = [/\["LSD",\[\],\{"token":"([\w-]+)"/, /<script id="__eqmc"[^<>]*>[^<]*?"l":"([\w-]+)"/];

/** Undefined where the page has no token, as a login page or a refusal. */
export function readSession({ html, headers }: Page, siteConfig: SiteConfig): Session | undefined {
  const token = TOKENS.map((pattern) => pattern.exec(html)?.[1]).find((found) => found !== undefined);
  if (token === undefined) return undefined;
  const cookies = new Map<string, string>();
  for (const field of headers['set-cookie']?.split('\n') ?? []) {
    const [, name = '', value = ''] = /^\s*([\w-]+)=([^;\s]*)/.exec(field) ?? [];
    if (siteConfig.cookies.includes(name) && value !== '') cookies.set(name, value);
  }
  const csrf = cookies.get('csrftoken') ?? /"csrf_token"\s*:\s*"([\w-]+)"/.exec(html)?.[1];
  return {
    token,
    csrf,
    cookie: cookies.size > 0 ? [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') : undefined,
  };
}

interface ShareWalk {
  http: HttpClient;
  siteConfig: SiteConfig;
  link: LinkRef;
  signal: AbortSignal;
}

/**
 * Where a share link leads.
 * @throws GatewayError `short_link_dead`, `login_required`, `redirected_to_unsupported`, or an upstream failure.
 */
export async function resolveShareLink({ http, siteConfig, link, signal }: ShareWalk): Promise<URL> {
  const end = await walkShortLink({
    http,
    url: link.url,
    mayAsk: isSite,
    isDestination: (url) => isSite(url) && !isShareLink(url),
    // Browsers get a page that redirects by script; plain clients get a redirect.
    headers: { 'user-agent': siteConfig.shareUserAgent, accept: '*/*' },
    signal,
  });
  if (isShareLink(end)) return addressInPage({ http, siteConfig, link, signal });
  switch (redirectTarget(end, siteConfig)) {
    case 'home':
      throw new GatewayError('short_link_dead', 'The share link leads to the home page.');
    case 'login':
      return behindLogin(end);
    case 'challenge':
      throw new GatewayError('bot_check', 'The platform asks for a check that only a person can pass.', {
        reason: 'redirected to a challenge',
      });
    case 'consent':
      throw new GatewayError('upstream_refused', 'The platform led the request elsewhere.', {
        reason: 'redirected to a consent form',
      });
    case 'elsewhere':
      return end;
  }
}

/** A login page names the page that it stands before. */
function behindLogin(login: URL): URL {
  const next = login.searchParams.get('next');
  const url = next?.startsWith('//') ? null : URL.parse(next ?? '', login);
  if (url && next && isItem(url)) return url;
  throw new GatewayError('login_required', 'The share link leads to the login page.', {
    reason: 'redirected to the login page',
  });
}

async function addressInPage({ http, siteConfig, link, signal }: ShareWalk): Promise<URL> {
  const headers = {
    'user-agent': siteConfig.userAgent,
    'accept-language': siteConfig.acceptLanguage,
    accept: 'text/html,*/*;q=0.8',
  };
  const response = await http.request({ url: link.url, headers, signal });
  rejectFailure(response, siteConfig);
  const tags = metaTags(response.text());
  for (const name of ['og:url', 'canonical', 'al:android:url']) {
    const url = URL.parse(tags.get(name) ?? '');
    if (url && isItem(url)) return url;
  }
  const title = tags.get('title')?.toLowerCase() ?? '';
  if (siteConfig.phrases.missing.some((words) => title.includes(words))) {
    throw new GatewayError('short_link_dead', 'The share link leads nowhere.', { reason: tags.get('title') });
  }
  throw new GatewayError('upstream_refused', 'The platform does not tell where the share link leads.', {
    reason: 'a page without an address',
  });
}

function isShareLink(url: URL): boolean {
  return kindOf(url) === 'short_link';
}

function isItem(url: URL): boolean {
  const kind = kindOf(url);
  return kind !== undefined && kind !== 'short_link';
}

function kindOf(url: URL): LinkRef['kind'] | undefined {
  return matchedLink(matchPost(url))?.kind;
}
