import {
  type Author,
  asArray,
  asBoolean,
  asCount,
  asId,
  asPositive,
  asRecord,
  asString,
  at,
  type Common,
  type DefinitiveCode,
  expiryOf,
  findPhrase,
  hashtagsIn,
  type JsonRecord,
  type MediaEntry,
  type Outcome,
  type PartialPost,
  type Precision,
} from 'mediagate/plugin';
import type { SiteConfig } from '../fetch.js';
import { canonicalUrl, type PostIdentity } from '../links.js';
import { mediaUrl, type PostMedia } from './media.js';

interface PostParts extends Omit<NonNullable<PartialPost['common']>, 'description' | 'tags' | 'thumbnail'> {
  media: PostMedia;
}

/** The part of a document that every source fills in the same way. */
export function buildPost({ shortcode, mediaId }: PostIdentity, { media, ...common }: PostParts) {
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

/** The author in a user node, which is the same in both forms of a post's node. */
export function readAuthor(user: unknown): Author | undefined {
  const id = asId(at(user, 'pk')) ?? asId(at(user, 'id'));
  const username = asUsername(at(user, 'username'));
  if (!id && !username) return undefined;
  return {
    id,
    username,
    name: asString(at(user, 'full_name')),
    url: profileUrl(username),
    avatar: mediaUrl(at(user, 'hd_profile_pic_url_info', 'url')) ?? mediaUrl(at(user, 'profile_pic_url')),
    verified: asBoolean(at(user, 'is_verified')),
  };
}

/** The users who are credited besides the author. */
export function readCollaborators(list: unknown, authorId: string | undefined): Author[] | undefined {
  const others = (asArray(list) ?? []).flatMap((user) => readAuthor(user) ?? []).filter(({ id }) => id !== authorId);
  return others.length > 0 ? others : undefined;
}

interface MusicReading {
  music?: Common['music'];
  /** The music as a file of its own, which posts of images play. */
  file?: MediaEntry;
}

/** The music of a post, or the audio of its video that others may use, in either form of its node. */
export function readMusic(node: JsonRecord): MusicReading {
  const places = [node.clips_metadata, node.music_metadata, node];
  const info =
    places.map((place) => asRecord(at(place, 'music_info', 'music_asset_info'))).find((one) => one !== undefined) ??
    places.map((place) => asRecord(at(place, 'original_sound_info'))).find((one) => one !== undefined) ??
    asRecord(node.clips_music_attribution_info);
  if (!info) return {};
  const title = asString(info.title) ?? asString(info.original_audio_title) ?? asString(info.song_name);
  const artist =
    asString(info.display_artist) ?? asString(at(info.ig_artist, 'username')) ?? asString(info.artist_name);
  const id = asId(info.audio_cluster_id) ?? asId(info.audio_asset_id) ?? asId(info.audio_id) ?? asId(info.id);
  return { music: { title, artist, id }, file: musicFile(info, title) };
}

function musicFile(asset: unknown, label: string | undefined): MediaEntry | undefined {
  const url =
    mediaUrl(at(asset, 'progressive_download_url')) ?? mediaUrl(at(asset, 'fast_start_progressive_download_url'));
  const milliseconds = at(asset, 'duration_in_ms');
  if (!url) return undefined;
  return {
    url,
    kind: 'audio',
    mime: 'audio/mp4',
    has_audio: true,
    has_video: false,
    label,
    duration_seconds: typeof milliseconds === 'number' && milliseconds > 0 ? milliseconds / 1000 : undefined,
    expires_at: expiryOf(url),
  };
}

/** The counters of a post as they are in a reply; undefined or null if it has none. */
export interface RawCounters {
  views?: unknown;
  plays?: unknown;
  likes?: unknown;
  comments?: unknown;
  shares?: unknown;
  saves?: unknown;
  subscriber_count?: unknown;
}

interface CounterContext {
  /** Whether the post is a single video: only these have views and plays. */
  isVideo: boolean;
  /** `like_and_view_counts_disabled`: likes are then not the real number; views may still be. */
  disabled?: boolean;
}

/**
 * The counters that a reply shows, and which it hides. A hidden counter is -1. Views or plays of 0 are hidden too: every
 * video that is shown has been played. The site shows plays as views.
 */
export function readCounters(raw: RawCounters, context: CounterContext): Pick<PartialPost, 'metrics' | 'precision'> {
  const { isVideo, disabled = false } = context;
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
  const precision: Record<string, Precision> = {};
  for (const [name, is] of Object.entries(hidden)) if (is) precision[name] = 'hidden';
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
    precision,
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
