/*
 * All requests to Instagram: page, embed, queries, app API, the reason for a refusal, and share links. A query needs a
 * token and cookies that a page gives to every visitor; they are used for one call and stored nowhere. Redirects are
 * followed only to another address of the same post; a login page, challenge or consent form is a refusal. Messages in
 * JSON bodies decide what a status means, because the site uses 400 for throttling and missing posts. A body that is
 * not JSON is a refusal as well.
 */

import {
  asString,
  at,
  cookieHeader,
  fillUrl,
  findPhrase,
  followRedirects,
  GatewayError,
  type HttpClient,
  type HttpRequest,
  type HttpResponse,
  type LinkRef,
  loadSiteConfig,
  matchAddress,
  metaTags,
  navigationHeaders,
  outcomeError,
  readCookies,
  readStatus,
  resolveShortLink,
  type SiteConfigOverride,
  type TransientCode,
  tryParseJson,
} from 'mediagate/plugin';
import { isSite, matchPost, type PostIdentity, shortcodeInAddress } from './links.js';
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

/** The requests that the platform receives. Each throws a GatewayError if no usable reply came. */
export class Requests {
  readonly #http: HttpClient;
  readonly #siteConfig: SiteConfig;
  readonly #navigation: Record<string, string>;
  readonly #api: Record<string, string>;

  constructor(http: HttpClient, siteConfig: SiteConfig) {
    const { userAgent, acceptLanguage, appId, asbdId } = siteConfig;
    const browser = { 'user-agent': userAgent, 'accept-language': acceptLanguage };
    const script = { 'sec-fetch-dest': 'empty', 'sec-fetch-mode': 'cors', 'sec-fetch-site': 'same-origin' };
    this.#http = http;
    this.#siteConfig = siteConfig;
    this.#navigation = navigationHeaders(userAgent, acceptLanguage);
    this.#api = { ...browser, ...script, accept: '*/*', 'x-ig-app-id': appId, 'x-asbd-id': asbdId };
  }

