import { asArray, asString, at, type Count, type PartialPost, parseCount } from 'mediagate';
import { canonicalUrl } from '../links.js';
import { parseShownDate } from './dates.js';
import { parseChapters, parseDescription, parseDescriptionPanel, parseMusic } from './description.js';
import { columnItems, commentTexts, type PageLayout, readLayout, rendererIn } from './layout.js';
import { parseLikes } from './likes.js';
import { parseOwner } from './owner.js';
import { type Belonging, rawStats } from './player.js';
import { shownText } from './text.js';

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
  const items = columnItems(next);
  const layout = readLayout(items);
  const belongs = belongingOf(next, layout, id);
  const panel = layout?.complete ? undefined : parseDescriptionPanel(next);
  if (belongs !== 'requested' || !(layout ?? panel)) {
    const refusal = refusalIn(items);
    return { belongs: belongs === 'requested' ? 'unsaid' : belongs, post: {}, ...(refusal && { refusal }) };
  }
  const owner = parseOwner(layout?.owner);
  const likes = parseLikes(layout?.buttons ?? [], next) ?? panel?.likes;
  const views = viewsOf(layout, at(next, 'playerOverlays', 'playerOverlayRenderer', 'liveIndicatorText') !== undefined);
  const comments = commentsOf(next, items);
  const total = layout?.isStream === undefined ? better(views.total, panel?.views) : views.total;
  const dateText = layout?.dateText ?? panel?.dateText;
  const description = known.description ?? parseDescription(layout?.described) ?? panel?.description;
  const author = owner.author ?? panel?.author;
  const channel = author?.id;
  const post: PartialPost = {
    common: {
      title: shownText(layout?.title) ?? panel?.title,
      description,
      caption: description,
      author,
      // Before a stream begins, the line names the day it is announced for.
      published_at: known.published_at || views.waiting ? undefined : parseShownDate(dateText ?? ''),
      is_unlisted: isUnlisted(layout?.badges) || undefined,
      is_live: views.live || undefined,
      live_status: views.live
        ? 'live'
        : views.waiting && /\bwaiting\b/i.test(views.text ?? '')
          ? 'upcoming'
          : undefined,
      chapters: parseChapters(next, description),
      collaborators: owner.collaborators,
      music: parseMusic(next, layout?.described, description),
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
      ...(likes ? precisionOf('likes', likes) : panel?.likesHidden && { likes: 'hidden' as const }),
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

/** The page names its own video; where that is cut out, the layout does. */
function belongingOf(next: unknown, layout: PageLayout | undefined, id: string): Belonging {
  const endpoint = at(next, 'currentVideoEndpoint');
  const named =
    asString(at(endpoint, 'watchEndpoint', 'videoId')) ?? asString(at(endpoint, 'reelWatchEndpoint', 'videoId'));
  const stated = [named, layout?.id].filter((value) => value !== undefined);
  const ids = stated.length > 0 ? stated : (layout?.buttonIds() ?? []);
  if (ids.length === 0) return 'unsaid';
  return ids.every((value) => value === id) ? 'requested' : 'other';
}

/** Where there is no item, the page shows a panel that says why. */
function refusalIn(items: readonly unknown[]): string | undefined {
  return shownText(rendererIn(items, 'backgroundPromoRenderer')?.title);
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
function viewsOf(layout: PageLayout | undefined, hasLiveSign: boolean): Views {
  const text = layout?.viewsText;
  const count = text === undefined ? undefined : parseCount(text);
  const watching = /\bwatching\b/i.test(text ?? '');
  const isStream = layout?.isStream ?? (hasLiveSign || watching || /\bwaiting\b/i.test(text ?? ''));
  if (!isStream) return { live: false, waiting: false, text, total: count };
  const live = hasLiveSign || watching;
  return { live, waiting: !live, text, ...(live && { watching: count }) };
}

/** The exact one of two counts, else the first. */
function better(one: Count | undefined, other: Count | undefined): Count | undefined {
  return one?.exact || !other?.exact ? (one ?? other) : other;
}

function commentsOf(next: unknown, items: readonly unknown[]) {
  const found = commentTexts(next, items).flatMap((text) => {
    const count = parseCount(text);
    return count ? [{ text, count }] : [];
  });
  return found.find(({ count }) => count.exact) ?? found[0] ?? { text: undefined, count: undefined };
}

function isUnlisted(badges: unknown): boolean {
  return (asArray(badges) ?? []).some(
    (badge) => at(badge, 'metadataBadgeRenderer', 'icon', 'iconType') === 'PRIVACY_UNLISTED',
  );
}

function precisionOf(metric: string, count: { exact: boolean } | undefined) {
  return count && !count.exact ? { [metric]: 'rounded' as const } : {};
}
