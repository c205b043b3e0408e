import {
  asArray,
  asRecord,
  asString,
  at,
  type Count,
  findAll,
  type JsonRecord,
  type PartialPost,
  parseCount,
} from 'mediagate';
import { canonicalUrl } from './links.js';
import { parseChapters } from './parse-chapters.js';
import { parseShownDate } from './parse-dates.js';
import { parseDescription } from './parse-description.js';
import { parseDescriptionPanel } from './parse-description-panel.js';
import { parseLikes } from './parse-likes.js';
import { parseMusic } from './parse-music.js';
import { parseOwner } from './parse-owner.js';
import { type Belonging, rawStats } from './parse-player.js';
import { shownText } from './renderer-text.js';

/** What the reply about the page around the player tells of an item. */
export interface NextReading {
  belongs: Belonging;
  /** Empty unless the reply is the requested item's. */
  post: PartialPost;
  /** What the page says in the place of the item where there is none. */
  refusal?: string;
}

/**
 * Reads `ytInitialData` of a watch page, or the reply of `/youtubei/v1/next`, which is the same. What is known
 * already from the player's reply is not worked out again.
 */
export function parseNext(next: unknown, id: string, known: PartialPost['common'] = {}): NextReading {
  const items = itemsOf(next);
  const primary = rendererIn(items, 'videoPrimaryInfoRenderer');
  const secondary = rendererIn(items, 'videoSecondaryInfoRenderer');
  const belongs = belongingOf(next, primary, id);
  const panel = primary && secondary ? undefined : parseDescriptionPanel(next);
  if (belongs !== 'requested' || !(primary ?? secondary ?? panel)) {
    const refusal = refusalIn(items);
    return { belongs: belongs === 'requested' ? 'unsaid' : belongs, post: {}, ...(refusal && { refusal }) };
  }
  const owner = parseOwner(at(secondary, 'owner', 'videoOwnerRenderer'));
  const likes = parseLikes(primary, next) ?? panel?.likes;
  const views = viewsOf(
    primary,
    at(next, 'playerOverlays', 'playerOverlayRenderer', 'liveIndicatorText') !== undefined,
  );
  const comments = commentsOf(next, items);
  const total = primary ? views.total : panel?.views;
  const dateText = shownText(at(primary, 'dateText')) ?? panel?.dateText;
  const description = known.description ?? parseDescription(secondary) ?? panel?.description;
  const author = owner.author ?? panel?.author;
  const channel = author?.id;
  const post: PartialPost = {
    common: {
      title: shownText(at(primary, 'title')) ?? panel?.title,
      description,
      caption: description,
      author,
      // Before a stream begins, the line names the day it is announced for.
      published_at: known.published_at || views.waiting ? undefined : parseShownDate(dateText ?? ''),
      is_unlisted: isUnlisted(primary) || undefined,
      is_live: views.live || undefined,
      live_status: views.live
        ? 'live'
        : views.waiting && /\bwaiting\b/i.test(views.text ?? '')
          ? 'upcoming'
          : undefined,
      chapters: parseChapters(next, description),
      collaborators: owner.collaborators,
      music: parseMusic(next, secondary, description),
    },
    ids: { video_id: id, canonical_url: canonicalUrl(id), channel_id: channel, author_id: channel },
    metrics: {
      views: total?.value,
      concurrent_viewers: views.watching?.value,
      likes: likes?.value,
      comments: comments.count?.value,
      subscriber_count: owner.subscribers?.value,
      channel_id: channel,
    },
    precision: {
      ...precisionOf('views', total),
      ...precisionOf('concurrent_viewers', views.watching),
      ...precisionOf('likes', likes),
      ...precisionOf('comments', comments.count),
      ...precisionOf('subscriber_count', owner.subscribers),
    },
    raw_stats: rawStats({
      viewCountText: views.text,
      likeText: likes?.text,
      subscriberCountText: owner.subscribersText,
      commentCountText: comments.text,
      dateText,
    }),
  };
  return { belongs, post };
}

