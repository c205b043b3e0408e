import { GatewayError, type HttpClient, type HttpResponse } from 'mediagate';
import type { Facts } from './facts.js';
import { shortcodeInAddress } from './links.js';
import { readBody } from './read/reply.js';
import { givesReasons, leadsToLogin, refuseFailure, saysMissing } from './read/states.js';
import type { Session } from './session.js';
import type { PostIdentity } from './shortcode.js';

/** A page, and the cookies that came with it. */
export interface Page {
  html: string;
  headers: HttpResponse['headers'];
}

const MAX_MOVES = 2;

type QueryName = keyof Facts['queries'];

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

export function createRequests({ http, facts }: { http: HttpClient; facts: Facts }): Requests {
  const { urls, queries, origin } = facts;
  const browser = { 'user-agent': facts.userAgent, 'accept-language': facts.acceptLanguage };
  const navigation = { ...browser, accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' };
  const api = { ...browser, accept: '*/*', 'x-ig-app-id': facts.appId, 'x-asbd-id': facts.asbdId };
  const address = (template: string, { shortcode, mediaId }: PostIdentity) =>
    template.replaceAll('{shortcode}', encodeURIComponent(shortcode)).replaceAll('{mediaId}', mediaId);

  async function page(url: string, signal: AbortSignal): Promise<HttpResponse | undefined> {
    const response = await http.request({ url, headers: navigation, signal });
    if (response.status === 404 || response.status === 410) return undefined;
    refuseFailure(response, facts);
    return response;
  }

  async function json(url: string, signal: AbortSignal): Promise<unknown> {
    const response = await http.request({ url, headers: { ...api, referer: `${origin}/` }, signal });
    if (response.status === 404 || saysMissing(response, facts)) return undefined;
    // A refusal that gives its reasons is the answer that was asked for.
    if (!givesReasons(response)) refuseFailure(response, facts);
    return readBody(response.text());
  }

  return {
    async permalink(identity, signal) {
      let response = await http.request({ url: address(urls.permalink, identity), headers: navigation, signal });
      for (let hops = 0; hops < MAX_MOVES; hops += 1) {
        // A post has several addresses; whatever else a redirect leads to is a refusal.
        const moved = response.status >= 300 && response.status < 400 && response.headers.location;
        if (!moved || shortcodeInAddress(moved) !== identity.shortcode) break;
        response = await http.request({ url: new URL(moved, origin), headers: navigation, signal });
      }
      if (response.status === 404 || response.status === 410) return 'missing';
      if (leadsToLogin(response, facts)) return 'login';
      refuseFailure(response, facts);
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
      refuseFailure(response, facts);
      return readBody(response.text());
    },

    mediaInfo: (identity, signal) => json(address(urls.mediaInfo, identity), signal),
    ruling: (identity, signal) => json(address(urls.ruling, identity), signal),
  };
}
