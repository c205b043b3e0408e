/*
 * Turns a post's node into a reading. The site has two forms: that of the app's API, in pages since 2023, and the
 * GraphQL form, in embeds, one query and older pages. Each form names its parts, and one builder makes the post from
 * them. Lists of images contain square crops, so the largest image with the original shape is chosen. A single video
 * lists all its files, a carousel one file for each video. Separate audio and video tracks come from the DASH manifest.
 */

import {
  type Author,
  asArray,
  asBoolean,
  asId,
  asNumber,
  asPositive,
  asRecord,
  asRecords,
  asString,
  at,
  expiryOf,
  type JsonRecord,
  type MediaEntry,
  rawStats,
  readDashManifest,
  toIsoTime,
} from 'mediagate/plugin';
import type { PostIdentity } from '../links.js';
import { areaOf, bestImage, imageEntry, mediaUrl, postMedia, type Rendition, videoEntry } from './media.js';
import {
  asUsername,
  buildPost,
  type PostReading,
  profileUrl,
  type RawCounters,
  readCounters,
  type Source,
} from './post.js';

/** What is known of a node besides its content. */
interface NodeContext {
  identity: PostIdentity;
  source: Source;
  /** Fields of a node that go into a document's `raw_stats`. */
  statNames: readonly string[];
}

/** What the two forms of a post's node name differently. */
interface NodeParts {
  author?: Author;
  caption?: string;
  takenAt: unknown;
  /** Nodes of a carousel's items; empty for a single image or video. */
  children: readonly unknown[];
  partsOf(item: unknown): ItemParts;
  /** Items of the carousel, including those that the node does not list. */
  itemCount?: number;
  counters: RawCounters;
}

function readNode(node: JsonRecord, { identity, source, statNames }: NodeContext, parts: NodeParts): PostReading {
  const { author, caption, children, itemCount } = parts;
  const items = (children.length > 0 ? children : [node]).map((item) => readItem(item, parts.partsOf(item)));
  const hasVideo = items.some((item) => item.isVideo);
  const isVideo = hasVideo && children.length === 0;
  const { music, file } = readMusic(node);
  const authors = asRecords(node.coauthor_producers).flatMap((user) => readAuthor(user) ?? []);
  const collaborators = authors.filter(({ id }) => id !== author?.id);
  const post = buildPost(identity, {
    title: asString(node.title),
    caption,
    author,
    published_at: toIsoTime(parts.takenAt),
    duration_seconds: items.length === 1 && hasVideo ? items[0]?.durationSeconds : undefined,
    music,
    collaborators: collaborators.length > 0 ? collaborators : undefined,
    location: asString(at(node, 'location', 'name')),
    media: itemMedia(items, hasVideo ? undefined : file),
  });
  return {
    source,
    hasVideo,
    itemCount,
    post: {
      ...post,
      ids: { ...post.ids, video_id: isVideo ? identity.mediaId : undefined },
      ...readCounters(parts.counters, { isVideo, disabled: node.like_and_view_counts_disabled === true }),
      raw_stats: rawStats(Object.fromEntries(statNames.map((name) => [name, node[name]]))),
    },
  };
}

