import {
  type Author,
  asArray,
  asBoolean,
  asNumber,
  asPositive,
  asString,
  at,
  type JsonRecord,
  rawStats,
  toIsoTime,
} from 'mediagate/plugin';
import type { PostIdentity } from '../links.js';
import {
  bestImage,
  imageEntry,
  itemMedia,
  largestFirst,
  type MediaItem,
  mediaUrl,
  type Rendition,
  videoEntry,
} from './media.js';
import type { PostReading, Source } from './post.js';
import { buildPost, type RawCounters, readAuthor, readCollaborators, readCounters, readMusic } from './post.js';

/** What the two forms of a post's node name differently. */
interface NodeParts {
  source: Source;
  author?: Author;
  caption?: string;
  takenAt: unknown;
  /** Nodes of a carousel's items; empty for a single image or video. */
  children: readonly unknown[];
  readItem(node: unknown): MediaItem;
  /** Items of the carousel, including those that the node does not list. */
  itemCount?: number;
  counters: RawCounters;
}

/** Numbers and words of a node for which a document has no field. */
const RAW_STATS = [
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

function readNode(node: JsonRecord, identity: PostIdentity, parts: NodeParts): PostReading {
  const { source, author, caption, children, itemCount } = parts;
  const items = (children.length > 0 ? children : [node]).map(parts.readItem);
  const hasVideo = items.some(({ isVideo }) => isVideo);
  const isVideo = hasVideo && children.length === 0;
  const { music, file } = readMusic(node);
  const { media, durationSeconds } = itemMedia(items, file);
  const post = buildPost(identity, {
    title: asString(node.title),
    caption,
    author,
    published_at: toIsoTime(parts.takenAt),
    duration_seconds: durationSeconds,
    music,
    collaborators: readCollaborators(node.coauthor_producers, author?.id),
    location: asString(at(node, 'location', 'name')),
    media,
  });
  return {
    source,
    hasVideo,
    itemCount,
    post: {
      ...post,
      ids: { ...post.ids, video_id: isVideo ? identity.mediaId : undefined },
      ...readCounters(parts.counters, { isVideo, disabled: node.like_and_view_counts_disabled === true }),
      raw_stats: rawStats(Object.fromEntries(RAW_STATS.map((name) => [name, node[name]]))),
    },
  };
}

/** What the two forms of an item's node name differently. */
interface ItemParts {
  isVideo: boolean;
  size: Omit<Rendition, 'url'>;
  images: readonly Rendition[];
  /** An image of unknown size, in case there is no other. */
  otherImage?: unknown;
  files: readonly Rendition[];
  /** A DASH manifest. */
  dash: unknown;
}

function readItem(node: unknown, { isVideo, size, images, otherImage, files, dash }: ItemParts): MediaItem {
  const hasAudio = asBoolean(at(node, 'has_audio'));
  const label = asString(at(node, 'accessibility_caption')) ?? (isVideo ? 'cover' : undefined);
  const seconds = asNumber(at(node, 'video_duration')) ?? 0;
  return {
    isVideo,
    image: bestImage(images, size, label) ?? imageEntry({ url: otherImage }, label),
    files: largestFirst(files.flatMap((file) => videoEntry(file, hasAudio) ?? [])),
    dash,
    durationSeconds: seconds > 0 ? seconds : undefined,
  };
}

/** `media_type` of a video; 1 is an image, 8 a carousel. */
const VIDEO = 2;

/** A post's node in the form of the app's API, which pages have since 2023. */
export function readRestNode(node: JsonRecord, identity: PostIdentity, source: Source): PostReading {
  return readNode(node, identity, {
    source,
    author: readAuthor(node.user) ?? readAuthor(node.owner),
    caption: asString(at(node, 'caption', 'text')) ?? asString(node.caption),
    takenAt: node.taken_at,
    children: asArray(node.carousel_media) ?? [],
    readItem: readRestItem,
    itemCount: asPositive(node.carousel_media_count),
    counters: {
      views: node.view_count,
      // `ig_play_count` counts plays on this network alone, `fb_play_count` those on the other one.
      plays: asPositive(node.play_count) ?? asPositive(node.ig_play_count) ?? node.play_count,
      likes: node.like_count,
      comments: node.comment_count,
      shares: node.reshare_count,
      saves: node.save_count,
    },
  });
}

function readRestItem(node: unknown): MediaItem {
  const versions = (asArray(at(node, 'video_versions')) ?? []).map(rendition);
  return readItem(node, {
    isVideo: at(node, 'media_type') === VIDEO || versions.length > 0,
    size: { width: at(node, 'original_width'), height: at(node, 'original_height') },
    images: (asArray(at(node, 'image_versions2', 'candidates')) ?? []).map(rendition),
    otherImage: mediaUrl(at(node, 'display_uri')) ?? at(node, 'display_url'),
    files: versions,
    dash: at(node, 'video_dash_manifest'),
  });
}

function rendition(value: unknown): Rendition {
  return { url: at(value, 'url'), width: at(value, 'width'), height: at(value, 'height') };
}

/**
 * A post's node in the GraphQL form: embeds, one query of the site's own code, and pages until 2021. In pages until 2017
 * some fields have shorter names.
 */
export function readGraphqlNode(node: JsonRecord, identity: PostIdentity, source: Source): PostReading {
  const count = (...names: readonly string[]) =>
    names.map((name) => at(node, name, 'count')).find((value) => value !== undefined && value !== null);
  return readNode(node, identity, {
    source,
    author: readAuthor(node.owner),
    caption: asString(at(node, 'edge_media_to_caption', 'edges', 0, 'node', 'text')) ?? asString(node.caption),
    takenAt: node.taken_at_timestamp ?? node.date,
    children: (asArray(at(node, 'edge_sidecar_to_children', 'edges')) ?? []).map((edge) => at(edge, 'node')),
    readItem: readGraphqlItem,
    counters: {
      views: node.video_view_count ?? node.video_views,
      plays: node.video_play_count,
      likes: count('edge_media_preview_like', 'edge_liked_by', 'likes'),
      comments: count(
        'edge_media_to_parent_comment',
        'edge_media_to_comment',
        'edge_media_preview_comment',
        'comments',
      ),
      subscriber_count: at(node, 'owner', 'edge_followed_by', 'count'),
    },
  });
}

function readGraphqlItem(node: unknown): MediaItem {
  const video = at(node, 'video_url');
  const size = { width: at(node, 'dimensions', 'width'), height: at(node, 'dimensions', 'height') };
  const resources = (asArray(at(node, 'display_resources')) ?? []).map((resource) => ({
    url: at(resource, 'src'),
    width: at(resource, 'config_width'),
    height: at(resource, 'config_height'),
  }));
  const shown = at(node, 'display_url') ?? at(node, 'display_src');
  // If the list has the same URL, it also has the size that the site serves.
  const own = resources.some(({ url }) => url === shown) ? [] : [{ url: shown, ...size }];
  return readItem(node, {
    isVideo: at(node, 'is_video') === true || asString(video) !== undefined,
    size,
    images: [...own, ...resources],
    files: [{ url: video, ...size }],
    dash: at(node, 'dash_info', 'video_dash_manifest'),
  });
}
