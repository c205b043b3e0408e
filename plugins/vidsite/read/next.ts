import { asArray, at, type Count, type PartialPost, rawStats } from 'mediagate/plugin';
import { parseComments, parseLikes, parseViews } from './counters.js';
import { parseShownDate } from './dates.js';
import { parseChapters, parseDescription, parseDescriptionPanel, parseMusic } from './description.js';
import { columnItems, readLayout } from './layout.js';
import { parseOwner } from './owner.js';
import { rendererIn, type Subject, subjectOf, textOf, videoIds } from './values.js';

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
  const endpoint = at(next, 'currentVideoEndpoint');
  const named = at(endpoint, 'watchEndpoint', 'videoId') ?? at(endpoint, 'reelWatchEndpoint', 'videoId');
  const stated = subjectOf([named, layout?.id], id);
  // Without any other id, the buttons say which video it is.
  const subject = stated === 'unknown' ? subjectOf(layout?.buttonIds() ?? [], id) : stated;
  const panel = layout?.complete ? undefined : parseDescriptionPanel(next);
  if (subject !== 'requested' || !(layout ?? panel)) {
    const refusal = textOf(rendererIn(items, 'backgroundPromoRenderer')?.title);
    return { subject: subject === 'requested' ? 'unknown' : subject, post: {}, ...(refusal && { refusal }) };
  }
  const owner = parseOwner(layout?.owner);
  const likes = parseLikes(layout?.buttons ?? [], next) ?? panel?.likes;
  const views = parseViews(
    layout,
    at(next, 'playerOverlays', 'playerOverlayRenderer', 'liveIndicatorText') !== undefined,
  );
  const comments = parseComments(next, items);
  const total = layout?.isStream === undefined ? better(views.total, panel?.views) : views.total;
  const dateText = layout?.dateText ?? panel?.dateText;
  const description = known.description ?? parseDescription(layout?.described) ?? panel?.description;
  const author = owner.author ?? panel?.author;
  const channel = author?.id;
  const announced = views.waiting && /\bwaiting\b/i.test(views.text ?? '');
  const counts = {
    views: total,
    concurrent_viewers: views.watching,
    likes,
    comments,
    subscriber_count: owner.subscribers,
  };
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
      live_status: views.live ? 'live' : announced ? 'upcoming' : undefined,
      chapters: parseChapters(next, description),
      collaborators: owner.collaborators,
      music: parseMusic(next, layout?.described, description),
    },
    ids: videoIds(id, channel),
    metrics: {
      ...Object.fromEntries(Object.entries(counts).map(([metric, count]) => [metric, count?.value])),
      channel_id: channel,
    },
    precision: {
      ...(!likes && panel?.likesHidden && { likes: 'hidden' }),
      ...Object.fromEntries(
        Object.entries(counts).flatMap(([metric, count]) => (count && !count.exact ? [[metric, 'rounded']] : [])),
      ),
    },
    raw_stats: rawStats({
      viewCountText: views.text,
      likeText: likes?.text,
      subscriberCountText: owner.subscribers?.text,
      commentCountText: comments?.text,
      dateText,
    }),
  };
  return { subject, post };
}

/** The first exact count, otherwise the first count. */
function better(one: Count | undefined, other: Count | undefined): Count | undefined {
  return one?.exact || !other?.exact ? (one ?? other) : other;
}

function isUnlisted(badges: unknown): boolean {
  return (asArray(badges) ?? []).some(
    (badge) => at(badge, 'metadataBadgeRenderer', 'icon', 'iconType') === 'PRIVACY_UNLISTED',
  );
}
