import {
  type Author,
  asArray,
  asBoolean,
  asRecord,
  asString,
  at,
  type Common,
  type JsonRecord,
  type MediaEntry,
  type PartialPost,
  type PostData,
  type Precision,
} from 'mediagate';
import { expiryOf } from './media.js';
import { address, count, digits, positive, profileUrl, username } from './values.js';

/** The counters of a post as they stand in a reply; undefined or null where it has none. */
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
  /** Whether the post is one video, which views and plays are counted of. */
  isVideo: boolean;
  /** `like_and_view_counts_disabled`: the likes in the reply are then a remainder, and views may still be there. */
  disabled?: boolean;
}

/**
 * The counters that a reply shows, and the names of those it hides. In the place of a hidden counter stands -1, and of
 * views or plays also 0: a video that is shown has been played. Plays are what the site shows as views.
 */
export function readCounters(raw: RawCounters, context: CounterContext): Pick<PartialPost, 'metrics' | 'precision'> {
  const { isVideo, disabled = false } = context;
  const plays = positive(raw.plays);
  const views = plays ?? positive(raw.views);
  const likes = disabled ? undefined : count(raw.likes);
  const isHidden = (name: keyof RawCounters) => Number(raw[name] ?? undefined) === -1;
  const isUnplayed = (name: 'views' | 'plays') => isHidden(name) || count(raw[name]) === 0;
  const hidden = {
    views: isVideo && views === undefined && (disabled || isUnplayed('views') || isUnplayed('plays')),
    plays: isVideo && isUnplayed('plays'),
    likes: disabled || isHidden('likes'),
    comments: isHidden('comments'),
    shares: isHidden('shares'),
    saves: isHidden('saves'),
  };
  return {
    metrics: {
      views,
      plays,
      likes,
      comments: count(raw.comments),
      shares: count(raw.shares),
      saves: count(raw.saves),
      subscriber_count: count(raw.subscriber_count),
    },
    precision: Object.fromEntries(
      Object.entries(hidden).flatMap(([name, is]) => (is ? [[name, 'hidden' satisfies Precision] as const] : [])),
    ),
  };
}

/** What a post's node says of itself in numbers and words, and the documents have no member for. */
const NAMES = [
  'like_count',
  'fb_like_count',
  'comment_count',
  'view_count',
  'play_count',
  'ig_play_count',
  'fb_play_count',
  'reshare_count',
  'save_count',
  'video_view_count',
  'video_play_count',
  'media_type',
  'product_type',
  '__typename',
  'carousel_media_count',
  'like_and_view_counts_disabled',
  'comments_disabled',
  'is_paid_partnership',
] as const;

/** As they stand in the node, by the platform's own names. */
export function rawStats(node: JsonRecord): PostData['raw_stats'] {
  const stats: PostData['raw_stats'] = {};
  for (const name of NAMES) {
    const value = node[name];
    if (typeof value === 'number' || typeof value === 'boolean' || (typeof value === 'string' && value !== '')) {
      stats[name] = value;
    }
  }
  return stats;
}

/** A user's node, in either form. */
export function parseAuthor(user: unknown): Author | undefined {
  const id = digits(at(user, 'pk')) ?? digits(at(user, 'id'));
  const name = username(at(user, 'username'));
  if (!id && !name) return undefined;
  return {
    id,
    username: name,
    name: asString(at(user, 'full_name')),
    url: profileUrl(name),
    avatar: address(at(user, 'hd_profile_pic_url_info', 'url')) ?? address(at(user, 'profile_pic_url')),
    verified: asBoolean(at(user, 'is_verified')),
  };
}

/** Those credited besides the author. */
export function parseCollaborators(list: unknown, authorId: string | undefined): Author[] | undefined {
  const others = (asArray(list) ?? []).flatMap((user) => parseAuthor(user) ?? []).filter(({ id }) => id !== authorId);
  return others.length > 0 ? others : undefined;
}

interface MusicReading {
  music?: Common['music'];
  /** The piece as a file of its own, which posts of pictures play. */
  sound?: MediaEntry;
}

/** The piece of music, or the sound that others may use, in either form of a post's node. */
export function parseMusic(node: JsonRecord): MusicReading {
  const piece =
    at(node, 'clips_metadata', 'music_info', 'music_asset_info') ??
    at(node, 'music_metadata', 'music_info', 'music_asset_info') ??
    at(node, 'music_info', 'music_asset_info');
  const original =
    at(node, 'clips_metadata', 'original_sound_info') ?? at(node, 'music_metadata', 'original_sound_info');
  if (asRecord(piece)) {
    const music = {
      title: asString(at(piece, 'title')),
      artist: asString(at(piece, 'display_artist')),
      id: digits(at(piece, 'audio_cluster_id')) ?? digits(at(piece, 'id')),
    };
    return { music, sound: audioEntry(piece, music.title) };
  }
  if (asRecord(original)) {
    const title = asString(at(original, 'original_audio_title'));
    const artist = asString(at(original, 'ig_artist', 'username'));
    return {
      music: { title, artist, id: digits(at(original, 'audio_asset_id')) },
      sound: audioEntry(original, title),
    };
  }
  const attribution = node.clips_music_attribution_info;
  if (!asRecord(attribution)) return {};
  return {
    music: {
      title: asString(at(attribution, 'song_name')),
      artist: asString(at(attribution, 'artist_name')),
      id: digits(at(attribution, 'audio_id')),
    },
  };
}

function audioEntry(asset: unknown, label: string | undefined): MediaEntry | undefined {
  const url =
    address(at(asset, 'progressive_download_url')) ?? address(at(asset, 'fast_start_progressive_download_url'));
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

/** Letters, digits, marks, underscores and emoji, as the site links them. */
const HASHTAG = /(?<![\p{L}\p{N}_&])[#＃]([\p{L}\p{N}\p{M}_\p{Extended_Pictographic}\u200d]+)/gu;
const MAX_TAGS = 100;

/** Hashtags of a caption without `#`, each once, in their order; a number alone is none. */
export function hashtagsIn(caption: string | undefined): string[] | undefined {
  const tags = new Set<string>();
  for (const [, tag] of caption?.matchAll(HASHTAG) ?? []) {
    if (tag && !/^\d+$/.test(tag) && tags.size < MAX_TAGS) tags.add(tag);
  }
  return tags.size > 0 ? [...tags] : undefined;
}