  /** The page of a post, or that the platform has none, or redirects to its login page. */
  async permalink(identity: PostIdentity, signal: AbortSignal): Promise<Page | 'missing' | 'login'> {
    const siteConfig = this.#siteConfig;
    const end = await followRedirects<'login'>(this.#http, {
      url: address(siteConfig.urls.permalink, identity),
      headers: this.#navigation,
      maxRedirects: MAX_REDIRECTS,
      // A post has several addresses; every other redirect is a refusal.
      onRedirect(target) {
        if (shortcodeInAddress(target.href) === identity.shortcode) return target;
        if (redirectPage(target, siteConfig) === 'login') return { stop: 'login' };
        throw redirectError(target, siteConfig);
      },
      signal,
    });
    return 'stop' in end ? end.stop : (readPage(end.response, siteConfig) ?? 'missing');
  }

  /** The page that other sites embed a post with; undefined if there is no such page. */
  async embed(identity: PostIdentity, signal: AbortSignal): Promise<Page | undefined> {
    return this.#page(address(this.#siteConfig.urls.embed, identity), signal);
  }

  /** The home page, for the session of a query. */
  async home(signal: AbortSignal): Promise<Page> {
    const home = await this.#page(this.#siteConfig.urls.home, signal);
    if (home) return home;
    throw new GatewayError('upstream_refused', 'The home page of the platform is missing.');
  }

  /** One query of the code of the site's own pages. */
  async query(
    name: keyof SiteConfig['queries'],
    identity: PostIdentity,
    session: Session,
    signal: AbortSignal,
  ): Promise<unknown> {
    const { urls, queries, origin } = this.#siteConfig;
    const { docId, name: queryName } = queries[name];
    const { shortcode, mediaId } = identity;
    const variables =
      name === 'post'
        ? { media_id: mediaId }
        : { shortcode, __relay_internal__pv__PolarisAIGMMediaWebLabelEnabledrelayprovider: false };
    const response = await this.#send({
      url: name === 'post' ? urls.postQuery : urls.shortcodeQuery,
      method: 'POST',
      headers: {
        ...this.#api,
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
    return readBody(requireReply(response, this.#siteConfig).text());
  }

  /**
   * The address that a share link leads to.
   * @throws GatewayError as {@link resolveShortLink}, and `bot_check`.
   */
  resolveShareLink({ link, signal }: { link: LinkRef; signal: AbortSignal }): Promise<URL> {
    const siteConfig = this.#siteConfig;
    const http = this.#http;
    const headers = this.#navigation;
    return resolveShortLink({
      http,
      link,
      match: matchPost,
      isOwn: isSite,
      // Browsers get a page that redirects by script; plain clients get a redirect.
      headers: { 'user-agent': siteConfig.shareUserAgent, accept: '*/*' },
      login: { isPage: (url) => redirectPage(url, siteConfig) === 'login', parameter: 'next' },
      refusal: (url) =>
        ['challenge', 'consent'].includes(redirectPage(url, siteConfig)) ? redirectError(url, siteConfig) : undefined,
      readPage: async (url) =>
        addressInPage(requireReply(await http.request({ url, headers, signal }), siteConfig), siteConfig),
      signal,
    });
  }

  /** The post in the form of the app's API; undefined if there is no such post. */
  mediaInfo(identity: PostIdentity, signal: AbortSignal): Promise<unknown> {
    return this.#json(address(this.#siteConfig.urls.mediaInfo, identity), signal);
  }

  /** Whether the post may be shown to everybody, and why not; undefined if there is no such post. */
  ruling(identity: PostIdentity, signal: AbortSignal): Promise<unknown> {
    return this.#json(address(this.#siteConfig.urls.ruling, identity), signal);
  }

  async #page(url: string, signal: AbortSignal): Promise<Page | undefined> {
    return readPage(await this.#send({ url, headers: this.#navigation, signal }), this.#siteConfig);
  }

  async #json(url: string, signal: AbortSignal): Promise<unknown> {
    const { origin, phrases } = this.#siteConfig;
    const response = await this.#send({ url, headers: { ...this.#api, referer: `${origin}/` }, signal });
    // The API says in a refusal that there is no such post.
    const isMissing = response.status === 400 && findPhrase(messageIn(response), phrases.missingMedia);
    if (response.status === 404 || response.status === 410 || isMissing) return undefined;
    if (!isRuling(response)) requireReply(response, this.#siteConfig);
    return readBody(response.text());
  }

  /** Sends a request that must not be redirected. */
  async #send(request: HttpRequest): Promise<HttpResponse> {
    const response = await this.#http.request(request);
    const target = response.headers.location ? URL.parse(response.headers.location, response.url) : null;
    if (target && response.status >= 300 && response.status < 400) throw redirectError(target, this.#siteConfig);
    return response;
  }
}

function address(template: string, { shortcode, mediaId }: PostIdentity): string {
  return fillUrl(template, { shortcode, mediaId });
}

/** Undefined if the platform answers that there is no such page. */
function readPage(response: HttpResponse, siteConfig: SiteConfig): Page | undefined {
  if (response.status === 404 || response.status === 410) return undefined;
  return { html: requireReply(response, siteConfig).text(), headers: response.headers };
}

/** What a browser sends along with a query. Each post gets its own; no user is signed in. */
export interface Session {
  token: string;
  csrf?: string;
  /** Value of the `cookie` header. */
  cookie?: string;
}

const TOKENS = [/\["LSD",\[\],\{"token":"([\w-]+)"/, /<script id="__eqmc"[^<>]*>[^<]*?"l":"([\w-]+)"/];

/** Undefined if the page has no token, like a login page or a refusal. */
export function readSession({ html, headers }: Page, siteConfig: SiteConfig): Session | undefined {
  const token = TOKENS.map((pattern) => pattern.exec(html)?.[1]).find((value) => value !== undefined);
  if (token === undefined) return undefined;
  const cookies = readCookies({ headers }, siteConfig.cookies);
  const csrf = cookies.get('csrftoken') ?? /"csrf_token"\s*:\s*"([\w-]+)"/.exec(html)?.[1];
  return { token, csrf, cookie: cookieHeader(cookies) };
}

function addressInPage(response: HttpResponse, { phrases }: SiteConfig): URL {
  const tags = metaTags(response.text());
  for (const name of ['og:url', 'canonical', 'al:android:url']) {
    const url = URL.parse(tags.get(name) ?? '');
    if (url && (matchAddress(matchPost, url)?.kind ?? 'short_link') !== 'short_link') return url;
  }
  const title = tags.get('title');
  if (findPhrase(title, phrases.missing)) {
    throw new GatewayError('short_link_dead', 'The share link does not work.', { reason: title });
  }
  throw new GatewayError('upstream_refused', 'The platform gave no target for the share link.', {
    reason: 'a page without an address',
  });
}

const REDIRECT_PAGES = {
  login: 'the login page',
  challenge: 'a challenge',
  consent: 'a consent form',
  home: 'the home page',
  other: 'another page',
} as const;

/** The kind of page that a redirect without an answer leads to. */
function redirectPage({ pathname }: URL, { paths }: SiteConfig): keyof typeof REDIRECT_PAGES {
  const kinds = ['challenge', 'login', 'consent'] as const;
  const kind = kinds.find((name) => paths[name].some((path) => pathname.startsWith(path)));
  return kind ?? (pathname === '/' ? 'home' : 'other');
}

function redirectError(target: URL, siteConfig: SiteConfig): GatewayError {
  const page = redirectPage(target, siteConfig);
  const code = page === 'challenge' ? 'bot_check' : 'upstream_refused';
  return outcomeError({ kind: 'transient', code, reason: `redirected to ${REDIRECT_PAGES[page]}` });
}

/** @throws GatewayError for every status but success, by the message of a JSON reply if it has one. */
function requireReply(response: HttpResponse, siteConfig: SiteConfig): HttpResponse {
  const message = readStatus(response) && messageIn(response);
  const code = message !== undefined && response.status !== 429 ? codeOfMessage(message, siteConfig) : undefined;
  const failure = readStatus(response, code && { [response.status]: code });
  if (failure) throw outcomeError({ ...failure, reason: message ?? failure.reason });
  return response;
}

/** What a message of the platform means if it is a refusal that the status does not express. */
export function codeOfMessage(message: string, { phrases }: SiteConfig): TransientCode | undefined {
  if (findPhrase(message, phrases.throttled)) return 'upstream_rate_limited';
  return findPhrase(message, phrases.challenge) ? 'bot_check' : undefined;
}

/** Whether a refusal of the API has a title that says why a post may not be shown. */
function isRuling(response: HttpResponse): boolean {
  const body = response.status === 400 || response.status === 403 ? tryParseJson(response.text()) : undefined;
  return asString(at(body, 'title')) !== undefined && asString(at(body, 'message')) === undefined;
}

function messageIn(response: HttpResponse): string | undefined {
  const body = tryParseJson(response.text());
  return asString(at(body, 'message')) ?? asString(at(body, 'error_type')) ?? asString(at(body, 'title'));
}

/** Stands before the JSON of some replies, so that no script of another site can run it. */
const PREFIX = /^\s*for\s*\(;;\);/;

/** @throws GatewayError `upstream_refused` if the body is no JSON, which is what a refusal looks like. */
function readBody(text: string): unknown {
  const value = tryParseJson(text.replace(PREFIX, ''));
  if (value !== undefined) return value;
  throw new GatewayError('upstream_refused', 'The platform did not answer with JSON.', {
    reason: text.trim() === '' ? 'empty answer' : 'a page in place of data',
  });
}
