import { at, findJsonAfter, metaTags, type PartialPost, parseDuration, toIsoTime, tryParseJson } from 'mediagate';
import { type SiteConfig } from '../fetch.js';
import { canonicalUrl } from '../links.js';
import { isReadable, outcomeOfPage, type ReadOptions, type VideoOutcome } from './outcomes.js';
import { absoluteUrl, channelId, usernameIn, videoIdIn } from './text.js';

/** The outcome of a watch page: its data, and its meta tags if the player data is missing. */
export function readWatchPage(html: string, id: string, readOptions: ReadOptions): VideoOutcome {
  const { markers } = readOptions.siteConfig;
  const { player, next } = readBlobs(html, markers);
  const outcome = outcomeOfPage(player, next, id, readOptions);
  if (outcome.kind !== 'found' || outcome.found.some((post) => post.common?.thumbnail)) return outcome;
  // Without player data, only the tags have the exact date, the duration and the picture.
  const tags = parseTags(html, id);
  if (tags) {
    const note = isReadable(outcome.found) ? [] : ['fallback_source: page_tags'];
    return { ...outcome, found: [tags, ...outcome.found], limitations: [...(outcome.limitations ?? []), ...note] };
  }
  if (outcome.found.length > 0) return outcome;
  switch (classifyPage(html, markers)) {
    case 'captcha':
      return { kind: 'transient', code: 'bot_check', reason: 'a captcha in place of the page' };
    case 'consent':
      return { kind: 'transient', code: 'upstream_refused', reason: 'a consent form in place of the page' };
    case 'other':
      return { kind: 'transient', code: 'upstream_refused', reason: 'another page in place of the video’s' };
    case 'damaged':
      return { kind: 'transient', code: 'upstream_changed', reason: 'the page’s data could not be read' };
  }
}

/** The two JSON values of a watch page. */
export interface PageBlobs {
  player?: unknown;
  next?: unknown;
}

/** Finds the JSON of a watch page, in the forms of 2019 to 2026. */
export function readBlobs(html: string, markers: SiteConfig['markers']): PageBlobs {
  // The site writes ids and 64-bit counts as strings, so the check for large integers is not needed.
  const blobAfter = (marker: string, from = 0) => findJsonAfter(html, marker, from, 'as_numbers');
  const found = blobAfter(markers.player);
  const player = found?.value;
  // Since 2021 the page data follows the player data, so the text before it is not searched again.
  const next = (
    (found && blobAfter(markers.next, found.end)) ??
    blobAfter(markers.next) ??
    blobAfter(markers.phoneNext)
  )?.value;
  if (player !== undefined && at(player, 'streamingData') !== undefined) return { player, next };
  // Until 2020 the player configuration had the whole reply, as JSON in a string.
  const config = blobAfter(markers.config) ?? blobAfter(markers.phoneConfig);
  const inner = at(config?.value, 'args', 'player_response');
  return { player: (typeof inner === 'string' ? tryParseJson(inner) : undefined) ?? player, next };
}

/** The kind of a page without data of a video. */
export function classifyPage(
  html: string,
  markers: SiteConfig['markers'],
): 'consent' | 'captcha' | 'damaged' | 'other' {
  if (html.includes(markers.player) || html.includes(markers.next)) return 'damaged';
  if (markers.captcha.some((mark) => html.includes(mark))) return 'captcha';
  return markers.consent.some((mark) => html.includes(mark)) ? 'consent' : 'other';
}

/** Reads the meta tags of a page. Undefined unless they are of the requested video. */
export function parseTags(html: string, id: string): PartialPost | undefined {
  const tags = metaTags(html);
  const first = (...names: string[]) => names.map((name) => tags.get(name)).find((value) => value !== undefined);
  const stated = [
    first('identifier', 'videoId'),
    videoIdIn(first('og:url')),
    videoIdIn(first('canonical')),
    videoIdIn(first('embedUrl', 'og:video:url')),
  ].filter((value) => value !== undefined);
  if (stated.length === 0 || stated.some((value) => value !== id)) return undefined;
  const title = first('og:title', 'name');
  if (title === undefined) return undefined;
  const address = first('author.url');
  const channel = channelId(first('channelId')) ?? channelId(/\/channel\/([^/?#]+)/.exec(address ?? '')?.[1]);
  const thumbnail = absoluteUrl(first('og:image', 'thumbnailUrl'));
  const views = first('interactionCount', 'userInteractionCount');
  const duration = parseDuration(first('duration') ?? '') || undefined;
  const familySafe = { true: true, false: false }[first('isFamilyFriendly')?.toLowerCase() ?? ''];
  return {
    common: {
      title,
      // The tags have only the beginning of the description, without line breaks.
      author: { id: channel, name: first('author.name'), username: usernameIn(address), url: absoluteUrl(address) },
      thumbnail,
      published_at: toIsoTime(first('datePublished', 'uploadDate')),
      duration_seconds: duration,
      category: first('genre'),
      is_family_safe: familySafe,
      age_limit: familySafe === false ? 18 : undefined,
    },
    ids: { video_id: id, canonical_url: canonicalUrl(id), channel_id: channel, author_id: channel },
    metrics: { views: views && /^\d{1,15}$/.test(views) ? Number(views) : undefined, channel_id: channel },
    ...(thumbnail && { media: { image_urls: [thumbnail] } }),
  };
}
