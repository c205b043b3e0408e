/*
 * Finds the JSON of a watch page, in the forms of 2019 to 2026, and uses the meta tags if the player data are missing.
 * A page without either is classified as a captcha, a consent form, another page or a changed layout.
 */

import {
  asCount,
  at,
  findJsonAfter,
  metaTags,
  type PartialPost,
  parseDuration,
  type TransientCode,
  toIsoTime,
} from 'mediagate/plugin';
import type { SiteConfig } from '../fetch.js';
import { olderPlayer } from './older/layouts.js';
import { isReadable, outcomeOfPage, type ReadOptions, type VideoOutcome } from './outcomes.js';
import { channelAuthor, channelId, channelIdIn, siteUrl, subjectOf, videoIdIn, videoIds } from './values.js';

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
  return outcome.found.length > 0 ? outcome : failureOf(html, markers);
}

/** The outcome of a page without data of a video. */
function failureOf(html: string, markers: SiteConfig['markers']): VideoOutcome {
  const has = (...marks: readonly string[]) => marks.some((mark) => html.includes(mark));
  const failure = (code: TransientCode, reason: string): VideoOutcome => ({ kind: 'transient', code, reason });
  if (has(markers.player, markers.next)) return failure('upstream_changed', 'the page’s data could not be read');
  if (has(...markers.captcha)) return failure('bot_check', 'a captcha in place of the page');
  if (has(...markers.consent)) return failure('upstream_refused', 'a consent form in place of the page');
  return failure('upstream_refused', 'another page in place of the video’s');
}

/** Finds the JSON of a watch page, in the forms of 2019 to 2026. */
function readBlobs(html: string, markers: SiteConfig['markers']): { player?: unknown; next?: unknown } {
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
  const hasFiles = at(player, 'streamingData') !== undefined;
  return { player: hasFiles ? player : (olderPlayer(html, markers) ?? player), next };
}

/** Reads the meta tags of a page. Undefined unless they are of the requested video. */
function parseTags(html: string, id: string): PartialPost | undefined {
  const tags = metaTags(html);
  const first = (...names: string[]) => names.map((name) => tags.get(name)).find((value) => value !== undefined);
  const stated = [
    first('identifier', 'videoId'),
    videoIdIn(first('og:url')),
    videoIdIn(first('canonical')),
    videoIdIn(first('embedUrl', 'og:video:url')),
  ];
  if (subjectOf(stated, id) !== 'requested') return undefined;
  const title = first('og:title', 'name');
  if (title === undefined) return undefined;
  const url = first('author.url');
  const channel = channelId(first('channelId')) ?? channelIdIn(url);
  const thumbnail = siteUrl(first('og:image', 'thumbnailUrl'));
  const countOf = (...names: string[]) => asCount(first(...names));
  const views = countOf('interactionStatistic.WatchAction', 'interactionCount', 'userInteractionCount');
  const likes = countOf('interactionStatistic.LikeAction');
  const familySafe = { true: true, false: false }[first('isFamilyFriendly')?.toLowerCase() ?? ''];
  return {
    common: {
      title,
      // The tags have only the beginning of the description, without line breaks.
      author: channelAuthor({ id: channel, name: first('author.name'), url }),
      thumbnail,
      published_at: toIsoTime(first('datePublished', 'uploadDate')),
      duration_seconds: parseDuration(first('duration') ?? '') || undefined,
      category: first('genre'),
      is_family_safe: familySafe,
      age_limit: familySafe === false ? 18 : undefined,
    },
    ids: videoIds(id, channel),
    metrics: { views, likes },
    ...(thumbnail && { media: { image_urls: [thumbnail] } }),
  };
}
