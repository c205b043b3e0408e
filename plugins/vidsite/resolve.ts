/*
 * Finds the video behind a clip, and what a channel broadcasts now: the page of either states the video's address, in
 * its canonical link or in its data. It requests one page and follows redirects within the site.
 */

import {
  acceptLanguage,
  at,
  findJsonAfter,
  followRedirects,
  GatewayError,
  type HttpClient,
  type HttpResponse,
  matchAddress,
  metaTags,
  navigationHeaders,
  type ResolveCall,
  requireSuccess,
} from 'mediagate/plugin';
import type { SiteConfig } from './fetch.js';
import { canonicalUrl, matchVideo } from './links.js';

/**
 * @throws GatewayError `short_link_dead` (404, 410), `redirected_to_unsupported` (a channel that broadcasts nothing, a
 *   redirect away from the site), `bot_check`, `upstream_refused`, or what a status stands for.
 */
export async function resolveVideoLink(
  { http, siteConfig, language }: { http: HttpClient; siteConfig: SiteConfig; language: string },
  { link, signal }: ResolveCall,
): Promise<URL> {
  const { markers } = siteConfig;
  const isAt = (marks: readonly string[], text: string) => marks.some((mark) => text.includes(mark));
  const end = await followRedirects<URL>(http, {
    url: link.url,
    headers: { ...navigationHeaders(siteConfig.userAgent, acceptLanguage(language)), cookie: siteConfig.cookie },
    signal,
    onRedirect(target) {
      if (isAt(markers.captcha, target.href)) throw refused('bot_check', 'redirected to a captcha');
      if (isAt(markers.consent, target.hostname)) throw refused('upstream_refused', 'redirected to a consent form');
      const match = matchVideo(target);
      if (match === undefined) throw refused('redirected_to_unsupported', target.hostname);
      if (!('unsupported' in match) && match.kind === 'video') return { stop: new URL(match.url) };
      target.protocol = 'https:';
      return target;
    },
  });
  if ('stop' in end) return end.stop;
  return videoOf(requireSuccess(end.response, { 404: 'short_link_dead', 410: 'short_link_dead' }), siteConfig);
}

/** @throws GatewayError */
function videoOf(response: HttpResponse, { markers }: SiteConfig): URL {
  const html = response.text();
  const tags = metaTags(html);
  for (const name of ['canonical', 'og:url', 'al:web:url']) {
    const video = matchAddress(matchVideo, tags.get(name));
    if (video?.kind === 'video') return new URL(video.url);
  }
  // The page of a clip may state its own address; its data has the video that plays.
  const data = findJsonAfter(html, markers.next, 0, 'as_numbers')?.value;
  const id = at(data, 'currentVideoEndpoint', 'watchEndpoint', 'videoId');
  const video = typeof id === 'string' ? matchAddress(matchVideo, canonicalUrl(id)) : undefined;
  if (video) return new URL(video.url);
  if (data !== undefined || tags.get('canonical') !== undefined) {
    throw refused('redirected_to_unsupported', 'the page shows no video: the channel is not live, or the clip is gone');
  }
  if (markers.captcha.some((mark) => html.includes(mark))) throw refused('bot_check', 'a captcha in place of the page');
  throw refused('upstream_refused', 'another page in place of the video’s');
}

const MESSAGES = {
  bot_check: 'The platform asked for a check that only a person can solve.',
  upstream_refused: 'The platform refused the request.',
  redirected_to_unsupported: 'The link leads to no video.',
} as const;

function refused(code: keyof typeof MESSAGES, reason: string): GatewayError {
  return new GatewayError(code, MESSAGES[code], { reason });
}
