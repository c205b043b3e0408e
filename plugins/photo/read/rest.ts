import { asArray, asBoolean, asString, at, type JsonRecord } from 'mediagate';
import type { PostIdentity } from '../shortcode.js';
import { parseAuthor } from './author.js';
import type { RawCounters } from './counters.js';
import { parseDash } from './dash.js';
import { bestImage, largerFirst, type Rendition, videoEntry } from './media.js';
import { distinct, type MediaItem } from './media-items.js';
import { readNode } from './node.js';
import type { PostReading, Source } from './reading.js';
import { address, positive, seconds } from './values.js';

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
    items: (children.length > 0 ? children : [node]).map(itemOf),
    isCarousel: children.length > 0,
    itemCount: positive(node.carousel_media_count),
    counters: countersOf(node),
  });
}

function itemOf(node: unknown): MediaItem {
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

function countersOf(node: JsonRecord): RawCounters {
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
