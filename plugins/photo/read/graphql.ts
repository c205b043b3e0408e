import { asArray, asBoolean, asString, at, type JsonRecord } from 'mediagate';
import type { PostIdentity } from '../shortcode.js';
import { parseAuthor } from './author.js';
import type { RawCounters } from './counters.js';
import { parseDash } from './dash.js';
import { bestImage, videoEntry } from './media.js';
import type { MediaItem } from './media-items.js';
import { readNode } from './node.js';
import type { PostReading, Source } from './reading.js';
import { seconds } from './values.js';

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
    items: (children.length > 0 ? children : [node]).map(itemOf),
    isCarousel: children.length > 0,
    counters: countersOf(node),
  });
}

function itemOf(node: unknown): MediaItem {
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

function countersOf(node: JsonRecord): RawCounters {
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
