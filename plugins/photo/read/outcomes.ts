import type { ChainResult, DefinitiveCode, Outcome } from 'mediagate';
import type { Facts } from '../facts.js';
import type { PostReading } from './reading.js';

/** What a method finds: accounts of the post, best first. */
export type Found = readonly PostReading[];
export type PostOutcome = Outcome<Found>;
export type PostClimb = ChainResult<Found>;

export const OTHER_POST: PostOutcome = {
  kind: 'transient',
  code: 'upstream_refused',
  reason: 'the answer was about another post',
};

export const GATED: PostOutcome = {
  kind: 'definitive',
  code: 'private',
  reason: 'the post is kept from those who are not signed in',
};

/** Whether the readings are worth an answer: whose the post is, and something of it. */
export function isReadable(readings: Found): boolean {
  const posts = readings.map(({ post }) => post);
  return (
    posts.some(({ common }) => common?.author?.username ?? common?.author?.name ?? common?.author?.id) &&
    posts.some(
      ({ common, media, metrics }) =>
        common?.caption ?? media?.image_urls?.[0] ?? media?.video_urls?.[0] ?? metrics?.likes ?? metrics?.comments,
    )
  );
}

/** Whether the readings are better than none: the text, with its numbers or its pictures, says much without a name. */
export function isWorthwhile(readings: Found): boolean {
  const posts = readings.map(({ post }) => post);
  const shown = posts.some(
    ({ media, metrics }) =>
      media?.image_urls?.[0] ?? media?.video_urls?.[0] ?? metrics?.likes ?? metrics?.comments ?? metrics?.views,
  );
  return isReadable(readings) || (shown && posts.some(({ common }) => common?.caption));
}

/** Whether the post's files were had: all that its data lists, or the one picture that an embed shows. */
export function isWhole(readings: Found): boolean {
  return readings.some(({ source, post, hasVideo, itemCount = 1 }) => {
    const files = (hasVideo ? post.media?.video_urls : post.media?.image_urls) ?? [];
    if (files.length === 0 || source === 'page_tags') return false;
    return source !== 'embed_markup' || (!hasVideo && itemCount === 1);
  });
}

/** What the words of a ruling mean; by themselves they only say that the post is not for everybody. */
export function readRuling(words: string, phrases: Facts['phrases']): PostOutcome {
  const lower = words.toLowerCase();
  const says = (list: readonly string[]) => list.some((phrase) => lower.includes(phrase));
  const code: DefinitiveCode = says(phrases.geo)
    ? 'geo_blocked'
    : says(phrases.private)
      ? 'private'
      : says(phrases.age)
        ? 'age_restricted'
        : 'login_required';
  return { kind: 'definitive', code, reason: words };
}