/** The author in a user node, which is the same in both forms of a post's node. */
function readAuthor(user: unknown): Author | undefined {
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

/**
 * The music of a post, or the audio of its video that others may use, in either form of its node. `file` is the music as
 * a file of its own, which posts of images play.
 */
function readMusic(node: JsonRecord) {
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
  const url = mediaUrl(info.progressive_download_url) ?? mediaUrl(info.fast_start_progressive_download_url);
  const milliseconds = asNumber(info.duration_in_ms) ?? 0;
  const file: MediaEntry | undefined =
    url === undefined
      ? undefined
      : {
          url,
          kind: 'audio',
          mime: 'audio/mp4',
          has_audio: true,
          has_video: false,
          label: title,
          duration_seconds: milliseconds > 0 ? milliseconds / 1000 : undefined,
          expires_at: expiryOf(url),
        };
  return { music: { title, artist, id }, file };
}

/** What the two forms of an item's node name differently. */
interface ItemParts {
  isVideo: boolean;
  size: Omit<Rendition, 'url'>;
  images: readonly Rendition[];
  /** An image of unknown size, in case there is no other. */
  otherImage?: unknown;
  files: readonly Rendition[];
  /** The text of a DASH manifest, which lists video and audio apart. */
  dash: unknown;
}

type Item = ReturnType<typeof readItem>;

/** One image or video of a post. */
function readItem(node: unknown, { isVideo, size, images, otherImage, files, dash }: ItemParts) {
  const hasAudio = asBoolean(at(node, 'has_audio'));
  const label = asString(at(node, 'accessibility_caption')) ?? (isVideo ? 'cover' : undefined);
  const seconds = asNumber(at(node, 'video_duration')) ?? 0;
  const manifest = readDashManifest(dash);
  const bitrate = (entry: MediaEntry) => entry.bitrate ?? 0;
  return {
    isVideo,
    /** The image, or the cover of a video. */
    image: bestImage(images, size, label) ?? imageEntry({ url: otherImage }, label),
    /** Videos that may have audio, largest first. */
    files: largestFirst(files.flatMap((file) => videoEntry(file, hasAudio) ?? [])),
    /** Videos without audio, largest first. */
    videos: largestFirst(manifest.files.filter(({ kind }) => kind === 'video')),
    /** Smallest first. */
    audios: manifest.files.filter(({ kind }) => kind === 'audio').sort((one, other) => bitrate(one) - bitrate(other)),
    durationSeconds: seconds > 0 ? seconds : manifest.durationSeconds,
  };
}

/** Each URL once: lists name the same file under several types. */
function largestFirst(entries: readonly MediaEntry[]): MediaEntry[] {
  const distinct = [...new Map(entries.map((entry) => [entry.url, entry])).values()];
  return distinct.sort((one, other) => areaOf(other) - areaOf(one) || (other.bitrate ?? 0) - (one.bitrate ?? 0));
}

/**
 * The media of a post's items: one image for each, which is the cover of a video; one file for each video of a carousel,
 * and all files of a single video.
 */
function itemMedia(items: readonly Item[], music: MediaEntry | undefined) {
  const playable = items.map(({ files, videos }) => {
    // Without a file that has audio, video alone is better than nothing.
    const best = files.length > 0 ? files : videos;
    return items.length === 1 ? best : best.slice(0, 1);
  });
  const entries = items.flatMap(({ image, files, videos, audios }) => [image ?? [], files, videos, audios].flat());
  const images = items.flatMap(({ image }) => image ?? []);
  return postMedia(images, playable.flat(), [...entries, ...(music ? [music] : [])]);
}

/** `media_type` of a video; 1 is an image, 8 a carousel. */
const VIDEO = 2;

/** A post's node in the form of the app's API, which pages have since 2023. */
export function readRestNode(node: JsonRecord, context: NodeContext): PostReading {
  return readNode(node, context, {
    author: readAuthor(node.user) ?? readAuthor(node.owner),
    caption: asString(at(node, 'caption', 'text')) ?? asString(node.caption),
    takenAt: node.taken_at,
    children: asArray(node.carousel_media) ?? [],
    partsOf: restItem,
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

function restItem(node: unknown): ItemParts {
  const versions = asRecords(at(node, 'video_versions'));
  return {
    isVideo: at(node, 'media_type') === VIDEO || versions.length > 0,
    size: { width: at(node, 'original_width'), height: at(node, 'original_height') },
    images: asRecords(at(node, 'image_versions2', 'candidates')),
    otherImage: mediaUrl(at(node, 'display_uri')) ?? at(node, 'display_url'),
    files: versions,
    dash: at(node, 'video_dash_manifest'),
  };
}

/**
 * A post's node in the GraphQL form: embeds, one query of the site's own code, and pages until 2021. In pages until 2017
 * some fields have shorter names.
 */
export function readGraphqlNode(node: JsonRecord, context: NodeContext): PostReading {
  const count = (...names: readonly string[]) =>
    names.map((name) => at(node, name, 'count')).find((value) => value !== undefined && value !== null);
  return readNode(node, context, {
    author: readAuthor(node.owner),
    caption: asString(at(node, 'edge_media_to_caption', 'edges', 0, 'node', 'text')) ?? asString(node.caption),
    takenAt: node.taken_at_timestamp ?? node.date,
    children: asRecords(at(node, 'edge_sidecar_to_children', 'edges')).map((edge) => edge.node),
    partsOf: graphqlItem,
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

function graphqlItem(node: unknown): ItemParts {
  const video = at(node, 'video_url');
  const size = { width: at(node, 'dimensions', 'width'), height: at(node, 'dimensions', 'height') };
  const resources = asRecords(at(node, 'display_resources')).map((resource) => ({
    url: resource.src,
    width: resource.config_width,
    height: resource.config_height,
  }));
  const shown = at(node, 'display_url') ?? at(node, 'display_src');
  // If the list has the same URL, it also has the size that the site serves.
  const own = resources.some(({ url }) => url === shown) ? [] : [{ url: shown, ...size }];
  return {
    isVideo: at(node, 'is_video') === true || asString(video) !== undefined,
    size,
    images: [...own, ...resources],
    files: [{ url: video, ...size }],
    dash: at(node, 'dash_info', 'video_dash_manifest'),
  };
}
