import { type Author, asArray, asBoolean, asString, at, type JsonRecord, toIsoTime } from 'mediagate';
import type { PostIdentity } from '../links.js';
import { canonicalUrl } from '../links.js';
import { parseDash } from './dash.js';
import {
  hashtagsIn,
  parseAuthor,
  parseCollaborators,
  parseMusic,
  type RawCounters,
  rawStats,
  readCounters,
} from './details.js';
import {
  assembleMedia,
  bestImage,
  distinct,
  largerFirst,
  type MediaItem,
  type Rendition,
  videoEntry,
} from './media.js';
import type { PostReading, Source } from './reading.js';
import { address, positive, seconds } from './values.js';

/** What the two forms of a post's node name differently. */
interface NodeParts {
  source: Source;
  author?: Author;
  caption?: string;
  takenAt: unknown;
  items: readonly MediaItem[];
  isCarousel: boolean;
  /** Items that the node counts, where it does. */
  itemCount?: number;
  counters: RawCounters;
}

/** A post's node as a reading; what both forms name alike is read here. */
function readNode(node: JsonRecord, { shortcode, mediaId }: PostIdentity, parts: NodeParts): PostReading {
  const { source, author, caption, takenAt, items, isCarousel, itemCount, counters } = parts;
  const { music, sound } = parseMusic(node);
  const { media, audio, durationSeconds } = assembleMedia(items, sound);
  const hasVideo = items.some(({ isVideo }) => isVideo);
  return {
    source,
    hasVideo,
    itemCount,
    post: {
      common: {
        title: asString(node.title),
        caption,
        description: caption,
        tags: hashtagsIn(caption),
        author,
        thumbnail: media.image_urls?.[0],
        published_at: toIsoTime(takenAt),
        duration_seconds: durationSeconds,
        music,
        collaborators: parseCollaborators(node.coauthor_producers, author?.id),
        location: asString(at(node, 'location', 'name')),
      },
      ids: {
        post_id: mediaId,
        video_id: hasVideo && !isCarousel ? mediaId : undefined,
        shortcode,
        author_id: author?.id,
        canonical_url: canonicalUrl(shortcode),
      },
      ...readCounters(counters, {
        isVideo: hasVideo && !isCarousel,
        disabled: node.like_and_view_counts_disabled === true,
      }),
      media,
      audio,
      raw_stats: rawStats(node),
    },
  };
}

/** `media_type` of a video; 1 is a picture, 8 a carousel. */
const VIDEO = 2;

/** A post's node in the form of the app's API, which the pages carry since 2023. */
export function parseRest(node: JsonRecord, identity: PostIdentity, source: Source): PostReading {
  const children = asArray(node.carousel_media) ?? [];
  return readNode(node, identity, {
    source,
    author: parseAuthor(node.user) ?? parseAuthor(node.owner),
    caption: asString(at(node, 'caption', 'text')) ?? asString(node.caption),
    takenAt: node.taken_at,
    items: (children.length > 0 ? children : [node]).map(restItem),
    isCarousel: children.length > 0,
    itemCount: positive(node.carousel_media_count),
    counters: restCounters(node),
  });
}

function restItem(node: unknown): MediaItem {
  const versions = asArray(at(node, 'video_versions')) ?? [];
  const dash = parseDash(at(node, 'video_dash_manifest'));
  const isVideo = at(node, 'media_type') === VIDEO || versions.length > 0;
  const hasAudio = asBoolean(at(node, 'has_audio'));
  const size = { width: at(node, 'original_width'), height: at(node, 'original_height') };
  const label = asString(at(node, 'accessibility_caption')) ?? (isVideo ? 'cover' : undefined);
  const candidates = (asArray(at(node, 'image_versions2', 'candidates')) ?? []).map(rendition);
  const shown = address(at(node, 'display_uri')) ?? address(at(node, 'display_url'));
  return {
    isVideo,
    image: bestImage(candidates, size, label) ?? bestImage([{ url: shown }], {}, label),
    files: distinct(versions.flatMap((version) => videoEntry(rendition(version), hasAudio) ?? [])).sort(largerFirst),
    dash,
    hasAudio,
    durationSeconds: isVideo ? (seconds(at(node, 'video_duration')) ?? dash.durationSeconds) : undefined,
  };
}

function rendition(value: unknown): Rendition {
  return { url: at(value, 'url'), width: at(value, 'width'), height: at(value, 'height') };
}

function restCounters(node: JsonRecord): RawCounters {
  return {
    views: node.view_count,
    // The plays on this network alone are in `ig_play_count`, those on the other one in `fb_play_count`.
    plays: positive(node.play_count) ?? positive(node.ig_play_count) ?? node.play_count,
    likes: node.like_count,
    comments: node.comment_count,
    shares: node.reshare_count,
    saves: node.save_count,
  };
}

/**
 * A post's node in the older form: pages until 2021, one query of the site's own code, and embeds; pages until 2017 had
 * shorter names for the same.
 */
export function parseGraphql(node: JsonRecord, identity: PostIdentity, source: Source): PostReading {
  const children = (asArray(at(node, 'edge_sidecar_to_children', 'edges')) ?? []).map((edge) => at(edge, 'node'));
  return readNode(node, identity, {
    source,
    author: parseAuthor(node.owner),
    caption: asString(at(node, 'edge_media_to_caption', 'edges', 0, 'node', 'text')) ?? asString(node.caption),
    takenAt: node.taken_at_timestamp ?? node.date,
    items: (children.length > 0 ? children : [node]).map(graphqlItem),
    isCarousel: children.length > 0,
    counters: graphqlCounters(node),
  });
}

function graphqlItem(node: unknown): MediaItem {
  const video = at(node, 'video_url');
  const isVideo = at(node, 'is_video') === true || asString(video) !== undefined;
  const hasAudio = asBoolean(at(node, 'has_audio'));
  const size = { width: at(node, 'dimensions', 'width'), height: at(node, 'dimensions', 'height') };
  const label = asString(at(node, 'accessibility_caption')) ?? (isVideo ? 'cover' : undefined);
  const resources = (asArray(at(node, 'display_resources')) ?? []).map((resource) => ({
    url: at(resource, 'src'),
    width: at(resource, 'config_width'),
    height: at(resource, 'config_height'),
  }));
  const shown = at(node, 'display_url') ?? at(node, 'display_src');
  // Where the list has the picture itself, it also has the size it is served in.
  const own = resources.some(({ url }) => url === shown) ? [] : [{ url: shown, ...size }];
  const dash = parseDash(at(node, 'dash_info', 'video_dash_manifest'));
  const file = videoEntry({ url: video, ...size }, hasAudio);
  return {
    isVideo,
    image: bestImage([...own, ...resources], size, label),
    files: file ? [file] : [],
    dash,
    hasAudio,
    durationSeconds: isVideo ? (seconds(at(node, 'video_duration')) ?? dash.durationSeconds) : undefined,
  };
}

const LIKES = ['edge_media_preview_like', 'edge_liked_by', 'likes'];
const COMMENTS = ['edge_media_to_parent_comment', 'edge_media_to_comment', 'edge_media_preview_comment', 'comments'];

function graphqlCounters(node: JsonRecord): RawCounters {
  const firstOf = (names: readonly string[]) =>
    names.map((name) => at(node, name, 'count')).find((value) => value !== undefined && value !== null);
  return {
    views: node.video_view_count ?? node.video_views,
    plays: node.video_play_count,
    likes: firstOf(LIKES),
    comments: firstOf(COMMENTS),
    subscriber_count: at(node, 'owner', 'edge_followed_by', 'count'),
  };
}
