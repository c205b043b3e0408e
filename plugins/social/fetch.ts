/*
 * Fetches pages of the site and follows share links. Redirects stay within the site and stop before a login form or a
 * check, whose address alone says enough. Statuses 404 and 410 are returned to the reader of the page, which decides
 * what they mean.
 */

import {
  acceptLanguage,
  fillUrl,
  followRedirects,
  GatewayError,
  type HttpClient,
  type LinkRef,
  loadSiteConfig,
  matchAddress,
  navigationHeaders,
  outcomeError,
  requireSuccess,
  resolveShortLink,
  type SiteConfigOverride,
} from 'mediagate/plugin';
import { isOwnHost, itemAt, matchItem } from './links.js';
import { leadsIn, type PageReply, takeApart } from './read/parts.js';
import { readPageState, type SiteConfig, stateOfAddress, stateOfRest } from './read/state.js';
import shipped from './site-config.json' with { type: 'json' };

/**
 * The shipped site configuration with a plugin instance's own values.
 * @throws TypeError if they do not fit.
 */
export function siteConfigOf(override?: SiteConfigOverride): SiteConfig {
  return loadSiteConfig(shipped, override);
}

/** The requests that the site receives. Each throws a GatewayError if the site does not reply. */
export function createFetch(http: HttpClient, siteConfig: SiteConfig, language: string) {
  const { urls, markers } = siteConfig;
  const headers = navigationHeaders(siteConfig.userAgent, acceptLanguage(language));

  /** A page of the item. Redirects are followed within the site, but not to a login form or a check. */
  async function page(address: string, signal: AbortSignal): Promise<PageReply> {
    const end = await followRedirects<PageReply>(http, {
      url: address,
      headers,
      signal,
      onRedirect(target, { status }) {
        // The address of a form or a check says enough.
        if (!isOwnHost(target) || stateOfAddress(target, siteConfig))
          return { stop: { status, url: target, html: '' } };
        target.protocol = 'https:';
        return target;
      },
    });
    if ('stop' in end) return end.stop;
    const { response, url } = end;
    const { status } = response;
    // 404 and 410 say something of the item; the reader of the page decides what.
    if (status !== 404 && status !== 410) {
      const isRefused = status >= 400 && status < 500 && status !== 429;
      const isCheck = isRefused && markers.challenge.some((mark) => response.text().includes(mark));
      requireSuccess(response, isCheck ? { [status]: 'bot_check' } : {});
    }
    return { status, url, html: response.text() };
  }

  return {
    page,
    /** The watch page of a reel, or the reel page of a video. */
    siblingPage: ({ kind, id }: LinkRef, signal: AbortSignal) =>
      page(fillUrl(kind === 'reel' ? urls.video : urls.reel, { id }), signal),
    /** The page that other sites embed. */
    embedPage: ({ kind, url }: LinkRef, signal: AbortSignal) =>
      page(fillUrl(kind === 'post' ? urls.pluginPost : urls.pluginVideo, { href: url }), signal),
    /**
     * Where a share link leads.
     * @throws GatewayError `short_link_dead`, `redirected_to_unsupported`, `login_required`, `unavailable`, or an
     *   upstream failure.
     */
    shortLink: (link: LinkRef, signal: AbortSignal) =>
      resolveShortLink({
        http,
        link,
        match: matchItem,
        isOwn: isOwnHost,
        headers,
        signal,
        refusal(url) {
          const state = stateOfAddress(url, siteConfig);
          return state && outcomeError(state);
        },
        readPage: async (url) => itemOfShortLinkPage(await page(url.href, signal), siteConfig),
      }),
  };
}

/** Since 2026 the reply to some share links is a page, whose tags have the address of the item. */
function itemOfShortLinkPage(reply: PageReply, siteConfig: SiteConfig): URL {
  const parts = takeApart(reply.html);
  const stated = parts.tags.addresses.toReversed();
  const { story } = parts.route;
  const ofStory = story && `${siteConfig.origin}/${story.author}/posts/${story.posts.at(-1)}`;
  const addresses = [...stated, ...leadsIn(reply.html), ofStory];
  const item = matchAddress(matchItem, reply.url);
  const named = item?.kind === 'short_link' ? addresses.map(itemAt).find(Boolean) : item;
  if (named) return new URL(named.url);
  const state = readPageState(reply, parts, siteConfig);
  if (state) throw outcomeError(state);
  const other = stated.map((one) => URL.parse(one)).find(Boolean);
  if (other && isOwnHost(other)) return other;
  const rest = stateOfRest(parts, siteConfig);
  if (rest) throw outcomeError(rest);
  throw new GatewayError('upstream_changed', 'The page of the share link could not be understood.', {
    reason: 'it names no item',
  });
}