function itemsOf(next: unknown): readonly unknown[] {
  const contents = at(next, 'contents');
  const columns = at(contents, 'twoColumnWatchNextResults') ?? at(contents, 'singleColumnWatchNextResults');
  return asArray(at(columns, 'results', 'results', 'contents')) ?? [];
}

function rendererIn(items: readonly unknown[], name: string): JsonRecord | undefined {
  for (const item of items) {
    const renderer = asRecord(at(item, name));
    if (renderer) return renderer;
  }
  return undefined;
}

/** The page names its own video; where that is cut out, the buttons under the title do. */
function belongingOf(next: unknown, primary: unknown, id: string): Belonging {
  const endpoint = at(next, 'currentVideoEndpoint');
  const stated = [
    asString(at(endpoint, 'watchEndpoint', 'videoId')) ?? asString(at(endpoint, 'reelWatchEndpoint', 'videoId')),
    asString(at(primary, 'updatedMetadataEndpoint', 'updatedMetadataEndpoint', 'videoId')),
  ].filter((value) => value !== undefined);
  if (stated.length > 0) return stated.every((value) => value === id) ? 'requested' : 'other';
  const targets = findAll(at(primary, 'videoActions'), (node) => typeof node.videoId === 'string', { maxNodes: 5_000 });
  if (targets.length === 0) return 'unsaid';
  return targets.every((node) => node.videoId === id) ? 'requested' : 'other';
}

/** Where there is no item, the page shows a panel that says why. */
function refusalIn(items: readonly unknown[]): string | undefined {
  for (const item of items) {
    for (const inner of [item, ...(asArray(at(item, 'itemSectionRenderer', 'contents')) ?? [])]) {
      const words = shownText(at(inner, 'backgroundPromoRenderer', 'title'));
      if (words) return words;
    }
  }
  return undefined;
}

interface Views {
  total?: Count;
  watching?: Count;
  live: boolean;
  waiting: boolean;
  text?: string;
}

/**
 * While a stream runs, this line counts who is watching, and before it begins, who is waiting; the player's "live" sign
 * tells the two apart in every interface language.
 */
function viewsOf(primary: unknown, hasLiveSign: boolean): Views {
  const renderer = at(primary, 'viewCount', 'videoViewCountRenderer');
  const text = shownText(at(renderer, 'viewCount'));
  const count = text === undefined ? undefined : parseCount(text);
  if (at(renderer, 'isLive') !== true) return { live: false, waiting: false, text, total: count };
  const live = hasLiveSign || /\bwatching\b/i.test(text ?? '');
  return { live, waiting: !live, text, ...(live && { watching: count }) };
}

function commentsOf(next: unknown, items: readonly unknown[]) {
  const inPanels = (asArray(at(next, 'engagementPanels')) ?? []).map((panel) => {
    const renderer = at(panel, 'engagementPanelSectionListRenderer');
    const name = asString(at(renderer, 'panelIdentifier')) ?? asString(at(renderer, 'targetId')) ?? '';
    if (!/comment/.test(name)) return undefined;
    return shownText(at(renderer, 'header', 'engagementPanelTitleHeaderRenderer', 'contextualInfo'));
  });
  const inTeasers = items
    .flatMap((item) => asArray(at(item, 'itemSectionRenderer', 'contents')) ?? [])
    .map((item) => shownText(at(item, 'commentsEntryPointHeaderRenderer', 'commentCount')));
  const found = [...inTeasers, ...inPanels].flatMap((text) => {
    const count = text === undefined ? undefined : parseCount(text);
    return text !== undefined && count ? [{ text, count }] : [];
  });
  return found.find(({ count }) => count.exact) ?? found[0] ?? { text: undefined, count: undefined };
}

function isUnlisted(primary: unknown): boolean {
  const badges = asArray(at(primary, 'badges')) ?? [];
  return badges.some((badge) => at(badge, 'metadataBadgeRenderer', 'icon', 'iconType') === 'PRIVACY_UNLISTED');
}

function precisionOf(metric: string, count: { exact: boolean } | undefined) {
  return count && !count.exact ? { [metric]: 'rounded' as const } : {};
}
