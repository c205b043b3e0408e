/*
 * The types and rules that all sources share: what a reading is, the rank of sources, which counters are hidden, and
 * whether the readings suffice. A counter of -1 is hidden, and so are zero views of a video. If the owner disabled
 * counters, likes are left out, because the number in the data is not the real one. Tags of a page never count as
 * complete, since they have one image at most. The text of a stated reason decides between region, private, age and
 * login.
 */

import {
  asCount,
  asPositive,
  asString,
  at,
  type DefinitiveCode,
  findPhrase,
  hashtagsIn,
  type Outcome,
  type PartialPost,
} from 'mediagate/plugin';
import type { SiteConfig } from '../fetch.js';
import { canonicalUrl, type PostIdentity } from '../links.js';
import type { postMedia } from './media.js';

/** The part of a document that every source fills in the same way. */
export function buildPost(
  { shortcode, mediaId }: PostIdentity,
  { media, ...common }: NonNullable<PartialPost['common']> & { media: ReturnType<typeof postMedia> },
) {
  const { caption, author } = common;
  return {
    common: { ...common, description: caption, tags: hashtagsIn(caption), thumbnail: media.image_urls[0] },
    ids: { post_id: mediaId, shortcode, author_id: author?.id, canonical_url: canonicalUrl(shortcode) },
    media,
  } satisfies PartialPost;
}

const USERNAME = /^[A-Za-z0-9._]{1,60}$/;

/** The value if it is a user name. */
export function asUsername(value: unknown): string | undefined {
  const text = asString(value);
  return text && USERNAME.test(text) ? text : undefined;
}

export function profileUrl(username: string | undefined): string | undefined {
  return username && `https://www.instagram.com/${username}/`;
}

/** The counters of a post as they are in a reply; undefined or null if it has none. */
export type RawCounters = Partial<
  Record<'views' | 'plays' | 'likes' | 'comments' | 'shares' | 'saves' | 'subscriber_count', unknown>
>;

/**
 * The counters that a reply shows, and which it hides. A hidden counter is -1. Views or plays of 0 are hidden too: every
 * video that is shown has been played. The site shows plays as views.
 * @param isVideo - whether the post is a single video: only these have views and plays.
 * @param disabled - `like_and_view_counts_disabled`: likes are then not the real number; views may still be.
 */
export function readCounters(
  raw: RawCounters,
  { isVideo, disabled = false }: { isVideo: boolean; disabled?: boolean },
): Pick<PartialPost, 'metrics' | 'precision'> {
  const plays = asPositive(raw.plays);
  const views = plays ?? asPositive(raw.views);
  const isHidden = (name: keyof RawCounters) => Number(raw[name] ?? undefined) === -1;
  const isUnplayed = (name: 'views' | 'plays') => isHidden(name) || asCount(raw[name]) === 0;
  const hidden = {
    views: isVideo && views === undefined && (disabled || isUnplayed('views') || isUnplayed('plays')),
    plays: isVideo && isUnplayed('plays'),
    likes: disabled || isHidden('likes'),
    comments: isHidden('comments'),
    shares: isHidden('shares'),
    saves: isHidden('saves'),
  };
  const names = Object.entries(hidden).flatMap(([name, is]) => (is ? name : []));
  return {
    metrics: {
      views,
      plays,
      likes: disabled ? undefined : asCount(raw.likes),
      comments: asCount(raw.comments),
      shares: asCount(raw.shares),
      saves: asCount(raw.saves),
      subscriber_count: asCount(raw.subscriber_count),
    },
    precision: Object.fromEntries(names.map((name) => [name, 'hidden' as const])),
  };
}

/**
 * Sources of readings, best first: the site's own data, the data of an embed, the linked data of older pages, the
 * markup of an embed, the tags of a page for link previews.
 */
export const SOURCES = ['data', 'embed_data', 'linked_data', 'embed_markup', 'page_tags'] as const;
export type Source = (typeof SOURCES)[number];

/** What one source says about the requested post. */
export interface PostReading {
  source: Source;
  post: PartialPost;
  /** Whether the post is or contains a video; undefined if the source does not say. */
  hasVideo?: boolean;
  /** Items of a carousel, including those that the source does not list. */
  itemCount?: number;
}

/** Best first. */
export type Readings = readonly PostReading[];
export type PostOutcome = Outcome<Readings>;

/** The outcome of a reply without the post, although the platform did not say why. */
export function refused(reason: string): PostOutcome {
  return { kind: 'transient', code: 'upstream_refused', reason };
}

/** The outcome of a reply that says why the post is not shown. */
export function restricted(code: DefinitiveCode, reason?: string): PostOutcome {
  return { kind: 'definitive', code, reason };
}

export const OTHER_POST = refused('the answer was about another post');

export const GATED = {
  kind: 'definitive',
  code: 'private',
  reason: 'the post is kept from those who are not signed in',
} as const satisfies PostOutcome;

/** Whether the readings name the author and have some content. */
export function hasAuthorAndContent(readings: Readings): boolean {
  const posts = readings.map(({ post }) => post);
  return (
    posts.some(({ common }) => common?.author?.username ?? common?.author?.name ?? common?.author?.id) &&
    posts.some(
      ({ common, media, metrics }) =>
        common?.caption ?? media?.image_urls?.[0] ?? media?.video_urls?.[0] ?? metrics?.likes ?? metrics?.comments,
    )
  );
}

/** Whether the readings are worth an answer: a caption with counters or media is, even without an author. */
export function isWorthwhile(readings: Readings): boolean {
  const posts = readings.map(({ post }) => post);
  const shown = posts.some(
    ({ media, metrics }) =>
      media?.image_urls?.[0] ?? media?.video_urls?.[0] ?? metrics?.likes ?? metrics?.comments ?? metrics?.views,
  );
  return hasAuthorAndContent(readings) || (shown && posts.some(({ common }) => common?.caption));
}

/** Whether the readings have all media files: those that data lists, or the only image of a post in an embed. */
export function hasAllFiles(readings: Readings): boolean {
  return readings.some(({ source, post, hasVideo, itemCount = 1 }) => {
    const files = (hasVideo ? post.media?.video_urls : post.media?.image_urls) ?? [];
    if (files.length === 0 || source === 'page_tags') return false;
    return source !== 'embed_markup' || (!hasVideo && itemCount === 1);
  });
}

/** The outcome of a ruling, which says why a post is not shown to everybody; undefined if it has no text. */
export function readRuling(ruling: unknown, phrases: SiteConfig['phrases']): PostOutcome | undefined {
  const reason = [asString(at(ruling, 'title')), asString(at(ruling, 'description'))].filter(Boolean).join(': ');
  if (!reason) return undefined;
  const codes = { geo: 'geo_blocked', private: 'private', age: 'age_restricted' } as const;
  const kind = (['geo', 'private', 'age'] as const).find((name) => findPhrase(reason, phrases[name]) !== undefined);
  return restricted(kind ? codes[kind] : 'login_required', reason);
}
