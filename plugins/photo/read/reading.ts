import { asString, at, type DefinitiveCode, findPhrase, type Outcome, type PartialPost } from 'mediagate/plugin';
import type { SiteConfig } from '../fetch.js';

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
