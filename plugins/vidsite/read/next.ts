import { asArray, asString, at, type Count, type PartialPost, parseCount } from 'mediagate';
import { canonicalUrl } from '../links.js';
import { parseShownDate } from './dates.js';
import { parseChapters, parseDescription, parseDescriptionPanel, parseMusic } from './description.js';
import { columnItems, commentTexts, type PageLayout, readLayout, rendererIn } from './layout.js';
import { parseLikes } from './likes.js';
import { parseOwner } from './owner.js';
import { rawStats, type Subject } from './player.js';
import { textOf } from './text.js';

/** The data of a `next` reply, which describes the page around the player. */
export interface NextReply {
  subject: Subject;
  /** Empty unless the reply is about the requested video. */
  post: PartialPost;
  /** The reason that the page shows instead of a video. */
  refusal?: string;
}

/**
 * Reads `ytInitialData` of a watch page, or the reply of `/youtubei/v1/next`, which is the same. Fields that are known
 * from the player reply are not computed again.
 */
export function parseNext(next: unknown, id: string, known: PartialPost['common'] = {}): NextReply {
  const items = columnItems(next);
  const layout = readLayout(items);
  const subject = subjectOf(next, layout, id);
  const panel = layout?.complete ? undefined : parseDescriptionPanel(next);
  if (subject !== 'requested' || !(layout ?? panel)) {
    const refusal = refusalIn(items);
    return { subject: subject === 'requested' ? 'unknown' : subject, post: {}, ...(refusal && { refusal }) };
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
      title: textOf(layout?.title) ?? panel?.title,
      description,
      caption: description,
      author,
      // Before a stream begins, the line has the day of its start.
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
  return { subject, post };
}

/** The reply names its video; if that part is missing, the layout does. */
function subjectOf(next: unknown, layout: PageLayout | undefined, id: string): Subject {
  const endpoint = at(next, 'currentVideoEndpoint');
  const named =
    asString(at(endpoint, 'watchEndpoint', 'videoId')) ?? asString(at(endpoint, 'reelWatchEndpoint', 'videoId'));
  const stated = [named, layout?.id].filter((value) => value !== undefined);
  const ids = stated.length > 0 ? stated : (layout?.buttonIds() ?? []);
  if (ids.length === 0) return 'unknown';
  return ids.every((value) => value === id) ? 'requested' : 'other';
}

/** If there is no video, the page shows a panel with the reason. */
function refusalIn(items: readonly unknown[]): string | undefined {
  return textOf(rendererIn(items, 'backgroundPromoRenderer')?.title);
}

interface Views {
  total?: Count;
  watching?: Count;
  live: boolean;
  waiting: boolean;
  text?: string;
}

/**
 * During a stream this line counts the viewers, before it those who wait; the player's "live" sign distinguishes the
 * two in every interface language.
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

/** The first exact count, otherwise the first count. */
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
